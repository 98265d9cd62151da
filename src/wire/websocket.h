// WebSocket (RFC 6455) as a server speaks it: reads frames into whole messages, writes
// headers of frames, the sums of the opening handshake, close codes. Bytes in, values
// out; no I/O, no clock. No extension: compression is not offered.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/code.h"
#include "wire/reader.h"

enum {
  WS_HEADER_MAX = 10,    // of a frame that a server writes
  WS_CONTROL_MAX = 125,  // payload of a control frame
  WS_ACCEPT_SIZE = 29,   // Sec-WebSocket-Accept and a NUL
};

typedef enum WsOpcode {
  WS_CONTINUATION = 0,
  WS_TEXT = 1,
  WS_BINARY = 2,
  WS_CLOSE = 8,
  WS_PING = 9,
  WS_PONG = 10,
} WsOpcode;

typedef enum WsCode {
  WS_CODE_NORMAL = 1000,
  WS_CODE_GOING_AWAY = 1001,
  WS_CODE_PROTOCOL = 1002,
  WS_CODE_UNSUPPORTED = 1003,  // a kind of message that is not taken
  WS_CODE_NONE = 1005,         // stands for a close frame without a code
  WS_CODE_BAD_TEXT = 1007,     // not UTF-8
  WS_CODE_TOO_LARGE = 1009,
  WS_CODE_INTERNAL = 1011,
  WS_CODE_TRY_LATER = 1013,
  WS_CODE_OWN = 4000,  // and the number of a Code
} WsCode;

// --- Reading ---

/// The state of one connection's input. At rest it can be used for another connection.
typedef struct WsReader WsReader;

typedef enum WsEventType {
  WS_EVENT_NONE,     // all bytes are read
  WS_EVENT_MESSAGE,  // whole, put together from its fragments
  WS_EVENT_PING,     // wants a PONG with the same bytes
  WS_EVENT_CLOSE,    // the other side ends it, with `code`
  WS_EVENT_FAULT,  // it broke a rule; `code` and `text` say which; nothing more is read
} WsEventType;

typedef struct WsEvent {
  WsEventType type;
  bool is_text;          // of a message
  const uint8_t *bytes;  // valid until the next call with the same reader
  size_t size;
  uint16_t code;
  const char *text;  // static
} WsEvent;

WsReader *ws_reader_new(void);
void ws_reader_free(WsReader *reader);

/// Sets the next bytes, which have to stay until they are read. Drops those of before that
/// were not read.
void ws_reader_feed(WsReader *reader, const uint8_t *bytes, size_t size);

/// Returns how many of these bytes were not read yet.
size_t ws_reader_unread(const WsReader *reader);

/// Returns the next event. A message of more than `max_message` bytes is a fault as soon as the
/// length in a frame's header says so; text that is not UTF-8 is one at its first bad byte.
WsEvent ws_reader_next(WsReader *reader, uint64_t max_message);

/// Returns whether the reader is at rest: between two messages, all bytes read, and the last
/// event not needed any more.
bool ws_reader_is_at_rest(const WsReader *reader);

/// Bytes of memory that an unfinished message takes up.
size_t ws_reader_held(const WsReader *reader);

// --- Writing ---

/// Writes the header of a whole, unmasked message (or control frame) of `size` bytes.
/// Returns the header's size.
size_t ws_put_header(uint8_t out[WS_HEADER_MAX], WsOpcode opcode, uint64_t size);

/// Appends a close frame. Of `text` as much as fits; with WS_CODE_NONE it is empty.
void ws_put_close(Buf *buf, uint16_t code, const char *text);

/// Appends one text message; bytes that are not UTF-8 become '?'.
void ws_put_text(Buf *buf, const char *text, size_t size);

// --- The opening handshake ---

/// Returns whether `key` is valid: 16 bytes in base64.
bool ws_is_key(Text key);

/// Writes the value of Sec-WebSocket-Accept for `key`.
void ws_accept(Text key, char accept[WS_ACCEPT_SIZE]);

// --- Close codes ---

/// The close code for a connection that the server ends for `code`, with or without a
/// text for people.
uint16_t ws_close_code(Code code, bool has_text);

/// Returns whether a close frame may carry this code.
bool ws_is_close_code(uint16_t code);
