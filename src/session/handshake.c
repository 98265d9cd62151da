// Turns connections into peers: limits on admission, HELLO, the decision of the layer
// above, and WELCOME or REJECTED. A text peer sends no HELLO, so the decision follows
// at once.

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/udp.h"
#include "session/internal.h"

enum { FAULT_SIZE = 96 };  // bytes of the longest refusal that names values

void handshake_uuid(Net *net, uint8_t uuid[UUID_SIZE]) {
  net_random(net, uuid, UUID_SIZE);
  uuid[6] = (uuid[6] & 0x0f) | 0x40;
  uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

static bool is_full(const Session *session) {
  // A suspended peer still counts towards max_clients.
  return session->connected + session->suspended + session->connecting >=
         session->limits.max_clients;
}

// --- Admission ---

// Returns why the server refuses a new connection, or NULL. `open` counts the open
// connections of the same kind. If sessions can be resumed, an address may have twice
// as many connections before HELLO, because the lost connection of a session may still
// be counted.
static const char *admission_fault(Session *session, Framing framing, uint32_t open,
                                   const char *address) {
  const SessionLimits *limits = &session->limits;
  uint64_t max_here = limits->max_clients_per_address;
  if (framing != FRAMING_LINES && limits->resume_timeout_ms > 0) max_here *= 2;
  if (session->is_down) return SHUTTING_DOWN_TEXT;
  if ((uint64_t)open >= (uint64_t)limits->max_clients + SESSION_SPARE)
    return SERVER_FULL_TEXT;
  if (framing == FRAMING_LINES && is_full(session)) return SERVER_FULL_TEXT;
  if (max_here > 0 && session_count_address(session, address, 0) >= max_here)
    return ADDRESS_FULL_TEXT;
  return NULL;
}

const char *handshake_enter(void *data, const char *address) {
  Session *session = data;
  const char *why =
      admission_fault(session, FRAMING_SNIFF, session->unidentified, address);
  if (why) return why;
  session->unidentified++;
  session_count_address(session, address, 1);
  return NULL;
}

void handshake_leave(void *data, const char *address) {
  Session *session = data;
  session->unidentified--;
  session_count_address(session, address, -1);
}

const char *handshake_fault(void *data, const char *address) {
  Session *session = data;
  return admission_fault(session, FRAMING_PACKETS, session->open, address);
}

static void refuse_conn(Session *session, ConnId conn, const ConnInfo *info,
                        const Ending *ending) {
  session->stats.ended[ending->code]++;
  session->stats.refused[ending->code]++;
  log_info("refused", log_str("address", info->address), log_num("port", info->port),
           log_str("reason", code_name(ending->code)), log_str("text", ending->text));
  send_ending(session, conn, info->framing, CONTROL_REJECTED, NULL, ending);
  net_end(session->net, conn, ending->code, ending->text);
}

// Returns whether a client may send passwords and tokens over the connection.
static bool is_secure(const Session *session, const ConnInfo *info) {
  return info->is_tls || net_is_loopback(info->address) ||
         session->limits.allows_insecure_accounts;
}

static Peer *add_peer(Session *session, ConnId conn, const ConnInfo *info) {
  Peer *peer = mem_zalloc(sizeof *peer);
  peer->id = slots_add(&session->peers, peer);
  if (peer->id == 0) {
    mem_free(peer);
    return NULL;
  }
  peer->conn = conn;
  peer->owner = session;
  peer->state = PEER_HANDSHAKE;
  peer->framing = (uint8_t)info->framing;
  peer->transport = (uint8_t)info->transport;
  peer->port = info->port;
  peer->is_secure = is_secure(session, info);
  peer_set_texts(peer, (Text){0}, info->address, (Text){0});
  handshake_uuid(session->net, peer->session);
  peer->last_packet_ms = info->since_ms;
  net_set_counter(session->net, conn, &peer->ended);
  session->open++;
  session_count_address(session, peer_address(peer), 1);
  return peer;
}

// Lets a connection send little before it is a peer.
static void limit_payload(Session *session, const Peer *peer) {
  uint32_t max_payload = session->limits.max_payload;
  if (max_payload > SESSION_HELLO_MAX) max_payload = SESSION_HELLO_MAX;
  net_set_max_payload(session->net, peer->conn, max_payload);
}

// Returns whether a new text peer connects with its first line, which may be /login.
static bool awaits_line(const Session *session, const Peer *peer) {
  return session->limits.has_accounts && peer->framing == FRAMING_LINES &&
         session_has_text_commands(session);
}

static void await_line(Session *session, Peer *peer) {
  static const char LINE[] = "* /login NAME, or anything else to go on as a guest\n";
  net_write(session->net, peer->conn,
            &(Out){.parts = {LINE}, .sizes = {sizeof LINE - 1}, .flags = OUT_KEEP});
  limit_payload(session, peer);
  deadline_arm(session, peer);
}

void *handshake_open(void *data, ConnId conn, const ConnInfo *info) {
  Session *session = data;
  session->stats.opened++;
  if (session->is_down) {
    net_close(session->net, conn);
    return NULL;
  }
  const char *why =
      admission_fault(session, info->framing, session->open, info->address);
  Peer *peer = why ? NULL : add_peer(session, conn, info);
  if (!peer) {
    refuse_conn(session, conn, info,
                &(Ending){CODE_SERVER_FULL, why ? why : SERVER_FULL_TEXT, 0});
    return NULL;
  }
  if (peer->framing == FRAMING_PACKETS) {
    limit_payload(session, peer);
    deadline_arm(session, peer);
    return peer;
  }
  uint32_t id = peer->id;
  peer_names_make(session, peer);
  if (awaits_line(session, peer))
    await_line(session, peer);
  else
    peer_request_verdict(session, peer);
  return session_find(session, id);
}

// --- HELLO ---

bool handshake_knows(const Session *session, uint64_t hash) {
  for (uint32_t i = 0; i < session->hash_count; i++)
    if (session->hashes[i] == hash) return true;
  return hash == 0;
}

// Returns an error that contains both hashes, because designers compare them with the
// output of `perigee schema --hash`.
static const char *hash_fault(const Session *session, uint64_t hash,
                              char text[FAULT_SIZE]) {
  if (session->hash_count > 0)
    snprintf(text, FAULT_SIZE,
             "your protocol hash is %016" PRIx64 ", this server's is %016" PRIx64, hash,
             session->hashes[0]);
  else
    snprintf(text, FAULT_SIZE,
             "your protocol hash is %016" PRIx64 ", this server's game has no schema",
             hash);
  return text;
}

// Returns why the server and this client cannot understand each other, or NULL.
static const char *version_fault(const Session *session, const Hello *hello, Code *code,
                                 char text[FAULT_SIZE]) {
  if (hello->version != PROTOCOL_VERSION) {
    *code = CODE_VERSION_MISMATCH;
    return "this server speaks version 1";
  }
  if (!handshake_knows(session, hello->protocol_hash)) {
    *code = CODE_HASH_MISMATCH;
    return hash_fault(session, hello->protocol_hash, text);
  }
  return NULL;
}

// Returns why this peer cannot begin a session, or NULL.
static const char *entry_fault(Session *session, const Peer *peer, const Hello *hello,
                               Code *code) {
  uint32_t max_here = session->limits.max_clients_per_address;
  if (!text_is_peer_name(hello->name.bytes, hello->name.size)) {
    *code = CODE_PROTOCOL;
    return "names are " TEXT_PEER_NAME_RULE;
  }
  *code = CODE_SERVER_FULL;
  if (max_here > 0 && session_count_address(session, peer_address(peer), 0) > max_here)
    return ADDRESS_FULL_TEXT;
  return is_full(session) ? SERVER_FULL_TEXT : NULL;
}

static void take_hello(Peer *peer, const Hello *hello) {
  peer->protocol_hash = hello->protocol_hash;
  peer_set_texts(peer, hello->name, peer_address(peer), hello->token);
}

Packet handshake_hello(const Peer *peer) {
  return (Packet){.flags = peer->hello_flags, .ref = peer->hello_ref};
}

void handshake_refuse(Session *session, Peer *peer, const Ending *ending) {
  Packet hello = handshake_hello(peer);
  send_ending(session, peer->conn, peer->framing, CONTROL_REJECTED, &hello, ending);
  net_end(session->net, peer->conn, ending->code, ending->text);
  peer_end(session, peer, "refused", ending->code, ending->text);
}

void handshake_packet(Session *session, Peer *peer, const Packet *packet) {
  Hello hello;
  if (packet->channel != CHANNEL_CONTROL || packet->type != CONTROL_HELLO) {
    session_kick(session, peer, CODE_PROTOCOL, "the first packet has to be HELLO");
    return;
  }
  if (control_read_hello(packet, &hello) < 0) {
    session_kick(session, peer, CODE_PROTOCOL, "malformed HELLO");
    return;
  }
  peer->hello_flags = packet->flags;
  peer->hello_ref = packet->ref;
  Code code;
  char text[FAULT_SIZE];
  const char *why = version_fault(session, &hello, &code, text);
  if (!why && resume_take(session, peer, &hello)) return;
  if (!why) why = entry_fault(session, peer, &hello, &code);
  if (why) {
    handshake_refuse(session, peer, &(Ending){code, why, 0});
    return;
  }
  take_hello(peer, &hello);
  peer_request_verdict(session, peer);
}

// --- The answer ---

void handshake_welcome(Session *session, Peer *peer, const Packet *hello,
                       WelcomeResumed resumed) {
  if (peer->framing == FRAMING_LINES && !session_has_text_commands(session)) return;
  uint8_t token[UUID_SIZE], udp_key[NET_UDP_KEY_SIZE];
  if (session->events.keep && peer->resume.is_resumable)
    session->events.keep(session->data, peer);
  token_newest(session, peer, token);
  bool has_udp = peer->framing == FRAMING_PACKETS;
  uint16_t udp_port =
      has_udp ? net_udp_offer(session->net, peer->conn, peer->id, udp_key) : 0;
  Welcome welcome = {
      .peer = peer->id,
      .session = peer->session,
      .resume_token = token,
      .resumed = (uint8_t)resumed,
      .reliable_received = reliable_tell(&peer->resume.stream),
      .server_time_us = net_unix_us(session->net),
      .max_payload = session->limits.max_payload,
      .ping_interval_ms = session->limits.ping_interval_ms,
      .tick_rate = session->limits.tick_rate,
      .udp_port = udp_port,
      .udp_key = udp_port ? udp_key : NULL,
  };
  session->scratch.size = 0;
  control_welcome(&session->scratch, &welcome);
  send_control(session, peer, CONTROL_WELCOME, hello, &session->scratch);
  if (peer->is_renamed) {  // the client knows only the name that it sent in HELLO
    session->scratch.size = 0;
    control_peer_renamed(&session->scratch, 0, peer->id, peer_name(peer));
    send_control(session, peer, CONTROL_PEER_RENAMED, NULL, &session->scratch);
  }
  dev_greet(session, peer);
}

bool session_accept(Session *session, uint32_t id, Text name) {
  Peer *peer = session_find(session, id);
  if (!peer || peer->state != PEER_CONNECTING) return false;
  if (name.size > 0) session_rename(session, peer, name);
  peer_names_hold(session, peer);
  peer->state = PEER_CONNECTED;
  session->connecting--;
  session->connected++;
  session->stats.accepted++;
  Packet hello = handshake_hello(peer);
  resume_begin(session, peer);
  handshake_welcome(session, peer, &hello, WELCOME_NEW);
  log_info("connected", log_num("peer", id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer_address(peer)), log_num("port", peer->port),
           log_str("transport", peer_transport(peer)));
  deadline_start(session, peer);
  net_set_max_payload(session->net, peer->conn, session->limits.max_payload);
  net_unthrottle(session->net, peer->conn);
  sign_in_end(session, peer);
  return true;
}

static void refuse(Session *session, uint32_t id, const Ending *ending) {
  Peer *peer = session_find(session, id);
  if (peer && peer->state == PEER_CONNECTING) handshake_refuse(session, peer, ending);
}

void session_reject(Session *session, uint32_t id, Code code, const char *reason) {
  refuse(session, id, &(Ending){code, reason, 0});
}

void session_postpone(Session *session, uint32_t id, const char *reason,
                      uint16_t retry_s) {
  refuse(session, id, &(Ending){CODE_UNAVAILABLE, reason, retry_s});
}
