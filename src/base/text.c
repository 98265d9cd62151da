// UTF-8, edit distance, and rules for names.
#include "base/text.h"

#include <string.h>

#include "base/least.h"

enum { WORD_MAX_BYTES = 64 };

size_t text_read_char(const char *text, size_t size, uint32_t *code) {
  static const uint32_t MINIMUM[] = {0, 0, 0x80, 0x800, 0x10000};
  if (size == 0) return 0;
  const uint8_t *bytes = (const uint8_t *)text;
  uint8_t lead = bytes[0];
  if (lead < 0x80) {
    *code = lead;
    return 1;
  }
  size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc0 || lead >= 0xf8 || length > size) return 0;
  uint32_t value = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) return 0;
    value = value << 6 | (bytes[i] & 0x3f);
  }
  bool is_surrogate = value >= 0xd800 && value < 0xe000;
  if (value < MINIMUM[length] || value > 0x10ffff || is_surrogate) return 0;
  *code = value;
  return length;
}

size_t text_cut(const char *text, size_t size, size_t max) {
  if (size <= max) return size;
  while (max > 0 && ((uint8_t)text[max] & 0xc0) == 0x80) max--;
  return max;
}

int text_hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

bool text_is_utf8(const char *text, size_t size) {
  uint32_t code;
  for (size_t at = 0, length; at < size; at += length) {
    length = text_read_char(text + at, size - at, &code);
    if (length == 0) return false;
  }
  return true;
}

// Counts commas and opening brackets, because every value but the first follows one of
// them, directly or behind its key.
size_t text_json_count(const char *text, size_t size) {
  size_t count = 1;
  bool is_string = false;
  for (size_t at = 0; at < size; at++) {
    char c = text[at];
    if (c == '"')
      is_string = !is_string;
    else if (is_string && c == '\\')
      at++;
    else if (!is_string && (c == ',' || c == '[' || c == '{'))
      count++;
  }
  return count;
}

// --- Names ---

typedef struct Range {
  uint32_t first, last;
} Range;

// Category Cf of Unicode 17.0 (DerivedGeneralCategory.txt): 170 characters.
static const Range FORMAT[] = {
    {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
    {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x180e, 0x180e},
    {0x200b, 0x200f},   {0x202a, 0x202e},   {0x2060, 0x2064},   {0x2066, 0x206f},
    {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe0001},
    {0xe0020, 0xe007f},
};

// Category Zs of Unicode 17.0: 17 characters.
static const Range SPACES[] = {
    {0x20, 0x20},     {0xa0, 0xa0},     {0x1680, 0x1680}, {0x2000, 0x200a},
    {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000},
};

static bool is_in(uint32_t code, const Range *ranges, size_t count) {
  for (size_t i = 0; i < count && ranges[i].first <= code; i++)
    if (code <= ranges[i].last) return true;
  return false;
}

bool text_is_hidden(uint32_t code) {
  return text_is_control(code) || text_is_separator(code) ||
         is_in(code, FORMAT, sizeof FORMAT / sizeof *FORMAT);
}

static bool is_space(uint32_t code) {
  return is_in(code, SPACES, sizeof SPACES / sizeof *SPACES);
}

bool text_is_name(const char *text, size_t size) {
  if (size == 0 || size > NAME_MAX_BYTES) return false;
  uint32_t code = 0;
  for (size_t at = 0, length; at < size; at += length) {
    length = text_read_char(text + at, size - at, &code);
    if (length == 0 || text_is_hidden(code) || (at == 0 && is_space(code)))
      return false;
  }
  return !is_space(code);
}

bool text_is_peer_name(const char *text, size_t size) {
  return text_is_name(text, size) && !strchr("!*/", text[0]);
}

// --- Misspelt words ---

// Returns the number of edits (insert, delete, replace, swap two neighbours) that turn
// `a` into `b`. Both must have at most WORD_MAX_BYTES.
static size_t distance(const char *a, size_t a_size, const char *b, size_t b_size) {
  size_t table[WORD_MAX_BYTES + 1][WORD_MAX_BYTES + 1];
  for (size_t i = 0; i <= a_size; i++) table[i][0] = i;
  for (size_t j = 0; j <= b_size; j++) table[0][j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    for (size_t j = 1; j <= b_size; j++) {
      size_t edits = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      edits = least(edits, table[i - 1][j] + 1);
      edits = least(edits, table[i][j - 1] + 1);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits = least(edits, table[i - 2][j - 2] + 1);
      table[i][j] = edits;
    }
  }
  return table[a_size][b_size];
}

const char *text_nearest(const char *word, const char *const *words) {
  size_t size = strlen(word);
  if (size > WORD_MAX_BYTES) return NULL;
  // `limit` is the smallest number of edits that is too many. text.h gives the rule.
  size_t limit = least(size / 3 > 2 ? size / 3 + 1 : 3, size / 2 + 1);
  const char *nearest = NULL;
  for (; *words; words++) {
    size_t other_size = strlen(*words);
    if (other_size > WORD_MAX_BYTES) continue;
    size_t edits = distance(word, size, *words, other_size);
    if (edits >= limit) continue;
    limit = edits;
    nearest = *words;
  }
  return nearest;
}
