// What the files of this folder share: the Session itself and the steps of a peer's
// life.
#pragma once

#include "base/buf.h"
#include "base/names.h"
#include "base/slots.h"
#include "session/session.h"

struct Session {
  SessionLimits limits;
  SessionEvents events;
  void *data;
  Net *net;         // not owned
  Slots peers;      // Peer by id; owned
  Names addresses;  // open connections by address
  Names packet_names,
      text_names;         // how often names are in use, by binary and text peers
  uint32_t open;          // peers that have a connection
  uint32_t unidentified;  // connections that are no peers
  uint32_t connecting;
  uint32_t connected;
  uint32_t suspended;
  uint32_t json;                    // of these three, those that get JSON or lines
  uint64_t hashes[SESSION_HASHES];  // that HELLO may carry; the first is our own
  uint32_t hash_count;
  uint32_t resumable;  // sessions for which RELIABLE packets are kept
  size_t kept_bytes;   // of these packets
  bool is_down;        // after session_shutdown
  SessionStats stats;
  char *dev_error;  // see session_set_dev_error; owned
  Buf scratch;      // for one payload at a time
  Buf line;         // the last one, see session_frame_line
};

// --- session.c ---

/// The end of a peer whose connection is closed or being closed. `message` is what the
/// log says. The peer is freed when it was never connected.
void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text);

/// The peer's line is lost: it is suspended where that can be, else it ends. With `text`
/// the connection is still there, and is told.
void peer_lose(Session *session, Peer *peer, Code code, const char *text);

/// Frees a peer that nothing counts any more.
void peer_free(Session *session, Peer *peer);

/// How many connections and suspended sessions come from `address`, after adding
/// `change` to it.
uint32_t session_count_address(Session *session, const char *address, int change);

// --- Why somebody may not come, as it is told ---

#define SERVER_FULL_TEXT "the server is full"
#define ADDRESS_FULL_TEXT "too many connections from your address"
#define SHUTTING_DOWN_TEXT "the server is shutting down"

// --- unidentified.c ---

/// NetEvents.enter and leave.
const char *unidentified_enter(void *data, const char *address);
void unidentified_leave(void *data, const char *address);

// --- peer_names.c ---

void peer_names_init(Session *session);
void peer_names_deinit(Session *session);

/// Gives the peer, which has none yet, a name of its own: `guest-ID`.
void peer_names_make(Session *session, Peer *peer);

/// Counts the peer's name as one in use.
void peer_names_hold(Session *session, Peer *peer);

/// Counts the peer's name as one that is free again.
void peer_names_drop(Session *session, Peer *peer);

// --- handshake.c ---

/// NetEvents.refuse.
const char *handshake_fault(void *data, const char *address);

/// NetEvents.open.
void *handshake_open(void *data, ConnId conn, const ConnInfo *info);

/// The first packet of a connection.
void handshake_packet(Session *session, Peer *peer, const Packet *packet);

/// The peer's HELLO as far as an answer needs it: flags and ref.
Packet handshake_hello(const Peer *peer);

/// WELCOME, with a new resume token where sessions can be resumed.
void handshake_welcome(Session *session, Peer *peer, const Packet *hello,
                       bool is_resumed);

/// Whether HELLO may carry this protocol hash.
bool handshake_knows(const Session *session, uint64_t hash);

/// REJECTED, and the end of a peer that is not connected.
void handshake_refuse(Session *session, Peer *peer, const Ending *ending);

// --- resume.c ---

/// Gives a new session its first token.
void resume_begin(Session *session, Peer *peer);

/// Forgets what is kept; the session cannot be resumed any more.
void resume_end(Session *session, Peer *peer);

/// A connected peer whose connection is gone waits.
void resume_suspend(Session *session, Peer *peer, Code code);

/// Whether `hello`, on the connection of `newcomer`, resumes a session; then it has
/// done so or has been refused, and `newcomer` is gone.
bool resume_take(Session *session, Peer *newcomer, const Hello *hello);

/// When a suspended peer has waited long enough.
uint64_t resume_ends(const Session *session, const Peer *peer);

// --- stream.c ---

#define STREAM_FULL_TEXT "too many reliable packets wait to be acknowledged"

/// A RELIABLE packet has come.
void stream_receive(Session *session, Peer *peer, const Packet *packet);

/// ACK from the peer.
void stream_ack(Session *session, Peer *peer, const Packet *packet);

/// ACK to the peer.
void stream_send_ack(Session *session, Peer *peer);

/// Sends all that is kept again.
void stream_resend(Session *session, Peer *peer);

// --- dev.c ---

/// What a peer that has just got its WELCOME has to know.
void dev_greet(Session *session, Peer *peer);

// --- keepalive.c ---

/// Sets the peer's timer for whatever is due next in its state.
void keepalive_arm(Session *session, Peer *peer);

/// Takes limits that have changed into use: the next PING is due an interval from now
/// at the latest. `was_pinged`: there were PINGs before.
void keepalive_refresh(Session *session, Peer *peer, bool was_pinged);

/// The first PING is due one interval from now.
void keepalive_start(Session *session, Peer *peer);

/// Notes that `bytes` came.
void keepalive_note(Session *session, Peer *peer, uint64_t bytes);

/// A throttled peer is read from again: its deadlines begin now.
void keepalive_resume(Session *session, Peer *peer);

void keepalive_pong(Peer *peer, uint64_t value);

// --- throttle.c ---

enum {
  THROTTLE_BATCH_MS = 50
};  // for how many packets' time a peer over the limit waits

/// A packet or line has come. False when the peer has to end for it.
bool throttle_note(Session *session, Peer *peer, bool is_reliable);

/// Reads on from a peer that was over the limit, if it is time.
void throttle_run(Session *session, Peer *peer, uint64_t now_ms);

/// The peer has lost its connection, or has a new one.
void throttle_suspend(Peer *peer);
void throttle_resume(Session *session, Peer *peer);

// --- send.c ---

/// Writes a critical control packet, whatever the state of the peer. It answers `request`
/// where that is not NULL and carries REQUEST.
void send_control(Session *session, Peer *peer, ControlType type, const Packet *request,
                  const Buf *payload);

/// Writes one anywhere in what the peer is sent.
void send_control_at(Session *session, Peer *peer, ControlType type, Priority place,
                     const Packet *request, const Buf *payload);

/// Writes the last packet of a connection, REJECTED or CLOSING.
void send_ending(Session *session, ConnId conn, Framing framing, ControlType type,
                 const Packet *request, const Ending *ending);
