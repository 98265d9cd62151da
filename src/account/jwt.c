// See jwt.h.
#include "account/jwt.h"

#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

#include "account/encoded.h"
#include "base/text.h"
#include "wire/json.h"

enum { P256_SIZE = 32, SHA256_SIZE = 32 };

// The parts of a token. `input` is the signed text.
typedef struct Jwt {
  Text input;
  Buf header, payload, signature;
} Jwt;

static Text text_of(const Buf *buf) {
  return (Text){(const char *)buf->data, (uint32_t)buf->size};
}

// --- Signatures ---

// Converts the two numbers of an ES256 signature to the form that OpenSSL reads.
static bool to_der(const Buf *signature, Buf *der) {
  if (signature->size != (size_t)2 * P256_SIZE) return false;
  ECDSA_SIG *pair = ECDSA_SIG_new();
  BIGNUM *r = BN_bin2bn(signature->data, P256_SIZE, NULL);
  BIGNUM *s = BN_bin2bn(signature->data + P256_SIZE, P256_SIZE, NULL);
  ECDSA_SIG_set0(pair, r, s);
  uint8_t *bytes = NULL;
  int size = i2d_ECDSA_SIG(pair, &bytes);
  if (size > 0) buf_append(der, bytes, (size_t)size);
  OPENSSL_free(bytes);
  ECDSA_SIG_free(pair);
  return size > 0;
}

static bool verify(const Key *key, Text input, const Buf *signature) {
  const EVP_MD *digest = key->type == KEY_ED25519 ? NULL : EVP_sha256();
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  bool is_good = EVP_DigestVerifyInit(context, NULL, digest, NULL, key->key) == 1 &&
                 EVP_DigestVerify(context, signature->data, signature->size,
                                  (const uint8_t *)input.bytes, input.size) == 1;
  EVP_MD_CTX_free(context);
  ERR_clear_error();
  return is_good;
}

static bool verify_secret(const Key *key, Text input, const Buf *signature) {
  uint8_t expected[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  HMAC(EVP_sha256(), key->secret, (int)key->secret_size, (const uint8_t *)input.bytes,
       input.size, expected, &size);
  return size == SHA256_SIZE && signature->size == size &&
         CRYPTO_memcmp(expected, signature->data, size) == 0;
}

static bool is_signed_by(const Key *key, const Jwt *jwt) {
  if (key->type == KEY_SECRET) return verify_secret(key, jwt->input, &jwt->signature);
  if (key->type != KEY_P256) return verify(key, jwt->input, &jwt->signature);
  Buf der = {0};
  bool is_good = to_der(&jwt->signature, &der) && verify(key, jwt->input, &der);
  buf_deinit(&der);
  return is_good;
}

// Returns whether the key may have signed a token with this `kid`. A key with an id
// signs only tokens that name the key.
static bool may_sign(const Key *key, KeyType type, const Buf *id) {
  if (key->type != type) return false;
  return key->id == NULL ||
         (id->size > 0 && text_equals(text_of(id), text_from(key->id)));
}

static const char *check_signature(const JwtPolicy *policy, const Jwt *jwt) {
  Text header = text_of(&jwt->header), value;
  if (!encoded_is_object(header)) return "has a malformed header";
  if (encoded_find(header, "crit", &value)) return "needs an extension (`crit`)";
  if (encoded_find(header, "b64", &value)) return "needs an extension (`b64`)";
  Buf algorithm = {0}, id = {0};
  const char *why = "has an algorithm other than EdDSA, ES256, RS256 and HS256";
  KeyType type = encoded_text(header, "alg", &algorithm)
                     ? key_type_of(text_of(&algorithm))
                     : KEY_NONE;
  bool has_id = encoded_find(header, "kid", &value);
  if (has_id && !json_read_text(value, &id)) {
    why = "has a malformed `kid`";
  } else if (type != KEY_NONE) {
    why = "is not signed by a key of jwt_keys";
    for (uint32_t i = 0; why && i < policy->keys->count; i++)
      if (may_sign(&policy->keys->items[i], type, &id) &&
          is_signed_by(&policy->keys->items[i], jwt))
        why = NULL;
  }
  buf_deinit(&algorithm);
  buf_deinit(&id);
  return why;
}

// --- Claims ---

static bool is_text(Text value, const char *wanted) {
  Buf text = {0};
  bool is_same =
      json_read_text(value, &text) && text_equals(text_of(&text), text_from(wanted));
  buf_deinit(&text);
  return is_same;
}

static bool is_for(Text payload, const char *audience) {
  Text value, item;
  if (!encoded_find(payload, "aud", &value)) return false;
  if (value.bytes[0] != '[') return is_text(value, audience);
  for (uint32_t at = 0; json_next(value, &at, NULL, &item);)
    if (is_text(item, audience)) return true;
  return false;
}

// Reads a time; returns false if the member is not a number in the range of dates.
// Leaves `*time` unchanged if the member is missing.
static bool read_time(Text payload, const char *name, double *time) {
  enum { DIGITS_MAX = 30 };
  static const double LAST = 253402300799;  // the end of the year 9999
  Text value;
  char digits[DIGITS_MAX + 1] = "";
  if (!encoded_find(payload, name, &value)) return true;
  bool is_number =
      value.bytes[0] == '-' || (value.bytes[0] >= '0' && value.bytes[0] <= '9');
  if (!is_number || value.size > DIGITS_MAX) return false;
  memcpy(digits, value.bytes, value.size);
  *time = strtod(digits, NULL);
  return *time >= 0 && *time <= LAST;
}

static const char *check_times(Text payload, double now_s, JwtClaims *claims) {
  double expires = -1, begins = 0, issued = 0;
  if (!read_time(payload, "exp", &expires) || !read_time(payload, "nbf", &begins) ||
      !read_time(payload, "iat", &issued))
    return "has a malformed time";
  if (expires < 0) return "has no `exp`";
  if (now_s >= expires + JWT_LEEWAY_S) return "has expired";
  if (begins > now_s + JWT_LEEWAY_S || issued > now_s + JWT_LEEWAY_S)
    return "is not valid yet";
  claims->expires_s = (uint64_t)expires;
  return NULL;
}

static bool is_short_text(const Buf *text) {
  return text->size > 0 && text->size <= JWT_SUBJECT_MAX &&
         text_is_utf8((const char *)text->data, text->size) &&
         memchr(text->data, '\0', text->size) == NULL;
}

static const char *check_claims(const JwtPolicy *policy, Text payload, uint64_t now_s,
                                JwtClaims *claims) {
  Text value;
  if (!encoded_is_object(payload)) return "has a malformed payload";
  if (!encoded_find(payload, "iss", &value) || !is_text(value, policy->issuer))
    return "is not from jwt_issuer";
  if (!is_for(payload, policy->audience)) return "is not for jwt_audience";
  const char *why = check_times(payload, (double)now_s, claims);
  if (why) return why;
  if (!encoded_text(payload, "sub", &claims->subject) ||
      !is_short_text(&claims->subject))
    return "has no `sub` of 1 to 255 bytes";
  if (!encoded_find(payload, "jti", &value)) return NULL;
  return json_read_text(value, &claims->id) && is_short_text(&claims->id)
             ? NULL
             : "has a malformed `jti`";
}

// --- A token ---

// Splits a token at its two dots.
static bool split(Text token, Jwt *jwt) {
  const char *end = token.bytes + token.size;
  const char *first = memchr(token.bytes, '.', token.size);
  const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;
  if (!second || memchr(second + 1, '.', (size_t)(end - second - 1))) return false;
  jwt->input = (Text){token.bytes, (uint32_t)(second - token.bytes)};
  return encoded_read((Text){token.bytes, (uint32_t)(first - token.bytes)},
                      &jwt->header) &&
         encoded_read((Text){first + 1, (uint32_t)(second - first - 1)},
                      &jwt->payload) &&
         encoded_read((Text){second + 1, (uint32_t)(end - second - 1)},
                      &jwt->signature);
}

const char *jwt_check(const JwtPolicy *policy, Text token, uint64_t now_s,
                      JwtClaims *claims) {
  *claims = (JwtClaims){0};
  if (token.size > JWT_SIZE_MAX) return "has more than 8 KiB";
  if (token.size == 0) return "is empty";
  Jwt jwt = {0};
  const char *why = split(token, &jwt) ? NULL : "is not three parts in base64url";
  if (!why) why = check_signature(policy, &jwt);
  if (!why) why = check_claims(policy, text_of(&jwt.payload), now_s, claims);
  buf_deinit(&jwt.header);
  buf_deinit(&jwt.payload);
  buf_deinit(&jwt.signature);
  return why;
}

void jwt_claims_deinit(JwtClaims *claims) {
  buf_deinit(&claims->subject);
  buf_deinit(&claims->id);
}
