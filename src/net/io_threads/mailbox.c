// See mailbox.h.
#include "net/io_threads/mailbox.h"

enum { KEEP_BYTES = 256 << 10 };  // size above which a buffer is freed

void mailbox_init(Mailbox *box, uv_async_t *bell, uv_async_t *writer, size_t early,
                  size_t limit) {
  *box = (Mailbox){.bell = bell, .writer = writer, .early = early, .limit = limit};
  uv_mutex_init(&box->lock);
  uv_cond_init(&box->is_taken);
}

void mailbox_deinit(Mailbox *box) {
  uv_mutex_destroy(&box->lock);
  uv_cond_destroy(&box->is_taken);
  buf_deinit(&box->posted);
  buf_deinit(&box->written);
  buf_deinit(&box->taken);
}

// --- The writer ---

size_t mailbox_pending(const Mailbox *box) {
  return box->posted_size + box->written.size;
}

static void empty(Buf *buf) {
  buf->size = 0;
  if (buf->capacity > KEEP_BYTES) buf_deinit(buf);
}

// Waits until at most `limit` bytes are posted, or the reader has closed the mailbox.
static void await_room(Mailbox *box) {
  if (box->posted_size <= box->limit) return;
  uv_mutex_lock(&box->lock);
  while (box->posted.size > box->limit && !box->is_closed)
    uv_cond_wait(&box->is_taken, &box->lock);
  box->posted_size = box->posted.size;
  uv_mutex_unlock(&box->lock);
}

void mailbox_post(Mailbox *box, bool is_awaited) {
  if (box->written.size == 0) {
    if (box->posted_size > 0) mailbox_takes(box);
    return;
  }
  await_room(box);
  uv_mutex_lock(&box->lock);
  bool was_empty = box->posted.size == 0;
  if (was_empty) {
    Buf other = box->posted;
    box->posted = box->written;
    box->written = other;
  } else {
    buf_append(&box->posted, box->written.data, box->written.size);
  }
  box->is_awaited |= is_awaited;
  box->takes_seen = box->takes;
  box->posted_size = box->posted.size;
  uv_mutex_unlock(&box->lock);
  empty(&box->written);
  if (was_empty) uv_async_send(box->bell);
}

void *mailbox_add(Mailbox *box, const RemoteCall *call, size_t size) {
  if (box->written.size > box->early) mailbox_post(box, false);
  size_t whole = buf_padded(sizeof(Mail) + size);
  Mail *mail = (Mail *)buf_reserve(&box->written, whole);
  *mail = (Mail){call, whole};
  box->written.size += whole;
  return mail + 1;
}

uint64_t mailbox_takes(Mailbox *box) {
  uv_mutex_lock(&box->lock);
  uint64_t takes = box->takes;
  box->posted_size = box->posted.size;
  uv_mutex_unlock(&box->lock);
  return takes;
}

// --- The reader ---

static void take(Mailbox *box) {
  empty(&box->taken);
  uv_mutex_lock(&box->lock);
  Buf posted = box->posted;
  box->posted = box->taken;
  box->taken = posted;
  bool is_awaited = box->is_awaited;
  box->is_awaited = false;
  box->takes++;
  uv_cond_signal(&box->is_taken);
  uv_mutex_unlock(&box->lock);
  if (is_awaited) uv_async_send(box->writer);
}

void mailbox_run(Mailbox *box, Net *net) {
  take(box);
  const Mail *mail;
  for (size_t at = 0; at < box->taken.size; at += mail->size) {
    mail = (const Mail *)(box->taken.data + at);
    if (net)
      mail->call->run(net, mail + 1);
    else if (mail->call->drop)
      mail->call->drop(mail + 1);
  }
}

void mailbox_close(Mailbox *box) {
  uv_mutex_lock(&box->lock);
  box->is_closed = true;
  uv_cond_signal(&box->is_taken);
  uv_mutex_unlock(&box->lock);
}
