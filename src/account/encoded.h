// The forms of texts within tokens and keys: base64url without padding (RFC 7515), and
// JSON objects in which no member occurs twice.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/reader.h"

/// Appends the bytes that `text` encodes; returns false if it is malformed.
bool encoded_read(Text text, Buf *bytes);

/// Returns whether `text` is a JSON object in which no member occurs twice.
bool encoded_is_object(Text text);

/// Finds a member; returns false if the object has none. `object` must satisfy
/// encoded_is_object.
bool encoded_find(Text object, const char *name, Text *value);

/// Appends the text of a member; returns false if the member is missing or not a text.
bool encoded_text(Text object, const char *name, Buf *text);
