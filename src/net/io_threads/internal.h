// The internal header of the io threads. An IoThread is a thread with a Net of its own, which
// serves its connections as any Net does. The thread posts the events of its Net to the main thread
// (served.c), which has a Proxy for each connection (proxy.c). The main thread posts the calls of
// the layers above for a connection or a group. A posted call is next to the function that posts
// it.
//
// A thread never waits for the main thread. The main thread waits for a thread only while
// CALLS_MAX bytes wait for it.
#pragma once

#include <stddef.h>

#include "net/conn.h"
#include "net/io_threads/mailbox.h"

enum {
  EVENTS_MAX = 1 << 20,  // bytes for the main thread beyond which nothing is read
  EVENTS_SHARE =
      READ_BUFFER_BYTES,  // of one connection, until the main thread takes them
  CALLS_EARLY = NET_OUTBUF_BYTES,  // bytes that are posted before the iteration ends
  CALLS_MAX = 16 << 20,            // bytes that may wait for a thread
};

/// Reasons of a thread to hand up nothing, besides net_throttle.
enum {
  STOP_OPEN = STOP_OWNER,       // the main thread does not know the connection yet
  STOP_FIRST = STOP_OWNER * 2,  // nor its first input, which may change limits
  STOP_FLOW = STOP_OWNER * 4,   // the main thread does not keep up
  STOP_FAULT = STOP_OWNER * 8,  // the connection has broken a rule
};

typedef struct IoThread IoThread;
typedef struct IoThreads IoThreads;

/// The main thread's side of a connection that a thread serves. The thread makes it before `open`;
/// the main thread frees it after its last event.
typedef struct Proxy {
  // The main thread's.
  Endpoint self;
  IoThread *thread;
  struct Proxy *next, *previous;  // of its thread
  GroupId *groups;                // joined; closed ones may be among them
  uint32_t group_count, group_capacity;
  Buf kept;           // events that came while it was throttled, as Mail
  bool is_open;       // the layer above knows it
  bool is_new;        // events.open runs
  bool is_throttled;  // by net_throttle
  Code code;          // of its end
  NetSent counted;    // added to its counter when the layer above was done with it
  // The thread's.
  bool has_spoken;
  size_t share;       // bytes in events
  uint64_t share_at;  // takes of the events' mailbox when `share` began
  // Both read these.
  ConnId local;   // its id in the thread's Net
  uint16_t port;  // to attach to by UDP; 0: none
  Counters counters;
} Proxy;

struct IoThread {
  Remote remote;  // for the main thread: this one
  Remote home;    // for this thread: the main one
  IoThreads *all;
  Net *net;  // the thread's own
  uv_thread_t thread;
  uv_async_t bell;
  Mailbox events;  // to the main thread
  Mailbox calls;   // from it
  uv_mutex_t lock;
  NetCounters counters;  // under the lock, as are the next two
  uint64_t taken;        // connections that the thread has taken over
  uint32_t conns;        // open connections
  // The thread's.
  uint64_t taken_now;
  Buf flow;          // ConnIds of those stopped by STOP_FLOW
  bool is_awaiting;  // the thread waits for the main thread to take events
  uint64_t takes;    // value of mailbox_takes when is_awaiting was set
  GroupId *groups;   // of its Net, by the index of the main thread's
  uint32_t group_capacity;
  // The main thread's.
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
  uint32_t over;    // ended threads
  uv_async_t bell;  // of the main thread
  Proxy *retired;   // proxies to be freed when the iteration ends
};

// --- served.c, of a thread ---

NetEvents served_events(void);
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

// --- proxy.c, of the main thread ---

/// An event of a connection, which its proxy hands up; the structs below begin with it.
typedef struct UpEvent UpEvent;
typedef void UpHandler(Proxy *proxy, const UpEvent *event);
struct UpEvent {
  Proxy *proxy;
  UpHandler *hand_up;
  bool is_first;  // it is the connection's first packet or line
};

typedef struct UpOpen {
  UpEvent head;
  ConnInfo info;
} UpOpen;

typedef struct UpPacket {
  UpEvent head;
  Packet packet;  // whose payload follows
} UpPacket;

typedef struct UpLine {
  UpEvent head;
  size_t size;  // of the text that follows
} UpLine;

typedef struct UpFault {
  UpEvent head;
  Code code;  // text and NUL follow
} UpFault;

typedef struct UpDrops {
  UpEvent head;
  uint32_t tag, dropped, queued;
} UpDrops;

/// Events to hand up as soon as the connection is not throttled; at once; at once or never; and
/// after the main thread has ended it.
extern const RemoteCall PROXY_INPUT, PROXY_NEWS, PROXY_UNRELIABLE, PROXY_LAST;
/// Events with an UpOpen, and with the address of an unidentified connection that is gone.
extern const RemoteCall PROXY_OPEN, PROXY_LEAVE;

UpHandler proxy_packet, proxy_unreliable_packet, proxy_line, proxy_fault, proxy_drops,
    proxy_close;

/// Frees proxies after their last event.
void proxies_free_retired(IoThreads *threads);
/// Frees all proxies of an ended thread.
void proxies_free_all(IoThread *thread);
