// Reading whole files that somebody else may be writing, or may have put there.
#pragma once

#include "base/buf.h"

enum { FILE_SIZE_MAX = 16 << 20 };

/// Appends what is in the file. Returns 0, or a negative errno: -EINVAL for what is no
/// file (a pipe or a device could hold the reader up for ever), -EFBIG for one of more
/// than FILE_SIZE_MAX bytes.
int file_read(const char *path, Buf *bytes);
