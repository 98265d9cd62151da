// What the files of TLS share.
#pragma once

#include "net/conn.h"
#include "net/transport/tls_calls.h"
#include "net/transport/tls_context.h"

enum {
  RECORD_BYTES = 16 << 10,  // the most that one record holds
};

struct TlsServer {
  NetPart part;
  SSL_CTX *context;  // NULL: no TLS for new connections
  BIO_METHOD *method;
  TlsTickets *tickets;  // its own, or those of the net that shares them
  TlsTickets own_tickets;
  TlsStats stats;
  uint8_t digest[TLS_DIGEST_SIZE];  // of the files in use
  bool has_files;
  Buf out;                         // what OpenSSL wrote, until it is handed down
  uint8_t received[RECORD_BYTES];  // decrypted
  uint8_t gathered[RECORD_BYTES];  // to be encrypted
};

// tls_server.c
/// What the TLS connections of a net have in common, made when it is first asked for.
TlsServer *tls_server_of(Net *net);
