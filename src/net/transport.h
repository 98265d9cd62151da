// How the bytes of one connection travel. A transport reports to its user: the connection, or
// the transport around it (TLS).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

typedef struct Transport Transport;

enum { TLS_FIRST_BYTE = 0x16 };  // of a TLS client, of a record of its handshake

/// What every kind of transport can do. Nothing is reported from within these calls. Errors
/// are libuv's.
typedef struct TransportKind {
  const char *name;   // "tcp" or "udp", for people; static
  bool is_encrypted;  // by TLS
  /// Starts and stops reporting what arrives. The rest of what has been read when reading
  /// stops may still be reported.
  void (*read_start)(Transport *transport);
  void (*read_stop)(Transport *transport);
  /// Writes what can be written at once. Returns the number of bytes, UV_EAGAIN for none, or
  /// the error that ended the connection.
  int (*try_write)(Transport *transport, const uv_buf_t *bufs, unsigned count);
  /// Writes all of `bytes`, which stay where they are until `written` is reported. Returns 0
  /// or an error.
  int (*write)(Transport *transport, uint8_t *bytes, size_t size);
  /// Tells the other side that nothing more comes. Returns false when that takes a while;
  /// `written` is reported then, and this is to be called again.
  bool (*shutdown)(Transport *transport);
  /// Ends it now. After this only `closed` is reported, once.
  void (*close)(Transport *transport);
} TransportKind;

/// What is reported to the user of a transport.
typedef struct TransportUser {
  /// TLS alone: the handshake is done.
  void (*ready)(void *user);
  void (*read)(void *user, const uint8_t *bytes, size_t size);
  /// The read buffer was full: the rest waits until reading is started again, so that one
  /// connection that floods does not make the others wait.
  void (*used_share)(void *user);
  /// Nothing more arrives: UV_EOF, UV_ECONNABORTED for an end that should have been announced
  /// and was not, or the error that ended the connection, even after an end.
  void (*read_end)(void *user, int status);
  /// What was handed to `write` is written, or (an error) never will be; or what `shutdown`
  /// had to write.
  void (*written)(void *user, int status);
  /// Nothing refers to the transport any more.
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
