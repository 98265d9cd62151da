// Watches files for changes of content, as a reader of the file sees them. Saving by
// rename, truncating and writing, and replacing a symlink or directory anywhere in the
// path are changes. Touching a file is not. A file may be missing and appear later. A
// path that ends with a slash is a folder; its content is the list of its names.
//
// If the kernel cannot watch a directory (it is missing, or inotify has no watches
// left), its files are compared every WATCH_POLL_MS instead.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Loop Loop;
typedef struct Watch Watch;

enum {
  WATCH_QUIET_MS = 40,        // time without events before files are compared
  WATCH_BURST_QUIET_MS = 80,  // the same time, if events concern several files
  WATCH_PATIENCE_MS = 2000,   // longest wait after the first event
  WATCH_GRACE_MS = 100,  // time in which a file may be missing or empty while it is
                         // being saved
  WATCH_POLL_MS = 200,
};

/// Reports that a watched file has changed. One call reports all changes made together.
/// No call comes while a file is open for writing.
typedef void WatchCallback(void *data);

Watch *watch_open(Loop *loop, WatchCallback *on_change, void *data);

/// Watches these files and no others. The states of files are kept, so that a change
/// between the last `on_change` and this call is still reported.
void watch_set(Watch *watch, const char *const *files, size_t count);

/// Returns whether this watched file has changed. Call it within `on_change`.
bool watch_has_changed(const Watch *watch, const char *path);

/// Stops watching. The loop frees the Watch. NULL is allowed.
void watch_close(Watch *watch);
