// The JSON body of a message: ["name", value]. The text of the value is passed on
// unchanged.
#pragma once

#include <stdbool.h>

#include "base/buf.h"
#include "wire/reader.h"

/// Appends the body. If `json.bytes` is NULL, the value is null. Returns the offset of
/// the value from the start of the body.
uint32_t message_body(Buf *buf, Text name, Text json);

/// Reads a body: appends the name's bytes to `name`, and points `value` to the value's
/// text. Returns false if the body is not a message. Does not check the value itself.
bool message_split(Text body, Buf *name, Text *value);
