// The internal header of TLS.
#pragma once

#include "net/conn.h"
#include "net/transport/tls_calls.h"
#include "net/transport/tls_context.h"

enum {
  RECORD_BYTES = 16 << 10,  // largest size of one record
};

struct TlsServer {
  NetPart part;
  SSL_CTX *context;  // context for new connections; NULL: no TLS
  BIO_METHOD *method;
  TlsTickets *tickets;  // own_tickets, or tickets of the Net behind `home`
  TlsTickets own_tickets;
  TlsStats stats;
  uint8_t digest[TLS_DIGEST_SIZE];  // digest of the files in use
  bool has_files;
  Buf out;  // OpenSSL's output, until the transport below takes it
  uint8_t received[RECORD_BYTES];  // decrypted bytes
  uint8_t gathered[RECORD_BYTES];  // bytes to encrypt
};

// tls_server.c
/// Returns the TLS state of a net; creates it on the first call.
TlsServer *tls_server_of(Net *net);
