// The TLS of the load generator's clients: OpenSSL between two buffers. It does not
// check the certificate.
#pragma once

#include "wire.h"

typedef struct Secure Secure;

/// Handshakes on a blocking socket; returns NULL if that fails.
Secure *secure_open(int fd);
void secure_close(Secure *secure);

/// Encrypts bytes. The result is valid until the next call for any connection.
const Bytes *secure_encrypt(Secure *secure, const Bytes *plain);

/// Decrypts input into `out`, which needs as much space as the input and one record.
/// Returns the number of bytes, or -1 at the end.
ssize_t secure_decrypt(Secure *secure, const uint8_t *bytes, size_t size, uint8_t *out);
