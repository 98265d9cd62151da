// The public keys of issuers of JWTs, from a file: PEM (one or several public keys) or
// a JSON Web Key Set (RFC 7517). A key has one type, and each algorithm accepts keys of
// one type only, so that no public key can be used as a secret.
#pragma once

#include <openssl/evp.h>

#include "wire/reader.h"

enum {
  KEYS_MAX = 64,             // limit of the keys in a file
  KEYS_FILE_MAX = 256 << 10  // limit of the bytes of a file
};

/// The algorithms that are allowed (RFC 7518, RFC 8037).
typedef enum KeyType {
  KEY_NONE,
  KEY_ED25519,  // "EdDSA"
  KEY_P256,     // "ES256"
  KEY_RSA,      // "RS256"
  KEY_SECRET,   // "HS256"
} KeyType;

typedef struct Key {
  KeyType type;
  char *id;       // `kid`; NULL: none
  EVP_PKEY *key;  // NULL for a secret
  uint8_t *secret;
  uint32_t secret_size;
} Key;

typedef struct Keys {
  uint32_t count;
  Key items[KEYS_MAX];
} Keys;

/// Reads a file's text. Returns NULL if any key in it cannot be used, and sets `why` to
/// the reason, the second half of a sentence.
Keys *keys_read(Text text, const char **why);
void keys_free(Keys *keys);

/// Returns the type of key that a JWT with this `alg` needs; KEY_NONE if the algorithm
/// is not allowed.
KeyType key_type_of(Text algorithm);
