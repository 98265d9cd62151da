// Names in Host headers, and lists of such names.
#include "wire/http_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

// Returns whether `at` is the end, or ":" and up to five digits before the end.
static bool is_port(const char *at, const char *end) {
  enum { DIGITS_MAX = 5 };
  if (at == end) return true;
  if (*at++ != ':' || end - at < 1 || end - at > DIGITS_MAX) return false;
  for (; at < end; at++)
    if (*at < '0' || *at > '9') return false;
  return true;
}

Text http_host_name(Text host) {
  bool is_v6 = host.size > 0 && host.bytes[0] == '[';
  const char *end = host.bytes + host.size;
  const char *stop = memchr(host.bytes, is_v6 ? ']' : ':', host.size);
  if (!stop && is_v6) return (Text){host.bytes, 0};
  if (!stop) return host;
  if (!is_port(stop + is_v6, end)) return (Text){host.bytes, 0};
  return (Text){host.bytes + is_v6, (uint32_t)(stop - host.bytes) - is_v6};
}

// Removes the next entry from the list; returns false at the end.
static bool next_entry(const char **list, Text *entry) {
  *list += strspn(*list, ", ");
  *entry = (Text){*list, (uint32_t)strcspn(*list, ", ")};
  *list += entry->size;
  return entry->size > 0;
}

static bool is_same(Text a, Text b) {
  return a.size == b.size && strncasecmp(a.bytes, b.bytes, a.size) == 0;
}

static bool is_wildcard(Text entry) {
  return entry.size > 2 && entry.bytes[0] == '*' && entry.bytes[1] == '.';
}

static bool is_match(Text name, Text entry) {
  if (!is_wildcard(entry)) return is_same(name, entry);
  const char *dot = memchr(name.bytes, '.', name.size);
  if (!dot || dot == name.bytes) return false;
  uint32_t label = (uint32_t)(dot - name.bytes);
  return is_same((Text){dot, name.size - label},
                 (Text){entry.bytes + 1, entry.size - 1});
}

bool http_is_listed_name(Text name, const char *list) {
  Text entry;
  while (next_entry(&list, &entry))
    if (is_match(name, entry)) return true;
  return false;
}

static bool is_address(Text name) {
  char copy[INET6_ADDRSTRLEN];
  uint8_t address[sizeof(struct in6_addr)];
  if (name.size >= sizeof copy) return false;
  memcpy(copy, name.bytes, name.size);
  copy[name.size] = '\0';
  return inet_pton(AF_INET, copy, address) == 1 ||
         inet_pton(AF_INET6, copy, address) == 1;
}

bool http_is_fixed_name(Text name) {
  static const char LOCAL[] = ".localhost";
  const uint32_t size = sizeof LOCAL - 1;
  Text whole = {LOCAL + 1, size - 1}, below = {LOCAL, size};
  if (is_same(name, whole) || is_address(name)) return true;
  return name.size > size &&
         is_same((Text){name.bytes + name.size - size, size}, below);
}

static bool is_bad_name(Text name) {
  static const char GOOD[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  uint32_t skip = is_wildcard(name) ? 2 : 0;
  return strspn(name.bytes + skip, GOOD) < name.size - skip && !is_address(name);
}

bool http_find_bad_name(const char *list, Text *bad) {
  while (next_entry(&list, bad))
    if (!(bad->size == 1 && bad->bytes[0] == '*') && is_bad_name(*bad)) return true;
  return false;
}

bool http_find_bad_host(const char *list, Text *bad) {
  while (next_entry(&list, bad)) {
    Text name = is_address(*bad) ? *bad : http_host_name(*bad);
    if (name.size == 0 || is_bad_name(name)) return true;
  }
  return false;
}
