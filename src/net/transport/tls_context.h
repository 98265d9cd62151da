// The certificate and key, versions, ciphers, and ticket keys of a server's TLS connections. Uses
// OpenSSL alone; no sockets, no loop.
#pragma once

#include <openssl/ssl.h>
#include <pthread.h>

#include "base/buf.h"
#include "net/tls.h"

enum {
  TLS_TICKET_ROTATE_MS = 6 * 3600 * 1000,  // a new key after that; the old one for as
                                           // long again
  TLS_DIGEST_SIZE = 32,
};

/// One key of session tickets.
typedef struct TlsTicketKey {
  uint8_t name[16];
  uint8_t cipher[32], mac[32];
  uint64_t made_ms;
} TlsTicketKey;

/// The keys of tickets, in which clients keep their sessions. Threads share them, so that a session
/// goes on with another thread.
typedef struct TlsTickets {
  pthread_mutex_t lock;
  TlsTicketKey keys[2];  // the newest first
  uint32_t count;
  _Atomic uint64_t now_ms;  // the caller keeps this current
} TlsTickets;

/// The content of PEM files.
typedef struct TlsFiles {
  const char *cert_path, *key_path;
  Buf cert, key;
} TlsFiles;

/// Reads both files. Returns false, with the sentence, when it cannot read one.
bool tls_files_read(TlsFiles *files, TlsProblem *problem);

/// Frees the content, and wipes the key.
void tls_files_deinit(TlsFiles *files);

/// Writes a hash of both contents.
void tls_files_digest(const TlsFiles *files, uint8_t digest[TLS_DIGEST_SIZE]);

/// Makes a context of the files, which `tickets` has to outlive; warns of a certificate that is out
/// of date. Returns NULL, with the sentence, when the files are of no use.
SSL_CTX *tls_context_new(const TlsFiles *files, TlsTickets *tickets,
                         TlsProblem *problem);

/// Makes a context with a new self-signed certificate. Returns NULL when it cannot.
SSL_CTX *tls_context_dev(TlsTickets *tickets, char fingerprint[TLS_FINGERPRINT_SIZE]);

void tls_tickets_init(TlsTickets *tickets);

/// Forgets all keys, so that older tickets lead to a full handshake.
void tls_tickets_clear(TlsTickets *tickets);

/// Returns OpenSSL's first error, in its words, static; clears its list of errors.
const char *tls_take_error(void);
