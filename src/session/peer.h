// A peer: its state in the session, and in the relay.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "base/timers.h"
#include "net/net.h"
#include "wire/control.h"
#include "wire/reliable.h"

typedef struct Session Session;

typedef enum PeerState {
  PEER_HANDSHAKE,   // no HELLO yet
  PEER_CONNECTING,  // HELLO is good; on_connect decides
  PEER_CONNECTED,
  PEER_SUSPENDED,  // the connection is lost; a HELLO may resume the session
  PEER_CLOSED,     // the session is over; readable until session_forget
} PeerState;

/// A peer's place in one room; owned by the relay.
typedef struct RoomRef {
  uint32_t room;
  uint32_t place;  // index in the room's members
  uint32_t
      unreliable;  // the room's count of unreliable messages when the connection was lost
  bool is_suspended;  // the peer is suspended, and counted as such by the room
} RoomRef;

/// Why the server does not read from a peer.
typedef enum ThrottleReason {
  THROTTLE_QUEUE = 1,  // its events wait for the script
  THROTTLE_RATE = 2,   // it is over rate_limit
} ThrottleReason;

/// State of resume.c and stream.c, of a peer whose session can be resumed.
typedef struct PeerResume {
  bool is_resumable;
  bool has_last_token;  // the token that made this connection still counts, too
  bool is_overfull;     // more RELIABLE packets wait than may; about to end
  uint8_t lost_code;    // Code: why the connection was lost
  uint8_t token_now[UUID_SIZE], token_last[UUID_SIZE];
  uint64_t lost_ms;     // when that was
  uint64_t ack_due_ms;  // 0: nothing to acknowledge
  Reliable stream;
} PeerResume;

/// State of throttle.c.
typedef struct PeerThrottle {
  uint64_t at_ms;  // when `tokens` was true
  double tokens;   // packets that it may send now; below 0: it has sent so many more
  uint64_t readable_ms;  // when a peer over rate_limit is read from again; 0: it is not
  uint32_t unlimited;  // RELIABLE packets that rate_limit passes over: after a resume,
                       // those that may be sent again
  uint8_t reasons;     // ThrottleReasons
  bool was_slowed;     // by rate_limit, which was logged
} PeerThrottle;

/// State of the relay; the session only sets it to zeros.
typedef struct PeerRelay {
  RoomRef *rooms;  // in the order of joining; owned
  uint16_t room_count, room_capacity;
  uint16_t waiting_joins;    // its joins that wait for the end of an on_create
  bool has_joined;           // a room, ever
  bool is_gone;              // its disconnect has been handled: it is in no room
  struct Source *source;     // of its events; NULL: there were none yet
  struct ScriptJoin *joins;  // that the script asked for and that wait for on_join
  uint32_t queued;    // events that wait for the script; later packets wait behind them
  uint32_t ahead;     // of these, those in the first class of the scheduler
  uint32_t captured;  // events that handlers have caused and that come next
  uint32_t last_room;      // joined last; where lines of a text peer go
  uint32_t excluded;       // number of the last broadcast that it does not get
  uint32_t warn_every_ms;  // time between the last two warnings of dropped messages
  uint64_t next_warn_ms;   // earliest time of the next one
} PeerRelay;

typedef struct Peer {
  uint32_t id;
  ConnId conn;  // 0 while suspended and once closed
  Session *owner;
  const char *transport;   // see ConnInfo
  uint64_t protocol_hash;  // of HELLO; 0: knows no schema, gets messages as JSON
  uint8_t state;           // PeerState
  uint8_t framing;         // Framing: lines mean a text peer
  uint8_t hello_flags;     // of the HELLO, which WELCOME or REJECTED answers
  uint8_t name_size;
  uint16_t hello_ref;
  bool holds_name;  // its name counts among those in use
  bool is_renamed;  // its name may differ from that in its HELLO; of text peers never
  char *name;       // a NUL follows, then its address; owned, see peer_set_texts
  const char *address;
  uint8_t session[UUID_SIZE];
  uint16_t token_size;      // of HELLO's
  uint32_t latency_us;      // of the last PING; 0: not known yet
  char *token;              // owned, a NUL follows; NULL when empty
  Timer timer;              // handshake deadline, then keepalive
  uint64_t last_packet_ms;  // time of the last packet from it
  uint64_t next_ping_ms;
  uint64_t ping_sent_us;  // of the PING that is not answered yet; 0: none
  PeerResume resume;
  PeerThrottle throttle;
  uint64_t packets_in, bytes_in;
  NetCounter ended;  // packets and bytes that its ended connections were sent
  uint64_t dropped;  // messages
  PeerRelay relay;
} Peer;

static inline Text peer_name(const Peer *peer) {
  return (Text){peer->name, peer->name_size};
}

/// Returns whether a peer is connected or suspended.
static inline bool peer_has_session(const Peer *peer) {
  return peer->state == PEER_CONNECTED || peer->state == PEER_SUSPENDED;
}

/// How a peer gets messages. Each form has a group of its own in net.
typedef enum Form {
  FORM_SCHEMA,  // binary, where the schema names the message
  FORM_JSON,
  FORM_TEXT,  // lines
  FORM_COUNT
} Form;

static inline Form peer_form(const Peer *peer) {
  if (peer->framing == FRAMING_LINES) return FORM_TEXT;
  return peer->protocol_hash == 0 ? FORM_JSON : FORM_SCHEMA;
}
