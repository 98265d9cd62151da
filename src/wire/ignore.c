// Each line is a rule, a pattern for files. `*` matches any characters of one name, `?`
// one character, and the name `**` any number of folders. A pattern without a slash
// matches a name in any folder. A pattern with a slash at the end matches only folders.
#include "wire/ignore.h"

#include <stdint.h>
#include <string.h>

// --- Names ---

// Removes the first name from a path; several slashes count as one. The size of the
// result is 0 at the end.
static Text take_name(Text *path) {
  while (path->size > 0 && path->bytes[0] == '/') path->bytes++, path->size--;
  const char *slash = memchr(path->bytes, '/', path->size);
  Text name = {path->bytes, slash ? (uint32_t)(slash - path->bytes) : path->size};
  path->bytes += name.size;
  path->size -= name.size;
  return name;
}

// Returns whether a pattern without slashes matches a name. A star first matches
// nothing. If the rest does not match, the last star matches one more byte.
static bool fits_name(Text pattern, Text name) {
  uint32_t p = 0, n = 0, after_star = 0, retry = 0;
  while (n < name.size) {
    char wanted = p < pattern.size ? pattern.bytes[p] : '\0';
    if (wanted == '*') {
      after_star = ++p;
      retry = n;
    } else if (wanted == '?') {
      p++;
      do n++;  // skip one character, which may have several bytes
      while (n < name.size && ((uint8_t)name.bytes[n] & 0xc0) == 0x80);
    } else if (p < pattern.size && wanted == name.bytes[n]) {
      p++;
      n++;
    } else if (after_star > 0) {
      p = after_star;
      n = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size && pattern.bytes[p] == '*') p++;
  return p == pattern.size;
}

// Returns whether a pattern with slashes matches a path. Compares their names one by
// one. `**` first matches no name. If the rest does not match, `**` matches one more.
static bool fits_path(Text pattern, Text path) {
  Text after_stars = {0}, retry = {0};
  for (bool has_stars = false;;) {
    Text more = pattern, rest = path;
    Text wanted = take_name(&more), name = take_name(&rest);
    if (wanted.size == 2 && memcmp(wanted.bytes, "**", 2) == 0) {
      has_stars = true;
      pattern = after_stars = more;
      retry = path;
    } else if (wanted.size == 0 && name.size == 0) {
      return true;
    } else if (wanted.size > 0 && name.size > 0 && fits_name(wanted, name)) {
      pattern = more;
      path = rest;
    } else if (has_stars && take_name(&retry).size > 0) {
      pattern = after_stars;
      path = retry;
    } else {
      return false;
    }
  }
}

// --- Rules ---

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Removes the first line from the rules, without the spaces around it. Returns false at
// the end.
static bool take_line(Text *rules, Text *line) {
  if (rules->size == 0) return false;
  const char *end = memchr(rules->bytes, '\n', rules->size);
  uint32_t size = end ? (uint32_t)(end - rules->bytes) : rules->size;
  *line = (Text){rules->bytes, size};
  uint32_t taken = end ? size + 1 : size;
  rules->bytes += taken;
  rules->size -= taken;
  while (line->size > 0 && is_space(line->bytes[0])) line->bytes++, line->size--;
  while (line->size > 0 && is_space(line->bytes[line->size - 1])) line->size--;
  return true;
}

// Returns whether a pattern matches the file or folder at `path`, which has no slash at
// its end.
static bool fits(Text pattern, Text path) {
  if (pattern.size > 2 && memcmp(pattern.bytes, "./", 2) == 0)
    pattern.bytes++, pattern.size--;
  if (memchr(pattern.bytes, '/', pattern.size)) return fits_path(pattern, path);
  Text name = {0};
  for (Text rest = path; rest.size > 0;) name = take_name(&rest);
  return fits_name(pattern, name);
}

// Returns whether a rule matches the file or folder at `path`.
static bool is_named(Text rules, Text path, bool is_folder) {
  for (Text line; take_line(&rules, &line);) {
    if (line.size == 0 || line.bytes[0] == '#') continue;
    bool is_for_folders = line.bytes[line.size - 1] == '/';
    if (is_for_folders && !is_folder) continue;
    line.size -= is_for_folders;
    if (fits(line, path)) return true;
  }
  return false;
}

// Applies the rules to the file and to each folder that contains it.
bool ignore_has(Text rules, const char *path) {
  // Skips a byte order mark, with which some editors begin a file.
  if (rules.size >= 3 && memcmp(rules.bytes, "\xef\xbb\xbf", 3) == 0)
    rules.bytes += 3, rules.size -= 3;
  Text rest = {path, (uint32_t)strlen(path)};
  for (Text name; (name = take_name(&rest)).size > 0;) {
    if (name.bytes[0] == '.') return true;
    Text so_far = {path, (uint32_t)(rest.bytes - path)};
    if (is_named(rules, so_far, rest.size > 0)) return true;
  }
  return false;
}
