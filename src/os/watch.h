// Watches files for changes of their content. A program may save a file by rename, or
// truncate and write it, or replace a symlink or directory anywhere in the path. A new
// modification time alone is not a change. A file may be missing at first and appear
// later. A path that ends with a slash is a folder; its content is the list of the
// names in it.
//
// If the kernel cannot watch an existing directory (for example, because inotify has no
// watches left), all files are compared every WATCH_POLL_MS.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Loop Loop;
typedef struct Watch Watch;

enum {
  WATCH_QUIET_MS = 40,        // time without events before files are compared
  WATCH_BURST_QUIET_MS = 80,  // time without events if they concern several files
  WATCH_PATIENCE_MS = 2000,   // longest wait after the first event
  WATCH_GRACE_MS = 100,  // time in which a file may be missing or empty while it is
                         // being saved
  WATCH_POLL_MS = 200,
};

/// Reports that watched files have changed. One call reports all changes made together.
/// While a changed file is open for writing, the call waits, up to WATCH_PATIENCE_MS.
typedef void WatchCallback(void *data);

Watch *watch_open(Loop *loop, WatchCallback *on_change, void *data);

/// Watches these files and no others. Keeps the known states of files that were watched
/// before, so that a change between the last `on_change` and this call is still
/// reported.
void watch_set(Watch *watch, const char *const *files, size_t count);

/// Returns whether this watched file has changed. Call it within `on_change`.
bool watch_has_changed(const Watch *watch, const char *path);

/// Stops watching. The loop frees the Watch. NULL is allowed.
void watch_close(Watch *watch);
