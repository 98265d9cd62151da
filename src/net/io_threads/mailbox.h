// A mailbox carries calls from one thread to another. The writer collects calls and
// posts them in one piece; the reader takes all posted calls. Both only swap buffers
// under the lock. The writer wakes the reader only if the mailbox was empty before.
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/buf.h"
#include "net/endpoint.h"

/// The head of a record; the body follows.
typedef struct Mail {
  const RemoteCall *call;
  uint64_t size;  // size of head, body and padding to 8 bytes
} Mail;

typedef struct Mailbox {
  uv_mutex_t lock;      // protects the next five fields
  Buf posted;           // posted calls that the reader has not taken
  uint64_t takes;       // number of times that the reader has taken calls
  bool is_awaited;      // the next take wakes the writer
  bool is_closed;       // the reader takes no more calls
  uv_cond_t is_taken;   // signalled for a writer that waits for room
  Buf written;          // calls that the writer has not posted
  uint64_t takes_seen;  // value of `takes` when the writer last posted
  size_t posted_size;   // size of `posted` when the writer last saw it
  Buf taken;            // calls that the reader is running
  uv_async_t *bell;     // wakes the reader
  uv_async_t *writer;   // wakes the writer
  size_t early, limit;  // arguments of mailbox_init
} Mailbox;

/// Initializes a mailbox. `bell` is a handle in the loop of the reader, `writer` in the
/// loop of the writer. `writer` may be NULL if is_awaited is always false. mailbox_add
/// posts if more than `early` bytes are not posted. mailbox_post waits while more than
/// `limit` bytes are posted.
void mailbox_init(Mailbox *box, uv_async_t *bell, uv_async_t *writer, size_t early,
                  size_t limit);
void mailbox_deinit(Mailbox *box);

/// Writer: adds a record and returns its body of `size` bytes, which the caller fills
/// in before the next call.
void *mailbox_add(Mailbox *box, const RemoteCall *call, size_t size);

/// Writer: returns the number of bytes that the reader has not taken, as far as the
/// writer knows.
size_t mailbox_pending(const Mailbox *box);

/// Writer: posts added calls, as soon as the mailbox has room. With `is_awaited`, the
/// next take wakes the writer. If no calls were added, only updates the writer's
/// knowledge of the calls that the reader has taken.
void mailbox_post(Mailbox *box, bool is_awaited);

/// Writer: returns the number of times that the reader has taken calls.
uint64_t mailbox_takes(Mailbox *box);

/// Reader: takes all posted calls and runs them with `net`, in order. If `net` is NULL,
/// drops them.
void mailbox_run(Mailbox *box, Net *net);

/// Reader: stops taking calls, so that the writer does not wait for room any more.
void mailbox_close(Mailbox *box);

/// Returns the record of a body.
static inline const Mail *mail_of(const void *body) { return (const Mail *)body - 1; }
