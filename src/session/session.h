// Peers, from the first bytes of a connection to the reason of its end: HELLO,
// keepalive, suspension and resumption. Text peers send no HELLO. The session does not
// know rooms.
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

// Commands that the greeting for text peers lists.
#define TEXT_COMMANDS                                                              \
  "/join ROOM, /join_with ROOM JSON, /leave ROOM, /rooms, /name NAME, /send NAME " \
  "JSON, /quit"

/// Group of peers in which names are unique, in the order of the setting's values.
typedef enum UniqueNames {
  UNIQUE_AMONG_TEXT,
  UNIQUE_AMONG_ALL,
  UNIQUE_NOT
} UniqueNames;

typedef struct SessionLimits {
  uint32_t max_clients;
  uint32_t max_clients_per_address;  // 0: off
  uint32_t max_payload;
  uint32_t idle_timeout_ms;  // 0: off, also in the next two fields
  uint32_t ping_interval_ms;
  uint32_t handshake_timeout_ms;
  uint32_t resume_timeout_ms;  // time that a session stays suspended; 0: sessions
                               // cannot be resumed
  uint32_t rate_limit;         // packets a second from one peer; 0: no limit
  bool rate_limit_kicks;       // whether a peer over rate_limit is closed; false: it is
                               // throttled
  uint16_t tick_rate;          // ticks a second that WELCOME reports
  UniqueNames unique_names;
  bool has_accounts;              // whether clients can sign in
  bool allows_insecure_accounts;  // whether clients can sign in without TLS, too
  bool has_no_text_commands;      // text peers get no greeting, and all their lines are
                                  // messages
} SessionLimits;

enum {
  SESSION_HELLO_MAX = 4096,  // payload bytes of a HELLO
  SESSION_SPARE = 64,  // number of connections beyond max_clients that get a REJECTED
  SESSION_CODES = CODE_UNAVAILABLE + 1,
  SESSION_HASHES = NET_HASHES_MAX,  // protocol hashes that are valid at a time
  SESSION_KEPT_BYTES = 8 << 20,     // limit of RELIABLE bytes kept for one peer
  SESSION_KEPT_TOTAL = 256 << 20,   // bytes kept for all peers from which on
                                    // SESSION_KEPT_SHARE applies
  SESSION_KEPT_SHARE = 128 << 10,   // limit for one peer when much is kept for all
                                    // peers
};

typedef struct SessionStats {
  uint64_t opened;                    // connections so far
  uint64_t accepted;                  // peers that became connected
  uint64_t ended[SESSION_CODES];      // ended connections by Code, refusals included
  uint64_t refused[SESSION_CODES];    // connections that the server ended before they
                                      // became peers, by Code
  uint64_t suspended;                 // sessions that were suspended
  uint64_t resumed;                   // suspended sessions that were resumed
  uint64_t expired;                   // suspended sessions that resume_timeout ended
  NetSent received[TRANSPORT_COUNT];  // packets and bytes from all peers
  uint64_t resent;                    // RELIABLE packets sent again after a resume
  uint64_t throttled;                 // number of times that throttling of a peer began
  uint32_t suspended_now;
  size_t kept_bytes;  // bytes of RELIABLE packets that wait for ACKs
} SessionStats;

/// Returns the sum of `received`.
NetSent session_received(const SessionStats *stats);

/// A suspension that a resume has ended.
typedef struct Resumption {
  uint64_t suspended_ms;  // duration of the suspension
  uint32_t resent;        // RELIABLE packets sent again
  bool is_restored;       // an earlier process had the session
} Resumption;

/// The part of a session that survives the end of the process. The layer above stores
/// it.
typedef struct KeptSession {
  uint32_t id;  // id of the peer
  uint8_t session[UUID_SIZE];
  uint8_t hashes[2][TOKEN_HASH_SIZE];  // Restored.hashes
  Text name;
  Text transport;
  uint64_t protocol_hash;
  bool is_renamed;  // Peer.is_renamed
} KeptSession;

/// The reports of the session to the relay. `data` is the argument of session_new.
typedef struct SessionEvents {
  /// Decides as NetEvents.accept does. May be NULL.
  bool (*accept)(void *data, const char *address, uint16_t port);
  /// Reports that a peer wants to connect (PEER_CONNECTING). The relay answers with
  /// session_accept or session_reject, at once or later. The peer's packets wait until
  /// then.
  void (*connect)(void *data, Peer *peer);
  /// Reports that a connected peer has sent a packet other than HELLO, PING, PONG, ACK
  /// and BYE.
  void (*packet)(void *data, Peer *peer, const Packet *packet);
  /// Reports that a connected text peer has sent a line.
  void (*line)(void *data, Peer *peer, const char *text, size_t size);
  /// Reports that a client wants to sign in: before HELLO (PEER_HANDSHAKE), or as a
  /// connected peer. The relay answers with session_answer_sign_in, at once or later.
  void (*sign_in)(void *data, Peer *peer, const Packet *request, Text json);
  /// Passes on NetEvents.drops.
  void (*drops)(void *data, Peer *peer, uint32_t tag, uint32_t dropped,
                uint32_t queued);
  /// Reports that a connected or suspended peer has ended (PEER_CLOSED). The relay
  /// calls session_forget when it does not need the peer any more. No event reports the
  /// end of a peer that was never accepted.
  void (*disconnect)(void *data, Peer *peer, Code reason);
  /// Reports that a connected peer has lost its connection (PEER_SUSPENDED). `resume`
  /// or `disconnect` follows.
  void (*suspend)(void *data, Peer *peer, Code reason);
  /// Reports that a suspended peer is connected again (PEER_CONNECTED). Its new
  /// connection has got WELCOME. Packets sent during this call precede the RELIABLE
  /// packets that are sent again.
  void (*resume)(void *data, Peer *peer, const Resumption *resumption);
  /// Reports that a session begins or is resumed; its WELCOME follows this call. The
  /// callee may store session_kept, and hold the connection until it is stored. May be
  /// NULL.
  void (*keep)(void *data, Peer *peer);
} SessionEvents;

/// Returns the session's NetEvents for net_new. Their `data` must be the session. The
/// caller sets `iteration`.
NetEvents session_net_events(void);

Session *session_new(const SessionLimits *limits, const SessionEvents *events,
                     void *data);

/// Sets the net, which is not owned. Must be called once, before all other functions.
void session_attach(Session *session, Net *net);

void session_free(Session *session);

/// Applies new limits. A new max_payload affects peers that are accepted later. A new
/// max_clients affects connections that arrive later.
void session_set_limits(Session *session, const SessionLimits *limits);

/// Sends WELCOME and makes the peer connected. `name` is its new name, which the caller
/// has checked; size 0 keeps the peer's name. Returns false when the peer has already
/// ended.
bool session_accept(Session *session, uint32_t peer, Text name);

/// Sends REJECTED and ends the peer.
void session_reject(Session *session, uint32_t peer, Code code, const char *reason);

/// Sends REJECTED Unavailable and ends the peer. The client may try again after
/// `retry_s` seconds.
void session_postpone(Session *session, uint32_t peer, const char *reason,
                      uint16_t retry_s);

// --- Accounts ---

typedef struct SignInAnswer {
  Code code;   // CODE_CLOSED: the client has signed in
  Text body;   // JSON of SIGNED_IN, or the text of the error, with a NUL behind it
  Text token;  // token that the HELLO of a text peer would have
  Text name;   // name of the account, for the line of a text peer
} SignInAnswer;

/// Answers a SIGN_IN. A text peer that has signed in then connects. Does nothing if the
/// client is gone.
void session_answer_sign_in(Session *session, uint32_t peer, const Packet *request,
                            const SignInAnswer *answer);

/// Sends a connected peer SIGNED_IN with a new token.
void session_renew(Session *session, Peer *peer, Text json);

// --- Bots ---

/// Returns a new peer without a connection (PEER_CONNECTING). The caller has checked
/// `name`; size 0 makes the name `bot-ID`. Returns NULL if no id is left. Bots do not
/// count as clients.
Peer *session_add_bot(Session *session, Text name);

/// Makes the bot a PEER_BOT. It then ends as other peers do.
void session_start_bot(Peer *bot);

/// Logs an error that a client would get.
void session_log_refusal(const Peer *bot, const char *code, Text text);

/// Frees a bot that was not started.
void session_drop_bot(Session *session, Peer *bot);

// --- Sessions of an earlier process ---

/// Describes the peer's session; its texts belong to the peer. Returns false if the
/// session cannot be resumed.
bool session_kept(const Session *session, const Peer *peer, KeptSession *kept);

/// Returns whether sessions can be resumed, so that kept ones survive.
bool session_can_restore(const Session *session);

/// Makes a suspended peer from a kept session. Its client was last heard `away_ms`
/// before the start. resume_timeout begins now. Returns NULL if the id is in use, the
/// name is malformed, or sessions cannot be resumed.
Peer *session_restore(Session *session, const KeptSession *kept, uint64_t away_ms);

// --- Names of peers ---

#define NAME_IN_USE_TEXT "the name is in use"

/// Checks whether the peer may have the name. Returns 0, ERR_INVALID
/// (TEXT_PEER_NAME_RULE) or ERR_EXISTS (SessionLimits.unique_names forbids the name,
/// because another peer has it). `reserved`: number of reservations of the name for
/// this peer.
int session_check_name(Session *session, const Peer *peer, Text name,
                       uint32_t reserved);

/// Checks a name like session_check_name, for a bot that session_add_bot will make.
int session_check_bot_name(Session *session, Text name);

/// Reserves a name (`change` is 1) or releases it (-1). Other peers cannot take a
/// reserved name. `framing` is the framing of the peer that will have the name.
void session_reserve_name(Session *session, uint8_t framing, Text name, int change);

/// Changes the name of a peer that is not closed, without notifying anyone.
void session_rename(Session *session, Peer *peer, Text name);

/// Returns whether the peer has this name.
bool peer_has_name(const Peer *peer, Text name);

/// Sends CLOSING and ends the peer; emits `disconnect` if it was connected or
/// suspended. If `text` is NULL, sends nothing. Does nothing for a closed peer.
__attribute__((cold)) void session_kick(Session *session, Peer *peer, Code code,
                                        const char *text);

/// session_throttle stops reading from a connected or suspended peer, for a reason;
/// session_release removes the reason. Reading continues when no reason is left. While
/// the peer is throttled, its deadlines for silence and PONG do not run.
void session_throttle(Session *session, Peer *peer, ThrottleReason reason);
void session_release(Session *session, Peer *peer, ThrottleReason reason);

/// Frees a PEER_CLOSED peer. The relay must have freed the peer's rooms before.
void session_forget(Session *session, Peer *peer);

/// Returns the peer, in any state, or NULL.
Peer *session_find(const Session *session, uint32_t peer);

/// Returns the next peer after `*cursor` (start at 0), in any state, or NULL.
Peer *session_next(const Session *session, uint32_t *cursor);

/// Returns the mean latency, in milliseconds, of connected peers that have answered a
/// PING; 0 if none has. Visits each peer.
double session_latency_ms(const Session *session);

/// Returns the packets and bytes that the server has sent to a peer, messages to its
/// rooms included.
NetSent session_sent(const Session *session, const Peer *peer);

/// Returns the number of peers in PEER_CONNECTED.
uint32_t session_count(const Session *session);

/// Returns whether a peer with this protocol hash (not 0) is connecting, connected or
/// suspended.
bool session_knows_schema(const Session *session, uint64_t hash);

/// Returns whether a peer without the schema is connecting, connected or suspended.
bool session_has_json(const Session *session);

/// Returns whether lines of text peers that begin with / are commands.
bool session_has_text_commands(const Session *session);

/// Sets the protocol hashes that a HELLO may carry besides 0, at most SESSION_HASHES.
/// The first is the server's own. Ends peers with other hashes (ConnectionClosed), so
/// that they reconnect with the new hash.
void session_set_hashes(Session *session, const uint64_t *hashes, uint32_t count);

SessionStats session_stats(const Session *session);

/// Sends CLOSING Unavailable to all peers and ends them, because the server stops.
/// Later connections are closed at once.
void session_shutdown(Session *session);

/// Adds `packets` to the peer's packets for rate_limit, because its last packet costs
/// as much work as that number of packets.
void session_charge(Session *session, Peer *peer, uint32_t packets);

/// Sends ERROR. The ERROR answers `request` (may be NULL) if the request carries
/// REQUEST. It is RELIABLE if the request is RELIABLE.
__attribute__((cold)) void session_error(Session *session, Peer *peer,
                                         const Packet *request, Code code,
                                         const char *text);

/// A packet for peers. Text peers get a line instead (text.c), or nothing.
typedef struct Outgoing {
  Packet packet;
  uint32_t ids[2];  // ids at the beginning of the payload; not in `packet`
  uint8_t id_count;
  uint8_t flags;  // OutFlags
  uint32_t more;  // number of entries of JOINED that are not in the packet; for ROOMS,
                  // 1 if entries are missing
  uint64_t key;   // Out.key
  // Only lines for text peers contain these texts:
  Text name;    // room's name in PEER_JOINED, PEER_LEFT and LEFT; name of a message
  Text detail;  // reason of LEFT in words; JSON value of a message
} Outgoing;

/// Returns a control packet that is never dropped.
Outgoing session_control(ControlType type, Priority priority, const Buf *payload);

enum { SESSION_HEAD_SIZE = PACKET_HEADER_SIZE + 2 * sizeof(uint32_t) };

/// Sends a packet to one peer. RELIABLE packets keep their order (session_frame). The
/// session keeps a RELIABLE packet until the peer acknowledges it, also while the peer
/// is suspended.
void session_send(Session *session, Peer *peer, const Outgoing *outgoing);

/// Sends whole packets, already framed, to one peer; text peers get nothing. The
/// packets stay together and count as one message.
void session_send_framed(Session *session, Peer *peer, const Buf *packets,
                         uint8_t priority, uint8_t out_flags);

/// Fills `out` with the packet; writes header and ids to `head`. RELIABLE packets,
/// requests, answers and errors keep their order, whatever their priorities. RELIABLE
/// packets are never dropped or replaced. Unreliable packets may travel by UDP.
void session_frame(Out *out, uint8_t head[SESSION_HEAD_SIZE], const Outgoing *outgoing);

/// Fills `out` with the line for text peers, which is valid until the next call.
/// Returns false if text peers do not get this packet.
bool session_frame_line(Session *session, Out *out, const Outgoing *outgoing);

// --- Development ---

/// Sends the game's error to each WebSocket peer. Peers that connect later also get it,
/// until the next call. "": the game has no error. NULL: development mode is off, and
/// peers get nothing.
void session_set_dev_error(Session *session, const char *text);

/// Notifies each WebSocket peer that a file of its page has changed; `path` is relative
/// to the served folder.
void session_notify_asset(Session *session, const char *path);

// --- RELIABLE packets to many ---

/// Returns whether RELIABLE packets are kept for any peer.
bool session_keeps(const Session *session);

/// Returns the whole packet of `out`, to be kept for its receivers. The caller calls
/// blob_unref.
Blob *session_blob(Session *session, const Out *out);

/// Keeps a RELIABLE packet that a group sends to the peer, or would send if the peer
/// were connected. Does nothing if the session cannot be resumed. A peer with too many
/// kept packets ends as a SlowConsumer, but not during this call.
void session_keep(Session *session, Peer *peer, Blob *packet);
