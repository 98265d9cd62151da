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
  TimerCallback *on_deadline;  // of a peer; keepalive.c's
  Net *net;                    // not owned
  Slots peers;                 // Peer by id; owned
  Names addresses;             // open connections by address
  Names packet_names,
      text_names;         // how often names are in use, by binary and text peers
  uint32_t open;          // peers that have a connection
  uint32_t unidentified;  // connections that are no peers yet
  uint32_t connecting;
  uint32_t connected;
  uint32_t suspended;
  uint32_t json;                    // of these three, those that get JSON or lines
  uint64_t hashes[SESSION_HASHES];  // that HELLO may carry; the first is the server's
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

/// Ends a peer whose connection is closed or being closed; logs `message`. Frees a peer that
/// was never connected.
void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text);

/// Suspends a peer that has lost its connection, or ends it if it cannot be resumed. With
/// `text` the connection still exists, and gets CLOSING.
void peer_lose(Session *session, Peer *peer, Code code, const char *text);

/// Frees a peer that is not counted any more.
void peer_free(Session *session, Peer *peer);

// --- Texts of refusals ---

#define SERVER_FULL_TEXT "the server is full"
#define ADDRESS_FULL_TEXT "too many connections from your address"
#define SHUTTING_DOWN_TEXT "the server is shutting down"

// --- peer.c ---

/// Sets the peer's name and address, of which either may be its own.
void peer_set_texts(Peer *peer, Text name, const char *address);

/// Adds `change` to the connections and suspended sessions of `address`; returns how many
/// these are.
uint32_t session_count_address(Session *session, const char *address, int change);

// --- peer_names.c ---

void peer_names_init(Session *session);
void peer_names_deinit(Session *session);

/// Gives a peer without a name the name `guest-ID`.
void peer_names_make(Session *session, Peer *peer);

/// Counts the peer's name as one in use.
void peer_names_hold(Session *session, Peer *peer);

/// Counts the peer's name as one that is free again.
void peer_names_drop(Session *session, Peer *peer);

// --- handshake.c ---

/// NetEvents.enter and leave: connections that are not identified yet. They have a limit of
/// their own, as high as that of peers, and count among those of their address.
const char *handshake_enter(void *data, const char *address);
void handshake_leave(void *data, const char *address);

/// NetEvents.refuse.
const char *handshake_fault(void *data, const char *address);

/// NetEvents.open.
void *handshake_open(void *data, ConnId conn, const ConnInfo *info);

/// Handles the first packet of a connection.
void handshake_packet(Session *session, Peer *peer, const Packet *packet);

/// Returns flags and ref of the peer's HELLO, for its answer.
Packet handshake_hello(const Peer *peer);

/// Sends WELCOME, with a new resume token where sessions can be resumed.
void handshake_welcome(Session *session, Peer *peer, const Packet *hello,
                       bool is_resumed);

/// Returns whether HELLO may carry this protocol hash.
bool handshake_knows(const Session *session, uint64_t hash);

/// Sends REJECTED and ends a peer that is not connected.
void handshake_refuse(Session *session, Peer *peer, const Ending *ending);

// --- resume.c ---

/// Gives a new session its first token.
void resume_begin(Session *session, Peer *peer);

/// Frees what is kept; the session cannot be resumed any more.
void resume_end(Session *session, Peer *peer);

/// Suspends a connected peer whose connection has ended.
void resume_suspend(Session *session, Peer *peer, Code code);

/// Returns whether `hello`, on the connection of `newcomer`, names a session to resume.
/// Then it has been resumed or refused, and `newcomer` is freed.
bool resume_take(Session *session, Peer *newcomer, const Hello *hello);

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

/// Sends a peer that has just got its WELCOME the error of the game.
void dev_greet(Session *session, Peer *peer);

// --- deadline.c ---

/// Sets the peer's timer to its next deadline.
void deadline_arm(Session *session, Peer *peer);

/// Applies changed limits: the next PING is due an interval from now at the latest.
/// `was_pinged`: the server sent PINGs before.
void deadline_refresh(Session *session, Peer *peer, bool was_pinged);

/// Begins the deadlines of a peer that the server begins to read from.
void deadline_start(Session *session, Peer *peer);

/// Returns whether the server sends the peer PINGs.
bool deadline_is_pinged(const Session *session, const Peer *peer);

/// Returns when the peer is closed because it has sent nothing, or was not resumed.
uint64_t deadline_of_silence(const Session *session, const Peer *peer);

// --- keepalive.c ---

/// TimerCallback of Session.on_deadline.
void keepalive_on_deadline(void *data, uint64_t now_ms);

/// Counts a packet or line of so many bytes.
void keepalive_note(Session *session, Peer *peer, uint64_t bytes);

/// Handles PONG.
void keepalive_pong(Peer *peer, uint64_t value);

// --- throttle.c ---

// Least time that a peer over the limit waits: for the packets of that time.
enum { THROTTLE_BATCH_MS = 50 };

/// Counts a packet or line. Returns false when the peer has to end for it.
bool throttle_note(Session *session, Peer *peer, bool is_reliable);

/// Reads again from a peer that was over the limit, when its wait is over.
void throttle_run(Session *session, Peer *peer, uint64_t now_ms);

/// Reports that the peer has lost its connection, or has got a new one.
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
