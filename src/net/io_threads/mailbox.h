// What one thread tells another, in one direction. The writer collects records and posts
// them in one piece; the reader takes all that were posted. Both only swap buffers while
// they hold the lock, and the reader is woken only when there was nothing for it before.
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"

/// The head of a record; its body follows, aligned to 8 bytes.
typedef struct Mail {
  uint32_t size;  // of head, body and padding
  uint32_t kind;
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
  size_t posted_size;  // of `posted` when the writer last saw it
  Buf taken;           // the reader's
  uv_async_t *bell;    // wakes the reader
  uv_async_t *writer;  // wakes the writer
} Mailbox;

/// `bell` and `writer` are handles of the loops of reader and writer.
void mailbox_init(Mailbox *box, uv_async_t *bell, uv_async_t *writer);
void mailbox_deinit(Mailbox *box);

/// Writer: adds a record and returns its body of `size` bytes, to be filled in before the
/// next call.
void *mailbox_add(Mailbox *box, uint32_t kind, size_t size);

/// Writer: bytes that were added or posted and, as far as is known, not taken.
size_t mailbox_pending(const Mailbox *box);

/// Writer: hands over what was added. With `is_awaited` its own bell rings when the reader
/// next takes something.
void mailbox_post(Mailbox *box, bool is_awaited);

/// Writer: waits until no more than `limit` bytes are posted, or nobody takes them.
void mailbox_wait(Mailbox *box, size_t limit);

/// Writer: how often something was taken.
uint64_t mailbox_takes(Mailbox *box);

/// Reader: takes all that was posted; what was taken before is gone. False when there is
/// nothing.
bool mailbox_take(Mailbox *box);

/// Reader: the record that begins at `*at` of what was taken, and moves there past it; NULL
/// at the end.
const Mail *mailbox_next(const Mailbox *box, size_t *at);

/// Reader: nothing is taken any more.
void mailbox_close(Mailbox *box);

/// The body of a record.
static inline const void *mail_body(const Mail *mail) { return mail + 1; }
