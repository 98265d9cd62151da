// The JSON body of a message: ["name", value]. The value's text is passed through as it is.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/reader.h"

/// Appends the body; a `json` without bytes means null. Returns the offset of the value.
uint32_t message_body(Buf *buf, Text name, Text json);

/// Reads a body: appends the name's bytes to `name`, and points `value` to the value's
/// text. Returns false if the body is no message; does not check the value itself.
bool message_split(Text body, Buf *name, Text *value);
