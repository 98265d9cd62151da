// Watches directories, not files, because a replaced file loses its watch. For each
// file it watches the directory of every symlink on the path, the directory of the
// file, and the parent of that directory. An event only schedules `look`, which
// compares hashes of contents. `look` always opens new handles, because a handle of a
// directory that was moved away still looks valid.
#include "os/watch.h"

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/loop.h"

enum { SYMLINKS_MAX = 40 };

typedef struct File {
  char *path;
  bool exists;
  bool is_empty;
  uint64_t hash;
  bool has_changed;     // a change must be reported
  uint64_t doubted_ms;  // time since which the file seems to be half saved, monotonic;
                        // 0: it seems complete
} File;

typedef struct Directory {
  uv_fs_event_t handle;
  Watch *watch;
  char *path;
  Buf names;  // names of the watched entries, each with its NUL; an empty name: all
              // entries
} Directory;

struct Watch {
  Loop *loop;
  WatchCallback *on_change;
  void *data;
  uint64_t key[2];
  File *files;
  size_t file_count;
  List directories;     // open Directory structs
  uint32_t open_count;  // handles that are not closed yet
  bool is_polling;      // a directory could not be watched, so files are polled
  bool has_warned;      // the warning about such a directory has been logged
  bool is_closing;
  bool has_changed;   // a change of a file must be reported
  uint64_t first_ms;  // time of the first event since the last look; 0: no event
  uint64_t name;  // hash of the path of the file that the events concern; 0: several
                  // files
  Timer timer;
};

static void look(void *data, uint64_t now_ms);

static void release(Watch *watch) {
  if (watch->is_closing && watch->open_count == 0) mem_free(watch);
}

// --- Directories ---

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

// Returns whether the directory is watched for this name. An event about the directory
// itself has the directory's own name.
static bool has_name(const Directory *directory, const char *name) {
  const char *at = (const char *)directory->names.data;
  const char *end = at + directory->names.size;
  for (; at < end; at += strlen(at) + 1) {
    if (*at == '\0' || strcmp(at, name) == 0) return true;
  }
  return strcmp(base_name(directory->path), name) == 0;
}

static uint64_t hash_path(const Directory *directory, const char *name) {
  const uint64_t *key = directory->watch->key;
  return (hash_bytes(key, directory->path, strlen(directory->path)) ^
          hash_bytes(key, name, strlen(name))) |
         1;
}

// Schedules `look`. Waits longer if several files change, because they may be saved one
// after the other.
static void on_event(uv_fs_event_t *handle, const char *name, int events, int status) {
  Directory *directory = handle->data;
  Watch *watch = directory->watch;
  (void)events, (void)status;
  if (name != NULL && !has_name(directory, name)) return;
  uint64_t now_ms = loop_now_ms(watch->loop);
  uint64_t hash = hash_path(directory, name != NULL ? name : "");
  if (watch->first_ms == 0) {
    watch->first_ms = now_ms;
    watch->name = hash;
  }
  if (watch->name != hash) watch->name = 0;
  uint64_t due_ms = now_ms + (watch->name ? WATCH_QUIET_MS : WATCH_BURST_QUIET_MS);
  uint64_t latest_ms = watch->first_ms + WATCH_PATIENCE_MS;
  if (due_ms > latest_ms) due_ms = latest_ms;
  timers_set(&watch->loop->timers, &watch->timer, due_ms, look, watch);
}

static void on_closed(uv_handle_t *handle) {
  Directory *directory = handle->data;
  Watch *watch = directory->watch;
  buf_deinit(&directory->names);
  mem_free(directory->path);
  mem_free(directory);
  watch->open_count--;
  release(watch);
}

static void directory_close(Directory *directory) {
  uv_close((uv_handle_t *)&directory->handle, on_closed);
}

// Returns the open directory named by the first `size` bytes of `path`, or NULL.
static Directory *directory_find(const Watch *watch, const char *path, size_t size) {
  for (uint32_t i = 0; i < watch->directories.count; i++) {
    Directory *directory = watch->directories.items[i];
    if (strlen(directory->path) == size && memcmp(directory->path, path, size) == 0)
      return directory;
  }
  return NULL;
}

static Directory *directory_open(Watch *watch, const char *path, size_t size) {
  Directory *directory = mem_zalloc(sizeof *directory);
  directory->watch = watch;
  directory->path = mem_alloc(size + 1);
  memcpy(directory->path, path, size);
  directory->path[size] = '\0';
  directory->handle.data = directory;
  uv_fs_event_init(&watch->loop->uv, &directory->handle);
  watch->open_count++;
  int err = uv_fs_event_start(&directory->handle, on_event, directory->path, 0);
  if (err == 0) {
    list_add(&watch->directories, directory);
    return directory;
  }
  if (err != UV_ENOENT && err != UV_ENOTDIR) {
    if (!watch->has_warned)
      log_warn(
          "a directory cannot be watched; looking at its files now and then instead",
          log_str("directory", directory->path), log_str("error", uv_strerror(err)));
    watch->is_polling = watch->has_warned = true;
  }
  directory_close(directory);
  return NULL;
}

// Returns the size of the directory's part of the absolute `path`.
static size_t parent_size(const char *path, size_t size) {
  while (size > 1 && path[size - 1] == '/') size--;
  while (size > 1 && path[size - 1] != '/') size--;
  while (size > 1 && path[size - 1] == '/') size--;
  return size;
}

// Watches the directory entry that the first `size` bytes of `path` name. Returns false
// if the entry's directory cannot be watched.
static bool watch_entry(Watch *watch, const char *path, size_t size) {
  while (size > 1 && path[size - 1] == '/') size--;
  size_t parent = parent_size(path, size);
  Directory *directory = directory_find(watch, path, parent);
  if (directory == NULL) directory = directory_open(watch, path, parent);
  if (directory == NULL) return false;
  parent += strspn(path + parent, "/");
  if (size > parent) buf_append(&directory->names, path + parent, size - parent);
  buf_u8(&directory->names, 0);
  return true;
}

// Replaces the first `size` bytes of `path`, a symlink, by its target. Returns false if
// the target is too long or unreadable.
static bool follow(char path[PATH_MAX], size_t size) {
  char link[PATH_MAX], rest[PATH_MAX], target[PATH_MAX];
  memcpy(link, path, size);
  link[size] = '\0';
  memcpy(rest, path + size, strlen(path + size) + 1);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length <= 0) return false;
  target[length] = '\0';
  size_t keep = target[0] == '/' ? 0 : parent_size(path, size);
  if (keep + (size_t)length + strlen(rest) + 2 > PATH_MAX) return false;
  path[keep] = '\0';
  if (keep > 0) strcat(path, "/");
  strcat(path, target);
  strcat(path, rest);
  return true;
}

// Watches the directory of every symlink on `path`, and resolves `path` as far as it
// exists.
static void watch_symlinks(Watch *watch, char path[PATH_MAX]) {
  int followed = 0;
  size_t size = 0;
  while (path[size] != '\0' && followed < SYMLINKS_MAX) {
    size += strspn(path + size, "/");
    size += strcspn(path + size, "/");
    char part[PATH_MAX];
    memcpy(part, path, size);
    part[size] = '\0';
    struct stat info;
    if (lstat(part, &info) != 0) return;
    if (!S_ISLNK(info.st_mode)) continue;
    watch_entry(watch, path, size);
    if (!follow(path, size)) return;
    followed++;
    size = 0;
  }
}

// Watches all entries of a folder.
static bool watch_folder(Watch *watch, const char *path) {
  size_t size = strlen(path);
  while (size > 1 && path[size - 1] == '/') size--;
  Directory *directory = directory_find(watch, path, size);
  if (directory == NULL) directory = directory_open(watch, path, size);
  if (directory == NULL) return false;
  buf_u8(&directory->names, 0);
  return true;
}

static bool is_folder(const char *path) { return path[strlen(path) - 1] == '/'; }

static void watch_path(Watch *watch, const char *file) {
  char path[PATH_MAX];
  if (file[0] == '/') {
    path[0] = '\0';
  } else {
    if (getcwd(path, sizeof path - 1) == NULL) return;
    strcat(path, "/");
  }
  if (strlen(path) + strlen(file) >= sizeof path) return;
  strcat(path, file);
  watch_symlinks(watch, path);
  // Watches the file in its directory, and the directory in its parent. If one does not
  // exist, watches the next directories above instead.
  int watched = is_folder(path) && watch_folder(watch, path);
  for (size_t size = strlen(path); watched < 2 && size > 1;
       size = parent_size(path, size))
    watched += watch_entry(watch, path, size);
}

// Opens the new handles before it closes the old ones, so that no event is missed.
static void watch_directories(Watch *watch) {
  List old = watch->directories;
  watch->directories = (List){0};
  watch->is_polling = false;
  for (size_t i = 0; i < watch->file_count; i++)
    watch_path(watch, watch->files[i].path);
  for (uint32_t i = 0; i < old.count; i++) directory_close(old.items[i]);
  list_deinit(&old);
}

// --- Files ---

static int read_names(const char *path, Buf *bytes) {
  uv_fs_t request;
  uv_dirent_t entry;
  int err = uv_fs_scandir(NULL, &request, path, 0, NULL);
  while (uv_fs_scandir_next(&request, &entry) == 0)
    buf_append(bytes, entry.name, strlen(entry.name) + 1);
  uv_fs_req_cleanup(&request);
  return err < 0 ? err : 0;
}

static File file_now(const Watch *watch, const File *file) {
  Buf bytes = {0};
  File now = *file;
  int err = is_folder(file->path) ? read_names(file->path, &bytes)
                                  : file_read(file->path, &bytes);
  if (err != -EMFILE && err != -ENFILE) {  // no descriptor was free for the check
    now.exists = err == 0;
    now.is_empty = bytes.size == 0;
    now.hash = now.exists ? hash_bytes(watch->key, bytes.data, bytes.size) : 0;
  }
  buf_deinit(&bytes);
  return now;
}

// Compares a file with its last state, stores the new state, and returns whether the
// file has changed. Leaves a file that seems to be half saved to a later look.
static bool file_update(Watch *watch, File *file, uint64_t now_ms) {
  File now = file_now(watch, file);
  bool is_changed = now.exists != file->exists || now.hash != file->hash;
  bool is_missing = file->exists && !file->is_empty && (!now.exists || now.is_empty);
  bool is_open = is_changed && now.exists && file_is_being_written(file->path);
  if ((is_missing || is_open) && file->doubted_ms == 0) file->doubted_ms = now_ms;
  if (is_missing && now_ms < file->doubted_ms + WATCH_GRACE_MS) return false;
  if (is_open && now_ms < file->doubted_ms + WATCH_PATIENCE_MS) return false;
  now.doubted_ms = 0;
  now.has_changed |= is_changed;
  *file = now;
  return is_changed;
}

static bool is_doubting(const Watch *watch) {
  for (size_t i = 0; i < watch->file_count; i++) {
    if (watch->files[i].doubted_ms != 0) return true;
  }
  return false;
}

// Compares all files. Reports changes only when no file seems to be half saved, so that
// one call reports all files that are saved together.
static void look(void *data, uint64_t now_ms) {
  Watch *watch = data;
  watch->first_ms = 0;
  watch_directories(watch);
  for (size_t i = 0; i < watch->file_count; i++)
    watch->has_changed |= file_update(watch, &watch->files[i], now_ms);
  if (is_doubting(watch))
    loop_set_timer(watch->loop, &watch->timer, WATCH_QUIET_MS, look, watch);
  else if (watch->is_polling)
    loop_set_timer(watch->loop, &watch->timer, WATCH_POLL_MS, look, watch);
  if (!watch->has_changed || is_doubting(watch)) return;
  watch->has_changed = false;
  watch->on_change(watch->data);
  for (size_t i = 0; i < watch->file_count; i++) watch->files[i].has_changed = false;
}

static File file_new(Watch *watch, const char *path) {
  File *files = watch->files;
  for (size_t i = 0; i < watch->file_count; i++) {
    if (files[i].path == NULL || strcmp(files[i].path, path) != 0) continue;
    File file = files[i];
    files[i].path = NULL;  // the new set owns the path now
    return file;
  }
  File file = {.path = mem_strdup(path)};
  return file_now(watch, &file);
}

static void free_files(File *files, size_t count) {
  for (size_t i = 0; i < count; i++) mem_free(files[i].path);
  mem_free(files);
}

// --- The functions of watch.h ---

bool watch_has_changed(const Watch *watch, const char *path) {
  for (size_t i = 0; i < watch->file_count; i++) {
    const File *file = &watch->files[i];
    if (strcmp(file->path, path) == 0) return file->has_changed;
  }
  return false;
}

Watch *watch_open(Loop *loop, WatchCallback *on_change, void *data) {
  Watch *watch = mem_zalloc(sizeof *watch);
  watch->loop = loop;
  watch->on_change = on_change;
  watch->data = data;
  randombytes_buf(watch->key, sizeof watch->key);
  return watch;
}

void watch_set(Watch *watch, const char *const *files, size_t count) {
  File *next = mem_zalloc((count + 1) * sizeof *next);
  for (size_t i = 0; i < count; i++) next[i] = file_new(watch, files[i]);
  free_files(watch->files, watch->file_count);
  watch->files = next;
  watch->file_count = count;
  watch_directories(watch);
  if (watch->is_polling && !timers_is_set(&watch->timer))
    loop_set_timer(watch->loop, &watch->timer, WATCH_POLL_MS, look, watch);
}

void watch_close(Watch *watch) {
  if (watch == NULL || watch->is_closing) return;
  timers_stop(&watch->loop->timers, &watch->timer);
  for (uint32_t i = 0; i < watch->directories.count; i++)
    directory_close(watch->directories.items[i]);
  list_deinit(&watch->directories);
  free_files(watch->files, watch->file_count);
  watch->is_closing = true;
  release(watch);
}
