// A Protocol interprets the bytes of a connection. The table is static. The state of
// the protocol for one connection is `conn->speech`.
//
// Any call of net may close the connection, and conn_speak frees the speech. After such
// a call, a protocol checks conn_speaks before it continues.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"
#include "net/net.h"

typedef struct Conn Conn;

/// The meaning of the end of the other side's stream.
typedef enum InputEnd {
  INPUT_ENDS,   // an orderly end
  INPUT_CUT,    // an end in the middle of a packet, line or message
  INPUT_STAYS,  // the connection stays, because an answer is still due
} InputEnd;

/// `input` is never NULL. Other entries may be NULL if the protocol has nothing to do
/// there, or never has unfinished bytes.
typedef struct Protocol Protocol;
struct Protocol {
  TransportName name;  // 0: that of the connection's transport
  /// Begins to use this protocol for a connection. conn->in contains bytes that arrived
  /// before.
  void (*open)(Conn *conn);
  /// Reports that the TLS handshake is complete. Never called without TLS.
  void (*ready)(Conn *conn);
  /// Handles bytes that have arrived; keeps those that it cannot pass up now.
  void (*input)(Conn *conn, const uint8_t *bytes, size_t size);
  /// Continues with kept bytes, because the connection takes input again.
  void (*resume)(Conn *conn);
  /// Returns whether the input contains the beginning of something with a deadline.
  bool (*is_begun)(const Conn *conn);
  /// Returns the number of unfinished bytes.
  size_t (*unfinished)(const Conn *conn);
  /// Frees the unfinished bytes; the connection ends because of them.
  void (*drop_input)(Conn *conn);
  /// Writes messages in the protocol's own form: `bufs[1]` to `bufs[count]`, of `total`
  /// bytes. `bufs[0]` is free for a header. Returns `total` if the transport took a
  /// part and the backlog keeps the rest, UV_EAGAIN if it took nothing, or another
  /// error. NULL: messages are written unchanged.
  int (*write)(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total);
  /// Converts the messages from `start` to the end of `bytes`, if any, into the
  /// protocol's form.
  void (*wrap)(Conn *conn, Buf *bytes, size_t start);
  /// Reports that all output of the open connection has left.
  void (*drained)(Conn *conn);
  InputEnd (*input_end)(Conn *conn);
  /// Stores the reason of the close, in words, for the connection's last message.
  /// NULL: that message contains no reason.
  void (*keep_reason)(Conn *conn, const char *text);
  /// Writes the last message of a closing connection. Returns whether a part of it must
  /// still leave; in that case it is called again.
  bool (*finish)(Conn *conn);
  /// Reports that the connection closes. This is the last call with a valid id.
  void (*leave)(Conn *conn);
  void (*free)(Conn *conn);
};
