// SIGN_IN, before HELLO and after it, and the lines by which text peers sign in. The
// layer above decides about one SIGN_IN of a connection at a time. Before HELLO, the
// server does not read from the connection meanwhile, and the deadline for HELLO does
// not run.
#include <sodium.h>

#include "base/mem.h"
#include "session/internal.h"
#include "wire/json.h"
#include "wire/line.h"

enum {
  TRIES_MAX = 5,  // limit of SIGN_INs of a connection before HELLO
};

#define NO_ACCOUNTS_TEXT "this server has no accounts"
#define INSECURE_TEXT \
  "signing in needs TLS (wss:// in a browser), so that nobody reads the password"

static Text text_of(const Buf *buf) {
  return (Text){(const char *)buf->data, (uint32_t)buf->size};
}

static SignIn *begin(Peer *peer) {
  if (!peer->sign_in) peer->sign_in = mem_zalloc(sizeof *peer->sign_in);
  return peer->sign_in;
}

// --- Requests ---

// Sends ERROR. Closes the connection if its attempts are used up.
static void refuse(Session *session, Peer *peer, const Packet *request, Code code,
                   const char *text) {
  if (peer->state != PEER_HANDSHAKE) {
    session_error(session, peer, request, code, text);
  } else if (peer->sign_in && peer->sign_in->tries >= TRIES_MAX) {
    session_kick(session, peer, CODE_UNAUTHORIZED, text);
  } else {
    session->scratch.size = 0;
    control_code_text(&session->scratch, code, text);
    send_control(session, peer, CONTROL_ERROR, request, &session->scratch);
  }
}

static void judge(Session *session, Peer *peer, const Packet *request, Text json) {
  SignIn *sign_in = begin(peer);
  if (!session->limits.has_accounts || !session->events.sign_in) {
    refuse(session, peer, request, CODE_UNSUPPORTED, NO_ACCOUNTS_TEXT);
  } else if (!peer->is_secure) {
    refuse(session, peer, request, CODE_UNAUTHORIZED, INSECURE_TEXT);
  } else if (sign_in->is_judged) {
    refuse(session, peer, request, CODE_RATE_LIMITED, "one SIGN_IN at a time");
  } else if (json.size > SESSION_HELLO_MAX || !json_is_value(json)) {
    refuse(session, peer, request, CODE_PROTOCOL,
           "SIGN_IN is a JSON object of at most 4096 bytes");
  } else {
    sign_in->is_judged = true;
    if (peer->state == PEER_HANDSHAKE) {
      net_throttle(session->net, peer->conn);
      deadline_arm(session, peer);
    }
    session->events.sign_in(session->data, peer, request, json);
  }
}

void sign_in_packet(Session *session, Peer *peer, const Packet *packet) {
  if (peer->state == PEER_HANDSHAKE) begin(peer)->tries++;
  judge(session, peer, packet, (Text){(const char *)packet->payload, packet->length});
}

// --- Lines ---

// Appends the bytes of a line as a JSON string. Bytes that are not UTF-8 make the JSON
// invalid.
static void put_member(Buf *json, const char *name, Text value) {
  buf_printf(json, ",\"%s\":", name);
  json_put_text(json, value);
}

static void on_password(Session *session, Peer *peer, Text password) {
  SignIn *sign_in = peer->sign_in;
  Buf json = {0};
  sign_in->has_name = false;
  sign_in->tries++;
  buf_printf(&json, "{\"do\":\"sign_in\"");
  put_member(&json, "name", text_of(&sign_in->text));
  put_member(&json, "password", password);
  buf_u8(&json, '}');
  judge(session, peer, &(Packet){0}, text_of(&json));
  sodium_memzero(json.data, json.size);
  buf_deinit(&json);
}

static void keep(SignIn *sign_in, Text text) {
  sign_in->text.size = 0;
  buf_append(&sign_in->text, text.bytes, text.size);
}

void sign_in_line(Session *session, Peer *peer, Text text) {
  SignIn *sign_in = begin(peer);
  if (sign_in->has_name) {
    on_password(session, peer, text);
    return;
  }
  Line line = line_read(text.bytes, text.size);
  if (line.verb == LINE_LOGIN && !peer->is_secure) {
    // Ends the connection, because the next line may be the password. A guest's line would
    // be sent to a room.
    session_kick(session, peer, CODE_UNAUTHORIZED, INSECURE_TEXT);
    return;
  }
  if (line.verb == LINE_LOGIN) {
    keep(sign_in, line.word);
    sign_in->has_name = true;
    return;
  }
  if (text.size == 0) return;
  keep(sign_in, text);
  sign_in->has_line = true;
  peer_request_verdict(session, peer);
}

void sign_in_end(Session *session, Peer *peer) {
  SignIn *sign_in = peer->sign_in;
  if (!sign_in || sign_in->is_judged) return;
  peer->sign_in = NULL;
  if (sign_in->has_line)
    session->events.line(session->data, peer, (const char *)sign_in->text.data,
                         sign_in->text.size);
  buf_deinit(&sign_in->text);
  mem_free(sign_in);
}

// --- Answers ---

// Sends SIGNED_IN; a text peer gets a line with the name.
static void send_signed_in(Session *session, Peer *peer, const Packet *request,
                           Text shown) {
  Buf *payload = &session->scratch;
  payload->size = 0;
  buf_append(payload, shown.bytes, shown.size);
  if (peer->state == PEER_HANDSHAKE) {
    send_control(session, peer, CONTROL_SIGNED_IN, request, payload);
    return;
  }
  Outgoing signed_in = session_control(CONTROL_SIGNED_IN, PRIORITY_NORMAL, payload);
  packet_answer_reliably(&signed_in.packet, request);
  session_send(session, peer, &signed_in);
}

void session_answer_sign_in(Session *session, uint32_t id, const Packet *request,
                            const SignInAnswer *answer) {
  Peer *peer = session_find(session, id);
  if (!peer || !peer_signs_in(peer)) return;
  bool is_text = peer->framing == FRAMING_LINES;
  peer->sign_in->is_judged = false;
  if (answer->code == CODE_CLOSED)
    send_signed_in(session, peer, request, is_text ? answer->name : answer->body);
  else
    refuse(session, peer, request, answer->code, answer->body.bytes);
  peer = session_find(session, id);
  if (!peer || peer->state != PEER_HANDSHAKE) return;
  if (answer->code == CODE_CLOSED && is_text) {
    peer_set_texts(peer, peer_name(peer), peer_address(peer), answer->token);
    peer_request_verdict(session, peer);
    return;
  }
  peer->last_packet_ms = net_now_ms(session->net);
  deadline_arm(session, peer);
  net_unthrottle(session->net, peer->conn);
}

void session_renew(Session *session, Peer *peer, Text json) {
  if (peer->framing != FRAMING_LINES && !peer->is_bot)
    send_signed_in(session, peer, NULL, json);
}
