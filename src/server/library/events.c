// From an Event of the relay to a handler of the host, and from its verdict back. Handlers of
// the host come before those of the script.
#include <string.h>

#include "server/library/library.h"
#include "wire/message.h"

// --- Which handlers there are ---

uint32_t library_hooks(const perigee_server *self) {
  const perigee_server_handlers *on = &self->handlers;
  if (self->has_thread)
    return HOOK_CONNECT | HOOK_DISCONNECT | HOOK_SUSPEND | HOOK_RESUME | HOOK_JOIN |
           HOOK_LEAVE | HOOK_BROADCAST | HOOK_BACKPRESSURE | HOOK_MESSAGE |
           HOOK_PACKET | HOOK_ROOM_CREATE | HOOK_ROOM_DELETE;
  return (on->on_connect ? HOOK_CONNECT : 0) | (on->on_suspend ? HOOK_SUSPEND : 0) |
         (on->on_disconnect ? HOOK_DISCONNECT : 0) |
         (on->on_room_delete ? HOOK_ROOM_DELETE : 0) |
         (on->on_resume ? HOOK_RESUME : 0) | (on->on_join ? HOOK_JOIN : 0) |
         (on->on_leave ? HOOK_LEAVE : 0) | (on->on_broadcast ? HOOK_BROADCAST : 0) |
         (on->on_backpressure ? HOOK_BACKPRESSURE : 0) |
         (on->on_message ? HOOK_MESSAGE : 0) | (on->on_packet ? HOOK_PACKET : 0) |
         (on->on_room_create ? HOOK_ROOM_CREATE : 0);
}

static perigee_server_ask *find_ask(const perigee_server_handlers *on, int type) {
  switch (type) {
    case PERIGEE_SERVER_CONNECT:
      return on->on_connect;
    case PERIGEE_SERVER_JOIN:
      return on->on_join;
    case PERIGEE_SERVER_BROADCAST:
      return on->on_broadcast;
    default:
      return NULL;
  }
}

static perigee_server_tell *find_tell(const perigee_server_handlers *on, int type) {
  switch (type) {
    case PERIGEE_SERVER_DISCONNECT:
      return on->on_disconnect;
    case PERIGEE_SERVER_SUSPEND:
      return on->on_suspend;
    case PERIGEE_SERVER_RESUME:
      return on->on_resume;
    case PERIGEE_SERVER_LEAVE:
      return on->on_leave;
    case PERIGEE_SERVER_BACKPRESSURE:
      return on->on_backpressure;
    case PERIGEE_SERVER_MESSAGE:
      return on->on_message;
    case PERIGEE_SERVER_PACKET:
      return on->on_packet;
    case PERIGEE_SERVER_ROOM_CREATE:
      return on->on_room_create;
    case PERIGEE_SERVER_ROOM_DELETE:
      return on->on_room_delete;
    case PERIGEE_SERVER_LOG:
      return on->on_log;
    case PERIGEE_SERVER_STOPPED:
      return on->on_stopped;
    case PERIGEE_SERVER_RESULT:
      return on->on_result;
    default:
      return NULL;
  }
}

void library_report(perigee_server *self, const perigee_server_event *event) {
  perigee_server_tell *tell = find_tell(&self->handlers, event->type);
  if (self->has_thread)
    inbox_push(self, event);
  else if (tell != NULL)
    tell(self, event, self->user_data);
}

void library_log(void *data, LogLevel level, const char *text, size_t size) {
  library_report(
      data, &(perigee_server_event){
                .type = PERIGEE_SERVER_LOG, .level = (int)level, .text = {text, size}});
}

// --- What an event says ---

static int type_of(const Event *event) {
  switch (event->type) {
    case EVENT_CONNECT:
      return PERIGEE_SERVER_CONNECT;
    case EVENT_DISCONNECT:
      return PERIGEE_SERVER_DISCONNECT;
    case EVENT_SUSPEND:
      return PERIGEE_SERVER_SUSPEND;
    case EVENT_RESUME:
      return PERIGEE_SERVER_RESUME;
    case EVENT_JOIN:
      return PERIGEE_SERVER_JOIN;
    case EVENT_LEAVE:
      return PERIGEE_SERVER_LEAVE;
    case EVENT_BROADCAST:
      return PERIGEE_SERVER_BROADCAST;
    case EVENT_BACKPRESSURE:
      return PERIGEE_SERVER_BACKPRESSURE;
    case EVENT_MESSAGE:
      return PERIGEE_SERVER_MESSAGE;
    case EVENT_PACKET:
      return PERIGEE_SERVER_PACKET;
    case EVENT_ROOM_CREATE:
      return PERIGEE_SERVER_ROOM_CREATE;
    case EVENT_ROOM_DELETE:
      return PERIGEE_SERVER_ROOM_DELETE;
    default:
      return 0;
  }
}

static perigee_server_text text_of(const char *text) {
  return (perigee_server_text){text, strlen(text)};
}

static void put_peer(const perigee_server *self, perigee_server_event *out) {
  const Peer *peer = session_find(self->server->engine.session, out->peer);
  if (peer == NULL) return;
  out->peer_name = (perigee_server_text){peer->name, peer->name_size};
  out->address = text_of(peer->address);
  out->transport = text_of(peer->transport);
  if (peer->token != NULL)
    out->auth = (perigee_server_text){peer->token, peer->token_size};
}

// Takes the name and the value out of a message; false where it is none.
static bool split_message(perigee_server *self, const Event *event,
                          perigee_server_event *out) {
  Text value;
  if (event->packet_type != 0) return true;
  self->name.size = 0;
  if (!message_split(event->data, &self->name, &value)) return false;
  buf_u8(&self->name, 0);
  out->name = (perigee_server_text){(const char *)self->name.data, self->name.size - 1};
  out->data = (perigee_server_text){value.bytes, value.size};
  return true;
}

static void put_numbers(const Event *event, perigee_server_event *out) {
  switch (event->type) {
    case EVENT_RESUME:
      out->time_ms = event->a;
      out->lost = event->b;
      out->resent = event->ref;
      break;
    case EVENT_BACKPRESSURE:
      out->dropped = event->a;
      out->queued = event->b;
      break;
    case EVENT_MESSAGE:
    case EVENT_PACKET:
      out->channel = event->channel;
      out->number = event->packet_type;
      break;
    case EVENT_DISCONNECT:
    case EVENT_SUSPEND:
    case EVENT_LEAVE:
      out->code = (int)event->a;
      break;
    default:
      break;
  }
}

static bool describe(perigee_server *self, const Event *event,
                     perigee_server_event *out) {
  *out = (perigee_server_event){
      .type = type_of(event),
      .peer = event->peer,
      .room = event->room,
      .data = {event->data.bytes, event->data.size},
  };
  put_numbers(event, out);
  put_peer(self, out);
  const Room *room = relay_room(relay_of(self), event->room);
  if (room != NULL) out->room_name = (perigee_server_text){room->name, room->name_size};
  return event->type != EVENT_MESSAGE || split_message(self, event, out);
}

// --- Verdicts ---

static void accept(perigee_server *self, const Event *event) {
  Relay *relay = relay_of(self);
  Script *script = self->server->engine.script;
  if (script_is_loaded(script) && relay_script_wants(relay, event))
    script_handle(script, event);
  else if (event->type == EVENT_CONNECT)
    relay_accept(relay, event->peer, (Text){0});
  else if (event->type == EVENT_JOIN)
    relay_admit(relay, event);
  else
    relay_pass(relay, event, event->data);
}

void library_decide(perigee_server *self, const Event *event, int verdict, Code code,
                    const char *reason) {
  Relay *relay = relay_of(self);
  if (verdict == PERIGEE_ACCEPT)
    accept(self, event);
  else if (event->type == EVENT_CONNECT)
    relay_reject(relay, event->peer, code, reason);
  else if (event->type == EVENT_JOIN)
    relay_refuse(relay, event, code, reason);
  else if (code == CODE_INTERNAL)
    relay_fail(relay, event);
}

static void ask(perigee_server *self, const Event *event, perigee_server_event *out) {
  int verdict = PERIGEE_LATER;
  out->token = future_new(self, event, (Text){0});
  if (self->has_thread)
    inbox_push(self, out);
  else
    verdict = find_ask(&self->handlers, out->type)(self, out, self->user_data);
  if (verdict == PERIGEE_LATER && out->token != 0) {
    future_keep(self, out->token, event->data);
    return;
  }
  future_forget(self, out->token);
  Code code = verdict == PERIGEE_REJECT ? CODE_REJECTED : CODE_INTERNAL;
  library_decide(self, event, verdict, code, NULL);
}

// --- The rest ---

// The host answers a question where it has a handler; the script is not asked then.
static void tell(perigee_server *self, const Event *event, perigee_server_event *out) {
  Script *script = self->server->engine.script;
  bool is_question = (event->type == EVENT_MESSAGE || event->type == EVENT_PACKET) &&
                     event->flags & PACKET_REQUEST;
  if (is_question)
    out->token =
        future_new(self, event, (Text){out->name.bytes, (uint32_t)out->name.size});
  library_report(self, out);
  if (script_is_loaded(script) && !is_question &&
      relay_script_wants(relay_of(self), event))
    script_handle(script, event);
}

static void handle(perigee_server *self, const Event *event) {
  perigee_server_event out;
  if (!describe(self, event, &out))
    library_fail(self, event, CODE_PROTOCOL, "malformed message");
  else if (out.type == PERIGEE_SERVER_CONNECT || out.type == PERIGEE_SERVER_JOIN ||
           out.type == PERIGEE_SERVER_BROADCAST)
    ask(self, event, &out);
  else
    tell(self, event, &out);
}

void library_event(void *data, const Event *event) {
  perigee_server *self = data;
  int type = type_of(event);
  if (event->type == EVENT_ORDERS)
    self->has_order_event = false;
  else if (self->has_thread || find_ask(&self->handlers, type) != NULL ||
           find_tell(&self->handlers, type) != NULL)
    handle(self, event);
  else
    script_handle(self->server->engine.script, event);
  orders_run(self);
  orders_announce(self);
  orders_settle(self);
  if (self->has_thread) engine_hold(&self->server->engine, inbox_is_full(self));
}
