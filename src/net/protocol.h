// A Protocol gives the bytes of a connection their meaning. It has no state of its own; its
// state of a connection is `conn->speech`.
//
// Any call of net may close the connection, and conn_speak frees the speech. After such a call a
// protocol asks conn_speaks before it goes on.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/buf.h"

typedef struct Conn Conn;

/// The meaning of the end of the other side's stream.
typedef enum InputEnd {
  INPUT_ENDS,   // in order
  INPUT_CUT,    // in the middle of something
  INPUT_STAYS,  // an answer is still due, so the connection stays
} InputEnd;

/// Entries but `input` may be NULL, where there is nothing to do and nothing is unfinished.
typedef struct Protocol Protocol;
struct Protocol {
  const char *name;  // for people; NULL: that of the transport
  /// The connection begins to speak this protocol; conn->in has what arrived before.
  void (*open)(Conn *conn);
  /// TLS alone: the handshake is done.
  void (*ready)(Conn *conn);
  /// Takes bytes that have arrived; keeps those that it cannot hand up now.
  void (*input)(Conn *conn, const uint8_t *bytes, size_t size);
  /// Goes on with kept bytes, as the connection takes input again.
  void (*resume)(Conn *conn);
  /// Returns whether something was begun that has to be whole in time.
  bool (*is_begun)(const Conn *conn);
  /// Returns the unfinished bytes.
  size_t (*unfinished)(const Conn *conn);
  /// Frees these; the connection ends because of them.
  void (*drop_input)(Conn *conn);
  /// Writes messages, `bufs[1]` to `bufs[count]`, of `total` bytes, in its own form;
  /// `bufs[0]` is free for a header. Returns `total` when the transport took a part and the
  /// backlog keeps the rest, UV_EAGAIN when it took nothing, or another error. NULL: the
  /// messages go as they are.
  int (*write)(Conn *conn, uv_buf_t *bufs, unsigned count, size_t total);
  /// Brings the messages from `start` to the end of `bytes`, if any, into its own form.
  void (*wrap)(Conn *conn, Buf *bytes, size_t start);
  /// All output of the open connection is out.
  void (*drained)(Conn *conn);
  InputEnd (*input_end)(Conn *conn);
  /// Writes the last words of a closing connection. Returns whether some are still on their
  /// way; it is called again then.
  bool (*finish)(Conn *conn);
  /// The connection closes; its id is valid for the last time.
  void (*leave)(Conn *conn);
  void (*free)(Conn *conn);
};
