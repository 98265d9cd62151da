// The TLS of the load generator's clients: OpenSSL between memory and memory. The
// certificate is not looked at.
#pragma once

#include "wire.h"

typedef struct Secure Secure;

/// Makes the handshake on a socket that blocks. NULL when it fails.
Secure *secure_open(int fd);
void secure_close(Secure *secure);

/// Encrypts; the result is good until the next call, for any connection.
const Bytes *secure_encrypt(Secure *secure, const Bytes *plain);

/// Decrypts what has arrived into `out`, which has room for as many bytes and a
/// record. Returns how
/// many it became, or -1 for an end.
ssize_t secure_decrypt(Secure *secure, const uint8_t *bytes, size_t size, uint8_t *out);
