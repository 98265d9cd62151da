// Reads whole files, even while another process writes them.
#pragma once

#include <stdbool.h>

#include "base/buf.h"

enum { FILE_SIZE_MAX = 16 << 20 };

/// Appends the content of the file. Returns 0, or a negative errno: -EINVAL for a pipe
/// or a device, which could block the reader for ever; -EFBIG for a file of more than
/// FILE_SIZE_MAX bytes.
int file_read(const char *path, Buf *bytes);

/// Works like file_read, but treats a missing file as empty.
int file_read_if_any(const char *path, Buf *bytes);

enum { FILE_SIGNATURE_SIZE = 128 };

/// Writes a text that changes when the file at `path` is replaced or written. It
/// contains the file's device, inode number, size and times. The text is "" if the file
/// does not exist.
void file_signature(const char *path, char signature[FILE_SIGNATURE_SIZE]);

/// Returns whether a process has the file open for writing, so that its content may be
/// incomplete. Also returns false if the system cannot know this: for files of other
/// users, and on some network file systems.
bool file_is_being_written(const char *path);
