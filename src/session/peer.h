// A peer: its state in the session and in the relay.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "base/timers.h"
#include "net/net.h"
#include "wire/control.h"
#include "wire/reliable.h"

typedef struct Session Session;
typedef struct SignIn SignIn;

typedef enum PeerState {
  PEER_HANDSHAKE,   // no HELLO received yet
  PEER_CONNECTING,  // HELLO is valid; on_connect decides
  PEER_CONNECTED,
  PEER_SUSPENDED,  // the connection is lost; a HELLO may resume the session
  PEER_BOT,        // a member of a room that the script plays, without a connection
  PEER_CLOSED,     // session ended; readable until session_forget
} PeerState;

/// A peer's place in one room; owned by the relay.
typedef struct RoomRef {
  uint32_t room;
  uint32_t place;  // index in the list of the room's members
  // Room.unreliable when the connection was lost, plus the messages since then that
  // excluded the peer.
  uint32_t unreliable;
  bool is_suspended;  // whether the room counts the peer as suspended
} RoomRef;

/// Why the server does not read from a peer.
typedef enum ThrottleReason {
  THROTTLE_QUEUE = 1,  // too many events of the peer wait for the script
  THROTTLE_RATE = 2,   // the peer exceeds rate_limit
} ThrottleReason;

enum { TOKEN_HASH_SIZE = 32 };

/// A session of an earlier process that has not been confirmed in this one.
typedef struct Restored {
  uint8_t hashes[2][TOKEN_HASH_SIZE];  // hashes of the tokens that may resume it, the
                                       // newest first
  uint64_t away_ms;  // time from the last sign of the client until the start of the
                     // process
} Restored;

/// State of a resumable peer, for resume.c and stream.c.
typedef struct PeerResume {
  bool is_resumable;
  bool is_overfull;   // too many RELIABLE packets wait; the peer is about to end
  uint8_t lost_code;  // Code; reason why the connection was lost
  uint8_t used_ago;   // number of tokens made since the token that resumed this
                      // connection, while that token is valid; 0: only the newest token
                      // is valid
  uint32_t tokens;    // number of tokens made so far, which is also the number of the
                      // newest token
  Restored *restored;   // NULL: the session began in this process, or its client has
                        // returned; owned
  uint64_t lost_ms;     // time at which the connection was lost
  uint64_t ack_due_ms;  // time of the next ACK; 0: no packet to acknowledge
  Reliable stream;
} PeerResume;

/// State of throttle.c.
typedef struct PeerThrottle {
  uint64_t full_ns;    // time at which the peer may send a whole burst again
  uint32_t unlimited;  // number of next RELIABLE packets that rate_limit does not
                       // count, because the client may send them again after a resume
  uint8_t reasons;     // bits of ThrottleReason
  bool was_slowed;  // whether rate_limit has ever throttled the peer; the log reports
                    // only the first time
} PeerThrottle;

/// State of the relay; the session only sets it to zeros.
typedef struct PeerRelay {
  RoomRef *rooms;  // rooms in the order of joining; owned
  uint16_t room_count, room_capacity;
  uint16_t waiting_joins;    // sum of join_weight of the joins that wait for an
                             // on_create
  bool has_joined;           // whether the peer has ever joined a room
  bool is_gone;              // the relay has handled the peer's disconnect, so it is in
                             // no room
  struct Source *source;     // source of the peer's events; NULL: no events so far
  struct ScriptJoin *joins;  // joins by the script that wait for on_join
  uint32_t queued;     // number of events that wait for the script; later packets wait
                       // behind them
  uint32_t ahead;      // number of queued events in the first class of the scheduler
  uint32_t captured;   // number of captured events of this peer; they precede queued
                       // events
  uint32_t last_room;  // room that the peer joined last; it gets the lines of a
                       // text peer
  uint32_t excluded;   // number of the last broadcast that excludes the peer
  uint32_t home;       // room of a bot, which it joins alone
  struct Peer *next_bot;  // next bot of its room, in the order of joining
  struct Peer *previous_bot;
  uint32_t warn_every_ms;  // interval between warnings about dropped messages
  uint8_t bot;             // BotFlags of a bot
  uint64_t next_warn_ms;   // earliest time of the next such warning
} PeerRelay;

typedef struct Peer {
  uint32_t id;
  ConnId conn;  // connection; 0 while suspended or closed
  Session *owner;
  uint64_t protocol_hash;  // hash from HELLO; 0: the peer knows no schema and gets JSON
  uint8_t state;           // PeerState
  uint8_t framing;         // Framing; FRAMING_LINES for a text peer
  uint8_t transport;       // TransportName
  uint8_t hello_flags;     // flags of the HELLO that WELCOME or REJECTED answers
  uint8_t name_size;
  uint16_t hello_ref;
  uint16_t port;        // remote port of the newest connection
  uint32_t latency_us;  // round trip of the last PING; 0: unknown
  uint16_t token_size;  // size of the token from HELLO
  bool is_bot : 1;      // whether it is a bot; a bot is PEER_CONNECTING until its
                        // COMMAND_BOT is carried out
  bool holds_name : 1;  // whether the session counts the peer's name as used
  bool is_secure : 1;   // whether nobody else can read what the client sends, so that
                        // it may sign in
  bool is_renamed : 1;  // the name may differ from the name in HELLO; false for text
                        // peers
  char *name;  // name, address and token in one block, with a NUL after each; owned
  uint8_t session[UUID_SIZE];
  Timer timer;              // handshake deadline, then keepalive
  uint64_t last_packet_ms;  // time of the last packet from the peer
  uint64_t next_ping_ms;
  uint64_t ping_sent_us;  // time of the PING that has no answer yet; 0: none
  SignIn *sign_in;        // state of sign_in.c; NULL: none; owned
  PeerResume resume;
  PeerThrottle throttle;
  uint64_t packets_in, bytes_in;
  NetCounter ended;  // packets and bytes sent on its earlier connections
  uint64_t dropped;  // dropped messages
  PeerRelay relay;
} Peer;

static inline Text peer_name(const Peer *peer) {
  return (Text){peer->name, peer->name_size};
}

static inline const char *peer_address(const Peer *peer) {
  return peer->name + peer->name_size + 1;
}

/// Returns the name of the peer's transport; static.
static inline const char *peer_transport(const Peer *peer) {
  return net_transport_name((TransportName)peer->transport);
}

/// Returns the token of the peer's HELLO.
static inline Text peer_token(const Peer *peer) {
  const char *address = peer_address(peer);
  return (Text){address + strlen(address) + 1, peer->token_size};
}

/// Returns whether a peer is connected or suspended, or a bot that has begun.
static inline bool peer_has_session(const Peer *peer) {
  return peer->state >= PEER_CONNECTED && peer->state < PEER_CLOSED;
}

/// Returns whether messages reach a peer now.
static inline bool peer_is_reachable(const Peer *peer) {
  return peer->state == PEER_CONNECTED || peer->state == PEER_BOT;
}

/// Form in which a peer gets messages. In net, each form has a group of its own.
typedef enum Form {
  FORM_SCHEMA,  // binary for messages that the schema names
  FORM_JSON,
  FORM_TEXT,  // lines of text
  FORM_COUNT
} Form;

static inline Form peer_form(const Peer *peer) {
  if (peer->is_bot) return FORM_SCHEMA;
  if (peer->framing == FRAMING_LINES) return FORM_TEXT;
  return peer->protocol_hash == 0 ? FORM_JSON : FORM_SCHEMA;
}
