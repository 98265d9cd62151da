// Flushing: each connection takes the new messages of its sources and writes them at
// once. Within a priority, the messages of all sources are merged by sequence, so that
// a connection gets them in the order in which they were made. The common case is one
// source without skips: then a flush is one run and one write.
#include "base/mem.h"
#include "net/conn.h"

// Number of buffers in one gathered write. It is below the limit of writev (IOV_MAX,
// 1024 on Linux). It is large, so that a flush is one write even if messages alternate
// between sources.
enum { RUNS_MAX = 1000 };

// A position in one source.
typedef struct Cursor {
  const Outbuf *outbuf;
  uint32_t at;  // index of the next message
  uint32_t tag;
  uint32_t base;  // number of the outbuf's first message
  uint8_t priority;
  const Skip *skips;  // skips of the member, for all priorities
  uint32_t skip_count;
} Cursor;

// Messages [first, last) of an outbuf that are adjacent in memory.
typedef struct Run {
  const Outbuf *outbuf;
  uint32_t first, last;
  uint32_t tag;
  uint8_t priority;
} Run;

typedef struct Writer {
  Conn *conn;
  uint32_t count;
  bool is_unreliable;  // some messages went by datagrams
  size_t total;        // bytes in the runs
  Run runs[RUNS_MAX];
  uv_buf_t bufs[1 + RUNS_MAX];  // bytes of the runs; the first buffer is for a header
} Writer;

static uint32_t run_size(const Run *run) {
  return run->outbuf->entries[run->last - 1].end -
         outbuf_start(run->outbuf, run->first);
}

static void take_run(Conn *conn, const Run *run) {
  backlog_take(conn, run->priority, run->outbuf, run->first, run->last, run->tag);
}

// Copies the bytes that the socket did not accept to the backlog: first the rest of a
// message, then whole messages.
static void keep_rest(const Writer *writer, size_t written) {
  for (uint32_t i = 0; i < writer->count; i++) {
    Run run = writer->runs[i];
    size_t size = run_size(&run);
    if (written >= size) {
      written -= size;
      continue;
    }
    if (written > 0) {
      uint32_t cut = outbuf_start(run.outbuf, run.first) + (uint32_t)written;
      while (run.outbuf->entries[run.first].end <= cut) run.first++;
      if (outbuf_start(run.outbuf, run.first) < cut) {
        uint32_t end = run.outbuf->entries[run.first++].end;
        backlog_take_rest(writer->conn, run.outbuf->bytes.data + cut, end - cut);
      }
      written = 0;
    }
    if (run.first < run.last) take_run(writer->conn, &run);
  }
}

static void writer_send(Writer *writer) {
  if (writer->count == 0) return;
  Conn *conn = writer->conn;
  conn_publish(conn);  // before the write, because the other side may react at once
  int written =
      conn->protocol->write
          ? conn->protocol->write(conn, writer->bufs, writer->count, writer->total)
          : transport_try_write(conn->transport, writer->bufs + 1, writer->count);
  if (written < 0 && written != UV_EAGAIN)
    conn_end(conn, END_BROKEN);
  else if (written < 0)
    keep_rest(writer, 0);
  else if ((size_t)written < writer->total)
    keep_rest(writer, (size_t)written);
  writer->count = 0;
  writer->total = 0;
}

static void count_sent(NetSent *sent, const Run *run, uint32_t size) {
  sent->packets += run->last - run->first;
  sent->bytes += size;
}

static void writer_put(Writer *writer, const Run *run) {
  if (writer->conn->end == END_BROKEN) return;
  uint32_t size = run_size(run);
  count_sent(&writer->conn->out.sent, run, size);
  count_sent(&writer->conn->net->sent[writer->conn->out.transport], run, size);
  if (writer->conn->out.backlog || writer->conn->out.holds > 0) {
    take_run(writer->conn, run);
    return;
  }
  const uint8_t *bytes =
      run->outbuf->bytes.data + outbuf_start(run->outbuf, run->first);
  writer->runs[writer->count] = *run;
  writer->bufs[++writer->count] = uv_buf_init((char *)bytes, size);
  writer->total += size;
  if (writer->count == RUNS_MAX) writer_send(writer);
}

// Removes from `run` its first messages that fit into `room` bytes, and returns them.
static Run take_fitting(Run *run, size_t room) {
  uint32_t start = outbuf_start(run->outbuf, run->first);
  Run part = *run;
  part.last = part.first;
  while (part.last < run->last && run->outbuf->entries[part.last].end - start <= room)
    part.last++;
  run->first = part.last;
  return part;
}

// Splits the messages into WebSocket messages of at most WRITE_CHUNK_BYTES (or one
// larger packet), because overflow cannot drop a WebSocket message after its first
// bytes were written.
static void writer_add(Writer *writer, const Run *run) {
  Run rest = *run;
  while (writer->conn->protocol->write &&
         writer->total + run_size(&rest) > WRITE_CHUNK_BYTES) {
    Run part = take_fitting(&rest, WRITE_CHUNK_BYTES - writer->total);
    if (part.first == part.last && writer->total == 0) part.last = ++rest.first;
    if (part.first < part.last) writer_put(writer, &part);
    writer_send(writer);
    if (rest.first == rest.last) return;
  }
  writer_put(writer, &rest);
}

// Sends the messages of a run by datagrams. Copies messages that cannot leave now to
// the backlog.
static void send_unreliable(Writer *writer, const Run *run) {
  Conn *conn = writer->conn;
  const Outbuf *outbuf = run->outbuf;
  uint32_t total = run_size(run);
  count_sent(&conn->out.sent, run, total);
  count_sent(&conn->net->sent[TRANSPORT_UDP], run, total);
  writer->is_unreliable = true;
  for (uint32_t i = run->first; i < run->last; i++) {
    const Entry *entry = &outbuf->entries[i];
    uint32_t start = outbuf_start(outbuf, i), size = entry->end - start;
    if (!conn->datagrams->ops->send(conn->datagrams, outbuf->bytes.data + start, size,
                                    entry->key, run->tag))
      backlog_take(conn, LANE_UNRELIABLE + run->priority, outbuf, i, i + 1, run->tag);
  }
}

// Sends each message of a run by datagrams if they can carry it, otherwise by the
// stream.
static void writer_sort(Writer *writer, const Run *run) {
  const Datagrams *datagrams = writer->conn->datagrams;
  const Outbuf *outbuf = run->outbuf;
  Run part = *run;
  for (uint32_t i = run->first; i < run->last; i = part.last) {
    bool is_unreliable = false;
    part.first = i;
    for (part.last = i; part.last < run->last; part.last++) {
      const Entry *entry = &outbuf->entries[part.last];
      uint32_t size = entry->end - outbuf_start(outbuf, part.last);
      bool is_next = datagrams->ops->carries(datagrams, entry->flags, size);
      if (part.last == i) is_unreliable = is_next;
      if (is_next != is_unreliable) break;
    }
    if (is_unreliable)
      send_unreliable(writer, &part);
    else
      writer_add(writer, &part);
  }
}

// Moves the cursor to the next message that this connection gets. Returns false if the
// outbuf has no such message.
static bool settle(Cursor *cursor) {
  for (; cursor->at < cursor->outbuf->count; cursor->at++) {
    uint32_t number = cursor->base + cursor->at;
    while (cursor->skip_count && (cursor->skips->priority != cursor->priority ||
                                  (int32_t)(cursor->skips->to - number) <= 0)) {
      cursor->skips++;
      cursor->skip_count--;
    }
    if (cursor->skip_count && (int32_t)(cursor->skips->from - number) <= 0) {
      cursor->at = cursor->skips->to - cursor->base - 1;
      continue;
    }
    if (!cursor->outbuf->entries[cursor->at].is_dead) return true;
  }
  return false;
}

// Returns the index of the first message, from `cursor->at` on, whose sequence is at
// least `limit`.
static uint32_t find_sequence(const Cursor *cursor, uint64_t limit) {
  uint32_t low = cursor->at, high = cursor->outbuf->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (cursor->outbuf->entries[middle].sequence < limit)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Takes adjacent messages from a cursor after `settle`, as far as their sequence is
// below `limit`.
static Run next_run(Cursor *cursor, uint64_t limit) {
  const Outbuf *outbuf = cursor->outbuf;
  uint32_t last = limit == UINT64_MAX ? outbuf->count : find_sequence(cursor, limit);
  if (cursor->skip_count) {
    uint32_t from = cursor->skips->from - cursor->base;
    if (cursor->skips->priority == cursor->priority && from < last) last = from;
  }
  Run run = {outbuf, cursor->at, cursor->at + 1, cursor->tag, cursor->priority};
  if (outbuf->dead_count == 0)
    run.last = last;
  else
    while (run.last < last && !outbuf->entries[run.last].is_dead) run.last++;
  cursor->at = run.last;
  return run;
}

static uint64_t next_sequence(const Cursor *cursor) {
  return cursor->outbuf->entries[cursor->at].sequence;
}

// Restores the heap's order at `at`, the only entry that may be out of order. The top
// is the cursor with the oldest next message.
static void sift_down(Cursor *heap, uint32_t count, uint32_t at) {
  for (;;) {
    uint32_t oldest = at;
    for (uint32_t i = 2 * at + 1; i <= 2 * at + 2 && i < count; i++)
      if (next_sequence(&heap[i]) < next_sequence(&heap[oldest])) oldest = i;
    if (oldest == at) return;
    Cursor moved = heap[at];
    heap[at] = heap[oldest];
    heap[oldest] = moved;
    at = oldest;
  }
}

// Returns the lowest next sequence of all cursors but the first; UINT64_MAX without
// them.
static uint64_t second_sequence(const Cursor *heap, uint32_t count) {
  uint64_t second = UINT64_MAX;
  for (uint32_t i = 1; i <= 2 && i < count; i++)
    if (next_sequence(&heap[i]) < second) second = next_sequence(&heap[i]);
  return second;
}

// Adds all messages of the cursors in the order of their sequence.
static void merge(Writer *writer, Cursor *cursors, uint32_t count) {
  uint32_t left = 0;
  for (uint32_t i = 0; i < count; i++)
    if (settle(&cursors[i])) cursors[left++] = cursors[i];
  for (uint32_t i = left / 2; i-- > 0;) sift_down(cursors, left, i);
  while (left > 0) {
    Run run = next_run(&cursors[0], second_sequence(cursors, left));
    if (writer->conn->datagrams && writer->conn->out.holds == 0)
      writer_sort(writer, &run);
    else
      writer_add(writer, &run);
    if (!settle(&cursors[0])) cursors[0] = cursors[--left];
    sift_down(cursors, left, 0);
  }
}

static bool open_member(const GroupRef *ref, uint8_t priority, Cursor *cursor) {
  Group *group = ref->group;
  const Outbuf *outbuf = group->source.outbufs[priority];
  if (!outbuf) return false;
  Member *member = &group->members[ref->index];
  uint32_t taken = member->cursor[priority] - group->base[priority];
  if ((int32_t)taken < 0) taken = 0;
  if (taken >= outbuf->count) return false;
  member->cursor[priority] = group->base[priority] + outbuf->count;
  *cursor = (Cursor){
      .outbuf = outbuf,
      .at = taken,
      .tag = group->tag,
      .base = group->base[priority],
      .priority = priority,
      .skips = member->skips,
      .skip_count = member->skip_count,
  };
  return true;
}

static void flush_priority(Writer *writer, uint8_t priority) {
  enum { CURSORS_FEW = 16 };
  Conn *conn = writer->conn;
  Cursor few[CURSORS_FEW], *cursors = few;
  if (conn->out.group_count >= CURSORS_FEW)
    cursors = mem_alloc((conn->out.group_count + 1u) * sizeof *cursors);
  uint32_t count = 0;
  if (conn->out.direct.outbufs[priority])
    cursors[count++] =
        (Cursor){.outbuf = conn->out.direct.outbufs[priority], .priority = priority};
  for (uint32_t i = 0; i < conn->out.group_count; i++)
    if (open_member(&conn->out.groups[i], priority, &cursors[count])) count++;
  merge(writer, cursors, count);
  if (cursors != few) mem_free(cursors);
}

void flush_conn(Conn *conn, unsigned mask) {
  unsigned pending = conn->out.direct.pending;
  for (uint32_t i = 0; i < conn->out.group_count; i++)
    pending |= conn->out.groups[i].group->source.pending;
  mask &= pending;
  if (!mask) return;
  Writer writer;
  writer.conn = conn;
  writer.count = 0;
  writer.is_unreliable = false;
  writer.total = 0;
  for (uint8_t i = 0; i < PRIORITY_COUNT; i++)
    if (mask & 1u << i) flush_priority(&writer, i);
  writer_send(&writer);
  for (uint8_t i = 0; i < PRIORITY_COUNT; i++)
    if (mask & conn->out.direct.pending & 1u << i)
      outbuf_release(conn->net, &conn->out.direct, i);
  if (conn->out.backlog) backlog_pump(conn);
  if (writer.is_unreliable) conn->datagrams->ops->flush(conn->datagrams);
  conn_publish(conn);
}

// Empties the group's outbufs of the priorities in `mask`. All members must have taken
// the messages in these outbufs.
static void reset(Net *net, Group *group, unsigned mask) {
  for (uint8_t i = 0; i < PRIORITY_COUNT; i++) {
    if (!(mask & 1u << i) || !group->source.outbufs[i]) continue;
    group->base[i] += group->source.outbufs[i]->count;
    outbuf_release(net, &group->source, i);
  }
}

// Clears the skips of all members. Nothing may be pending.
static void forget_skips(Group *group) {
  for (uint32_t i = 0; i < group->count; i++) {
    Member *member = &group->members[i];
    member->skip_count = 0;
    if (member->skip_capacity <= SKIPS_KEPT) continue;
    mem_free(member->skips);
    member->skips = NULL;
    member->skip_capacity = 0;
  }
}

void flush_group(Net *net, Group *group, unsigned mask) {
  if (!(mask & group->source.pending)) return;
  for (uint32_t i = 0; i < group->count; i++) flush_conn(group->members[i].conn, mask);
  reset(net, group, mask);
  if (!group->source.pending) forget_skips(group);
}

// Flushes the dirty sources: the priorities in `mask`, or all priorities of an urgent
// source. Sources with pending messages of other priorities stay in the lists.
static void flush_dirty(Net *net, unsigned mask) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < net->dirty_groups.count; i++) {
    Group *group = net->dirty_groups.items[i];
    flush_group(net, group, group->is_urgent ? PRIORITIES_ALL : mask);
    group->is_urgent = false;
    group->source.is_dirty = group->source.pending != 0;
    if (group->source.is_dirty) net->dirty_groups.items[kept++] = group;
  }
  net->dirty_groups.count = kept;
  kept = 0;
  for (uint32_t i = 0; i < net->dirty_conns.count; i++) {
    Conn *conn = net->dirty_conns.items[i];
    unsigned wanted = conn->out.is_urgent ? PRIORITIES_ALL : mask;
    if (conn->out.direct.pending & wanted) flush_conn(conn, wanted);
    conn->out.is_urgent = false;
    conn->out.direct.is_dirty = conn->out.direct.pending != 0;
    if (conn->out.direct.is_dirty) net->dirty_conns.items[kept++] = conn;
  }
  net->dirty_conns.count = kept;
}

static void on_flush_due(void *data, uint64_t now_ms) {
  // Does nothing: the timer has only to wake the loop, and the end of this iteration
  // flushes.
  (void)data;
  (void)now_ms;
}

// Reports the drops of one source for each connection. Connections with drops of other
// sources enter a new list, for the next flush. The callee may close any connection,
// because the loop frees a Conn later, and this function skips closed ones.
static bool report_drops(Net *net) {
  List list = net->dropping;
  net->dropping = (List){0};
  for (uint32_t i = 0; i < list.count; i++) {
    Conn *conn = list.items[i];
    conn->self.listed &= (uint8_t)~LISTED_DROPPING;
    bool is_more = conn->state == CONN_OPEN && backlog_report(conn);
    if (!is_more || conn->self.listed & LISTED_DROPPING) continue;
    conn->self.listed |= LISTED_DROPPING;
    list_add(&net->dropping, conn);
  }
  bool is_any = list.count > 0;
  list_deinit(&list);
  return is_any;
}

static bool is_idle(const Net *net) {
  return net->dirty_groups.count + net->dirty_conns.count + net->dropping.count == 0;
}

bool flush_due(Net *net) {
  if (is_idle(net)) return false;
  uint64_t now_us = net->limits.batch_hz ? net_clock_us(net) : 0;
  if (net->limits.batch_hz == 0 || now_us >= net->next_flush_us) {
    flush_dirty(net, PRIORITIES_ALL);
    if (net->limits.batch_hz)
      net->next_flush_us = now_us + 1000000 / net->limits.batch_hz;
    return report_drops(net);
  }
  flush_dirty(net, 1u << PRIORITY_CRITICAL);
  if (is_idle(net) || timers_is_set(&net->flush_timer)) return false;
  uint64_t wait_ms = (net->next_flush_us - now_us + 999) / 1000;
  timers_set(net->timers, &net->flush_timer, net_now_ms(net) + wait_ms, on_flush_due,
             NULL);
  return false;
}
