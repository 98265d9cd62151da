// Messages, from the call that sends them until the transport takes them.
//
// A Source collects messages between two flushes. It belongs to a group, or to a
// connection for messages to this connection alone. It has an Outbuf for each priority.
// At a flush, each connection takes the new messages of its sources, in the order in
// which they were made, and writes them in one gathered write. Bytes that the socket
// does not accept are copied to the connection's Backlog, which has a limit. A slow
// reader therefore keeps no shared memory.
#pragma once

#include "base/buf.h"
#include "net/internal.h"

enum {
  SKIPS_KEPT = 64,  // length above which an empty list of skips is freed
  PRIORITIES_ALL = (1 << PRIORITY_COUNT) - 1,
  LANE_UNRELIABLE = PRIORITY_COUNT,  // first lane for datagrams
  LANE_COUNT = 2 * PRIORITY_COUNT,
};

typedef struct Entry {
  uint32_t end;   // offset behind the message's last byte in the outbuf
  uint8_t flags;  // OutFlags
  bool is_dead;   // a newer message with the same key replaces it
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
  Outbuf *outbufs[PRIORITY_COUNT];  // pending messages by priority; NULL: none
  uint8_t pending;                  // mask of the priorities that have an outbuf
  bool is_dirty;                    // listed in net->dirty_groups or net->dirty_conns
} Source;

/// Messages [from, to) that a member does not get. Messages are numbered from the start
/// of the group.
typedef struct Skip {
  uint32_t from, to;
  uint8_t priority;
} Skip;

typedef struct Member {
  Conn *conn;
  uint32_t ref;                     // index of this membership in conn->groups
  uint32_t cursor[PRIORITY_COUNT];  // number of the next message to take, by priority
  uint32_t skip_count, skip_capacity;
  Skip *skips;
} Member;

struct Group {
  Source source;
  bool is_urgent;  // this iteration flushes all priorities
  uint32_t id;
  uint32_t tag;
  uint32_t base[PRIORITY_COUNT];  // number of the first message in each outbuf
  Member *members;
  uint32_t count, capacity;
  uint32_t *remote_members;  // number of members at each remote; NULL: no remote has
                             // had a member
};

typedef struct GroupRef {
  Group *group;
  uint32_t index;  // index in group->members
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
  size_t at;  // offset of the first message
  Waiting *items;
  uint32_t head, count, capacity;  // valid items: items[head .. head+count)
  uint32_t keyed_count;
  size_t dead_bytes;
} Lane;

typedef struct Drop {
  uint32_t tag;
  uint32_t count;
} Drop;

/// Messages that wait for a connection which does not read fast enough. Each priority
/// has a lane for the stream and one for datagrams.
typedef struct Backlog {
  Net *net;
  bool is_writing;
  Buf writing;  // bytes that the transport is writing
  Lane lanes[LANE_COUNT];
  uint32_t droppable;  // number of waiting messages that may be dropped
  uint32_t kept;       // number of waiting messages that must not be dropped
  size_t bytes;
  NetSent counted;  // this backlog's share of net->totals
  Drop *drops;      // drops that must be reported
  uint32_t drop_count, drop_capacity;
} Backlog;

// outbuf.c
/// Returns the outbuf of `source` at `priority`; takes one from the pool if the source
/// has none.
Outbuf *outbuf_of(Net *net, Source *source, uint8_t priority);
/// Appends a message. Returns whether it replaces another one.
bool outbuf_append(Outbuf *outbuf, const Out *out, uint64_t sequence);
/// Returns the source's outbuf at `priority` to the pool.
void outbuf_release(Net *net, Source *source, uint8_t priority);
void outbuf_pool_free(Net *net);
/// Returns the offset of message `index` in the outbuf.
static inline uint32_t outbuf_start(const Outbuf *outbuf, uint32_t index) {
  return index == 0 ? 0 : outbuf->entries[index - 1].end;
}

// group.c
/// Makes the conn a member. It gets only messages that are written from now on.
void group_add(Group *group, Conn *conn);
void group_remove(Group *group, Conn *conn);
/// Adds `change` to the number of members at a remote; returns the new number.
uint32_t group_count_remote(const Net *net, Group *group, uint32_t index, int change);
/// Removes the conn from all its groups.
void group_leave_all(Conn *conn);

// flush.c
/// Writes the pending messages of the conn, in the priorities of `mask`.
void flush_conn(Conn *conn, unsigned mask);
/// Flushes critical and urgent output, and everything once a flush is due; a full flush
/// also reports drops. Returns whether any drops were reported.
bool flush_due(Net *net);
/// Flushes all members of a group, and empties its outbufs.
void flush_group(Net *net, Group *group, unsigned mask);

// backlog.c
/// Copies messages [first, last) of `outbuf` to the backlog, because the conn cannot
/// take them now. Overflow may drop messages. `tag` is the tag of their source. `lane`
/// is their priority, plus LANE_UNRELIABLE for datagrams.
void backlog_take(Conn *conn, uint8_t lane, const Outbuf *outbuf, uint32_t first,
                  uint32_t last, uint32_t tag);
/// Removes the next message that waits for a datagram. Returns its bytes, which are
/// valid until the next call for the backlog, or NULL.
const uint8_t *backlog_pop_unreliable(Conn *conn, Waiting *item);
/// Returns whether a message waits for a datagram.
bool backlog_has_unreliable(Conn *conn);
/// Moves messages that wait for datagrams to the stream.
void backlog_join_stream(Conn *conn);
/// Inserts the rest of a partly written message before all others.
void backlog_take_rest(Conn *conn, const uint8_t *bytes, size_t size);
/// Gives the transport the next chunk, unless it is still writing one. Frees the
/// backlog when everything is written.
void backlog_pump(Conn *conn);
/// Reports the drops of one source; returns whether more must be reported.
bool backlog_report(Conn *conn);
/// Handles the end of the transport's write: continues with the next chunk or, after an
/// error, ends the connection. Returns false if no chunk was being written.
bool backlog_written(Conn *conn, int status);
/// Writes bytes that are not a message and cannot be dropped. If a backlog exists, they
/// follow the bytes that the transport is writing.
void backlog_write_now(Conn *conn, const uint8_t *bytes, size_t size);
void backlog_free(Conn *conn);
