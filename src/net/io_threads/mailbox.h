// A mailbox carries calls from one thread to another. The writer collects calls and posts them in
// one piece; the reader takes all posted ones. Both only swap buffers under the lock, and the
// writer wakes the reader only when nothing was posted before.
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"
#include "net/endpoint.h"

/// The head of a record; its body follows.
typedef struct Mail {
  const RemoteCall *call;
  uint64_t size;  // of head, body and padding to 8 bytes
} Mail;

typedef struct Mailbox {
  uv_mutex_t lock;     // of the next five
  Buf posted;          // not taken yet
  uint64_t takes;      // times that the reader has taken calls
  bool is_awaited;     // the next take wakes the writer
  bool is_closed;      // the reader takes nothing any more
  uv_cond_t is_taken;  // for a writer that waits for room
  Buf written;         // the writer's
  uint64_t takes_seen;
  size_t posted_size;   // of `posted` when the writer last saw it
  Buf taken;            // the reader's
  uv_async_t *bell;     // wakes the reader
  uv_async_t *writer;   // wakes the writer
  size_t early, limit;  // see mailbox_init
} Mailbox;

/// `bell` and `writer` are handles of the loops of reader and writer; `writer` is NULL where
/// mailbox_post never awaits. More than `early` bytes
/// are posted before mailbox_post is called; the writer waits while more than `limit` are posted.
void mailbox_init(Mailbox *box, uv_async_t *bell, uv_async_t *writer, size_t early,
                  size_t limit);
void mailbox_deinit(Mailbox *box);

/// Writer: adds a record and returns its body of `size` bytes, to be filled in before the
/// next call.
void *mailbox_add(Mailbox *box, const RemoteCall *call, size_t size);

/// Writer: returns the bytes that were added or posted and, as far as it knows, not taken.
size_t mailbox_pending(const Mailbox *box);

/// Writer: posts added calls, once there is room. With `is_awaited` the next take rings the
/// writer's bell. Without added calls, it notes what the reader has taken.
void mailbox_post(Mailbox *box, bool is_awaited);

/// Writer: returns how often the reader has taken calls.
uint64_t mailbox_takes(Mailbox *box);

/// Reader: takes all posted calls and runs them with `net`, in order; with NULL it drops them.
void mailbox_run(Mailbox *box, Net *net);

/// Reader: takes nothing any more.
void mailbox_close(Mailbox *box);

/// The record of a body.
static inline const Mail *mail_of(const void *body) { return (const Mail *)body - 1; }
