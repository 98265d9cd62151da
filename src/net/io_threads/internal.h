// What the files of the io threads share. An IoThread is a thread with a Net of its own, which
// serves its connections as any other does. What that Net reports is posted to the main thread
// (served.c), where a Proxy stands for each connection (proxy.c); what the layers above do
// with a connection or a group is posted to the thread. Each call is next to the function that
// posts it.
//
// A thread never waits for the main thread; that waits for a thread only when 16 MiB of calls
// do.
#pragma once

#include <stddef.h>

#include "net/conn.h"
#include "net/io_threads/mailbox.h"

enum {
  EVENTS_MAX = 1 << 20,  // bytes that wait for the main thread; then nothing is read
  EVENTS_SHARE = READ_BUFFER_BYTES,  // of one connection, until they are taken
  CALLS_EARLY = NET_OUTBUF_BYTES,    // bytes that are posted before the iteration ends
  CALLS_MAX = 16 << 20,              // bytes that may wait for a thread
};

/// Why a thread does not hand up what has arrived, besides net_throttle.
enum {
  STOP_OPEN = STOP_OWNER,  // the main thread does not know the connection
  STOP_FIRST =
      STOP_OWNER * 2,  // nor has it handled what came first, which may change limits
  STOP_FLOW = STOP_OWNER * 4,   // the main thread does not keep up
  STOP_FAULT = STOP_OWNER * 8,  // the connection has broken a rule
};

typedef struct IoThread IoThread;
typedef struct IoThreads IoThreads;

/// Stands for a connection that a thread serves, from `open` until both sides have done with
/// it. Made by the thread; the main thread frees it after its last event.
typedef struct Proxy {
  // The main thread's.
  Endpoint self;
  IoThread *thread;
  struct Proxy *next, *previous;  // of its thread
  GroupId *groups;                // that it has joined; closed ones may be among them
  uint32_t group_count, group_capacity;
  Buf kept;           // events that came while it was throttled, as Mail
  bool is_open;       // the layer above knows it
  bool is_new;        // it is being reported
  bool is_throttled;  // by net_throttle
  Code code;          // with which its end is reported
  NetSent counted;    // added to its counter when the layer above was done with it
  // The thread's.
  bool has_spoken;
  size_t share;       // bytes in events
  uint64_t share_at;  // since the main thread had taken events so often
  // Both read these.
  ConnId local;   // the id that the thread knows it by
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
  uint64_t taken;        // connections that it was given
  uint32_t conns;        // that are open
  // The thread's.
  uint64_t taken_now;
  Buf flow;          // ConnIds of those stopped by STOP_FLOW
  bool is_awaiting;  // that the main thread takes events, which it had
  uint64_t takes;    // done so often
  GroupId *groups;   // its own by the index of the main thread's
  uint32_t group_capacity;
  // The main thread's.
  Proxy *proxies;
  uint64_t given;  // connections
};

/// The thread whose Net this is the way home of.
static inline IoThread *thread_of_home(Remote *home) {
  return (IoThread *)((char *)home - offsetof(IoThread, home));
}

struct IoThreads {
  NetPart part;
  Net *main;
  IoThread *items;
  uint32_t count;
  uint32_t over;    // those that have ended
  uv_async_t bell;  // of the main thread
  Proxy *retired;   // freed when the iteration ends
};

// --- served.c, of a thread ---

NetEvents served_events(void);
/// Goes on with connections stopped by STOP_FLOW, if the main thread has taken something.
void served_resume_flow(IoThread *thread);
/// Posts what has happened.
void served_post(IoThread *thread);

// --- group.c ---

void threads_group_write(Remote *remote, const Group *group, const Out *out,
                         const ConnId *except, uint32_t except_count);
void threads_group_close(Remote *remote, const Group *group);
void proxy_join(Endpoint *endpoint, Group *group);
void proxy_leave(Endpoint *endpoint, Group *group);
void proxy_leave_all(Proxy *proxy);

// --- proxy.c, of the main thread ---

/// An event of a connection, which its proxy hands up; what it says is behind it.
typedef struct UpEvent UpEvent;
typedef void UpHandler(Proxy *proxy, const UpEvent *event);
struct UpEvent {
  Proxy *proxy;
  UpHandler *hand_up;
  bool is_first;  // packet or line of the connection
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

/// Handed up as soon as the connection is not throttled; at once; at once or never; and after
/// the main thread has ended it.
extern const RemoteCall PROXY_INPUT, PROXY_NEWS, PROXY_UNRELIABLE, PROXY_LAST;
/// UpOpen, and the address of an unidentified connection that is gone.
extern const RemoteCall PROXY_OPEN, PROXY_LEAVE;

UpHandler proxy_packet, proxy_unreliable_packet, proxy_line, proxy_fault, proxy_drops,
    proxy_close;

/// Frees the proxies whose last event has come.
void proxies_free_retired(IoThreads *threads);
/// Frees all that are left of a thread that has ended.
void proxies_free_all(IoThread *thread);
