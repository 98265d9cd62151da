// A library for LD_PRELOAD that remembers what a loss of power would leave of files: for
// each file whose path contains PERIGEE_UNSYNCED, FILE.synced has what was synced, and of
// the rest what the system may have written by itself: some writes, in any order, and of
// some only the first sectors. PERIGEE_UNSYNCED_SEED chooses them. The test puts these
// files in place of the others after it has killed the process.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 1024, RANGES = 65536, CHUNK = 65536, SECTOR = 512, ONE_OF = 4 };

typedef struct Range {
  off_t from, to;
} Range;

// The writes to a file since its last sync.
typedef struct Writes {
  dev_t device;
  ino_t inode;
  Range *ranges;
  int count;
} Writes;

static Writes files[FILES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// Returns whether a file is watched, and its path. SQLite's shared memory is not
// watched, because SQLite makes it again.
static bool is_watched(int fd, char *path) {
  char link[64];
  const char *folder = getenv("PERIGEE_UNSYNCED");
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t size = folder == NULL ? -1 : readlink(link, path, PATH_MAX - 1);
  if (size < 0) return false;
  path[size] = '\0';
  return strstr(path, folder) != NULL && strstr(path, "-shm") == NULL;
}

static Writes *writes_of(int fd) {
  struct stat stat;
  int at = 0;
  if (fstat(fd, &stat) != 0) abort();
  while (files[at].inode != 0 &&
         (files[at].inode != stat.st_ino || files[at].device != stat.st_dev))
    if (++at == FILES) abort();
  files[at].inode = stat.st_ino;
  files[at].device = stat.st_dev;
  if (files[at].ranges == NULL) files[at].ranges = malloc(RANGES * sizeof(Range));
  return &files[at];
}

static uint32_t draw(uint32_t below) {
  static uint64_t state;
  if (state == 0) {
    const char *seed = getenv("PERIGEE_UNSYNCED_SEED");
    state = seed != NULL ? strtoull(seed, NULL, 10) | 1 : 1;
  }
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static int open_synced(const char *path) {
  char synced[PATH_MAX + 8];
  snprintf(synced, sizeof synced, "%s.synced", path);
  return open(synced, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static void copy(int from, int to, Range range) {
  static char bytes[CHUNK];
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
  while (range.from < range.to) {
    size_t left = (size_t)(range.to - range.from);
    ssize_t got = pread(from, bytes, left < CHUNK ? left : CHUNK, range.from);
    if (got <= 0 || next(to, bytes, (size_t)got, range.from) != got) return;
    range.from += got;
  }
}

// Copies some ranges at once, and of some of these a part.
static void write_back(int fd, const char *path, Range range) {
  off_t sectors = (range.to - range.from) / SECTOR;
  if (draw(ONE_OF) != 0) return;
  if (sectors > 1 && draw(ONE_OF) == 0)
    range.to = range.from + SECTOR * (off_t)draw((uint32_t)sectors);
  int to = open_synced(path);
  copy(fd, to, range);
  close(to);
}

static void note(int fd, off_t from, ssize_t size) {
  char path[PATH_MAX];
  if (size <= 0 || !is_watched(fd, path)) return;
  pthread_mutex_lock(&lock);
  Writes *writes = writes_of(fd);
  if (writes->count == RANGES) abort();
  writes->ranges[writes->count++] = (Range){from, from + size};
  write_back(fd, path, (Range){from, from + size});
  pthread_mutex_unlock(&lock);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
  ssize_t written = next(fd, bytes, size, at);
  note(fd, at, written);
  return written;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  return pwrite64(fd, bytes, size, at);
}

static void keep(int fd) {
  char path[PATH_MAX];
  struct stat stat;
  if (!is_watched(fd, path)) return;
  pthread_mutex_lock(&lock);
  int to = open_synced(path);
  Writes *writes = writes_of(fd);
  for (int i = 0; i < writes->count; i++) copy(fd, to, writes->ranges[i]);
  writes->count = 0;
  if (fstat(fd, &stat) != 0 || ftruncate(to, stat.st_size) != 0) abort();
  close(to);
  pthread_mutex_unlock(&lock);
}

// Does not sync the files, because the machine does not lose its power in a test.
int fdatasync(int fd) {
  keep(fd);
  return 0;
}

int fsync(int fd) { return fdatasync(fd); }
