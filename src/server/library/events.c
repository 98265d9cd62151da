// Passes events of the relay to handlers of the host, and their verdicts to the relay.
// The host's handlers precede those of the script.
#include <string.h>

#include "server/library/library.h"
#include "wire/message.h"

// --- Handlers ---

// A row of the table: a type of the host's events, its source in the relay, and its
// handler.
typedef struct Row {
  uint8_t type;  // perigee_server_event_type
  uint8_t
      source;  // EventType; EVENT_PROGRAM for the last rows, which are the library's
               // own
  bool has_verdict;
  size_t handler;  // offset of the handler in perigee_server_handlers
} Row;

#define ON(name) offsetof(perigee_server_handlers, on_##name)

static const Row ROWS[] = {
    {PERIGEE_SERVER_CONNECT, EVENT_CONNECT, true, ON(connect)},
    {PERIGEE_SERVER_DISCONNECT, EVENT_DISCONNECT, false, ON(disconnect)},
    {PERIGEE_SERVER_SUSPEND, EVENT_SUSPEND, false, ON(suspend)},
    {PERIGEE_SERVER_RESUME, EVENT_RESUME, false, ON(resume)},
    {PERIGEE_SERVER_JOIN, EVENT_JOIN, true, ON(join)},
    {PERIGEE_SERVER_LEAVE, EVENT_LEAVE, false, ON(leave)},
    {PERIGEE_SERVER_BROADCAST, EVENT_BROADCAST, true, ON(broadcast)},
    {PERIGEE_SERVER_BACKPRESSURE, EVENT_BACKPRESSURE, false, ON(backpressure)},
    {PERIGEE_SERVER_MESSAGE, EVENT_MESSAGE, false, ON(message)},
    {PERIGEE_SERVER_PACKET, EVENT_PACKET, false, ON(packet)},
    {PERIGEE_SERVER_ROOM_CREATE, EVENT_ROOM_CREATE, false, ON(room_create)},
    {PERIGEE_SERVER_ROOM_DELETE, EVENT_ROOM_DELETE, false, ON(room_delete)},
    {PERIGEE_SERVER_LOG, EVENT_PROGRAM, false, ON(log)},
    {PERIGEE_SERVER_RESULT, EVENT_PROGRAM, false, ON(result)},
    {PERIGEE_SERVER_STOPPED, EVENT_PROGRAM, false, ON(stopped)},
    {PERIGEE_SERVER_ACCEPT, EVENT_PROGRAM, true, ON(accept)},
};
enum { ROW_COUNT = sizeof ROWS / sizeof *ROWS };

// A handler of either of the two types, or NULL.
typedef union Handler {
  perigee_server_verdict_handler *decide;
  perigee_server_event_handler *notify;
} Handler;

static Handler handler_of(const perigee_server *self, const Row *row) {
  Handler handler;
  memcpy(&handler, (const char *)&self->handlers + row->handler, sizeof handler);
  return handler;
}

uint32_t library_hooks(const perigee_server *self) {
  uint32_t hooks = 0;
  for (const Row *row = ROWS; row < ROWS + ROW_COUNT; row++)
    if (self->has_thread || handler_of(self, row).notify != NULL)
      hooks |= relay_hook(row->source);
  return hooks;
}

static const Row *find_row(uint8_t source) {
  const Row *row = ROWS;
  while (row->source != source) row++;
  return row;
}

void library_report(perigee_server *self, const perigee_server_event *event) {
  const Row *row = ROWS;
  while (row->type != event->type) row++;
  Handler handler = handler_of(self, row);
  if (self->has_thread)
    inbox_push(self, event);
  else if (handler.notify != NULL)
    handler.notify(self, event, self->user_data);
}

void library_log(void *data, LogLevel level, const char *text, size_t size) {
  library_report(
      data, &(perigee_server_event){
                .type = PERIGEE_SERVER_LOG, .level = (int)level, .text = {text, size}});
}

bool library_accept(void *data, const char *address, uint16_t port) {
  perigee_server *self = data;
  perigee_server_event event = {.type = PERIGEE_SERVER_ACCEPT,
                                .address = {address, strlen(address)},
                                .port = port};
  return self->handlers.on_accept(self, &event, self->user_data) == PERIGEE_ACCEPT;
}

// --- Fields of events ---

static perigee_server_text text_of(const char *text) {
  return (perigee_server_text){text, strlen(text)};
}

static void put_peer(const perigee_server *self, perigee_server_event *out) {
  const Peer *peer = session_find(self->server->engine.session, out->peer);
  if (peer == NULL) return;
  out->peer_name = (perigee_server_text){peer->name, peer->name_size};
  out->address = text_of(peer_address(peer));
  out->transport = text_of(peer_transport(peer));
  Text token = peer_token(peer);
  if (token.size > 0) out->auth = (perigee_server_text){token.bytes, token.size};
}

// Reads the name and the value of a message; returns false if the bytes are not a
// message.
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

static bool describe(perigee_server *self, const Event *event, const Row *row,
                     perigee_server_event *out) {
  *out = (perigee_server_event){
      .type = row->type,
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

static bool script_wants(const perigee_server *self, const Event *event) {
  return script_is_loaded(self->server->engine.script) &&
         relay_script_wants(relay_of(self), event);
}

// Returns false if the peer or the room of a waiting event has gone. The relay then
// refuses the event.
static bool is_still_there(const perigee_server *self, const Event *event) {
  const Peer *peer = session_find(self->server->engine.session, event->peer);
  const Room *room = relay_room(relay_of(self), event->room);
  if (event->type == EVENT_JOIN) return room != NULL && room->state == ROOM_OPEN;
  return event->room == 0 || (peer != NULL && relay_is_member(peer, event->room));
}

static void accept(perigee_server *self, const Event *event) {
  Relay *relay = relay_of(self);
  bool is_there = is_still_there(self, event);
  if (is_there && script_wants(self, event))
    script_handle(self->server->engine.script, event);
  else if (event->type == EVENT_CONNECT)
    relay_accept(relay, event->peer, (Text){0});
  else if (event->type == EVENT_JOIN)
    relay_admit(relay, event);
  else if (event->type == EVENT_BROADCAST)
    relay_pass(relay, event, event->data);
  else if (is_there)
    library_fail(self, event, CODE_UNSUPPORTED, "no handler for messages");
  else
    library_fail(self, event, CODE_NOT_IN_ROOM, "you are not in this room");
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
  else if (event->type != EVENT_BROADCAST)
    library_fail(self, event, code, reason != NULL ? reason : "");
  else if (code == CODE_INTERNAL)
    relay_fail(relay, event);
}

static void decide(perigee_server *self, const Event *event, Handler handler,
                   perigee_server_event *out) {
  int verdict = PERIGEE_LATER;
  out->token = future_new(self, event, (Text){0});
  if (self->has_thread)
    inbox_push(self, out);
  else
    verdict = handler.decide(self, out, self->user_data);
  if (verdict == PERIGEE_LATER && out->token != 0) {
    future_keep(self, out->token, event->data);
    return;
  }
  future_forget(self, out->token);
  Code code = verdict == PERIGEE_REJECT ? CODE_REJECTED : CODE_INTERNAL;
  library_decide(self, event, verdict, code, NULL);
}

// --- Events without a verdict ---

// Passes an event to the host. A request waits for the host's answer, or for its
// verdict, which may pass the request to the script.
static void notify(perigee_server *self, const Event *event,
                   perigee_server_event *out) {
  bool is_request = (event->type == EVENT_MESSAGE || event->type == EVENT_PACKET) &&
                    event->flags & PACKET_REQUEST;
  if (is_request) {
    out->token =
        future_new(self, event, (Text){out->name.bytes, (uint32_t)out->name.size});
    if (script_wants(self, event)) future_keep(self, out->token, event->data);
  }
  library_report(self, out);
  if (!is_request && script_wants(self, event))
    script_handle(self->server->engine.script, event);
}

static void handle(perigee_server *self, const Event *event) {
  perigee_server_event out;
  const Row *row = find_row(event->type);
  if (!describe(self, event, row, &out))
    library_fail(self, event, CODE_PROTOCOL, "malformed message");
  else if (row->has_verdict)
    decide(self, event, handler_of(self, row), &out);
  else
    notify(self, event, &out);
}

void library_event(void *data, const Event *event) {
  perigee_server *self = data;
  if (event->type == EVENT_PROGRAM)
    self->has_order_event = false;
  else
    handle(self, event);
  orders_run(self);
  if (self->has_thread) engine_hold(&self->server->engine, inbox_is_full(self));
}
