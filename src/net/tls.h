// TLS 1.2 and 1.3 on the ports where the first bytes decide: the certificate, and counters.
// Unencrypted clients are served beside. A connection that begins with a TLS hello gets a
// transport around its own (transport/tls.c); the layers above see no difference.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"
#include "wire/reader.h"

enum {
  TLS_PROBLEM_SIZE = 768,
  TLS_FINGERPRINT_SIZE = 96,  // "AB:CD:...", of SHA-256, and its NUL
};

/// One sentence, without full stop, with the error and its remedy.
typedef struct TlsProblem {
  char text[TLS_PROBLEM_SIZE];
} TlsProblem;

typedef struct TlsStats {
  uint64_t handshakes;  // that were completed,
  uint64_t resumed;     // of these, by a ticket
  uint64_t failed;      // not completed for a fault of the other side
  uint64_t refused;     // hellos while there was no certificate
} TlsStats;

/// Serves TLS with the certificate (its chain behind it) and the key in these PEM files, for
/// later connections. Files whose content is in use change nothing. Returns false, with
/// the sentence, for a fault; the certificate in use stays.
bool net_tls_load(Net *net, const char *cert, const char *key, TlsProblem *problem);

/// Makes a self-signed certificate for localhost, 127.0.0.1 and ::1, which no file keeps, serves
/// TLS with it, and stores its fingerprint. Returns false when it cannot be made.
bool net_tls_dev(Net *net, char fingerprint[TLS_FINGERPRINT_SIZE]);

/// Serves later connections without TLS.
void net_tls_off(Net *net);

/// Returns name and version of the library; static.
const char *net_tls_library(void);

/// Returns whether a TLS hello is answered.
bool net_has_tls(const Net *net);

/// Returns whether the certificate in use is for this name.
bool net_tls_has_name(const Net *net, Text name);

TlsStats net_tls_stats(const Net *net);
