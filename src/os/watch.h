// Watches files for changes of content, as a reader of the file sees it: saving by rename,
// truncating and writing, and the exchange of a symlink or directory anywhere in the path are
// changes; touching a file is none. A file may be missing and appear later. A path that ends
// with a slash is a folder, whose content is its names.
//
// Where the kernel cannot watch a directory (it is missing, or inotify is out of watches), files
// are compared every WATCH_POLL_MS instead.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Loop Loop;
typedef struct Watch Watch;

enum {
  WATCH_QUIET_MS = 40,        // without events, before files are compared,
  WATCH_BURST_QUIET_MS = 80,  // or this much where they concern several files,
  WATCH_PATIENCE_MS = 2000,   // but at most this much after the first event
  WATCH_GRACE_MS = 100,       // in which a file may be gone or empty while it is saved
  WATCH_POLL_MS = 200,
};

/// Some watched file has changed. One call reports changes made together, and none comes while a
/// file is open for writing.
typedef void WatchCallback(void *data);

Watch *watch_open(Loop *loop, WatchCallback *on_change, void *data);

/// Watches these files and no others. It keeps what it knows of files, so that a change between the
/// last `on_change` and this call is still reported.
void watch_set(Watch *watch, const char *const *files, size_t count);

/// Returns, within `on_change`, whether this watched file has changed.
bool watch_has_changed(const Watch *watch, const char *path);

/// Stops watching; the loop frees it. NULL is allowed.
void watch_close(Watch *watch);
