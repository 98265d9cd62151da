// JSON Web Tokens (RFC 7519) that another issuer has signed. A token is valid if its
// algorithm is allowed, if a key of that algorithm's type has signed it, and if it is
// for this server and this time. Pure functions without a clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "account/keys.h"
#include "base/buf.h"
#include "wire/reader.h"

enum {
  JWT_SIZE_MAX = 8192,
  JWT_LEEWAY_S = 60,     // seconds by which the issuer's clock may differ
  JWT_SUBJECT_MAX = 255  // limit of the bytes of `sub` and of `jti`
};

typedef struct JwtPolicy {
  const char *issuer;    // required value of `iss`
  const char *audience;  // required value of `aud`, or of one of its entries
  const Keys *keys;
} JwtPolicy;

typedef struct JwtClaims {
  Buf subject;         // `sub`
  Buf id;              // `jti`; empty: none
  uint64_t expires_s;  // `exp`, Unix time
} JwtClaims;

/// Checks a token. Returns NULL, or the reason of the refusal as the second half of a
/// sentence. The caller frees the claims in both cases.
const char *jwt_check(const JwtPolicy *policy, Text token, uint64_t now_s,
                      JwtClaims *claims);

void jwt_claims_deinit(JwtClaims *claims);
