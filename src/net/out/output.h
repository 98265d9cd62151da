// What is sent, from the call that sends it until the transport takes it.
//
// A Source is whatever collects messages between two flushes: a connection (sent to it
// directly) or a group. It has a Outbuf per priority. At a flush each connection takes
// from its sources what it has not yet taken, in the order in which it was made, and
// writes it in one gathered write. What the socket does not accept is copied to the
// connection's Backlog, whose size is bounded, so that a slow reader never holds on to
// anybody else's memory.
#pragma once

#include "base/buf.h"
#include "net/internal.h"

enum {
  SKIPS_KEPT = 64,  // a member's longer list of skips gives its memory back
  PRIORITIES_ALL = (1 << PRIORITY_COUNT) - 1,
  LANE_UNRELIABLE = PRIORITY_COUNT,  // the first of those for datagrams
  LANE_COUNT = 2 * PRIORITY_COUNT,
};

typedef struct Entry {
  uint32_t end;   // offset just past its last byte in the outbuf
  uint8_t flags;  // OutFlags
  bool is_dead;   // replaced by a newer one with the same key
  uint64_t sequence;
  uint64_t key;
} Entry;

/// The messages of one source and priority since its last flush.
struct Outbuf {
  Buf bytes;
  Entry *entries;
  uint32_t count, capacity;
  uint32_t dead_count, keyed_count;
  Outbuf *next_free;
};

typedef struct Source {
  Outbuf *outbufs[PRIORITY_COUNT];  // NULL while nothing is pending
  uint8_t pending;                  // mask of the priorities that have an outbuf
  bool is_dirty;                    // in the list of sources to flush
} Source;

/// Messages [from, to) of a group that a member does not get, by number since the
/// group's start.
typedef struct Skip {
  uint32_t from, to;
  uint8_t priority;
} Skip;

typedef struct Member {
  Conn *conn;
  uint32_t ref;                     // index of this membership in conn->groups
  uint32_t cursor[PRIORITY_COUNT];  // messages taken, by number since the group's start
  uint32_t skip_count, skip_capacity;
  Skip *skips;
} Member;

struct Group {
  Source source;
  bool is_urgent;  // its members' whole streams go out in this iteration
  uint32_t id;
  uint32_t tag;
  uint32_t base[PRIORITY_COUNT];  // number of the first message in each outbuf
  Member *members;
  uint32_t count, capacity;
  uint32_t *remote_members;  // that each remote has; NULL: none has any
};

typedef struct GroupRef {
  Group *group;
  uint32_t index;  // in group->members
} GroupRef;

/// A message that waits in a backlog.
typedef struct Waiting {
  uint32_t size;
  uint32_t tag;
  uint64_t key;
  uint8_t flags;
  bool is_dead;
} Waiting;

typedef struct Lane {
  Buf bytes;
  size_t at;  // bytes before this are gone
  Waiting *items;
  uint32_t head, count, capacity;  // items[head .. head+count)
  uint32_t keyed_count;
  size_t dead_bytes;
} Lane;

typedef struct Drop {
  uint32_t tag;
  uint32_t count;
} Drop;

/// What waits for a connection that does not read fast enough. Each priority has a lane for
/// the stream and one for what goes by datagrams.
typedef struct Backlog {
  Net *net;
  bool is_writing;
  Buf writing;  // bytes handed to the transport
  Lane lanes[LANE_COUNT];
  uint32_t droppable, kept;  // messages waiting, by whether overflow may drop them
  size_t bytes;
  NetSent counted;  // in net->totals
  Drop *drops;      // not yet reported
  uint32_t drop_count, drop_capacity;
} Backlog;

// outbuf.c
/// The outbuf of `source` at `priority`, taken from the pool when there is none.
Outbuf *outbuf_of(Net *net, Source *source, uint8_t priority);
void outbuf_append(Outbuf *outbuf, const Out *out, uint64_t sequence);
/// Empties the source's outbuf at `priority` and gives it back to the pool.
void outbuf_release(Net *net, Source *source, uint8_t priority);
void outbuf_pool_free(Net *net);
/// Where message `index` begins.
static inline uint32_t outbuf_start(const Outbuf *outbuf, uint32_t index) {
  return index == 0 ? 0 : outbuf->entries[index - 1].end;
}

// group.c
/// The conn gets what is written to the group from now on.
void group_add(Group *group, Conn *conn);
void group_remove(Group *group, Conn *conn);
/// A remote has `change` members more. Returns how many it has.
uint32_t group_count_remote(const Net *net, Group *group, uint32_t index, int change);
/// Takes the conn out of all its groups.
void group_leave_all(Conn *conn);

// flush.c
/// Writes what the conn has not yet taken from its sources, in the priorities of
/// `mask`.
void flush_conn(Conn *conn, unsigned mask);
/// Flushes what is critical or urgent, and everything once a flush is due; then drops are
/// reported, too. Returns whether any were.
bool flush_due(Net *net);
/// Flushes every member of a group, so that its outbufs can be emptied.
void flush_group(Net *net, Group *group, unsigned mask);

// backlog.c
/// Keeps messages [first, last) of `outbuf` for a conn that cannot take them now, in a lane:
/// their priority, and LANE_UNRELIABLE more for datagrams. `tag` says whose they are. Overflow is
/// judged here.
void backlog_take(Conn *conn, uint8_t place, const Outbuf *outbuf, uint32_t first,
                  uint32_t last, uint32_t tag);
/// Takes out the next message that waits for a datagram, which is at the returned place until
/// the backlog is next used. NULL: there is none.
const uint8_t *backlog_pop_unreliable(Conn *conn, Waiting *item);
/// Whether anything waits for a datagram.
bool backlog_has_unreliable(Conn *conn);
/// What waits for datagrams waits for the stream from now on.
void backlog_join_stream(Conn *conn);
/// Puts the rest of a message that was written in part before everything else.
void backlog_take_rest(Conn *conn, const uint8_t *bytes, size_t size);
/// Hands the next chunk to the transport, if none is under way. Frees the backlog when all is
/// written.
void backlog_pump(Conn *conn);
/// Tells upwards of one source's drops; returns whether there are more to tell of.
bool backlog_report(Conn *conn);
/// The transport has written its chunk, or (an error) never will. Returns false when it had none.
bool backlog_written(Conn *conn, int status);
/// Writes what is no message and cannot be dropped: at once, or when the rest is out.
void backlog_write_now(Conn *conn, const uint8_t *bytes, size_t size);
void backlog_free(Conn *conn);
