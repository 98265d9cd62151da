// WebSocket (RFC 6455) for a server: reads frames and assembles messages, writes frame
// headers, computes the opening handshake, and maps close codes. No I/O, no clock.
// Extensions such as compression are not supported.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/code.h"
#include "wire/reader.h"

enum {
  WS_HEADER_MAX = 10,    // bytes of the longest frame header that a server writes
  WS_CONTROL_MAX = 125,  // bytes of a control frame's payload
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
  WS_CODE_UNSUPPORTED = 1003,  // the kind of message is not supported
  WS_CODE_NONE = 1005,         // a close frame without a code
  WS_CODE_BAD_TEXT = 1007,     // a text is not UTF-8
  WS_CODE_TOO_LARGE = 1009,
  WS_CODE_INTERNAL = 1011,
  WS_CODE_TRY_LATER = 1013,
  WS_CODE_OWN = 4000,  // Perigee's codes are WS_CODE_OWN + Code
} WsCode;

// --- Reading ---

/// The state of one connection's input. An idle one can be used for another connection.
typedef struct WsReader WsReader;

typedef enum WsEventType {
  WS_EVENT_NONE,     // all bytes are read
  WS_EVENT_MESSAGE,  // a whole message, assembled from its fragments
  WS_EVENT_PING,     // a PING, to be answered by a PONG with the same bytes
  WS_EVENT_CLOSE,    // the other side ends the connection with `code`
  WS_EVENT_FAULT,    // the other side broke a rule; see `code` and `text`
} WsEventType;

typedef struct WsEvent {
  WsEventType type;
  bool is_text;          // whether the message is text
  const uint8_t *bytes;  // payload; valid until the next call with the same reader
  size_t size;
  uint16_t code;
  const char *text;  // static
} WsEvent;

WsReader *ws_reader_new(void);
void ws_reader_free(WsReader *reader);

/// Sets the next bytes, which must stay valid until they are read. Drops unread bytes
/// of the previous call.
void ws_reader_feed(WsReader *reader, const uint8_t *bytes, size_t size);

/// Returns how many bytes of ws_reader_feed have not been read.
size_t ws_reader_unread(const WsReader *reader);

/// Returns the next event. A message of more than `max_message` bytes is a fault as
/// soon as a frame header shows the length. Text that is not UTF-8 is a fault at its
/// first wrong byte.
WsEvent ws_reader_next(WsReader *reader, uint64_t max_message);

/// Returns whether the reader is idle: it is between two messages, all bytes are read,
/// and the last event is not needed any more.
bool ws_reader_is_at_rest(const WsReader *reader);

/// Returns the bytes of memory that an unfinished message uses.
size_t ws_reader_held(const WsReader *reader);

// --- Writing ---

/// Writes the header of a whole, unmasked message or control frame of `size` bytes.
/// Returns the header's size.
size_t ws_put_header(uint8_t out[WS_HEADER_MAX], WsOpcode opcode, uint64_t size);

/// Appends a close frame with as much of `text` as fits. With WS_CODE_NONE, the frame
/// is empty.
void ws_put_close(Buf *buf, uint16_t code, const char *text);

/// Appends one text message; bytes that are not UTF-8 become '?'.
void ws_put_text(Buf *buf, const char *text, size_t size);

// --- The opening handshake ---

/// Returns whether `key` is valid: 16 bytes in base64.
bool ws_is_key(Text key);

/// Writes the value of Sec-WebSocket-Accept for `key`.
void ws_accept(Text key, char accept[WS_ACCEPT_SIZE]);

// --- Close codes ---

/// Returns the close code for a connection that the server ends with `code`. `has_text`
/// says whether the server also gives a text for people.
uint16_t ws_close_code(Code code, bool has_text);

/// Returns whether a close frame may carry this code.
bool ws_is_close_code(uint16_t code);
