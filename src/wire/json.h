// JSON text (RFC 8259), strictly and without a tree: a reader gets pieces of the text.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/reader.h"

enum { JSON_DEPTH_MAX = 64 };

/// Returns `text` without the spaces around it.
Text json_trim(Text text);

/// Returns whether `text`, which has no spaces around it, is one value in UTF-8, nested at
/// most JSON_DEPTH_MAX deep.
bool json_is_value(Text text);

/// Reads a string after its opening quote and appends its bytes to `out`. Returns its size with
/// the closing quote, 0 if it is none.
uint32_t json_read_string(Text text, Buf *out);

/// Reads the member of an object, or (`key` NULL) the element of a list, at `*at` (start at 0)
/// and moves on; returns false at the end. `text` is json_is_value. `key` has its quotes.
bool json_next(Text text, uint32_t *at, Text *key, Text *value);

/// Appends the bytes of a string with its quotes; returns false if `value` is of another kind.
bool json_read_text(Text value, Buf *out);

/// Appends bytes of UTF-8 as a string.
void json_put_text(Buf *buf, Text text);
