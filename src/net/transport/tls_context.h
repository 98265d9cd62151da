// What the TLS connections of a server have in common: certificate and key, versions,
// ciphers, and the keys of the session tickets. OpenSSL only; no sockets, no loop.
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

/// Tickets are the client's memory of a session: the server keeps only the keys.
/// Threads share them, so that a session that began with one goes on with another.
typedef struct TlsTickets {
  pthread_mutex_t lock;
  TlsTicketKey keys[2];  // the newest first
  uint32_t count;
  _Atomic uint64_t now_ms;  // the caller keeps this current
} TlsTickets;

/// PEM files as they were read.
typedef struct TlsFiles {
  const char *cert_path, *key_path;
  Buf cert, key;
} TlsFiles;

/// Reads both files. False, with the sentence, when one cannot be read.
bool tls_files_read(TlsFiles *files, TlsProblem *problem);

/// Frees what was read, and leaves no trace of the key.
void tls_files_deinit(TlsFiles *files);

/// A hash of both contents, to see whether they have changed.
void tls_files_digest(const TlsFiles *files, uint8_t digest[TLS_DIGEST_SIZE]);

/// A context that serves with the content of the files. `tickets` outlives it. NULL,
/// with the sentence, when they do not serve. Warns of a certificate that is out of date.
SSL_CTX *tls_context_new(const TlsFiles *files, TlsTickets *tickets,
                         TlsProblem *problem);

/// A context with a certificate of its own making. NULL when it cannot be made.
SSL_CTX *tls_context_dev(TlsTickets *tickets, char fingerprint[TLS_FINGERPRINT_SIZE]);

void tls_tickets_init(TlsTickets *tickets);

/// Forgets all keys: tickets given out before lead to a full handshake.
void tls_tickets_clear(TlsTickets *tickets);

/// What OpenSSL complained of first, in its words; its list of errors is empty then.
/// Static.
const char *tls_take_error(void);
