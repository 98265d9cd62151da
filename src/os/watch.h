// Watches files for changes of content. What counts is what a reader of the file would
// see: saving by rename, truncating and writing, exchanging a symlink anywhere in the
// path, or a whole directory are changes; touching a file is none. A file may be
// missing and appear later.
//
// A path that ends with a slash is a folder: what counts are the names in it.
//
// Where the kernel cannot watch a directory (it is missing, or inotify is out of
// watches), files are looked at every WATCH_POLL_MS instead.
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct Loop Loop;
typedef struct Watch Watch;

enum {
  WATCH_QUIET_MS = 40,        // so long nothing has to happen before files are compared
  WATCH_BURST_QUIET_MS = 80,  // and so long where more than one file is concerned
  WATCH_PATIENCE_MS = 2000,   // but they are compared this long after the first sign
  WATCH_GRACE_MS = 100,       // a file may be gone or empty that long while being saved
  WATCH_POLL_MS = 200,
};

/// Some watched file has changed. Changes made together are told once, and not while a
/// file is still open for writing.
typedef void WatchCallback(void *data);

Watch *watch_open(Loop *loop, WatchCallback *on_change, void *data);

/// Watches these files and no others. What is known of those that were watched before
/// is kept, so a change between the last call of `on_change` and this one is still
/// told.
void watch_set(Watch *watch, const char *const *files, size_t count);

/// For `on_change`: whether this file, which is watched, is one of those that changed.
bool watch_has_changed(const Watch *watch, const char *path);

/// Freed by the loop; NULL is allowed.
void watch_close(Watch *watch);
