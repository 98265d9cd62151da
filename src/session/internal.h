// The Session, and the functions of this folder.
#pragma once

#include "base/buf.h"
#include "base/names.h"
#include "base/slots.h"
#include "session/session.h"

struct Session {
  SessionLimits limits;
  SessionEvents events;
  void *data;
  TimerCallback *on_deadline;  // callback for a peer's timer; set by keepalive.c
  Net *net;                    // not owned
  Slots peers;                 // Peer by id; owned
  Names addresses;             // number of open connections by address

  // Number of uses of each name: by binary peers, and by text peers.
  Names packet_names, text_names;
  bool counts_packet_names;  // see peer_names.c
  uint32_t open;             // number of peers that have a connection
  uint32_t unidentified;     // number of connections that are not peers yet
  uint32_t connecting;
  uint32_t connected;
  uint32_t suspended;
  uint32_t json;  // number of connecting, connected or suspended peers that get JSON or
                  // lines
  uint64_t hashes[SESSION_HASHES];  // protocol hashes that HELLO may carry; the first
                                    // is the server's
  uint32_t hash_count;
  uint8_t token_key[32];  // key of resume tokens; secret
  uint32_t resumable;     // number of sessions for which RELIABLE packets are kept
  size_t kept_bytes;      // bytes of these kept packets
  bool is_down;           // session_shutdown was called
  SessionStats stats;
  char *dev_error;  // argument of session_set_dev_error; owned
  Buf scratch;      // one payload; reused
  Buf line;         // line of the last session_frame_line
};

// --- session.c ---

/// Ends a peer without sending anything to it, and logs `message`. Frees a peer that
/// was never connected.
void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text);

/// Suspends a peer that has lost its connection, or ends it if it cannot be resumed. If
/// `text` is not NULL, the connection still exists and gets CLOSING with that text.
void peer_lose(Session *session, Peer *peer, Code code, const char *text);

/// Frees a peer that the session's counts no longer include.
void peer_free(Session *session, Peer *peer);

// --- Texts of refusals ---

#define SERVER_FULL_TEXT "the server is full"
#define ADDRESS_FULL_TEXT "too many connections from your address"
#define SHUTTING_DOWN_TEXT "the server is shutting down"

// --- peer.c ---

/// Sets the peer's name, address and token. Each argument may point into the peer's own
/// texts.
void peer_set_texts(Peer *peer, Text name, const char *address, Text token);

/// Asks the layer above whether a peer may connect. The peer may be closed afterwards.
void peer_request_verdict(Session *session, Peer *peer);

/// State of sign_in.c.
struct SignIn {
  Buf text;        // name of /login, or the first line that is no /login
  uint8_t tries;   // SIGN_INs before HELLO
  bool is_judged;  // the layer above has not answered yet
  bool has_name;   // the next line is the password
  bool has_line;   // on_connect decides before the line in `text` is handled
};

/// Returns whether the layer above judges a SIGN_IN of the peer.
static inline bool peer_signs_in(const Peer *peer) {
  return peer->sign_in && peer->sign_in->is_judged;
}

/// Frees the state of sign_in.c.
void peer_free_sign_in(Peer *peer);

/// Adds `change` to the number of connections and suspended sessions of `address`;
/// returns the sum.
uint32_t session_count_address(Session *session, const char *address, int change);

// --- peer_names.c ---

void peer_names_init(Session *session);
void peer_names_deinit(Session *session);

/// Gives a peer without a name the name `guest-ID`; a bot gets `bot-ID`.
void peer_names_make(Session *session, Peer *peer);

/// Counts the peer's name as used.
void peer_names_hold(Session *session, Peer *peer);

/// No longer counts the peer's name as used; see peer_names_hold.
void peer_names_drop(Session *session, Peer *peer);

// --- handshake.c ---

/// Makes the UUID of a session.
void handshake_uuid(Net *net, uint8_t uuid[UUID_SIZE]);

/// Implement NetEvents.enter and .leave, for connections that have not identified
/// themselves. These connections have a limit of their own, which equals the limit of
/// peers. They also count towards the limit of their address.
const char *handshake_enter(void *data, const char *address);
void handshake_leave(void *data, const char *address);

/// Implements NetEvents.refuse.
const char *handshake_fault(void *data, const char *address);

/// Implements NetEvents.open.
void *handshake_open(void *data, ConnId conn, const ConnInfo *info);

/// Handles the first packet of a connection.
void handshake_packet(Session *session, Peer *peer, const Packet *packet);

/// Returns a packet with the flags and ref of the peer's HELLO. WELCOME or REJECTED
/// answers that packet.
Packet handshake_hello(const Peer *peer);

/// Sends WELCOME. It carries a new resume token if sessions can be resumed.
void handshake_welcome(Session *session, Peer *peer, const Packet *hello,
                       WelcomeResumed resumed);

/// Returns whether HELLO may carry this protocol hash.
bool handshake_knows(const Session *session, uint64_t hash);

/// Sends REJECTED and ends a peer that is not connected.
void handshake_refuse(Session *session, Peer *peer, const Ending *ending);

// --- sign_in.c ---

/// Handles SIGN_IN, in any state.
void sign_in_packet(Session *session, Peer *peer, const Packet *packet);

/// Handles a line of a text peer that has not connected yet.
void sign_in_line(Session *session, Peer *peer, Text text);

/// Frees the sign-in state of a peer that has connected, after handling the line that
/// waited in it.
void sign_in_end(Session *session, Peer *peer);

// --- resume.c ---

/// Makes a new session resumable by its first token, if limits and framing permit that.
void resume_begin(Session *session, Peer *peer);

/// Frees the kept packets. The session cannot be resumed any more.
void resume_end(Session *session, Peer *peer);

/// Suspends a connected peer whose connection has ended.
void resume_suspend(Session *session, Peer *peer, Code code);

/// Handles a HELLO that arrived on the connection of `newcomer`. If its resume token
/// belongs to a session, resumes or refuses that session, frees `newcomer` and returns
/// true. Otherwise returns false.
bool resume_take(Session *session, Peer *newcomer, const Hello *hello);

// --- token.c ---

/// Writes the newest token of the session; zeros if it cannot be resumed.
void token_newest(const Session *session, const Peer *peer, uint8_t token[UUID_SIZE]);

/// Writes the token that resumed the connection, while that token is valid; otherwise the
/// newest one.
void token_used(const Session *session, const Peer *peer, uint8_t token[UUID_SIZE]);

/// Forgets the token that resumed the connection, because the client has the newest one.
void token_confirm(Peer *peer);

/// Returns whether a token may resume the session.
bool token_resumes(const Session *session, const Peer *peer,
                   const uint8_t token[UUID_SIZE]);

/// Returns whether a token is the newest one that this process has made.
bool token_is_newest(const Session *session, const Peer *peer,
                     const uint8_t token[UUID_SIZE]);

/// Returns whether the token was made by an earlier process and may resume the session.
bool token_restores(const Peer *peer, const uint8_t token[UUID_SIZE]);

/// Makes a token, for which token_restores is true, the only one of an earlier process.
void token_use(Peer *peer, const uint8_t token[UUID_SIZE]);

/// Hashes a token for Restored.hashes.
void token_hash(const uint8_t token[UUID_SIZE], uint8_t hash[TOKEN_HASH_SIZE]);

// --- stream.c ---

#define STREAM_FULL_TEXT "too many reliable packets wait to be acknowledged"

/// Counts a RELIABLE packet from the peer.
void stream_receive(Session *session, Peer *peer, const Packet *packet);

/// Handles ACK from the peer.
void stream_ack(Session *session, Peer *peer, const Packet *packet);

/// Sends the peer an ACK.
void stream_send_ack(Session *session, Peer *peer);

/// Resends all kept packets.
void stream_resend(Session *session, Peer *peer);

// --- dev.c ---

/// Sends the game's current error to a peer that has just got its WELCOME.
void dev_greet(Session *session, Peer *peer);

// --- deadline.c ---

/// Sets the peer's timer to its next deadline.
void deadline_arm(Session *session, Peer *peer);

/// Applies changed limits. The next PING is due after one new interval at the latest.
/// `was_pinged`: whether the old limits made the server send PINGs.
void deadline_refresh(Session *session, Peer *peer, bool was_pinged);

/// Starts the deadlines of a peer when the server begins to read from it.
void deadline_start(Session *session, Peer *peer);

/// Returns whether the server sends the peer PINGs.
bool deadline_is_pinged(const Session *session, const Peer *peer);

/// Returns the time at which the session closes the peer, because it is silent or stays
/// suspended.
uint64_t deadline_of_silence(const Session *session, const Peer *peer);

// --- keepalive.c ---

/// Implements Session.on_deadline.
void keepalive_on_deadline(void *data, uint64_t now_ms);

/// Counts a packet or line of `bytes` bytes. `transport` is UDP for a datagram beside
/// the peer's stream.
void keepalive_note(Session *session, Peer *peer, TransportName transport,
                    uint64_t bytes);

/// Handles PONG.
void keepalive_pong(Peer *peer, uint64_t value);

// --- throttle.c ---

// Shortest wait of a peer over rate_limit. After the wait, the peer may send as many
// packets as the rate permits in that time.
enum { THROTTLE_BATCH_MS = 50 };

/// Counts a packet or line. Returns false when the peer must be closed because of
/// rate_limit.
bool throttle_note(Session *session, Peer *peer, bool is_reliable);

/// Returns the time at which the server reads again from a peer over the limit;
/// UINT64_MAX if the peer is not over the limit.
uint64_t throttle_due_ms(const Session *session, const Peer *peer);

/// Reads again from a peer over the limit if its wait has ended.
void throttle_run(Session *session, Peer *peer, uint64_t now_ms);

/// Adjust the state after the peer has lost its connection (suspend) or has a new
/// connection (resume).
void throttle_suspend(Peer *peer);
void throttle_resume(Session *session, Peer *peer);

// --- send.c ---

/// Writes a critical control packet in any state of the peer. The packet answers
/// `request` if that is not NULL and carries REQUEST.
void send_control(Session *session, Peer *peer, ControlType type, const Packet *request,
                  const Buf *payload);

/// Writes a control packet like send_control, but at the place of priority `place`
/// among the outgoing packets.
void send_control_at(Session *session, Peer *peer, ControlType type, Priority place,
                     const Packet *request, const Buf *payload);

/// Writes the last packet of a connection, REJECTED or CLOSING.
void send_ending(Session *session, ConnId conn, Framing framing, ControlType type,
                 const Packet *request, const Ending *ending);
