// A JWT is good if a key of the right type has signed it for this server and this time.
// Each attack has a row or a test; none gets in.
#include "account/jwt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <sodium.h>
#include <string.h>

#include "base/mem.h"

enum { NOW = 1700000000, TEXT_SIZE = 16384 };

#define GOOD "\"iss\":\"https://id\",\"aud\":\"game\",\"sub\":\"ada\""
#define GOOD_TIME ",\"exp\":1700000100"

// One key of each type, its PEM, and the set of all keys.
typedef struct World {
  EVP_PKEY *ed, *ec, *rsa;
  char ed_pem[1024], ec_pem[1024], rsa_pem[1024], all_pem[4096];
  char jwks[TEXT_SIZE];
  Keys *keys;
} World;

static const char SECRET[] = "0123456789abcdef0123456789abcdef";

static void put64(char *to, size_t space, const void *bytes, size_t size) {
  sodium_bin2base64(to, space, bytes, size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

static void write_pem(EVP_PKEY *key, char *text, size_t space) {
  BIO *bio = BIO_new(BIO_s_mem());
  char *bytes;
  PEM_write_bio_PUBKEY(bio, key);
  long size = BIO_get_mem_data(bio, &bytes);
  assert_true((size_t)size < space);
  memcpy(text, bytes, (size_t)size);
  text[size] = '\0';
  BIO_free(bio);
}

static void put_number(EVP_PKEY *key, const char *name, size_t size, char *text,
                       size_t space) {
  BIGNUM *number = NULL;
  uint8_t bytes[512];
  assert_int_equal(EVP_PKEY_get_bn_param(key, name, &number), 1);
  if (size == 0) size = (size_t)BN_num_bytes(number);
  BN_bn2binpad(number, bytes, (int)size);
  put64(text, space, bytes, size);
  BN_free(number);
}

static void make_jwks(World *world) {
  char x[64], y[64], n[512], e[16], point[64], secret[64];
  uint8_t raw[32];
  size_t size = sizeof raw;
  EVP_PKEY_get_raw_public_key(world->ed, raw, &size);
  put64(x, sizeof x, raw, size);
  put_number(world->ec, OSSL_PKEY_PARAM_EC_PUB_X, 32, point, sizeof point);
  put_number(world->ec, OSSL_PKEY_PARAM_EC_PUB_Y, 32, y, sizeof y);
  put_number(world->rsa, OSSL_PKEY_PARAM_RSA_N, 0, n, sizeof n);
  put_number(world->rsa, OSSL_PKEY_PARAM_RSA_E, 0, e, sizeof e);
  put64(secret, sizeof secret, SECRET, strlen(SECRET));
  snprintf(
      world->jwks, sizeof world->jwks,
      "{\"keys\":["
      "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"ed\",\"alg\":\"EdDSA\",\"x\":\"%"
      "s\"},"
      "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"ec\",\"use\":\"sig\",\"x\":\"%s\","
      "\"y\":\"%s\"},"
      "{\"kty\":\"RSA\",\"kid\":\"rsa\",\"n\":\"%s\",\"e\":\"%s\"},"
      "{\"kty\":\"RSA\",\"kid\":\"enc\",\"use\":\"enc\",\"n\":\"%s\",\"e\":\"%s\"},"
      "{\"kty\":\"oct\",\"kid\":\"hs\",\"k\":\"%s\"}]}",
      x, point, y, n, e, n, e, secret);
}

static int setup(void **state) {
  static World world;
  const char *why;
  world.ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  world.ec = EVP_EC_gen("P-256");
  world.rsa = EVP_RSA_gen(2048);
  write_pem(world.ed, world.ed_pem, sizeof world.ed_pem);
  write_pem(world.ec, world.ec_pem, sizeof world.ec_pem);
  write_pem(world.rsa, world.rsa_pem, sizeof world.rsa_pem);
  snprintf(world.all_pem, sizeof world.all_pem, "%s%s%s", world.ed_pem, world.ec_pem,
           world.rsa_pem);
  make_jwks(&world);
  world.keys = keys_read(text_from(world.jwks), &why);
  *state = &world;
  return world.keys ? 0 : -1;
}

static int teardown(void **state) {
  World *world = *state;
  keys_free(world->keys);
  EVP_PKEY_free(world->ed);
  EVP_PKEY_free(world->ec);
  EVP_PKEY_free(world->rsa);
  return mem_live() == 0 ? 0 : -1;
}

// --- Signing ---

static size_t sign_with(EVP_PKEY *key, const char *input, uint8_t *bytes,
                        size_t space) {
  size_t size = space;
  EVP_MD_CTX *context = EVP_MD_CTX_new();
  const EVP_MD *digest = EVP_PKEY_is_a(key, "ED25519") ? NULL : EVP_sha256();
  EVP_DigestSignInit(context, NULL, digest, NULL, key);
  assert_int_equal(
      EVP_DigestSign(context, bytes, &size, (const uint8_t *)input, strlen(input)), 1);
  EVP_MD_CTX_free(context);
  if (!EVP_PKEY_is_a(key, "EC")) return size;
  const uint8_t *at = bytes;
  ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)size);
  BN_bn2binpad(ECDSA_SIG_get0_r(pair), bytes, 32);
  uint8_t s[32];
  BN_bn2binpad(ECDSA_SIG_get0_s(pair), s, 32);
  memcpy(bytes + 32, s, 32);
  ECDSA_SIG_free(pair);
  return 64;
}

// Makes a token that `key` signs. If `key` is NULL, HMAC with `secret` signs it. If
// both are NULL, the signature is empty.
static const char *make(EVP_PKEY *key, const char *secret, const char *header,
                        const char *payload) {
  static char token[TEXT_SIZE];
  char part[TEXT_SIZE];
  uint8_t signature[1024];
  size_t size = 0;
  put64(token, sizeof token, header, strlen(header));
  strcat(token, ".");
  put64(part, sizeof part, payload, strlen(payload));
  strcat(token, part);
  if (key) {
    size = sign_with(key, token, signature, sizeof signature);
  } else if (secret) {
    unsigned hmac = 0;
    HMAC(EVP_sha256(), secret, (int)strlen(secret), (const uint8_t *)token,
         strlen(token), signature, &hmac);
    size = hmac;
  }
  strcat(token, ".");
  put64(part, sizeof part, signature, size);
  strcat(token, part);
  return token;
}

static const char *check_with(const Keys *keys, Text token) {
  JwtPolicy policy = {"https://id", "game", keys};
  JwtClaims claims;
  const char *why = jwt_check(&policy, token, NOW, &claims);
  if (!why) {
    assert_memory_equal(claims.subject.data, "ada", 3);
    assert_int_equal(claims.subject.size, 3);
  }
  jwt_claims_deinit(&claims);
  return why;
}

static const char *check(const World *world, const char *token) {
  return check_with(world->keys, text_from(token));
}

static void assert_refused(const char *why, const char *expected) {
  assert_non_null(why);
  if (!strstr(why, expected)) fail_msg("%s: expected %s", why, expected);
}

// --- Tests ---

static void test_each_algorithm_works(void **state) {
  const World *world = *state;
  const char *payload = "{" GOOD GOOD_TIME "}";
  assert_null(check(
      world, make(world->ed, NULL, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}", payload)));
  assert_null(check(
      world, make(world->ec, NULL, "{\"alg\":\"ES256\",\"kid\":\"ec\"}", payload)));
  assert_null(check(
      world, make(world->rsa, NULL, "{\"alg\":\"RS256\",\"kid\":\"rsa\"}", payload)));
  assert_null(
      check(world, make(NULL, SECRET, "{\"alg\":\"HS256\",\"kid\":\"hs\"}", payload)));
  const char *why;
  Keys *keys = keys_read(text_from(world->all_pem), &why);  // without ids
  assert_non_null(keys);
  assert_null(check_with(
      keys,
      text_from(make(world->rsa, NULL, "{\"alg\":\"RS256\",\"kid\":\"x\"}", payload))));
  assert_null(check_with(
      keys, text_from(make(world->ec, NULL, "{\"alg\":\"ES256\"}", payload))));
  keys_free(keys);
}

static void test_confused_algorithms_and_keys_are_refused(void **state) {
  const World *world = *state;
  const char *payload = "{" GOOD GOOD_TIME "}";
  const char *none[] = {"{\"alg\":\"none\"}",
                        "{\"alg\":\"None\"}",
                        "{\"alg\":\"\"}",
                        "{}",
                        "{\"alg\":null}",
                        "{\"alg\":[\"EdDSA\"]}",
                        "{\"alg\":\"HS512\"}",
                        "{\"alg\":\"ES256K\"}",
                        "{\"alg\":\"PS256\"}",
                        "{\"alg\":\"eddsa\"}",
                        "{\"alg\":\"EdDSA\\u0000\"}"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    assert_refused(check(world, make(NULL, NULL, none[i], payload)),
                   "has an algorithm");
    assert_refused(check(world, make(world->ed, NULL, none[i], payload)),
                   "has an algorithm");
  }
  // A public key as a secret, as PEM, and without its last newline.
  const char *why;
  Keys *pem = keys_read(text_from(world->rsa_pem), &why);
  char cut[1024];
  snprintf(cut, sizeof cut, "%.*s", (int)strlen(world->rsa_pem) - 1, world->rsa_pem);
  const char *secrets[] = {world->rsa_pem, cut, ""};
  for (size_t i = 0; i < 3; i++) {
    const char *token = make(NULL, secrets[i], "{\"alg\":\"HS256\"}", payload);
    assert_refused(check_with(pem, text_from(token)), "is not signed");
    assert_refused(check(world, token), "is not signed");
  }
  keys_free(pem);
  // A key of another type than the algorithm, and a key of another id.
  const struct {
    EVP_PKEY *key;
    const char *header;
  } rows[] = {
      {world->rsa, "{\"alg\":\"EdDSA\",\"kid\":\"rsa\"}"},
      {world->ec, "{\"alg\":\"RS256\",\"kid\":\"ec\"}"},
      {world->ed, "{\"alg\":\"ES256\",\"kid\":\"ed\"}"},
      {world->ed, "{\"alg\":\"EdDSA\",\"kid\":\"ec\"}"},
      {world->ed, "{\"alg\":\"EdDSA\"}"},
      {world->ed, "{\"alg\":\"EdDSA\",\"kid\":\"\"}"},
      {world->rsa, "{\"alg\":\"RS256\",\"kid\":\"enc\"}"},
      {world->ed, "{\"alg\":\"EdDSA\",\"kid\":\"../../dev/null\"}"},
      {world->rsa, "{\"alg\":\"HS256\",\"kid\":\"hs\"}"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_refused(check(world, make(rows[i].key, NULL, rows[i].header, payload)),
                   "is not signed");
  // A key that the token itself brings along.
  EVP_PKEY *own = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
  assert_refused(
      check(world,
            make(own, NULL,
                 "{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\"},\"jku\":\"http://x\"}",
                 payload)),
      "is not signed");
  EVP_PKEY_free(own);
}

static void test_headers_that_are_refused(void **state) {
  const World *world = *state;
  const char *payload = "{" GOOD GOOD_TIME "}";
  const struct {
    const char *header, *why;
  } rows[] = {
      {"{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"crit\":[\"b64\"],\"b64\":false}", "crit"},
      {"{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"crit\":[]}", "crit"},
      {"{\"alg\":\"EdDSA\",\"kid\":\"ed\",\"b64\":false}", "b64"},
      {"{\"alg\":\"none\",\"alg\":\"EdDSA\",\"kid\":\"ed\"}", "malformed header"},
      {"{\"alg\":\"EdDSA\",\"\\u0061lg\":\"none\",\"kid\":\"ed\"}", "malformed header"},
      {"{\"alg\":\"EdDSA\",\"kid\":7}", "malformed `kid`"},
      {"[\"EdDSA\"]", "malformed header"},
      {"", "malformed header"},
      {"{\"alg\":\"EdDSA\",\"kid\":\"ed\"} x", "malformed header"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_refused(check(world, make(world->ed, NULL, rows[i].header, payload)),
                   rows[i].why);
}

static void test_claims_that_are_refused(void **state) {
  const World *world = *state;
  const struct {
    const char *payload, *why;
  } rows[] = {
      {"{" GOOD ",\"exp\":1699999940}", "has expired"},
      {"{" GOOD ",\"exp\":0}", "has expired"},
      {"{" GOOD "}", "no `exp`"},
      {"{" GOOD ",\"exp\":\"1700000100\"}", "malformed time"},
      {"{" GOOD ",\"exp\":1e99}", "malformed time"},
      {"{" GOOD ",\"exp\":-1}", "malformed time"},
      {"{" GOOD ",\"exp\":170000010000000000000000000000000000000000}",
       "malformed time"},
      {"{" GOOD ",\"exp\":null}", "malformed time"},
      {"{" GOOD GOOD_TIME ",\"nbf\":1700000061}", "not valid yet"},
      {"{" GOOD GOOD_TIME ",\"iat\":1700000061}", "not valid yet"},
      {"{\"aud\":\"game\",\"sub\":\"ada\"" GOOD_TIME "}", "jwt_issuer"},
      {"{\"iss\":\"https://id/\",\"aud\":\"game\",\"sub\":\"ada\"" GOOD_TIME "}",
       "jwt_issuer"},
      {"{\"iss\":[\"https://id\"],\"aud\":\"game\",\"sub\":\"ada\"" GOOD_TIME "}",
       "jwt_issuer"},
      {"{\"iss\":\"https://id\",\"sub\":\"ada\"" GOOD_TIME "}", "jwt_audience"},
      {"{\"iss\":\"https://id\",\"aud\":\"games\",\"sub\":\"ada\"" GOOD_TIME "}",
       "jwt_audience"},
      {"{\"iss\":\"https://id\",\"aud\":[],\"sub\":\"ada\"" GOOD_TIME "}",
       "jwt_audience"},
      {"{\"iss\":\"https://id\",\"aud\":{\"game\":1},\"sub\":\"ada\"" GOOD_TIME "}",
       "jwt_audience"},
      {"{\"iss\":\"https://id\",\"aud\":\"game\"" GOOD_TIME "}", "no `sub`"},
      {"{\"iss\":\"https://id\",\"aud\":\"game\",\"sub\":\"\"" GOOD_TIME "}",
       "no `sub`"},
      {"{\"iss\":\"https://id\",\"aud\":\"game\",\"sub\":5" GOOD_TIME "}", "no `sub`"},
      {"{\"iss\":\"https://id\",\"aud\":\"game\",\"sub\":\"a\\u0000\"" GOOD_TIME "}",
       "no `sub`"},
      {"{" GOOD GOOD_TIME ",\"sub\":\"bob\"}", "malformed payload"},
      {"{" GOOD GOOD_TIME ",\"jti\":5}", "malformed `jti`"},
      {"null", "malformed payload"},
      {"{" GOOD GOOD_TIME, "malformed payload"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    assert_refused(
        check(world, make(world->ed, NULL, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}",
                          rows[i].payload)),
        rows[i].why);
  const char *good[] = {
      "{" GOOD ",\"exp\":1699999941}",
      "{" GOOD ",\"exp\":1700000100.5,\"nbf\":1700000060,\"jti\":\"x\"}",
      "{\"iss\":\"https://id\",\"aud\":[\"other\",\"game\"],\"sub\":\"ada\"" GOOD_TIME
      "}"};
  for (size_t i = 0; i < 3; i++)
    assert_null(check(
        world, make(world->ed, NULL, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}", good[i])));
}

static void test_bytes_that_are_refused(void **state) {
  const World *world = *state;
  char token[TEXT_SIZE];
  snprintf(token, sizeof token, "%s",
           make(world->ed, NULL, "{\"alg\":\"EdDSA\",\"kid\":\"ed\"}",
                "{" GOOD GOOD_TIME "}"));
  uint32_t size = (uint32_t)strlen(token);
  for (uint32_t i = 0; i < size; i++) {
    assert_non_null(check_with(world->keys, (Text){token, i}));  // cut
    for (int bit = 0; bit < 8; bit++) {
      token[i] = (char)(token[i] ^ (1 << bit));
      assert_non_null(check_with(world->keys, (Text){token, size}));
      token[i] = (char)(token[i] ^ (1 << bit));
    }
  }
  assert_null(check(world, token));
  char longer[TEXT_SIZE];
  const char *ends[] = {".", ".AA", "=", "A", "\n", " "};
  for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    snprintf(longer, sizeof longer, "%.8000s%s", token, ends[i]);
    assert_non_null(check(world, longer));
  }
  memset(longer, 'A', sizeof longer);
  assert_refused(check_with(world->keys, (Text){longer, JWT_SIZE_MAX + 1}), "8 KiB");
  assert_non_null(check_with(world->keys, (Text){longer, JWT_SIZE_MAX}));
  assert_non_null(check(world, "..."));
  assert_non_null(check(world, ".."));
}

static void test_es256_signatures_have_64_bytes(void **state) {
  const World *world = *state;
  char token[TEXT_SIZE];
  snprintf(token, sizeof token, "%s",
           make(world->ec, NULL, "{\"alg\":\"ES256\",\"kid\":\"ec\"}",
                "{" GOOD GOOD_TIME "}"));
  char *signature = strrchr(token, '.') + 1;
  char zeros[128];
  uint8_t bytes[64] = {0};
  // Both halves of the signature are 0.
  put64(zeros, sizeof zeros, bytes, sizeof bytes);
  strcpy(signature, zeros);
  assert_refused(check(world, token), "is not signed");
  signature[0] = '\0';
  assert_refused(check(world, token), "is not signed");
}

static void test_files_that_are_refused(void **state) {
  const World *world = *state;
  EVP_PKEY *weak = EVP_RSA_gen(1024);
  EVP_PKEY *other = EVP_EC_gen("P-384");
  char weak_pem[1024], other_pem[1024], both[8192];
  write_pem(weak, weak_pem, sizeof weak_pem);
  write_pem(other, other_pem, sizeof other_pem);
  EVP_PKEY_free(weak);
  EVP_PKEY_free(other);
  snprintf(both, sizeof both, "%s%s", world->all_pem, weak_pem);
  const char *files[] = {
      "",
      "hello",
      weak_pem,
      other_pem,
      both,
      "{}",
      "{\"keys\":5}",
      "{\"keys\":[]}",
      "{\"keys\":[5]}",
      "{\"keys\":[{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}]}",
      "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}]}",
      "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":"
      "\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\","
      "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\"}]}",
      "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const char *why = NULL;
    Keys *keys = keys_read(text_from(files[i]), &why);
    if (keys) fail_msg("file %zu", i);
    assert_non_null(why);
  }
  const char *why = NULL;
  char *huge = mem_zalloc(KEYS_FILE_MAX + 1);
  assert_null(keys_read((Text){huge, KEYS_FILE_MAX + 1}, &why));
  mem_free(huge);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_algorithm_works),
      cmocka_unit_test(test_confused_algorithms_and_keys_are_refused),
      cmocka_unit_test(test_headers_that_are_refused),
      cmocka_unit_test(test_claims_that_are_refused),
      cmocka_unit_test(test_bytes_that_are_refused),
      cmocka_unit_test(test_es256_signatures_have_64_bytes),
      cmocka_unit_test(test_files_that_are_refused),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
