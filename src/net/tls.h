// TLS 1.2 and 1.3 on the ports where the first bytes decide: the certificate, and what
// became of the connections that asked for it. Plain clients are served beside.
//
// A connection that begins with a TLS hello gets a filter between its transport and
// everything else (tls.c): bytes from the socket become plain ones, and what is written
// leaves encrypted. The layers above see no difference.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"
#include "wire/reader.h"

enum {
  TLS_PROBLEM_SIZE = 768,
  TLS_FINGERPRINT_SIZE = 96,  // "AB:CD:...", of SHA-256, and its NUL
};

/// One sentence that says what is wrong and what to do; no full stop.
typedef struct TlsProblem {
  char text[TLS_PROBLEM_SIZE];
} TlsProblem;

typedef struct TlsStats {
  uint64_t handshakes;  // completed,
  uint64_t resumed;     // by a ticket: so many of them
  uint64_t failed;      // not completed for a fault of the other side
  uint64_t refused;     // hellos while there was no certificate
} TlsStats;

/// Serves TLS with the certificate (its chain behind it) and the key in these PEM files,
/// for connections that begin from now on. Files with the content that is in use change
/// nothing. False, with the sentence, for a fault; what was in use stays.
bool net_tls_load(Net *net, const char *cert, const char *key, TlsProblem *problem);

/// Serves TLS with a self-signed certificate for localhost, 127.0.0.1 and ::1 that is
/// made now and kept nowhere, and gives its fingerprint. False when it cannot be made.
bool net_tls_dev(Net *net, char fingerprint[TLS_FINGERPRINT_SIZE]);

/// No TLS for connections that begin from now on.
void net_tls_off(Net *net);

/// Name and version of the library. Static.
const char *net_tls_library(void);

/// Whether a TLS hello is answered.
bool net_has_tls(const Net *net);

/// Returns whether the certificate in use is for this name.
bool net_tls_has_name(const Net *net, Text name);

TlsStats net_tls_stats(const Net *net);
