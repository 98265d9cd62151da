// See keys.h.
#include "account/keys.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <string.h>

#include "account/encoded.h"
#include "base/buf.h"
#include "base/mem.h"
#include "wire/json.h"

enum { P256_SIZE = 32, ED25519_SIZE = 32, RSA_BITS_MIN = 2048, SECRET_MIN = 32 };

KeyType key_type_of(Text algorithm) {
  static const struct {
    const char *name;
    KeyType type;
  } ALLOWED[] = {{"EdDSA", KEY_ED25519},
                 {"ES256", KEY_P256},
                 {"RS256", KEY_RSA},
                 {"HS256", KEY_SECRET}};
  for (size_t i = 0; i < sizeof ALLOWED / sizeof *ALLOWED; i++)
    if (text_equals(algorithm, text_from(ALLOWED[i].name))) return ALLOWED[i].type;
  return KEY_NONE;
}

void keys_free(Keys *keys) {
  if (!keys) return;
  for (uint32_t i = 0; i < keys->count; i++) {
    EVP_PKEY_free(keys->items[i].key);
    if (keys->items[i].secret)
      OPENSSL_cleanse(keys->items[i].secret, keys->items[i].secret_size);
    mem_free(keys->items[i].secret);
    mem_free(keys->items[i].id);
  }
  mem_free(keys);
}

// Returns the type of a public key; KEY_NONE if the type is not allowed or the key is
// too short.
static KeyType type_of(EVP_PKEY *key) {
  char group[32] = "";
  if (EVP_PKEY_is_a(key, "ED25519")) return KEY_ED25519;
  if (EVP_PKEY_is_a(key, "RSA"))
    return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN ? KEY_RSA : KEY_NONE;
  if (EVP_PKEY_is_a(key, "EC") &&
      EVP_PKEY_get_group_name(key, group, sizeof group, NULL) == 1 &&
      strcmp(group, "prime256v1") == 0)
    return KEY_P256;
  return KEY_NONE;
}

// --- PEM ---

// Adds the key in one block of PEM. Returns false if the block is not a valid key.
static bool add_pem(Keys *keys, const char *name, const uint8_t *bytes, long size) {
  EVP_PKEY *key =
      strcmp(name, PEM_STRING_PUBLIC) == 0 ? d2i_PUBKEY(NULL, &bytes, size) : NULL;
  KeyType type = key ? type_of(key) : KEY_NONE;
  if (type == KEY_NONE) {
    EVP_PKEY_free(key);
    return false;
  }
  keys->items[keys->count++] = (Key){.type = type, .key = key};
  return true;
}

static const char *read_pem(Keys *keys, Text text) {
  const char *why = NULL;
  char *name, *header;
  uint8_t *bytes;
  long size;
  BIO *bio = BIO_new_mem_buf(text.bytes, (int)text.size);
  while (!why && PEM_read_bio(bio, &name, &header, &bytes, &size) == 1) {
    if (keys->count == KEYS_MAX)
      why = "has more than 64 keys";
    else if (!add_pem(keys, name, bytes, size))
      why =
          "has a block of PEM other than a public key for Ed25519, P-256 or RSA with "
          "2048 bits";
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(bytes);
  }
  BIO_free(bio);
  bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (why) return why;
  return is_end && keys->count > 0 ? NULL : "has no public key in PEM, or a broken one";
}

// --- JWKS ---

static EVP_PKEY *key_of(const char *type, OSSL_PARAM_BLD *builder) {
  EVP_PKEY *key = NULL;
  OSSL_PARAM *params = OSSL_PARAM_BLD_to_param(builder);
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (params && context && EVP_PKEY_fromdata_init(context) == 1)
    EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params);
  EVP_PKEY_CTX_free(context);
  OSSL_PARAM_free(params);
  return key;
}

// Appends the bytes of a member in base64url; returns false if the member is malformed,
// or has not `size` bytes (0: any number).
static bool read_bytes(Text jwk, const char *name, size_t size, Buf *bytes) {
  Buf text = {0};
  size_t before = bytes->size;
  bool is_good =
      encoded_text(jwk, name, &text) &&
      encoded_read((Text){(const char *)text.data, (uint32_t)text.size}, bytes) &&
      bytes->size > before && (size == 0 || bytes->size - before == size);
  buf_deinit(&text);
  return is_good;
}

// Makes a P-256 key; returns NULL if it is invalid. OpenSSL checks that the point is on
// the curve.
static EVP_PKEY *read_p256(Text jwk, Buf *bytes) {
  buf_u8(bytes, 4);  // marks an uncompressed point
  if (!read_bytes(jwk, "x", P256_SIZE, bytes) ||
      !read_bytes(jwk, "y", P256_SIZE, bytes))
    return NULL;
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0);
  OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, bytes->data,
                                   bytes->size);
  EVP_PKEY *key = key_of("EC", builder);
  OSSL_PARAM_BLD_free(builder);
  return key;
}

static EVP_PKEY *read_rsa(Text jwk, Buf *bytes) {
  enum { MODULUS_MAX = 1024 };
  if (!read_bytes(jwk, "n", 0, bytes)) return NULL;
  size_t size = bytes->size;
  if (size > MODULUS_MAX || !read_bytes(jwk, "e", 0, bytes) || bytes->size - size > 8)
    return NULL;
  BIGNUM *n = BN_bin2bn(bytes->data, (int)size, NULL);
  BIGNUM *e = BN_bin2bn(bytes->data + size, (int)(bytes->size - size), NULL);
  OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
  OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_N, n);
  OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_RSA_E, e);
  // An exponent of 1 would make every message its own signature.
  EVP_PKEY *key = BN_is_odd(e) && !BN_is_one(e) ? key_of("RSA", builder) : NULL;
  OSSL_PARAM_BLD_free(builder);
  BN_free(n);
  BN_free(e);
  return key;
}

static bool has(Text jwk, const char *name, const char *wanted) {
  Buf text = {0};
  bool is_same = encoded_text(jwk, name, &text) &&
                 text_equals((Text){(const char *)text.data, (uint32_t)text.size},
                             text_from(wanted));
  buf_deinit(&text);
  return is_same;
}

static void read_key(Key *key, Text jwk, Buf *bytes) {
  if (has(jwk, "kty", "oct")) {
    if (!read_bytes(jwk, "k", 0, bytes) || bytes->size < SECRET_MIN) return;
    key->type = KEY_SECRET;
    key->secret_size = (uint32_t)bytes->size;
    key->secret = mem_alloc(bytes->size);
    memcpy(key->secret, bytes->data, bytes->size);
    OPENSSL_cleanse(bytes->data, bytes->size);
    return;
  }
  if (has(jwk, "kty", "OKP") && has(jwk, "crv", "Ed25519")) {
    if (read_bytes(jwk, "x", ED25519_SIZE, bytes))
      key->key =
          EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes->data, bytes->size);
  } else if (has(jwk, "kty", "EC") && has(jwk, "crv", "P-256")) {
    key->key = read_p256(jwk, bytes);
  } else if (has(jwk, "kty", "RSA")) {
    key->key = read_rsa(jwk, bytes);
  }
  if (key->key) key->type = type_of(key->key);
}

static bool fits(KeyType type, Text jwk) {
  Text value;
  Buf text = {0};
  bool is_good = true;
  if (encoded_find(jwk, "alg", &value))
    is_good = json_read_text(value, &text) &&
              key_type_of((Text){(const char *)text.data, (uint32_t)text.size}) == type;
  buf_deinit(&text);
  return is_good;
}

// Skips keys of a set that are not for signatures, or are for other algorithms, because
// the sets of issuers often contain such keys.
static const char *read_jwk(Keys *keys, Text jwk) {
  Text value;
  if (!encoded_is_object(jwk)) return "has a key that is no object";
  if (encoded_find(jwk, "use", &value) && !has(jwk, "use", "sig")) return NULL;
  if (keys->count == KEYS_MAX) return "has more than 64 keys";
  Key key = {0};
  Buf bytes = {0}, id = {0};
  read_key(&key, jwk, &bytes);
  if (key.type != KEY_NONE && fits(key.type, jwk)) {
    if (encoded_text(jwk, "kid", &id)) {
      buf_u8(&id, 0);
      key.id = mem_strdup((const char *)id.data);
    }
    keys->items[keys->count++] = key;
  } else {
    EVP_PKEY_free(key.key);
    mem_free(key.secret);
  }
  buf_deinit(&bytes);
  buf_deinit(&id);
  return NULL;
}

static const char *read_jwks(Keys *keys, Text text) {
  Text list, jwk;
  if (!encoded_is_object(text)) return "is no JSON object";
  if (!encoded_find(text, "keys", &list) || list.bytes[0] != '[')
    return "has no list `keys`";
  const char *why = NULL;
  for (uint32_t at = 0; !why && json_next(list, &at, NULL, &jwk);)
    why = read_jwk(keys, jwk);
  if (!why && keys->count == 0)
    why = "has no key for EdDSA, ES256, RS256 (2048 bits) or HS256 (32 bytes)";
  return why;
}

Keys *keys_read(Text text, const char **why) {
  Keys *keys = mem_zalloc(sizeof *keys);
  Text start = json_trim(text);
  if (text.size > KEYS_FILE_MAX)
    *why = "has more than 256 KiB";
  else if (start.size > 0 && start.bytes[0] == '{')
    *why = read_jwks(keys, start);
  else
    *why = read_pem(keys, text);
  ERR_clear_error();
  if (!*why) return keys;
  keys_free(keys);
  return NULL;
}
