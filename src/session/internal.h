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
  uint32_t open;    // peers that are not PEER_CLOSED
  uint32_t connecting;
  uint32_t connected;
  bool is_down;  // after session_shutdown
  SessionStats stats;
  Buf scratch;  // for one payload or line at a time
};

// --- session.c ---

/// The end of a peer whose connection is closed or being closed. `message` is what the
/// log says. The peer is freed when it was never connected.
void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text);

/// How many open connections come from `address`, after adding `change` to it.
uint32_t session_count_address(Session *session, const char *address, int change);

// --- handshake.c ---

/// NetEvents.open.
void *handshake_open(void *data, ConnId conn, const ConnInfo *info);

/// The first packet of a connection.
void handshake_packet(Session *session, Peer *peer, const Packet *packet);

// --- keepalive.c ---

/// Sets the peer's timer for whatever is due next in its state.
void keepalive_arm(Session *session, Peer *peer);

/// Takes limits that have changed into use: the next PING is due an interval from now
/// at the latest. `was_pinged`: there were PINGs before.
void keepalive_refresh(Session *session, Peer *peer, bool was_pinged);

/// The first PING is due one interval from now.
void keepalive_start(Session *session, Peer *peer);

/// Notes that `bytes` came. False when the peer sends more than the rate limit allows.
bool keepalive_note(Session *session, Peer *peer, uint64_t bytes);

void keepalive_pong(Peer *peer, uint64_t value);

// --- send.c ---

/// A critical control packet, written whatever the state of the peer. It answers
/// `request` where that is not NULL and carries REQUEST.
void send_control(Session *session, Peer *peer, ControlType type, const Packet *request,
                  const Buf *payload);

/// `! Code: text` or the control packet `type` (REJECTED, CLOSING, ERROR) to a
/// connection.
void send_code(Session *session, ConnId conn, Framing framing, ControlType type,
               const Packet *request, Code code, const char *text);
