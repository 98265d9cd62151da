// A Transport carries the bytes of one connection. It reports events to its user, which
// is the connection or the transport around this transport (TLS).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "net/net.h"

typedef struct Transport Transport;

enum { TLS_FIRST_BYTE = 0x16 };  // first byte of a client's TLS handshake

/// Functions of one kind of transport. They report nothing to the user before they
/// return. Errors are libuv's.
typedef struct TransportKind {
  TransportName name;
  bool is_encrypted;  // whether it is TLS
  /// Start and stop reporting bytes. Bytes that were read before the stop may still be
  /// reported.
  void (*read_start)(Transport *transport);
  void (*read_stop)(Transport *transport);
  /// Writes as much as possible at once. Returns the number of bytes, UV_EAGAIN for
  /// none, or the error that ended the connection.
  int (*try_write)(Transport *transport, const uv_buf_t *bufs, unsigned count);
  /// Writes all of `bytes`, which must stay valid until `written` is reported. Returns
  /// 0 or an error.
  int (*write)(Transport *transport, uint8_t *bytes, size_t size);
  /// Ends the stream to the other side. Returns false if that needs time; the user must
  /// call it again after the next `written`.
  bool (*shutdown)(Transport *transport);
  /// Ends the transport now. Only `closed` follows, once.
  void (*close)(Transport *transport);
} TransportKind;

/// Reports to the user of a transport.
typedef struct TransportUser {
  /// Reports that the TLS handshake is complete. Never called without TLS.
  void (*ready)(void *user);
  void (*read)(void *user, const uint8_t *bytes, size_t size);
  /// Reports that the read buffer was full. The rest of the input waits for the next
  /// read_start, so that a connection with much input does not delay the others.
  void (*used_share)(void *user);
  /// Reports that no more input follows. `status`: UV_EOF, UV_ECONNABORTED for an end
  /// without the notice that TLS requires, or the error that ended the connection. An
  /// error may follow an end.
  void (*read_end)(void *user, int status);
  /// Reports that the bytes of `write` or `shutdown` are written or, after an error,
  /// never will be.
  void (*written)(void *user, int status);
  /// Reports that no reference to the transport is left.
  void (*closed)(void *user);
} TransportUser;

struct Transport {
  const TransportKind *kind;
  const TransportUser *user;
  void *user_data;
};

static inline void transport_read_start(Transport *transport) {
  transport->kind->read_start(transport);
}

static inline void transport_read_stop(Transport *transport) {
  transport->kind->read_stop(transport);
}

static inline int transport_try_write(Transport *transport, const uv_buf_t *bufs,
                                      unsigned count) {
  return transport->kind->try_write(transport, bufs, count);
}

static inline int transport_write(Transport *transport, uint8_t *bytes, size_t size) {
  return transport->kind->write(transport, bytes, size);
}

static inline bool transport_shutdown(Transport *transport) {
  return transport->kind->shutdown(transport);
}

static inline void transport_close(Transport *transport) {
  transport->kind->close(transport);
}
