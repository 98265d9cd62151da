// What the bytes of a connection mean. A Protocol has no state; what it keeps of a connection
// is in `conn->speech`.
//
// Any call of net may close the connection, and conn_speak frees the speech: after such a
// call a protocol looks at conn_speaks before it goes on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"

typedef struct Conn Conn;

/// What the end of the other side's stream means.
typedef enum InputEnd {
  INPUT_ENDS,   // in order
  INPUT_CUT,    // in the middle of something
  INPUT_STAYS,  // an answer is still due; the connection stays
} InputEnd;

/// All entries but `input` may be NULL: there is nothing to do, and nothing unfinished.
typedef struct Protocol Protocol;
struct Protocol {
  const char *name;  // that people see, or NULL: that of the transport
  /// The connection begins to speak it; what has arrived before is in conn->in.
  void (*open)(Conn *conn);
  /// TLS alone: the handshake is done.
  void (*ready)(Conn *conn);
  /// Bytes have arrived. What cannot be handed up now is kept.
  void (*input)(Conn *conn, const uint8_t *bytes, size_t size);
  /// The connection takes input again: goes on with what was kept.
  void (*resume)(Conn *conn);
  /// Whether something was begun that has to be whole in time.
  bool (*is_begun)(const Conn *conn);
  /// Bytes of what is not whole.
  size_t (*unfinished)(const Conn *conn);
  /// Frees these; the connection is about to end because of them.
  void (*drop_input)(Conn *conn);
  /// Writes messages, `bufs[1]` to `bufs[count]`, of `total` bytes, in its own form, at once;
  /// `bufs[0]` is free for a header. Returns `total` when a part of it was taken and the rest
  /// is kept, UV_EAGAIN when nothing was, or another error. NULL: they go as they are.
  int (*write)(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total);
  /// The same of messages from `start` to the end of `bytes`, which will be written; there may
  /// be none.
  void (*wrap)(Conn *conn, Buf *bytes, size_t start);
  /// All that was written is out, while the connection is open.
  void (*drained)(Conn *conn);
  InputEnd (*input_end)(Conn *conn);
  /// Writes the last words of a connection that closes. Returns whether they are still on
  /// their way.
  bool (*finish)(Conn *conn);
  /// The connection closes; it has its id for the last time.
  void (*leave)(Conn *conn);
  void (*free)(Conn *conn);
};
