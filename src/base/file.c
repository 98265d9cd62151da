// Uses open, fstat and read. The size is also checked while reading, because a file may
// grow, and files of /proc report size 0.
#define _GNU_SOURCE  // F_SETLEASE
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_STEP_BYTES = 64 << 10 };

static int check(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0) return -errno;
  if (S_ISDIR(info.st_mode)) return -EISDIR;
  if (!S_ISREG(info.st_mode)) return -EINVAL;
  return info.st_size > FILE_SIZE_MAX ? -EFBIG : 0;
}

static int read_all(int fd, Buf *bytes) {
  size_t end = bytes->size + FILE_SIZE_MAX;
  for (;;) {
    ssize_t size = read(fd, buf_reserve(bytes, READ_STEP_BYTES), READ_STEP_BYTES);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return -errno;
    if (size == 0) return 0;
    bytes->size += (size_t)size;
    if (bytes->size > end) return -EFBIG;
  }
}

int file_read(const char *path, Buf *bytes) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -errno;
  int err = check(fd);
  if (err == 0) err = read_all(fd, bytes);
  close(fd);
  return err;
}

int file_read_if_any(const char *path, Buf *bytes) {
  int err = file_read(path, bytes);
  return err == -ENOENT ? 0 : err;
}

static int64_t nanoseconds(struct timespec time) {
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// Writes the signature. It includes the time of the inode's last change, because no
// tool can set that time back.
void file_signature(const char *path, char signature[FILE_SIGNATURE_SIZE]) {
  struct stat info;
  signature[0] = '\0';
  if (stat(path, &info) != 0) return;
  snprintf(signature, FILE_SIGNATURE_SIZE,
           "%" PRIu64 ":%" PRIu64 ":%" PRId64 ":%" PRId64 ":%" PRId64,
           (uint64_t)info.st_dev, (uint64_t)info.st_ino, (int64_t)info.st_size,
           nanoseconds(info.st_mtim), nanoseconds(info.st_ctim));
}

// Asks for a read lease, which the kernel grants only if no process has the file open
// for writing. A process that then opens it for writing waits until the lease ends. In
// that case, the kernel sends SIGURG to the process with the lease, which ignores it by
// default.
bool file_is_being_written(const char *path) {
#ifdef F_SETLEASE
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  bool is_written = check(fd) == 0 && fcntl(fd, F_SETSIG, SIGURG) == 0 &&
                    fcntl(fd, F_SETLEASE, F_RDLCK) != 0 && errno == EAGAIN;
  close(fd);
  return is_written;
#else
  (void)path;
  return false;
#endif
}
