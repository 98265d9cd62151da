// Names in Host headers, and lists of such names. The owner of any domain can make its
// name point to this machine (DNS rebinding). Browsers then send requests with that
// name to this machine. A listener therefore serves only the names that it knows. No
// I/O.
#pragma once

#include "wire/reader.h"

/// Returns the name in a Host header without port, and without the brackets of an IPv6
/// address. Returns an empty text if the header is malformed.
Text http_host_name(Text host);

/// Returns whether the comma-separated `list` contains `name`, ignoring case. An entry
/// "*.example" matches each name with exactly one label in place of the asterisk.
bool http_is_listed_name(Text name, const char *list);

/// Returns whether `name` always means the same address, whatever name servers answer:
/// it is an IP address, localhost, or a name below localhost.
bool http_is_fixed_name(Text name);

/// Finds the first entry in a comma-separated `list` that no Host header can match,
/// such as "https://game.example" or "game.example:7777". Returns whether such an entry
/// exists.
bool http_find_bad_name(const char *list, Text *bad);

/// Finds the first entry that is not such a name, with or without a port.
bool http_find_bad_host(const char *list, Text *bad);
