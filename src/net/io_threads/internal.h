// The internal header of the io threads. An IoThread is a thread with a Net of its own,
// which serves connections as any Net does. The thread posts the events of its Net to
// the main thread (served.c), which has a Proxy for each connection (proxy.c). In the
// other direction, the main thread posts the calls of the layers above for a connection
// or a group. The function that runs a posted call is next to the function that posts
// it.
//
// A thread never waits for the main thread. The main thread waits for a thread only if
// CALLS_MAX bytes are waiting for that thread.
#pragma once

#include <stddef.h>

#include "net/conn.h"
#include "net/counters.h"
#include "net/io_threads/mailbox.h"

enum {
  EVENTS_MAX = 1 << 20,  // bytes of events that may wait; beyond that, the thread
                         // stops reading
  EVENTS_SHARE = READ_BUFFER_BYTES,  // event bytes of one connection that may wait for
                                     // the main thread
  CALLS_EARLY = NET_OUTBUF_BYTES,    // bytes of calls from which they are posted early
  CALLS_MAX = 16 << 20,              // bytes of calls that may wait for a thread
};

/// Reasons why a thread passes no input up, in addition to those of `Stop`.
enum {
  STOP_OPEN = STOP_OWNER,       // the main thread does not know the connection yet
  STOP_FIRST = STOP_OWNER * 2,  // the main thread has not handled the first input,
                                // which may change limits
  STOP_FLOW = STOP_OWNER * 4,   // the main thread does not keep up
  STOP_FAULT = STOP_OWNER * 8,  // the connection has broken a rule
};

typedef struct IoThread IoThread;
typedef struct IoThreads IoThreads;

/// The main thread's object for a connection that a thread serves. The thread makes it
/// before `open`; the main thread frees it after the connection's last event.
typedef struct Proxy {
  // Used by the main thread:
  Endpoint self;
  IoThread *thread;
  struct Proxy *next, *previous;  // neighbours in the list of its thread
  GroupId *groups;                // joined groups, possibly closed ones too
  uint32_t group_count, group_capacity;
  Buf kept;           // events that arrived while input was throttled, as Mail
  bool is_open;       // the layer above knows the connection
  bool is_new;        // events.open is running
  bool is_throttled;  // net_throttle was called
  Code code;          // reason of the end
  NetSent counted;    // messages that `forget` has added to self.counter
  // Used by the thread:
  bool has_spoken;
  size_t share;       // bytes of this connection's events in the mailbox
  uint64_t share_at;  // value of events.takes_seen when `share` began
  // Set before `open`, except the counters; read by both threads:
  ConnId local;   // id in the thread's Net
  uint16_t port;  // port to attach to by UDP; 0: none
  Counters counters;
} Proxy;

struct IoThread {
  Remote remote;  // this thread, as the main thread sees it
  Remote home;    // the main thread, as this thread sees it
  IoThreads *all;
  Net *net;  // the thread's own Net
  uv_thread_t thread;
  uv_async_t bell;
  Mailbox events;  // events for the main thread
  Mailbox calls;   // calls from the main thread
  uv_mutex_t lock;
  NetCounters counters;  // counters; `lock` protects these and the next two fields
  uint64_t taken;        // connections that the thread has taken over
  uint32_t conns;        // open connections
  // Used by the thread:
  uint64_t taken_now;
  Buf flow;          // ConnIds of connections that STOP_FLOW stops
  bool is_awaiting;  // the thread waits until the main thread takes events
  uint64_t takes;    // value of mailbox_takes when is_awaiting was set
  GroupId *groups;   // ids of the groups of `net`, by the index of the main thread's id
  uint32_t group_capacity;
  // Used by the main thread:
  Proxy *proxies;
  uint64_t given;  // connections that the main thread has posted
};

/// Returns the thread whose Net has this `home`.
static inline IoThread *thread_of_home(Remote *home) {
  return (IoThread *)((char *)home - offsetof(IoThread, home));
}

struct IoThreads {
  NetPart part;
  Net *main;
  IoThread *items;
  uint32_t count;
  uint32_t over;    // number of ended threads
  uv_async_t bell;  // wakes the main thread
  Proxy *retired;   // proxies to be freed at the end of the iteration
};

// --- served.c, called by a thread ---

NetEvents served_events(void);
/// Implements Net.publish.
void served_publish(const Conn *conn);
/// Removes STOP_FLOW from connections if the main thread has taken events.
void served_resume_flow(IoThread *thread);
/// Posts the thread's events.
void served_post(IoThread *thread);

// --- group.c ---

void threads_group_write(Remote *remote, const Group *group, const Out *out,
                         const ConnId *except, uint32_t except_count);
void threads_group_close(Remote *remote, const Group *group);
void proxy_join(Endpoint *endpoint, Group *group);
void proxy_leave(Endpoint *endpoint, Group *group);
void proxy_leave_all(Proxy *proxy);

// --- proxy.c, called by the main thread ---

/// An event of a connection, which its proxy passes up. The structs below begin with an
/// UpEvent.
typedef struct UpEvent UpEvent;
typedef void UpHandler(Proxy *proxy, const UpEvent *event);
struct UpEvent {
  Proxy *proxy;
  UpHandler *hand_up;
  bool is_first;  // the event is the connection's first packet or line
};

typedef struct UpOpen {
  UpEvent head;
  ConnInfo info;
} UpOpen;

typedef struct UpPacket {
  UpEvent head;
  Packet packet;  // header of the packet; the payload follows this struct
} UpPacket;

typedef struct UpLine {
  UpEvent head;
  size_t size;  // size of the text, which follows this struct
} UpLine;

typedef struct UpFault {
  UpEvent head;
  Code code;  // reason; text and NUL follow this struct
} UpFault;

typedef struct UpDrops {
  UpEvent head;
  uint32_t tag, dropped, queued;
} UpDrops;

/// Kinds of events. Input waits while the connection is throttled. News is passed up at
/// once. An unreliable packet is passed up at once or dropped. The last event arrives
/// after the main thread has ended the connection.
extern const RemoteCall PROXY_INPUT, PROXY_NEWS, PROXY_UNRELIABLE, PROXY_LAST;
/// Calls of a thread. The body of PROXY_OPEN is an UpOpen. The body of PROXY_LEAVE is
/// the address for events.leave.
extern const RemoteCall PROXY_OPEN, PROXY_LEAVE;

UpHandler proxy_packet, proxy_unreliable_packet, proxy_line, proxy_fault, proxy_drops,
    proxy_close;

/// Frees proxies after their last event.
void proxies_free_retired(IoThreads *threads);
/// Frees all proxies of an ended thread.
void proxies_free_all(IoThread *thread);
