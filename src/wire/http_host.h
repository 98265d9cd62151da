// Names in Host headers, and lists of them. A page from anywhere can make a name of its own
// point to this machine (DNS rebinding); the browser then sends requests here that carry
// that name. So a listener serves the names that it knows, and no others. No I/O.
#pragma once

#include "wire/reader.h"

/// Returns the name in a Host header: without its port, and without the brackets of an IPv6
/// address. Empty where the header is malformed.
Text http_host_name(Text host);

/// Returns whether `name` is in `list`, which is separated by commas, in whatever case. An
/// entry "*.example" matches each name with one label in the place of the asterisk.
bool http_is_listed_name(Text name, const char *list);

/// Returns whether nobody elsewhere can make `name` point to this machine: it is an IP
/// address, localhost, or a name below localhost.
bool http_is_fixed_name(Text name);

/// Finds the first entry in such a list that no Host header can match, such as
/// "https://game.example" or "game.example:7777". Returns whether there is one.
bool http_find_bad_name(const char *list, Text *bad);
