// JSON text (RFC 8259), read strictly and without a tree: the caller gets pieces of the
// text.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/reader.h"

enum { JSON_DEPTH_MAX = 64 };

/// Returns `text` without the spaces around it.
Text json_trim(Text text);

/// Returns whether `text`, without spaces around it, is one value in UTF-8 that nests at
/// most JSON_DEPTH_MAX objects and lists.
bool json_is_value(Text text);

/// Reads a string and appends its decoded bytes to `out`. `text` begins behind the
/// opening quote. Returns the number of bytes read, including the closing quote, or 0
/// if the string is malformed.
uint32_t json_read_string(Text text, Buf *out);

/// Reads the member of an object at `*at` (start at 0) and advances `*at`; returns
/// false at the end. If `key` is NULL, reads the element of a list. `text` must satisfy
/// json_is_value. `key` includes the quotes.
bool json_next(Text text, uint32_t *at, Text *key, Text *value);

/// Returns the value of a key, or an empty text if the object lacks the key. `key` has no
/// quotes and no character that JSON escapes. `object` must satisfy json_is_value.
Text json_find(Text object, const char *key);

/// Appends the decoded bytes of the string `value`, which has its quotes. Returns false
/// if `value` is not a string.
bool json_read_text(Text value, Buf *out);

/// Appends UTF-8 bytes as a string.
void json_put_text(Buf *buf, Text text);
