// What the files of the servicer threads share. A Servicer is a thread with a Net of its
// own, which the same code serves as any other. What that Net would tell upwards it writes
// down for the main thread (servicer_events.c), which tells it from there
// (servicer_client.c); what the main thread is told to do with a connection or a group of
// connections it writes down for the servicer (servicer_client.c, servicer_group.c), which
// does it with its own Net (servicer_commands.c).
//
// A servicer never waits for the main thread.
#pragma once

#include "net/conn.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/io_threads/mailbox.h"
#include "net/protocol/http/site.h"

enum {
  EVENTS_MAX = 1 << 20,  // bytes that wait for the main thread; then nothing is read
  EVENTS_SHARE = READ_BUFFER_BYTES,  // of one connection, until they are taken
  COMMANDS_EARLY = NET_FRAME_BYTES,  // bytes that are handed over before the turn ends
  COMMANDS_MAX = 16 << 20,  // bytes that may wait for a servicer; then main does
};

/// Why a servicer does not hand up what has arrived.
typedef enum Hold {
  HOLD_ASKED = STOP_THROTTLED,
  HOLD_OPEN = STOP_OWNER,  // the main thread has not been told of the connection
  HOLD_FIRST =
      STOP_OWNER * 2,  // nor handled what it said first, which may change its limits
  HOLD_FLOW = STOP_OWNER * 4,   // the main thread does not keep up
  HOLD_FAULT = STOP_OWNER * 8,  // it has broken a rule
} Hold;

/// A connection that a servicer serves, from `open` until both sides have done with it.
/// Made by the servicer; the main thread frees it when it has got its last event.
typedef struct Client Client;
struct Client {
  // The main thread's. Of the Conn, which stands in for the real one there: what is told
  // upwards, and what net_hold asked for.
  Conn conn;
  Client *next, *previous;  // of its servicer
  GroupId *groups;          // that it has joined; closed ones may be among them
  uint32_t group_count, group_capacity;
  Buf kept;           // events that came while it was held
  bool is_new;        // it is being told of
  Code code;          // with which it is told of its end
  NetSent accounted;  // what its account had when the one above had done with it
  // The servicer's.
  bool has_spoken;
  size_t share;      // bytes in events
  uint64_t counted;  // that were added after the main thread took some so often
  // Both read these.
  ConnId local;   // of the real one
  UdpPeer *stub;  // of its UDP when it is alone, until it is told of; else NULL
  bool is_alone;
  Published published;
};

/// The client that a stand-in is part of.
static inline Client *client_of(Conn *conn) { return (Client *)conn; }

struct Servicer {
  Net *main;
  Net *net;  // the servicer's own
  uint32_t index;
  uv_thread_t thread;
  uv_async_t bell;
  Mailbox events;    // to the main thread
  Mailbox commands;  // from it
  uv_mutex_t lock;
  ServicerFigures figures;  // under the lock
  // The servicer's.
  const char *refusal;  // of the connection that is being adopted; NULL: none
  uint64_t adopted;
  UdpLosses losses;  // when they were last looked at
  uint64_t losses_ms;
  Buf flow;          // ConnIds of those held by HOLD_FLOW
  bool is_awaiting;  // that the main thread takes events, which it had
  uint64_t takes;    // done so often
  GroupId *groups;   // its own by the index of the main thread's
  uint32_t group_capacity;
  // The main thread's.
  Client *clients;
  uint16_t udp_port;  // of its own; 0: none
  uint32_t alone;     // connections by UDP that it was handed
  uint64_t given;     // descriptors
};

struct Servicers {
  Servicer *items;
  uint32_t count;
  uint32_t over;    // those that have ended
  uv_async_t bell;  // of the main thread
  Client *retired;  // freed when the turn ends
  bool is_deaf;     // nothing is told upwards any more
};

// --- Records ---

typedef enum EventKind {
  UP_LEAVE,     // a visitor: UpLeave
  UP_UDP_OVER,  // UpUdpOver
  UP_OPEN,      // UpOpen
  UP_PACKET,    // UpPacket, payload
  UP_LOOSE,     // the same
  UP_LINE,      // UpLine, text
  UP_FAULT,     // UpFault, text and NUL
  UP_DROPS,     // UpDrops
  UP_CLOSE,     // UpClose; it waits for DOWN_END
  UP_ENDED,     // UpEvent; the last one of a client, which the main thread has ended
  UP_OVER,      // the servicer has ended
} EventKind;

typedef struct UpLeave {
  char address[ADDRESS_SIZE];
} UpLeave;

typedef struct UpUdpOver {
  UdpPeer *stub;  // the main thread's
} UpUdpOver;

/// What the events of a client begin with.
typedef struct UpEvent {
  Client *client;
  bool is_first;  // packet or line of the connection
} UpEvent;

typedef struct UpOpen {
  UpEvent head;
  ConnInfo info;
} UpOpen;

typedef struct UpPacket {
  UpEvent head;
  Packet packet;
} UpPacket;

typedef struct UpLine {
  UpEvent head;
  size_t size;
} UpLine;

typedef struct UpFault {
  UpEvent head;
  Code code;
} UpFault;

typedef struct UpDrops {
  UpEvent head;
  uint32_t tag, dropped, queued;
} UpDrops;

typedef struct UpClose {
  UpEvent head;
  Code code;
} UpClose;

typedef enum CommandKind {
  DOWN_ADOPT,        // DownAdopt
  DOWN_WRITE,        // DownWrite, bytes
  DOWN_END,          // DownEnd, text and NUL
  DOWN_HOLD,         // DownConn
  DOWN_RELEASE,      // DownConn
  DOWN_MAX_PAYLOAD,  // DownConn
  DOWN_GROUP_OPEN,   // DownGroup
  DOWN_GROUP_CLOSE,  // DownGroup
  DOWN_JOIN,         // DownGroup
  DOWN_LEAVE,        // DownGroup
  DOWN_GROUP_WRITE,  // DownGroupWrite, ConnIds, bytes
  DOWN_LIMITS,       // NetLimits
  DOWN_WEB,          // DownWeb, texts
  DOWN_SCHEMA,       // DownSchema, text
  DOWN_HASHES,       // DownHashes
  DOWN_UDP,          // UdpPlace
  DOWN_UDP_PEER,     // DownUdpPeer
  DOWN_OFFER,        // DownOffer
  DOWN_TLS,          // TlsShare
  DOWN_TURN,         // a turn of the main thread ends
  DOWN_STOP,         // net_stop
  DOWN_QUIT,         // at once
} CommandKind;

typedef struct DownAdopt {
  uv_os_fd_t fd;
  const char *refusal;  // static; NULL: it may stay
  ConnInfo info;
} DownAdopt;

typedef struct DownConn {
  ConnId conn;
  uint32_t value;  // a Hold, or bytes
} DownConn;

typedef struct DownWrite {
  ConnId conn;
  uint32_t size;
  uint64_t key;
  uint8_t priority, flags;
} DownWrite;

typedef struct DownEnd {
  ConnId conn;
  Code code;
  bool has_text;
  bool is_refused;  // it was ended as it was told of
  bool is_told;     // it is the answer to UP_CLOSE
} DownEnd;

typedef struct DownUdpPeer DownUdpPeer;  // see udp_servicer.c

typedef struct DownGroup {
  GroupId group;   // the main thread's
  uint32_t value;  // a tag, or a ConnId
} DownGroup;

typedef struct DownGroupWrite {
  GroupId group;
  uint32_t size;
  uint32_t except_count;
  uint64_t key;
  uint8_t priority, flags;
} DownGroupWrite;

typedef struct DownWeb {
  WebModule modules[SITE_MODULES_MAX + 1];
  bool is_watched;
  // These texts follow, each with its NUL.
  bool has_name, has_folder, has_origins, has_hosts;
} DownWeb;

typedef struct DownHashes {
  uint64_t hashes[NET_HASHES_MAX];
  uint32_t count;
} DownHashes;

typedef struct DownOffer {
  ConnId conn;
  uint32_t peer;
  uint64_t nonce;
} DownOffer;

typedef struct DownSchema {
  size_t size;
} DownSchema;

// --- servicer.c ---

/// Adds a command for a servicer and returns its body.
void *servicer_command(Servicer *servicer, CommandKind kind, size_t size);
NetSent published_sent(const Published *published);

// --- servicer_events.c, of a servicer's thread ---

NetEvents servicer_net_events(void);
/// Sets and clears a reason to hold a connection of the servicer's own Net.
void servicer_hold(Conn *conn, Client *client, Hold hold);
void servicer_release(Conn *conn, Client *client, Hold hold);
/// Goes on with those that were held because the main thread did not keep up, if it has
/// taken something since.
void servicer_resume_flow(Servicer *servicer);
/// Hands over what has happened.
void servicer_post_events(Servicer *servicer);
/// A visitor is gone.
void servicer_tell_leave(Servicer *servicer, const char *address);
/// The servicer has done with a client that the main thread has ended.
void servicer_tell_ended(Servicer *servicer, Client *client);

// --- servicer_commands.c, of a servicer's thread ---

/// Does all that was posted.
void servicer_run_commands(Servicer *servicer);
/// Gives up what is left of them, once the thread has ended.
void servicer_drop_commands(Servicer *servicer);

// --- servicer_client.c, of the main thread ---

/// Tells upwards all that the servicer has posted.
void servicer_take_events(Servicer *servicer);
/// Frees the clients whose last event has come.
void clients_free_retired(Servicers *servicers);
/// Frees all that are left of a servicer that has ended.
void clients_free_all(Servicer *servicer);

// --- servicer_group.c, of the main thread ---

/// Takes a client out of all its groups.
void client_leave_all(Client *client);
