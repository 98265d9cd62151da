// The texts of error codes. ERR_MAP contains the texts of Perigee's codes. The table
// below adds lower-case texts for the system's errors that users often see. All other
// errors have the C library's text.
#include "base/err.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { ERRNO_LAST = 4095 };  // highest errno of Linux

typedef struct ErrText {
  int err;
  const char *text;
} ErrText;

static const ErrText texts[] = {
#define X(name, value, text) {name, text},
    ERR_MAP(X)
#undef X
        {-EACCES, "permission denied"},
    {-EADDRINUSE, "address already in use"},
    {-EADDRNOTAVAIL, "address not available on this machine"},
    {-EAFNOSUPPORT, "address family not supported"},
    {-ECANCELED, "canceled"},
    {-ECONNABORTED, "connection aborted"},
    {-ECONNREFUSED, "connection refused"},
    {-ECONNRESET, "connection reset by peer"},
    {-EINVAL, "invalid argument"},
    {-EISDIR, "is a directory"},
    {-EMFILE, "too many open files"},
    {-ENFILE, "too many open files in the system"},
    {-ENOENT, "no such file or directory"},
    {-ENOTDIR, "not a directory"},
    {-EPERM, "operation not permitted"},
    {-EPIPE, "broken pipe"},
    {-ETIMEDOUT, "timed out"},
};

const char *err_text(int err) {
  if (err >= 0) return "no error";
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    if (texts[i].err == err) return texts[i].text;
  return err >= -ERRNO_LAST ? strerror(-err) : "unknown error";
}
