// Backlogs: copies of messages for a connection that does not read fast enough. Each
// priority has a lane for the stream and one for datagrams. A lane contains only whole
// messages, so that overflow can drop them and keys can replace them. The transport
// gets about WRITE_CHUNK_BYTES at a time.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/conn.h"

// Number of OUT_KEEP messages that may wait beyond channel_capacity.
enum { BACKLOG_KEPT_SPARE = 256 };

static Backlog *backlog_of(Conn *conn) {
  if (conn->out.backlog) return conn->out.backlog;
  conn->out.backlog = mem_zalloc(sizeof *conn->out.backlog);
  conn->out.backlog->net = conn->net;
  return conn->out.backlog;
}

static void lane_deinit(Lane *lane) {
  buf_deinit(&lane->bytes);
  mem_free(lane->items);
}

// Adds all changes of one call to the shared totals at once, because other threads use
// the totals, too.
static void count(Backlog *backlog) {
  NetTotals *totals = backlog->net->totals;
  NetSent now = {backlog->droppable + backlog->kept, backlog->bytes};
  if (now.packets != backlog->counted.packets)
    totals->backlog_packets += now.packets - backlog->counted.packets;
  if (now.bytes != backlog->counted.bytes)
    totals->backlog_bytes += now.bytes - backlog->counted.bytes;
  backlog->counted = now;
}

static void count_none(Backlog *backlog) {
  backlog->droppable = backlog->kept = 0;
  backlog->bytes = 0;
  count(backlog);
}

void backlog_free(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  if (!backlog) return;
  count_none(backlog);
  for (int i = 0; i < LANE_COUNT; i++) lane_deinit(&backlog->lanes[i]);
  buf_deinit(&backlog->writing);
  mem_free(backlog->drops);
  mem_free(backlog);
  conn->out.backlog = NULL;
}

static void count_drop(Conn *conn, uint32_t tag) {
  Backlog *backlog = conn->out.backlog;
  if (!(conn->self.listed & LISTED_DROPPING)) {
    conn->self.listed |= LISTED_DROPPING;
    list_add(&conn->net->dropping, conn);
  }
  for (uint32_t i = 0; i < backlog->drop_count; i++)
    if (backlog->drops[i].tag == tag) {
      backlog->drops[i].count++;
      return;
    }
  if (backlog->drop_count == backlog->drop_capacity)
    backlog->drop_capacity =
        array_grow(&backlog->drops, backlog->drop_capacity, sizeof(Drop), 2);
  backlog->drops[backlog->drop_count++] = (Drop){tag, 1};
}

bool backlog_report(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  Net *net = conn->net;
  if (!backlog || backlog->drop_count == 0) return false;
  Drop drop = backlog->drops[0];
  memmove(backlog->drops, backlog->drops + 1, --backlog->drop_count * sizeof drop);
  bool is_more = backlog->drop_count > 0;
  uint32_t queued = backlog->droppable + backlog->kept;
  if (queued == 0 && !is_more && !backlog->is_writing) backlog_free(conn);
  net->events.drops(net->data, conn->self.data, drop.tag, drop.count, queued);
  return is_more && conn->state == CONN_OPEN;
}

static void forget(Backlog *backlog, const Waiting *item) {
  if (item->flags & OUT_KEEP)
    backlog->kept--;
  else
    backlog->droppable--;
  backlog->bytes -= item->size;
}

static void shrink(Buf *buf) {
  Buf small = {0};
  buf_append(&small, buf->data, buf->size);
  buf_deinit(buf);
  *buf = small;
}

// Moves the remaining messages to the front when at least half of the lane's bytes
// belong to removed or dropped messages.
static void lane_compact(Lane *lane) {
  if (lane->at + lane->dead_bytes < 4096 ||
      (lane->at + lane->dead_bytes) * 2 < lane->bytes.size)
    return;
  size_t from = lane->at, to = 0;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < lane->count; i++) {
    Waiting item = lane->items[lane->head + i];
    if (!item.is_dead) {
      memmove(lane->bytes.data + to, lane->bytes.data + from, item.size);
      to += item.size;
      lane->items[kept++] = item;
    }
    from += item.size;
  }
  lane->bytes.size = to;
  lane->at = lane->dead_bytes = 0;
  lane->head = 0;
  lane->count = kept;
  if (lane->bytes.capacity / 4 >= to + WRITE_CHUNK_BYTES) shrink(&lane->bytes);
}

// Removes the oldest message of a lane; returns its bytes, which are valid until the
// next change.
static const uint8_t *lane_pop(Lane *lane, Waiting *item) {
  *item = lane->items[lane->head++];
  const uint8_t *bytes = lane->bytes.data + lane->at;
  lane->count--;
  lane->at += item->size;
  if (item->is_dead) lane->dead_bytes -= item->size;
  if (item->key && !item->is_dead) lane->keyed_count--;
  return bytes;
}

static void lane_push(Lane *lane, const Waiting *item, const uint8_t *bytes) {
  lane_compact(lane);
  if (lane->head + lane->count == lane->capacity) {
    if (lane->head > lane->count) {
      memmove(lane->items, lane->items + lane->head, lane->count * sizeof *lane->items);
      lane->head = 0;
    } else {
      lane->capacity =
          array_grow(&lane->items, lane->capacity, sizeof *lane->items, 16);
    }
  }
  lane->items[lane->head + lane->count++] = *item;
  buf_append(&lane->bytes, bytes, item->size);
  if (item->key) lane->keyed_count++;
}

static void kill_item(Backlog *backlog, Lane *lane, Waiting *item) {
  item->is_dead = true;
  lane->dead_bytes += item->size;
  if (item->key) lane->keyed_count--;
  forget(backlog, item);
}

static void replace_key(Backlog *backlog, Lane *lane, uint32_t tag, uint64_t key) {
  for (uint32_t i = lane->count; lane->keyed_count && i-- > 0;) {
    Waiting *item = &lane->items[lane->head + i];
    if (item->is_dead || item->key != key || item->tag != tag) continue;
    kill_item(backlog, lane, item);
    backlog->net->replaced++;
    return;
  }
}

static void pop_dead(Lane *lane) {
  Waiting item;
  while (lane->count && lane->items[lane->head].is_dead) lane_pop(lane, &item);
}

static bool drop_oldest_of(Conn *conn, Lane *lane) {
  pop_dead(lane);
  for (uint32_t i = 0; i < lane->count; i++) {
    Waiting *item = &lane->items[lane->head + i];
    if (item->is_dead || item->flags & OUT_KEEP) continue;
    count_drop(conn, item->tag);
    kill_item(conn->out.backlog, lane, item);
    return true;
  }
  return false;
}

// Drops the oldest droppable message of the lowest priority that has one.
static bool drop_oldest(Conn *conn) {
  Lane *lanes = conn->out.backlog->lanes;
  for (int p = PRIORITY_COUNT - 1; p >= 0; p--)
    if (drop_oldest_of(conn, &lanes[LANE_UNRELIABLE + p]) ||
        drop_oldest_of(conn, &lanes[p]))
      return true;
  return false;
}

// Ends the connection and drops all waiting messages. The transport still writes the
// chunk that it has.
static void condemn(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  for (int i = 0; i < LANE_COUNT; i++) {
    lane_deinit(&backlog->lanes[i]);
    backlog->lanes[i] = (Lane){0};
  }
  count_none(backlog);
  conn_end(conn, END_SLOW);
}

// Returns whether there is room for a message that must not be dropped. Its limit is
// higher, so that droppable messages alone never end the connection.
static bool has_room_kept(Conn *conn, const Waiting *item, size_t bytes) {
  uint32_t count = conn->net->limits.channel_capacity + BACKLOG_KEPT_SPARE;
  if (conn->out.backlog->kept < count &&
      conn->out.backlog->bytes + item->size <= bytes + NET_BACKLOG_KEPT)
    return true;
  condemn(conn);
  return false;
}

// Drops messages until there is room for a new one. Returns false if the new message
// must be dropped instead.
static bool has_room(Conn *conn, const Waiting *item) {
  Backlog *backlog = conn->out.backlog;
  uint32_t capacity = conn->net->limits.channel_capacity;
  bool is_scarce = conn->net->totals->backlog_bytes >= NET_BACKLOG_TOTAL;
  size_t bytes = is_scarce ? NET_BACKLOG_SHARE : NET_BACKLOG_BYTES;
  if (item->flags & OUT_KEEP) return has_room_kept(conn, item, bytes);
  while (backlog->droppable >= capacity || backlog->bytes + item->size > bytes) {
    if (conn->net->limits.overflow == OVERFLOW_DISCONNECT) {
      condemn(conn);
      return false;
    }
    if (conn->net->limits.overflow == DROP_OLDEST && drop_oldest(conn)) continue;
    count_drop(conn, item->tag);
    return false;
  }
  return true;
}

void backlog_take(Conn *conn, uint8_t index, const Outbuf *outbuf, uint32_t first,
                  uint32_t last, uint32_t tag) {
  Backlog *backlog = backlog_of(conn);
  Lane *lane = &backlog->lanes[index];
  for (uint32_t i = first; i < last && conn->end < END_SLOW; i++) {
    const Entry *entry = &outbuf->entries[i];
    uint32_t start = outbuf_start(outbuf, i);
    Waiting item = {entry->end - start, tag, entry->key, entry->flags, false};
    if (item.key) replace_key(backlog, lane, tag, item.key);
    if (conn->out.is_condemned && !(item.flags & OUT_KEEP)) continue;
    if (!has_room(conn, &item)) continue;
    lane_push(lane, &item, outbuf->bytes.data + start);
    backlog->bytes += item.size;
    if (item.flags & OUT_KEEP)
      backlog->kept++;
    else
      backlog->droppable++;
  }
  count(backlog);
}

void backlog_take_rest(Conn *conn, const uint8_t *bytes, size_t size) {
  buf_append(&backlog_of(conn)->writing, bytes, size);
}

const uint8_t *backlog_pop_unreliable(Conn *conn, Waiting *item) {
  Backlog *backlog = conn->out.backlog;
  for (int i = LANE_UNRELIABLE; backlog && i < LANE_COUNT; i++) {
    Lane *lane = &backlog->lanes[i];
    pop_dead(lane);
    if (lane->count == 0) continue;
    const uint8_t *bytes = lane_pop(lane, item);
    forget(backlog, item);
    count(backlog);
    return bytes;
  }
  return NULL;
}

void backlog_join_stream(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  for (int i = 0; i < PRIORITY_COUNT; i++) {
    Lane *from = &backlog->lanes[LANE_UNRELIABLE + i], *to = &backlog->lanes[i];
    while (from->count) {
      Waiting item;
      const uint8_t *bytes = lane_pop(from, &item);
      if (item.is_dead) continue;
      if (item.key) replace_key(backlog, to, item.tag, item.key);
      lane_push(to, &item, bytes);
    }
    lane_compact(from);
  }
  count(backlog);
}

bool backlog_has_unreliable(Conn *conn) {
  for (int i = LANE_UNRELIABLE; i < LANE_COUNT; i++) {
    Lane *lane = &conn->out.backlog->lanes[i];
    pop_dead(lane);
    if (lane->count > 0) return true;
  }
  return false;
}

// Fills `writing` with whole messages, in the order of their priorities.
static void fill_chunk(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  size_t start = backlog->writing.size;
  for (int i = 0; i < PRIORITY_COUNT; i++) {
    Lane *lane = &backlog->lanes[i];
    while (lane->count && backlog->writing.size < WRITE_CHUNK_BYTES) {
      Waiting item;
      const uint8_t *bytes = lane_pop(lane, &item);
      if (item.is_dead) continue;
      forget(backlog, &item);
      buf_append(&backlog->writing, bytes, item.size);
    }
  }
  count(backlog);
  if (conn->protocol->wrap) conn->protocol->wrap(conn, &backlog->writing, start);
}

void backlog_pump(Conn *conn) {
  Backlog *backlog = conn->out.backlog;
  if (backlog->is_writing || conn->out.holds > 0 || conn->state == CONN_CLOSED) return;
  fill_chunk(conn);
  if (backlog->writing.size == 0) {
    bool is_closing =
        conn->state == CONN_CLOSING;  // a closing connection does not report drops
    if (is_closing || (backlog->drop_count == 0 && !backlog_has_unreliable(conn)))
      backlog_free(conn);
    if (is_closing)
      conn_drained(conn);
    else if (conn->protocol->drained)
      conn->protocol->drained(conn);
    return;
  }
  backlog->is_writing = true;
  Buf *writing = &backlog->writing;
  int err = transport_write(conn->transport, writing->data, writing->size);
  if (err) {
    backlog->is_writing = false;
    conn_end(conn, END_BROKEN);
  }
}

bool backlog_written(Conn *conn, int status) {
  Backlog *backlog = conn->out.backlog;
  if (!backlog || !backlog->is_writing) return false;
  backlog->is_writing = false;
  backlog->writing.size = 0;
  if (status == 0)
    backlog_pump(conn);
  else
    conn_end(conn, END_BROKEN);
  return true;
}

void backlog_write_now(Conn *conn, const uint8_t *bytes, size_t size) {
  int written = UV_EAGAIN;
  uv_buf_t buf = uv_buf_init((char *)bytes, (unsigned)size);
  if (!conn->out.backlog && conn->out.holds == 0)
    written = transport_try_write(conn->transport, &buf, 1);
  if (written < 0 && written != UV_EAGAIN) {
    conn_end(conn, END_BROKEN);
    return;
  }
  size_t done = written > 0 ? (size_t)written : 0;
  if (done == size) return;
  backlog_take_rest(conn, bytes + done, size - done);
  backlog_pump(conn);
}
