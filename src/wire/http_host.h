// Names in Host headers, and lists of them. The owner of any domain can make its name
// point to this machine (DNS rebinding); browsers then send requests here that carry that
// name. A listener therefore serves only the names that it knows. No I/O.
#pragma once

#include "wire/reader.h"

/// Returns the name in a Host header: without its port, and without the brackets of an IPv6
/// address. Empty where the header is malformed.
Text http_host_name(Text host);

/// Returns whether `name` is in `list`, which is separated by commas, in whatever case. An
/// entry "*.example" matches each name with one label in the place of the asterisk.
bool http_is_listed_name(Text name, const char *list);

/// Returns whether no name server decides where `name` leads: it is an IP address,
/// localhost, or a name below localhost.
bool http_is_fixed_name(Text name);

/// Finds the first entry in such a list that no Host header can match, such as
/// "https://game.example" or "game.example:7777". Returns whether it found one.
bool http_find_bad_name(const char *list, Text *bad);
