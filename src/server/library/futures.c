// A future is a copy of an event whose verdict or answer comes later. A token
// identifies it. When the verdict or answer comes, the library handles the event as if
// it had just arrived, unless its peer has gone. All futures have the same timeout, so
// the oldest one times out first.
#include <string.h>

#include "base/mem.h"
#include "server/library/library.h"
#include "wire/message.h"

// --- The list of futures ---

static void on_timer(void *data, uint64_t now_ms);

static void set_timer(perigee_server *self) {
  Timers *timers = net_timers(self->server->engine.net);
  if (self->oldest != NULL)
    timers_set(timers, &self->future_timer, self->oldest->due_ms, on_timer, self);
  else
    timers_stop(timers, &self->future_timer);
}

// Copies a text, and appends a NUL, as for all texts of the library.
static Text copy(Text text) {
  if (text.size == 0) return (Text){0};
  char *bytes = mem_alloc(text.size + 1u);
  memcpy(bytes, text.bytes, text.size);
  bytes[text.size] = '\0';
  return (Text){bytes, text.size};
}

uint64_t future_new(perigee_server *self, const Event *event, Text name) {
  Future *future = mem_zalloc(sizeof *future);
  uint32_t slot = slots_add(&self->futures, future);
  if (slot == 0) {
    mem_free(future);
    return 0;
  }
  const Engine *engine = &self->server->engine;
  future->slot = slot;
  future->token = ++self->last_token << 32 | slot;
  future->event = *event;
  future->event.data = (Text){0};
  future->name = copy(name);
  future->due_ms =
      net_now_ms(engine->net) + config_ms(&engine->config, KEY_VERDICT_TIMEOUT);
  future->previous = self->newest;
  *(self->newest != NULL ? &self->newest->next : &self->oldest) = future;
  self->newest = future;
  if (self->oldest == future) set_timer(self);
  return future->token;
}

void future_keep(perigee_server *self, uint64_t token, Text data) {
  Future *future = slots_find(&self->futures, (uint32_t)token);
  if (future != NULL) future->event.data = copy(data);
}

static void free_future(Future *future) {
  mem_free((char *)future->event.data.bytes);
  mem_free((char *)future->name.bytes);
  mem_free(future);
}

static Future *take(perigee_server *self, uint64_t token) {
  Future *future = slots_find(&self->futures, (uint32_t)token);
  if (future == NULL || future->token != token) return NULL;
  slots_remove(&self->futures, future->slot);
  *(future->next != NULL ? &future->next->previous : &self->newest) = future->previous;
  *(future->previous != NULL ? &future->previous->next : &self->oldest) = future->next;
  return future;
}

void future_forget(perigee_server *self, uint64_t token) {
  Future *future = take(self, token);
  if (future != NULL) free_future(future);
}

void futures_free(perigee_server *self) {
  while (self->oldest != NULL) future_forget(self, self->oldest->token);
  slots_deinit(&self->futures);
}

// --- Ends of futures ---

static bool is_request(const Event *event) {
  return event->type == EVENT_MESSAGE || event->type == EVENT_PACKET;
}

static bool still_matters(const perigee_server *self, const Event *event) {
  const Peer *peer = session_find(self->server->engine.session, event->peer);
  if (peer == NULL) return false;
  if (event->type == EVENT_CONNECT) return peer->state == PEER_CONNECTING;
  return peer_has_session(peer);
}

static void answer(perigee_server *self, const Future *future, Text bytes) {
  const Event *event = &future->event;
  Buf body = {0};
  Command command = {
      .type = event->type == EVENT_MESSAGE ? COMMAND_MESSAGE : COMMAND_PACKET,
      .target = TARGET_PEER,
      .id = event->peer,
      .room = event->room,
      .channel = event->channel,
      .packet_type = event->packet_type,
      .ref = event->ref,
      .priority = PRIORITY_NORMAL,
      .flags = PACKET_RESPONSE | (event->flags & PACKET_RELIABLE)};
  if (event->type == EVENT_PACKET) {
    command.body = bytes;
  } else if (event->packet_type != 0) {
    command.packed = bytes;
  } else {
    command.name = future->name;
    command.value_at = message_body(&body, future->name, bytes);
    command.body = (Text){(const char *)body.data, (uint32_t)body.size};
  }
  relay_command(relay_of(self), &command);
  buf_deinit(&body);
}

void library_fail(perigee_server *self, const Event *event, Code code,
                  const char *text) {
  Session *session = self->server->engine.session;
  Peer *peer = session_find(session, event->peer);
  Packet request = {.flags = event->flags, .ref = event->ref};
  if (peer != NULL) session_error(session, peer, &request, code, text);
}

static void on_timer(void *data, uint64_t now_ms) {
  perigee_server *self = data;
  while (self->oldest != NULL && self->oldest->due_ms <= now_ms) {
    Future *future = take(self, self->oldest->token);
    const Event *event = &future->event;
    log_warn("the program gave no answer in time", log_num("peer", event->peer));
    if (still_matters(self, event))
      library_decide(self, event, PERIGEE_REJECT, CODE_INTERNAL, RELAY_FAILED_TEXT);
    free_future(future);
  }
  set_timer(self);
}

void future_verdict(perigee_server *self, const Command *command) {
  Future *future = take(self, command->key);
  if (future == NULL) return;
  if (still_matters(self, &future->event))
    library_decide(self, &future->event, (int)command->code, CODE_REJECTED,
                   command->body.bytes);
  free_future(future);
}

void future_fault(perigee_server *self, const Command *command) {
  Future *future = take(self, command->key);
  if (future == NULL) return;
  const Event *event = &future->event;
  Fault fault = {.code = command->name, .json = command->body};
  bool matters = still_matters(self, event);
  if (matters && event->type == EVENT_CONNECT)
    relay_reject(relay_of(self), event->peer, CODE_REJECTED, fault.code.bytes);
  else if (matters)
    relay_fault(relay_of(self), event, &fault);
  free_future(future);
}

void future_answer(perigee_server *self, const Command *command) {
  Future *future = take(self, command->key);
  if (future == NULL) return;
  if (is_request(&future->event)) answer(self, future, command->body);
  free_future(future);
}
