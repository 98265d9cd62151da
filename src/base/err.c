// The texts of error codes: ours from ERR_MAP, those of the system that a user is
// likely to see in our own lower-case spelling, and the rest as the C library has them.
#include "base/err.h"

#include <errno.h>
#include <string.h>

const char *err_text(int err) {
  if (err >= 0) return "no error";
  switch (err) {
#define X(name, value, text) \
  case value:                \
    return text;
    ERR_MAP(X)
#undef X
    case -EACCES:
      return "permission denied";
    case -EADDRINUSE:
      return "address already in use";
    case -EADDRNOTAVAIL:
      return "address not available on this machine";
    case -EAFNOSUPPORT:
      return "address family not supported";
    case -ECANCELED:
      return "canceled";
    case -ECONNABORTED:
      return "connection aborted";
    case -ECONNREFUSED:
      return "connection refused";
    case -ECONNRESET:
      return "connection reset by peer";
    case -EINVAL:
      return "invalid argument";
    case -EISDIR:
      return "is a directory";
    case -EMFILE:
      return "too many open files";
    case -ENFILE:
      return "too many open files in the system";
    case -ENOENT:
      return "no such file or directory";
    case -ENOTDIR:
      return "not a directory";
    case -EPERM:
      return "operation not permitted";
    case -EPIPE:
      return "broken pipe";
    case -ETIMEDOUT:
      return "timed out";
    default:
      return err > -4096 ? strerror(-err) : "unknown error";
  }
}
