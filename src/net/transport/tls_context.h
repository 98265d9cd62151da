// The contexts of a server's TLS connections: certificate and key, versions, ciphers,
// and ticket keys. They use OpenSSL, but no sockets and no loop.
#pragma once

#include <openssl/ssl.h>
#include <pthread.h>

#include "base/buf.h"
#include "net/tls.h"

enum {
  TLS_TICKET_ROTATE_MS = 6 * 3600 * 1000,  // age at which a new key replaces a key; at
                                           // twice this age, a key becomes invalid
  TLS_DIGEST_SIZE = 32,
};

/// One key of session tickets.
typedef struct TlsTicketKey {
  uint8_t name[16];
  uint8_t cipher[32], mac[32];
  uint64_t made_ms;
} TlsTicketKey;

/// Keys of the tickets in which clients keep their sessions. Threads share the keys, so
/// that a session can continue on another thread.
typedef struct TlsTickets {
  pthread_mutex_t lock;
  TlsTicketKey keys[2];  // keys, the newest first
  uint32_t count;
  _Atomic uint64_t now_ms;  // current time, monotonic; set by the callers
} TlsTickets;

/// The content of PEM files.
typedef struct TlsFiles {
  const char *cert_path, *key_path;
  Buf cert, key;
} TlsFiles;

/// Reads both files. If one is unreadable, stores the reason in `problem` and returns
/// false.
bool tls_files_read(TlsFiles *files, TlsProblem *problem);

/// Frees the content, and wipes the key.
void tls_files_deinit(TlsFiles *files);

/// Writes a hash of both contents.
void tls_files_digest(const TlsFiles *files, uint8_t digest[TLS_DIGEST_SIZE]);

/// Makes a context from the files; `tickets` must outlive it. Logs a warning if the
/// certificate is not valid now or expires soon. If the files are unusable, stores the
/// reason in `problem` and returns NULL.
SSL_CTX *tls_context_new(const TlsFiles *files, TlsTickets *tickets,
                         TlsProblem *problem);

/// Makes a context with a new self-signed certificate. Returns NULL on failure.
SSL_CTX *tls_context_dev(TlsTickets *tickets, char fingerprint[TLS_FINGERPRINT_SIZE]);

void tls_tickets_init(TlsTickets *tickets);

/// Deletes all keys, so that older tickets lead to a full handshake.
void tls_tickets_clear(TlsTickets *tickets);

/// Returns the static text of OpenSSL's first error; clears its list of errors.
const char *tls_take_error(void);
