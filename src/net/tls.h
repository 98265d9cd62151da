// TLS 1.2 and 1.3: the certificate and counters. Clients with TLS and unencrypted
// clients use the same ports. If a connection begins with a TLS hello, TLS becomes a
// transport around the connection's transport (transport/tls.c). The layers above see
// no difference.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"
#include "wire/reader.h"

enum {
  TLS_PROBLEM_SIZE = 768,
  TLS_FINGERPRINT_SIZE = 96,  // "AB:CD:..." of SHA-256, with its NUL
};

/// One sentence, without full stop, that gives the error and its remedy.
typedef struct TlsProblem {
  char text[TLS_PROBLEM_SIZE];
} TlsProblem;

typedef struct TlsStats {
  uint64_t handshakes;  // completed handshakes
  uint64_t resumed;     // completed handshakes that resumed a session by a ticket
  uint64_t failed;      // handshakes that failed because of the other side
  uint64_t refused;     // hellos refused because the server had no certificate
} TlsStats;

/// Serves later connections with the certificate, its chain, and the key from these PEM
/// files. Does nothing if the files have not changed. On an error, stores it in
/// `problem`, keeps the previous certificate, and returns false.
bool net_tls_load(Net *net, const char *cert, const char *key, TlsProblem *problem);

/// Makes a self-signed certificate for localhost, 127.0.0.1 and ::1, in memory only;
/// serves TLS with it, and stores its fingerprint. Returns false if that fails.
bool net_tls_dev(Net *net, char fingerprint[TLS_FINGERPRINT_SIZE]);

/// Serves later connections without TLS.
void net_tls_off(Net *net);

/// Returns name and version of the TLS library; static.
const char *net_tls_library(void);

/// Returns whether the Net answers TLS hellos.
bool net_has_tls(const Net *net);

/// Returns whether the current certificate is valid for this name.
bool net_tls_has_name(const Net *net, Text name);

TlsStats net_tls_stats(const Net *net);
