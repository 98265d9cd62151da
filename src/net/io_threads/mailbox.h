// What one thread asks another to do, in one direction. The writer collects calls and posts
// them in one piece; the reader takes all that were posted. Both only swap buffers while they
// hold the lock, and the reader is woken only when there was nothing for it before.
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
  uint64_t takes;      // how often the reader has taken something
  bool is_awaited;     // the writer is to be woken when it next does
  bool is_closed;      // the reader takes nothing any more
  uv_cond_t is_taken;  // for a writer that waits
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
/// are posted without waiting for mailbox_post, and while more than `limit` are posted, the
/// writer waits.
void mailbox_init(Mailbox *box, uv_async_t *bell, uv_async_t *writer, size_t early,
                  size_t limit);
void mailbox_deinit(Mailbox *box);

/// Writer: adds a record and returns its body of `size` bytes, to be filled in before the
/// next call.
void *mailbox_add(Mailbox *box, const RemoteCall *call, size_t size);

/// Writer: bytes that were added or posted and, as far as is known, not taken.
size_t mailbox_pending(const Mailbox *box);

/// Writer: hands over what was added, once there is room. With `is_awaited` its own bell
/// rings when the reader next takes something. With nothing added, notes what was taken.
void mailbox_post(Mailbox *box, bool is_awaited);

/// Writer: how often something was taken.
uint64_t mailbox_takes(Mailbox *box);

/// Reader: takes all that was posted and runs it with `net`, in order; with NULL it is dropped.
void mailbox_run(Mailbox *box, Net *net);

/// Reader: nothing is taken any more.
void mailbox_close(Mailbox *box);

/// The record of a body.
static inline const Mail *mail_of(const void *body) { return (const Mail *)body - 1; }
