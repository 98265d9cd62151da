// Carries out orders between two events, as the relay carries out the commands of a
// handler. An order that has a request is all or nothing: all of its commands are
// checked before any command is carried out. The order's rooms are created first. They
// stay hidden until all of their on_creates have ended. Then the other commands are
// checked again.
#include <string.h>

#include "base/err.h"
#include "server/library/library.h"

// --- Results ---

static int code_of(int err) {
  switch (err) {
    case 0:
      return PERIGEE_SERVER_OK;
    case ERR_NOT_FOUND:
      return PERIGEE_SERVER_NOT_FOUND;
    case ERR_EXISTS:
      return PERIGEE_SERVER_EXISTS;
    case ERR_TOO_LARGE:
      return PERIGEE_SERVER_TOO_LARGE;
    case ERR_FULL:
    case ERR_DELIVERY:
    case ERR_COMMANDS:
      return PERIGEE_SERVER_LIMIT;
    default:
      return PERIGEE_SERVER_INVALID;
  }
}

static void report(perigee_server *self, uint32_t request, int code, const Room *room,
                   const char *text) {
  perigee_server_event event = {.type = PERIGEE_SERVER_RESULT,
                                .request = request,
                                .code = code,
                                .text = {text, strlen(text)}};
  if (room != NULL) {
    event.room = room->id;
    event.room_name = (perigee_server_text){room->name, room->name_size};
  }
  if (request != 0 && !api_result(self, &event)) library_report(self, &event);
}

void orders_reloaded(void *data, uint32_t request, bool is_good, const char *text) {
  report(data, request, is_good ? PERIGEE_SERVER_OK : PERIGEE_SERVER_REFUSED, NULL,
         text);
}

// --- An order ---

static int create_room(perigee_server *self, Order *order, const Command *command) {
  int err = 0;
  RoomSettings settings = {0};
  uint32_t room = relay_create(relay_of(self), command->name, &err);
  if (err != 0) return err;
  if (command->body.size > 0) memcpy(&settings, command->body.bytes, sizeof settings);
  relay_configure(relay_of(self), room, &settings);
  relay_hold_room(relay_of(self), room);
  buf_append(&order->rooms, &room, sizeof room);
  return 0;
}

static int queue(perigee_server *self, Order *order, const Command *command) {
  switch (command->type) {
    case COMMAND_ROOM_CREATE:
      return create_room(self, order, command);
    case ORDER_VERDICT:
      future_verdict(self, command);
      return 0;
    case ORDER_ANSWER:
      future_answer(self, command);
      return 0;
    case ORDER_FAULT:
      future_fault(self, command);
      return 0;
    case ORDER_RELOAD:
      server_reload(self->server, order->request, command->flags);
      order->request = 0;  // orders_reloaded reports the outcome
      return 0;
    default:
      return relay_command(relay_of(self), command);
  }
}

typedef enum Share { SHARE_ROOMS, SHARE_REST } Share;

// Queues either the commands that create rooms, or all other commands. In an order
// without a request, such as a message to several peers, each command succeeds or fails
// independently.
static int queue_share(perigee_server *self, Order *order, Share share) {
  Command command;
  int err = 0;
  for (size_t at = 0; err == 0 && commands_next(&order->commands, &at, &command);) {
    if ((command.type == COMMAND_ROOM_CREATE) != (share == SHARE_ROOMS)) continue;
    err = queue(self, order, &command);
    if (order->request == 0) err = 0;
  }
  return err;
}

static Room *room_at(const perigee_server *self, const Order *order, size_t index) {
  uint32_t room;
  memcpy(&room, order->rooms.data + index * sizeof room, sizeof room);
  return relay_room(relay_of(self), room);
}

static size_t room_count(const Order *order) {
  return order->rooms.size / sizeof(uint32_t);
}

static void end(perigee_server *self, Order *order, int code) {
  size_t rooms = code == PERIGEE_SERVER_OK ? room_count(order) : 0;
  report(self, order->request, code, rooms > 0 ? room_at(self, order, rooms - 1) : NULL,
         "");
  order_free(order);
}

static void begin(perigee_server *self, Order *order) {
  Relay *relay = relay_of(self);
  RelayMark mark = relay_mark(relay);
  relay_begin_handler(relay);
  int err = queue_share(self, order, SHARE_ROOMS);
  RelayMark rest = relay_mark(relay);
  if (err == 0) err = queue_share(self, order, SHARE_REST);
  if (err != 0) {
    relay_forget(relay, mark);
    end(self, order, code_of(err));
    return;
  }
  bool has_rooms = order->rooms.size > 0;
  if (has_rooms) relay_forget(relay, rest);
  relay_begin_commit(relay);
  if (!has_rooms) {
    end(self, order, PERIGEE_SERVER_OK);
    return;
  }
  Order **last = &self->orders.creating;
  while (*last != NULL) last = &(*last)->next;
  *last = order;
}

typedef enum Creation { CREATION_RUNS, CREATION_REFUSED, CREATION_READY } Creation;

// Returns the common outcome of all on_creates of an order.
static Creation creation_of(const perigee_server *self, const Order *order) {
  Creation creation = CREATION_READY;
  for (size_t i = 0; i < room_count(order); i++) {
    const Room *room = room_at(self, order, i);
    bool has_failed = room == NULL || room->state == ROOM_FAILED;
    if (!has_failed && room->hold == ROOM_HELD) return CREATION_RUNS;
    if (has_failed) creation = CREATION_REFUSED;
  }
  return creation;
}

static void for_each_ready(perigee_server *self, const Order *order,
                           void (*run)(Relay *, uint32_t)) {
  for (size_t i = 0; i < room_count(order); i++) {
    const Room *room = room_at(self, order, i);
    if (room != NULL && room->hold == ROOM_READY) run(relay_of(self), room->id);
  }
}

// Completes an order after all its on_creates have ended.
static void finish(perigee_server *self, Order *order) {
  Relay *relay = relay_of(self);
  int code = PERIGEE_SERVER_REFUSED;
  if (creation_of(self, order) == CREATION_READY) {
    RelayMark mark = relay_mark(relay);
    relay_begin_handler(relay);
    code = code_of(queue_share(self, order, SHARE_REST));
    if (code != PERIGEE_SERVER_OK) relay_forget(relay, mark);
  }
  for_each_ready(self, order,
                 code == PERIGEE_SERVER_OK ? relay_release_room : relay_drop_room);
  if (code == PERIGEE_SERVER_OK) relay_begin_commit(relay);
  end(self, order, code);
}

static Order *take_created(perigee_server *self) {
  Order **at = &self->orders.creating;
  while (*at != NULL && creation_of(self, *at) == CREATION_RUNS) at = &(*at)->next;
  Order *order = *at;
  if (order != NULL) *at = order->next;
  return order;
}

// --- The time of execution ---

static void push_event(perigee_server *self) {
  if (self->has_order_event) return;
  self->has_order_event = true;
  relay_emit(relay_of(self), &(Event){.type = EVENT_PROGRAM, .order = ORDER_FIRST});
}

void orders_schedule(perigee_server *self) {
  if (self->orders.is_any) push_event(self);
}

// Carries out orders. Does not begin an order while commands of an earlier order wait
// for the next slice or for a handler.
void orders_run(perigee_server *self) {
  Order *order;
  while (!relay_has_urgent(relay_of(self))) {
    if ((order = take_created(self)))
      finish(self, order);
    else if ((order = orders_take(&self->orders)))
      begin(self, order);
    else
      return;
  }
  if (self->orders.is_any || self->orders.creating != NULL) push_event(self);
}
