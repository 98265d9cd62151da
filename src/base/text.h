// Functions about text: whether it is valid, whether it is a name, and which word was
// meant.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NAME_MAX_BYTES = 64 };

/// The rules of text_is_name and text_is_peer_name, in words for people.
#define TEXT_NAME_RULE                                                         \
  "1 to 64 bytes of UTF-8 without control characters (Unicode Cc, Cf, Zl, Zp)" \
  " and without spaces at the ends"
#define TEXT_PEER_NAME_RULE TEXT_NAME_RULE ", and not beginning with !, * or /"

/// Reads the character at the start of `text` into `code`. Returns its size in bytes,
/// or 0 if it is not well-formed.
size_t text_read_char(const char *text, size_t size, uint32_t *code);

/// Returns whether a character is a control character (C0, DEL or C1), which terminals
/// obey.
static inline bool text_is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/// Returns whether a character is a separator that may end a line, without being a
/// control character: Unicode's categories Zl and Zp.
static inline bool text_is_separator(uint32_t code) {
  return code == 0x2028 || code == 0x2029;
}

/// Returns whether a character is invisible and only affects the text around it:
/// Unicode's categories Cc, Cf, Zl and Zp.
bool text_is_hidden(uint32_t code);

/// Returns how many bytes of UTF-8 text fit into `max` bytes without cutting a
/// character.
size_t text_cut(const char *text, size_t size, size_t max);

/// Returns the value of a hexadecimal digit, or -1 for any other character.
int text_hex_digit(char c);

/// Returns whether the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no
/// overlong forms).
bool text_is_utf8(const char *text, size_t size);

/// Returns an upper bound of the number of values in JSON text. For other text, the
/// result is meaningless.
size_t text_json_count(const char *text, size_t size);

/// Returns whether the bytes are a valid name, for example of a room: TEXT_NAME_RULE.
/// Spaces are the characters of Unicode's category Zs.
bool text_is_name(const char *text, size_t size);

/// Returns whether the bytes are a valid name for a peer: TEXT_PEER_NAME_RULE. The
/// rules are stricter, because a peer's name stands at the beginning of lines.
bool text_is_peer_name(const char *text, size_t size);

/// Returns the entry of `words` (NULL-terminated) with the least edit distance from
/// `word`. Returns NULL if that distance is too large for a misspelling: more than half
/// of the length of `word`, or more than 2 and more than a third of the length.
const char *text_nearest(const char *word, const char *const *words);
