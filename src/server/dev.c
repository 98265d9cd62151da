// Lists the files of the pages again when one of them, or one of their folders, has
// changed. New files count as changed, too.
#include "server/dev.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "os/watch.h"

enum { FILES_MAX = 2000, DEPTH_MAX = 8 };
enum {
  FAILURES_MAX = 8 << 10
};  // bytes of texts, so that they fit into one packet
    // with a report

// A list of paths. The path of a folder ends with a slash.
typedef struct Paths {
  char **items;
  size_t count, capacity;
} Paths;

struct Dev {
  Session *session;
  char *folder;  // folder of the pages, with a slash at the end; NULL: none
  Watch *watch;  // watches the entries of `paths`; NULL: no folder
  Paths paths;
  bool is_on;
  bool has_warned;  // the warning about too many files has been logged
  Buf report;       // report of the newest reload, if that reload failed
  Buf failures;  // failures of handlers since the newest successful reload, each once
};

// --- The list of files ---

static void paths_add(Paths *paths, const char *path) {
  if (paths->count == paths->capacity)
    paths->capacity = array_grow(&paths->items, paths->capacity, sizeof(char *), 32);
  paths->items[paths->count++] = mem_strdup(path);
}

static void paths_free(Paths *paths) {
  for (size_t i = 0; i < paths->count; i++) mem_free(paths->items[i]);
  mem_free(paths->items);
  *paths = (Paths){0};
}

static bool paths_have(const Paths *paths, const char *path) {
  for (size_t i = 0; i < paths->count; i++) {
    if (strcmp(paths->items[i], path) == 0) return true;
  }
  return false;
}

static void list_folder(Paths *paths, const char *folder, int depth);

static void list_entry(Paths *paths, const char *folder, const char *name, int depth) {
  char path[PATH_MAX];
  struct stat info;
  if (name[0] == '.') return;  // neither served nor written by the designer
  if (snprintf(path, sizeof path - 1, "%s%s", folder, name) >= PATH_MAX - 1) return;
  if (stat(path, &info) != 0) return;
  if (S_ISREG(info.st_mode)) paths_add(paths, path);
  if (!S_ISDIR(info.st_mode)) return;
  strcat(path, "/");
  list_folder(paths, path, depth + 1);
}

static void list_folder(Paths *paths, const char *folder, int depth) {
  paths_add(paths, folder);
  DIR *entries = depth < DEPTH_MAX ? opendir(folder) : NULL;
  if (entries == NULL) return;
  for (struct dirent *entry; (entry = readdir(entries)) && paths->count < FILES_MAX;)
    list_entry(paths, folder, entry->d_name, depth);
  closedir(entries);
}

static void warn_full(Dev *dev) {
  if (dev->has_warned || dev->paths.count < FILES_MAX) return;
  dev->has_warned = true;
  log_warn("too many files to watch; pages do not see changes of all of them",
           log_str("folder", dev->folder), log_num("watched", FILES_MAX));
}

// --- Changes ---

static bool is_folder(const char *path) { return path[strlen(path) - 1] == '/'; }

// Reports files that have changed, appeared or disappeared.
static void notify_changes(const Dev *dev, const Paths *before) {
  size_t skip = strlen(dev->folder);
  for (size_t i = 0; i < dev->paths.count; i++) {
    const char *path = dev->paths.items[i];
    bool is_new = !paths_have(before, path);
    if (!is_folder(path) && (is_new || watch_has_changed(dev->watch, path)))
      session_notify_asset(dev->session, path + skip);
  }
  for (size_t i = 0; i < before->count; i++) {
    const char *path = before->items[i];
    if (!is_folder(path) && !paths_have(&dev->paths, path))
      session_notify_asset(dev->session, path + skip);
  }
}

static void watch_paths(const Dev *dev) {
  watch_set(dev->watch, (const char *const *)dev->paths.items, dev->paths.count);
}

static void on_change(void *data) {
  Dev *dev = data;
  Paths before = dev->paths;
  dev->paths = (Paths){0};
  list_folder(&dev->paths, dev->folder, 0);
  warn_full(dev);
  notify_changes(dev, &before);
  paths_free(&before);
  watch_paths(dev);
}

// --- Errors ---

// Appends a text, after an empty line if the buffer already has a text.
static void add_text(Buf *buf, const void *text, size_t size) {
  if (buf->size > 0 && size > 0) buf_append(buf, "\n\n", 2);
  buf_append(buf, text, size);
}

static void forget_errors(Dev *dev) { dev->report.size = dev->failures.size = 0; }

// Shows two kinds of errors: of a saved version that does not load, and of the running
// version.
static void show_errors(const Dev *dev) {
  Buf text = {0};
  add_text(&text, dev->report.data, dev->report.size);
  add_text(&text, dev->failures.data, dev->failures.size);
  buf_u8(&text, 0);
  session_set_dev_error(dev->session, (const char *)text.data);
  buf_deinit(&text);
}

// --- The functions of dev.h ---

Dev *dev_open(Net *net, Session *session, const char *public) {
  Dev *dev = mem_zalloc(sizeof *dev);
  dev->session = session;
  if (public == NULL) return dev;
  dev->folder = mem_alloc(strlen(public) + 2);
  sprintf(dev->folder, "%s/", public);
  dev->watch = watch_open(net_loop(net), on_change, dev);
  return dev;
}

void dev_set(Dev *dev, bool is_on) {
  if (dev->is_on == is_on) return;
  dev->is_on = is_on;
  forget_errors(dev);
  session_set_dev_error(dev->session, is_on ? "" : NULL);
  if (dev->watch == NULL) return;
  paths_free(&dev->paths);
  if (is_on) list_folder(&dev->paths, dev->folder, 0);
  warn_full(dev);
  watch_paths(dev);
}

void dev_reloaded(Dev *dev, const ScriptOutcome *outcome) {
  if (!dev->is_on) return;
  if (outcome->is_good) forget_errors(dev);
  dev->report.size = 0;
  if (!outcome->is_good)
    add_text(&dev->report, outcome->report, strlen(outcome->report));
  show_errors(dev);
}

// Reports a failed handler. Adds each error only once, so that the page stays readable.
void dev_failed(Dev *dev, const char *text) {
  if (!dev->is_on) return;
  buf_u8(&dev->failures, 0);
  bool is_known = strstr((const char *)dev->failures.data, text) != NULL;
  dev->failures.size--;
  bool is_full = dev->failures.size + strlen(text) > FAILURES_MAX;
  if (is_known || (is_full && dev->failures.size > 0)) return;
  add_text(&dev->failures, text, strlen(text));
  show_errors(dev);
}

void dev_close(Dev *dev) {
  if (dev == NULL) return;
  watch_close(dev->watch);
  paths_free(&dev->paths);
  buf_deinit(&dev->report);
  buf_deinit(&dev->failures);
  mem_free(dev->folder);
  mem_free(dev);
}
