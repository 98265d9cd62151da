// WebSocket frames that the bench needs: headers of whole binary messages.
#pragma once

#include "wire.h"

enum {
  WS_HEADER_MAX = 10,
  WS_MASK = 4,
  WS_MESSAGE_MAX = 96 << 10,  // most bytes of one message
  WS_BINARY = 0x82,           // first byte of a message
  WS_CLOSE = 0x88,
};

static const char WS_REQUEST[] =
    "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
static const char WS_ANSWER[] =
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

/// Writes the header of a message of `size` bytes and returns its own size.
static inline size_t ws_put_header(uint8_t out[WS_HEADER_MAX], size_t size) {
  out[0] = WS_BINARY;
  if (size < 126) {
    out[1] = (uint8_t)size;
    return 2;
  }
  int bytes = size < 65536 ? 2 : 8;
  out[1] = bytes == 2 ? 126 : 127;
  for (int i = 0; i < bytes; i++) out[2 + i] = (uint8_t)(size >> (8 * (bytes - 1 - i)));
  return 2 + (size_t)bytes;
}

/// Reads the header at the start of `at`. Returns its size with the mask, or 0 if it is
/// incomplete.
static inline size_t ws_read_header(const uint8_t *at, size_t size, uint64_t *length) {
  if (size < 2) return 0;
  size_t bytes = (at[1] & 127) == 127 ? 8 : (at[1] & 127) == 126 ? 2 : 0;
  size_t whole = 2 + bytes + (at[1] & 128 ? WS_MASK : 0);
  if (size < whole) return 0;
  *length = bytes ? 0 : at[1] & 127;
  for (size_t i = 0; i < bytes; i++) *length = *length << 8 | at[2 + i];
  return whole;
}

/// Appends `data` as one masked message. The mask is zero, which costs the reader as
/// much work as any other mask.
static inline void ws_put_message(Bytes *bytes, const void *data, size_t size) {
  uint8_t header[WS_HEADER_MAX];
  size_t header_size = ws_put_header(header, size);
  header[1] |= 128;
  bytes_put(bytes, header, header_size);
  bytes_zeros(bytes, WS_MASK);
  bytes_put(bytes, data, size);
}
