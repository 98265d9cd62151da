// A file system for SQLite that fails on request: writes on a full disk, and syncs.
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

typedef struct FaultyVfs {
  bool is_full;         // writes fail
  int failing_syncs;    // number of syncs that fail; negative: all
  int syncs;            // number of syncs that have succeeded
  sqlite3_vfs *system;  // file system that does the work
  sqlite3_vfs own;
  sqlite3_io_methods methods;
} FaultyVfs;

static FaultyVfs faulty;

typedef struct FaultyFile {
  sqlite3_file base;
  sqlite3_file *real;  // its memory follows this struct
} FaultyFile;

static inline sqlite3_file *real_of(sqlite3_file *file) {
  return ((FaultyFile *)file)->real;
}

static inline int faulty_close(sqlite3_file *file) {
  return real_of(file)->pMethods->xClose(real_of(file));
}

static inline int faulty_read(sqlite3_file *file, void *to, int size,
                              sqlite3_int64 at) {
  return real_of(file)->pMethods->xRead(real_of(file), to, size, at);
}

static inline int faulty_write(sqlite3_file *file, const void *from, int size,
                               sqlite3_int64 at) {
  if (faulty.is_full) return SQLITE_FULL;
  return real_of(file)->pMethods->xWrite(real_of(file), from, size, at);
}

static inline int faulty_truncate(sqlite3_file *file, sqlite3_int64 size) {
  return real_of(file)->pMethods->xTruncate(real_of(file), size);
}

static inline int faulty_sync(sqlite3_file *file, int flags) {
  if (faulty.failing_syncs != 0) {
    if (faulty.failing_syncs > 0) faulty.failing_syncs--;
    return SQLITE_IOERR_FSYNC;
  }
  faulty.syncs++;
  return real_of(file)->pMethods->xSync(real_of(file), flags);
}

static inline int faulty_size(sqlite3_file *file, sqlite3_int64 *size) {
  return real_of(file)->pMethods->xFileSize(real_of(file), size);
}

static inline int faulty_lock(sqlite3_file *file, int lock) {
  return real_of(file)->pMethods->xLock(real_of(file), lock);
}

static inline int faulty_unlock(sqlite3_file *file, int lock) {
  return real_of(file)->pMethods->xUnlock(real_of(file), lock);
}

static inline int faulty_reserved(sqlite3_file *file, int *result) {
  return real_of(file)->pMethods->xCheckReservedLock(real_of(file), result);
}

static inline int faulty_control(sqlite3_file *file, int op, void *argument) {
  return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static inline int faulty_sector(sqlite3_file *file) {
  return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static inline int faulty_device(sqlite3_file *file) {
  return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static inline int faulty_shm_map(sqlite3_file *file, int page, int size, int extend,
                                 void volatile **memory) {
  return real_of(file)->pMethods->xShmMap(real_of(file), page, size, extend, memory);
}

static inline int faulty_shm_lock(sqlite3_file *file, int offset, int n, int flags) {
  return real_of(file)->pMethods->xShmLock(real_of(file), offset, n, flags);
}

static inline void faulty_shm_barrier(sqlite3_file *file) {
  real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static inline int faulty_shm_unmap(sqlite3_file *file, int is_deleted) {
  return real_of(file)->pMethods->xShmUnmap(real_of(file), is_deleted);
}

static inline int faulty_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file,
                              int flags, int *given_flags) {
  (void)vfs;
  FaultyFile *own = (FaultyFile *)file;
  own->real = (sqlite3_file *)(own + 1);
  int result = faulty.system->xOpen(faulty.system, path, own->real, flags, given_flags);
  file->pMethods = own->real->pMethods != NULL ? &faulty.methods : NULL;
  return result;
}

/// Makes SQLite use this file system from now on.
static inline void faulty_vfs_start(void) {
  if (faulty.system != NULL) return;
  faulty.system = sqlite3_vfs_find(NULL);
  faulty.own = *faulty.system;
  faulty.own.pNext = NULL;
  faulty.own.zName = "faulty";
  faulty.own.szOsFile = (int)sizeof(FaultyFile) + faulty.system->szOsFile;
  faulty.own.xOpen = faulty_open;
  faulty.methods = (sqlite3_io_methods){
      .iVersion = 2,
      .xClose = faulty_close,
      .xRead = faulty_read,
      .xWrite = faulty_write,
      .xTruncate = faulty_truncate,
      .xSync = faulty_sync,
      .xFileSize = faulty_size,
      .xLock = faulty_lock,
      .xUnlock = faulty_unlock,
      .xCheckReservedLock = faulty_reserved,
      .xFileControl = faulty_control,
      .xSectorSize = faulty_sector,
      .xDeviceCharacteristics = faulty_device,
      .xShmMap = faulty_shm_map,
      .xShmLock = faulty_shm_lock,
      .xShmBarrier = faulty_shm_barrier,
      .xShmUnmap = faulty_shm_unmap,
  };
  sqlite3_vfs_register(&faulty.own, 1);
}

/// Makes the file system work again.
static inline void faulty_vfs_mend(void) {
  faulty.is_full = false;
  faulty.failing_syncs = 0;
}
