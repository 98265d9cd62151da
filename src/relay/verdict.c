// The script's answers to CONNECT, BROADCAST and others. join.c has the answers to JOIN. These
// functions check peer and room again, because an answer may follow long after the
// event.

#include "base/log.h"
#include "relay/internal.h"
#include "relay/notify.h"

bool relay_accept(Relay *relay, uint32_t id, Text name) {
  const Peer *peer = session_find(relay->session, id);
  if (peer && name.size == 0) name = relay_peer_name(relay, peer);
  bool is_free = relay_name_is_free(relay, id, name);
  if (!is_free) session_reject(relay->session, id, CODE_REJECTED, NAME_IN_USE_TEXT);
  if (!is_free || !session_accept(relay->session, id, name)) {
    script_joins_forget(relay, id);
    return false;
  }
  script_joins_welcome(relay, id);
  all_add(relay, session_find(relay->session, id));
  return true;
}

void relay_reject(Relay *relay, uint32_t peer, Code code, const char *reason) {
  script_joins_forget(relay, peer);
  session_reject(relay->session, peer, code, reason ? reason : "");
}

void relay_postpone(Relay *relay, uint32_t peer, const char *reason, uint16_t retry_s) {
  script_joins_forget(relay, peer);
  session_postpone(relay->session, peer, reason, retry_s);
}

void relay_answer_sign_in(Relay *relay, const Event *event,
                          const SignInAnswer *answer) {
  Packet request = {.flags = event->flags, .ref = event->ref};
  session_answer_sign_in(relay->session, event->peer, &request, answer);
}

void relay_pass(Relay *relay, const Event *event, Text data) {
  Peer *peer = session_find(relay->session, event->peer);
  Room *room = room_find_open(relay, event->room);
  if (!peer || !room || !member_find(peer, room->id)) return;
  if (data.size > relay->limits.max_payload) {
    log_warn("on_broadcast gave more than max_payload", log_num("room", room->id),
             log_bytes("name", room->name, room->name_size),
             log_num("bytes", data.size));
    relay_fail(relay, event);
    return;
  }
  room_relay(relay, room, peer, event->priority, event->flags, data);
}

void relay_fail(Relay *relay, const Event *event) {
  Peer *peer = session_find(relay->session, event->peer);
  if (!peer || !(event->flags & PACKET_REQUEST)) return;
  Packet request = {.flags = event->flags, .ref = event->ref};
  session_error(relay->session, peer, &request, CODE_INTERNAL, RELAY_FAILED_TEXT);
}

void relay_fault(Relay *relay, const Event *event, const Fault *fault) {
  Peer *peer = session_find(relay->session, event->peer);
  Packet request = {.flags = event->flags, .ref = event->ref};
  if (peer) notify_fault(relay, peer, fault, &request);
  if (event->type == EVENT_JOIN) join_end_refused(relay, event, fault->code.bytes);
}
