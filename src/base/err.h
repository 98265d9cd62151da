// One error space for the whole program: 0 or a count is success, negative is failure.
// On Unix, libuv's codes are -errno and pass through unchanged. Perigee's own codes
// start at -20001, far from the codes of errno and libuv.
#pragma once

// X(name, value, text)
#define ERR_MAP(X)                                 \
  X(ERR_MALFORMED, -20001, "malformed data")       \
  X(ERR_TOO_LARGE, -20002, "too large")            \
  X(ERR_NOT_FOUND, -20003, "not found")            \
  X(ERR_EXISTS, -20004, "exists already")          \
  X(ERR_FULL, -20005, "limit reached")             \
  X(ERR_INVALID, -20006, "invalid value")          \
  X(ERR_ADDRESS, -20007, "address not understood") \
  X(ERR_DELIVERY, -20008, "over delivery_limit")   \
  X(ERR_TAKEN, -20009, "taken by another")         \
  X(ERR_VACANT, -20010, "nobody serves it")        \
  X(ERR_COMMANDS, -20011, "more commands than one handler may have")

typedef enum Err {
#define X(name, value, text) name = value,
  ERR_MAP(X)
#undef X
} Err;

/// Returns a short lower-case sentence for `err`, which is one of Perigee's codes or a
/// negated errno. The text is static and never NULL.
const char *err_text(int err);
