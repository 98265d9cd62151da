// Peers, from the first bytes of a connection (HELLO, or none for text peers) through
// keepalive, a lost connection and its resumption to the reason of the end. The session does
// not know of rooms.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/net.h"
#include "net/udp.h"
#include "session/peer.h"
#include "wire/code.h"
#include "wire/control.h"
#include "wire/packet.h"

// The commands of text peers, for the line that greets them.
#define TEXT_COMMANDS \
  "/join ROOM, /leave ROOM, /rooms, /name NAME, /send NAME JSON, /quit"

/// Peers of which no two may have the same name, in the order of the setting's values.
typedef enum UniqueNames {
  UNIQUE_AMONG_TEXT,
  UNIQUE_AMONG_ALL,
  UNIQUE_NOT
} UniqueNames;

typedef struct SessionLimits {
  uint32_t max_clients;
  uint32_t max_clients_per_address;  // 0: off
  uint32_t max_payload;
  uint32_t idle_timeout_ms;  // 0: off, as for the next two
  uint32_t ping_interval_ms;
  uint32_t handshake_timeout_ms;
  uint32_t resume_timeout_ms;  // time that a suspended session waits; 0: none waits
  uint32_t rate_limit;         // packets a second of one peer; 0: off
  bool rate_limit_kicks;       // a peer over the limit is disconnected, else throttled
  uint16_t tick_rate;          // for WELCOME
  UniqueNames unique_names;
} SessionLimits;

enum {
  SESSION_HELLO_MAX = 4096,  // payload bytes before a peer is known
  SESSION_SPARE = 64,        // connections past max_clients that get a refusal
  SESSION_CODES = CODE_UNAVAILABLE + 1,
  SESSION_HASHES = NET_HASHES_MAX,  // protocol hashes that HELLO may have at a time
  SESSION_KEPT_BYTES = 8 << 20,     // RELIABLE bytes that may wait for one peer's ACK,
  SESSION_KEPT_TOTAL = 256 << 20,   // until so many wait for all of them:
  SESSION_KEPT_SHARE = 128 << 10,   // then no more for each than this
};

typedef struct SessionStats {
  uint64_t opened;                // connections so far
  uint64_t accepted;              // peers that became connected
  uint64_t ended[SESSION_CODES];  // ends of connections, refusals included, by Code
  uint64_t suspended;             // sessions that lost their connection and waited
  uint64_t resumed;               // of these, resumed
  uint64_t expired;               // of these, ended because of resume_timeout
  uint64_t packets_in, bytes_in;  // of all peers
  uint64_t resent;                // RELIABLE packets, after a resume
  uint64_t throttled;             // times that a peer began to be throttled
  uint32_t suspended_now;
  size_t kept_bytes;  // RELIABLE packets that wait for ACKs
} SessionStats;

/// A suspension that has ended.
typedef struct Resumption {
  uint64_t suspended_ms;  // duration
  uint32_t resent;        // RELIABLE packets that are sent again
} Resumption;

/// The reports of the session to the relay. `data` is the argument of session_new.
typedef struct SessionEvents {
  /// A peer wants to connect (PEER_CONNECTING). The answer, now or later, is session_accept
  /// or session_reject. Until then nothing more arrives from it.
  void (*connect)(void *data, Peer *peer);
  /// A packet of a connected peer, HELLO, PING, PONG, ACK and BYE excepted.
  void (*packet)(void *data, Peer *peer, const Packet *packet);
  /// A line of a connected text peer.
  void (*line)(void *data, Peer *peer, const char *text, size_t size);
  /// See NetEvents.drops.
  void (*drops)(void *data, Peer *peer, uint32_t tag, uint32_t dropped,
                uint32_t queued);
  /// A connected or suspended peer has ended (PEER_CLOSED). The relay calls session_forget
  /// when it does not need it any more. A peer that was never accepted ends without this.
  void (*disconnect)(void *data, Peer *peer, Code reason);
  /// A connected peer has lost its connection (PEER_SUSPENDED); `resume` or `disconnect` follows.
  void (*suspend)(void *data, Peer *peer, Code reason);
  /// A suspended peer is resumed (PEER_CONNECTED), on a new connection that has got its
  /// WELCOME. Packets sent during this call go before the RELIABLE ones that are resent.
  void (*resume)(void *data, Peer *peer, const Resumption *resumption);
} SessionEvents;

/// The session's own NetEvents, to be passed to net_new with the session as data;
/// the caller sets `iteration`.
NetEvents session_net_events(void);

Session *session_new(const SessionLimits *limits, const SessionEvents *events,
                     void *data);

/// Must be called once before anything else; net is not owned.
void session_attach(Session *session, Net *net);

void session_free(Session *session);

/// Applies new limits: max_payload to peers that are accepted from now on, max_clients to
/// connections that arrive from now on.
void session_set_limits(Session *session, const SessionLimits *limits);

/// Sends WELCOME and makes the peer connected, under a name that has been checked (size 0:
/// its own). Returns false when the peer has ended by now.
bool session_accept(Session *session, uint32_t peer, Text name);

/// Sends REJECTED and ends the peer.
void session_reject(Session *session, uint32_t peer, Code code, const char *reason);

/// Sends REJECTED Unavailable and ends the peer: its client may try again after `retry_s`
/// seconds.
void session_postpone(Session *session, uint32_t peer, const char *reason,
                      uint16_t retry_s);

// --- Names of peers ---

#define NAME_IN_USE_TEXT "the name is in use"

/// Checks whether the peer may have the name; returns 0, ERR_INVALID (TEXT_PEER_NAME_RULE) or
/// ERR_EXISTS (another peer has it, and SessionLimits.unique_names forbids that). `reserved`: how
/// often the name is reserved for this peer.
int session_check_name(const Session *session, const Peer *peer, Text name,
                       uint32_t reserved);

/// Counts a name as one in use (`change` 1), so that no other peer takes it before
/// session_rename, or ends that (-1). `framing` is that of the peer that will have it.
void session_reserve_name(Session *session, uint8_t framing, Text name, int change);

/// Gives a peer that is not closed another name, without notifying anyone.
void session_rename(Session *session, Peer *peer, Text name);

/// Returns whether this is the peer's name.
bool peer_has_name(const Peer *peer, Text name);

/// Sends CLOSING and ends the peer, with the event `disconnect` when it was connected or
/// suspended. With `text` NULL it sends nothing. Does nothing for a closed peer.
__attribute__((cold)) void session_kick(Session *session, Peer *peer, Code code,
                                        const char *text);

/// Stops reading from a connected or suspended peer for this reason, and goes on when no
/// reason is left. Its deadlines stop meanwhile.
void session_throttle(Session *session, Peer *peer, ThrottleReason reason);
void session_release(Session *session, Peer *peer, ThrottleReason reason);

/// Frees a PEER_CLOSED peer, whose rooms the relay has freed before.
void session_forget(Session *session, Peer *peer);

/// Returns the peer, in any state, or NULL.
Peer *session_find(const Session *session, uint32_t peer);

/// Returns the next peer after `*cursor` (start at 0), in any state, or NULL.
Peer *session_next(const Session *session, uint32_t *cursor);

/// Returns the mean latency of connected peers that have answered a PING, in milliseconds;
/// 0 when none has. Looks at each peer.
double session_latency_ms(const Session *session);

/// Returns what a peer was sent so far, messages to its rooms included.
NetSent session_sent(const Session *session, const Peer *peer);

/// Returns the number of peers in PEER_CONNECTED.
uint32_t session_count(const Session *session);

/// Returns whether a peer with this protocol hash, other than 0, is connected, suspended or
/// about to be connected.
bool session_knows_schema(const Session *session, uint64_t hash);

/// Returns whether a peer that does not know the schema is connected, suspended or about to
/// be connected.
bool session_has_json(const Session *session);

/// Sets the protocol hashes that a HELLO may carry besides 0, at most SESSION_HASHES; the first
/// is the server's own. Ends peers of other hashes with ConnectionClosed, so that they connect
/// again with the new one.
void session_set_hashes(Session *session, const uint64_t *hashes, uint32_t count);

SessionStats session_stats(const Session *session);

/// Sends CLOSING Unavailable to all peers and ends them, because the server stops. Closes
/// connections that arrive later.
void session_shutdown(Session *session);

/// Sends ERROR, as the answer to `request` (may be NULL) if that carries REQUEST; then it
/// is RELIABLE if the request is.
__attribute__((cold)) void session_error(Session *session, Peer *peer,
                                         const Packet *request, Code code,
                                         const char *text);

/// A packet on its way to peers. A text peer gets a line instead (text.c), or nothing.
typedef struct Outgoing {
  Packet packet;
  uint32_t ids[2];  // of the payload's beginning, which `packet` does not have
  uint8_t id_count;
  uint8_t flags;  // OutFlags
  uint32_t more;  // of JOINED and ROOMS: entries that the packet has no place for
  uint64_t key;   // as in Out
  // Shown in the line and absent in the packet:
  Text name;    // of PEER_JOINED, PEER_LEFT and LEFT: the room's; of a message: its own
  Text detail;  // of LEFT: why, in words; of a message: its JSON value
} Outgoing;

enum { SESSION_HEAD_SIZE = PACKET_HEADER_SIZE + 2 * sizeof(uint32_t) };

/// Sends one peer a packet. A RELIABLE one is kept until it is acknowledged, waits while
/// the peer is suspended, and takes the place that all of them have (session_frame).
void session_send(Session *session, Peer *peer, const Outgoing *outgoing);

/// Sends whole packets, framed already, to one peer; nothing to a text peer. They stay
/// together: where messages are counted, they are one.
void session_send_framed(Session *session, Peer *peer, const Buf *packets,
                         uint8_t priority, uint8_t out_flags);

/// Makes `out` the packet; writes header and ids to `head`. RELIABLE packets, requests,
/// answers and errors keep one order, whatever their priorities; no RELIABLE one is dropped
/// or replaced; unreliable ones may go by UDP.
void session_frame(Out *out, uint8_t head[SESSION_HEAD_SIZE], const Outgoing *outgoing);

/// Makes `out` the line for text peers, which is valid until the next one; returns false
/// when they do not get this packet.
bool session_frame_line(Session *session, Out *out, const Outgoing *outgoing);

// --- While a game is being developed ---

/// Sends each WebSocket peer, later ones included, the error of the game, until the next call.
/// "": the game has no error. NULL: no game is being developed, and peers get nothing.
void session_set_dev_error(Session *session, const char *text);

/// Notifies each WebSocket peer that a file of its page has changed; `path` is relative to
/// the folder that is served.
void session_notify_asset(Session *session, const char *path);

// --- RELIABLE packets to many ---

/// Returns whether RELIABLE packets are kept for any peer.
bool session_keeps(const Session *session);

/// Returns the whole packet of `out`, to be kept for the peers that get it. The caller
/// calls blob_unref.
Blob *session_blob(Session *session, const Out *out);

/// Keeps a RELIABLE packet that a group sends the peer, or would send if the peer were not
/// suspended. Does nothing for a session that cannot be resumed. A peer for which too much
/// is kept ends as a SlowConsumer, but not during this call.
void session_keep(Session *session, Peer *peer, Blob *packet);
