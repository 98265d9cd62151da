// Reading whole files that somebody else may be writing, or may have put there.
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum { FILE_SIZE_MAX = 16 << 20 };

/// Appends what is in the file. Returns 0, or a negative errno: -EINVAL for what is no
/// file (a pipe or a device could hold the reader up for ever), -EFBIG for one of more
/// than FILE_SIZE_MAX bytes.
int file_read(const char *path, Buf *bytes);

/// The same, for a file that need not exist: then it is empty.
int file_read_if_any(const char *path, Buf *bytes);

enum { FILE_STAMP_SIZE = 128 };

/// Writes a text that differs when the file at `path` is another one or was written to
/// since, as far as the file system can tell: its number, size and times. "" where there
/// is none.
void file_stamp(const char *path, char stamp[FILE_STAMP_SIZE]);

/// Whether somebody has the file open for writing, so that what is in it may be half of
/// what is meant to be. False too where the system does not say: for files of other
/// users, and on some network file systems.
bool file_is_being_written(const char *path);
