// open, fstat, read. The size is checked while reading too, because a file may grow and
// those of /proc say 0.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
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
