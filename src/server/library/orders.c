// Threads of the host put orders into a list; the loop carries them out between two events, as
// it does with the commands of a handler. An order of several commands is checked as a whole
// before any of it is done, so that it is all or nothing.
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/library/library.h"

void orders_init(Orders *orders) {
  pthread_mutex_init(&orders->lock, NULL);
  orders->end = &orders->first;
}

void order_free(Order *order) {
  buf_deinit(&order->commands);
  mem_free(order);
}

void orders_deinit(Orders *orders) {
  while (orders->first != NULL) {
    Order *order = orders->first;
    orders->first = order->next;
    order_free(order);
  }
  pthread_mutex_destroy(&orders->lock);
}

int library_code(int err) {
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
      return PERIGEE_SERVER_LIMIT;
    default:
      return PERIGEE_SERVER_INVALID;
  }
}

// --- Coming in ---

int orders_push(perigee_server *self, Order *order, bool is_asked) {
  Orders *orders = &self->orders;
  size_t bytes = order->commands.size;
  pthread_mutex_lock(&orders->lock);
  int code = orders->is_over                        ? PERIGEE_SERVER_OVER
             : orders->bytes + bytes > ORDERS_BYTES ? PERIGEE_SERVER_LIMIT
                                                    : PERIGEE_SERVER_OK;
  bool is_first = orders->first == NULL;
  if (code == PERIGEE_SERVER_OK) {
    if (is_asked)  // above 0 as an int, too
      order->request = orders->last_request = orders->last_request % INT32_MAX + 1;
    code = (int)order->request;
    *orders->end = order;
    orders->end = &order->next;
    orders->bytes += bytes;
    orders->is_any = true;
  }
  if (code >= 0 && is_first) bell_ring(self->bell);
  pthread_mutex_unlock(&orders->lock);
  if (code < 0) order_free(order);
  return code;
}

void orders_end(Orders *orders) {
  pthread_mutex_lock(&orders->lock);
  orders->is_over = true;
  pthread_mutex_unlock(&orders->lock);
}

static Order *take_first(Orders *orders) {
  if (!atomic_load_explicit(&orders->is_any, memory_order_acquire)) return NULL;
  pthread_mutex_lock(&orders->lock);
  Order *first = orders->first;
  orders->first = first->next;
  if (orders->first == NULL) orders->end = &orders->first;
  orders->bytes -= first->commands.size;
  orders->is_any = orders->first != NULL;
  pthread_mutex_unlock(&orders->lock);
  return first;
}

void orders_announce(perigee_server *self) {
  if (!self->orders.is_any || self->has_order_event) return;
  self->has_order_event = true;
  relay_emit(relay_of(self), &(Event){.type = EVENT_ORDERS, .order = ORDER_FIRST});
}

// --- Results ---

static void report(perigee_server *self, uint32_t request, int code, uint32_t room) {
  if (self->orders.take_result(self, request, code, room)) return;
  const Room *known = relay_room(relay_of(self), room);
  perigee_server_event event = {
      .type = PERIGEE_SERVER_RESULT, .request = request, .code = code};
  if (known != NULL && code == PERIGEE_SERVER_OK) {
    event.room = room;
    event.room_name = (perigee_server_text){known->name, known->name_size};
  }
  library_report(self, &event);
}

void orders_settle(perigee_server *self) {
  Buf waiting = self->pending;
  if (waiting.size == 0) return;
  self->pending = (Buf){0};
  for (size_t at = 0; at < waiting.size; at += sizeof(PendingRoom)) {
    PendingRoom one;
    memcpy(&one, waiting.data + at, sizeof one);
    const Room *room = relay_room(relay_of(self), one.room);
    bool is_good = room != NULL && room->state != ROOM_FAILED;
    if (room != NULL && (room->state <= ROOM_CREATING || room->state == ROOM_DROPPED))
      buf_append(&self->pending, &one, sizeof one);
    else
      report(self, one.request, is_good ? PERIGEE_SERVER_OK : PERIGEE_SERVER_REFUSED,
             one.room);
  }
  buf_deinit(&waiting);
}

// --- Going out ---

static int queue(perigee_server *self, const Command *command, uint32_t *room) {
  int err = 0;
  switch (command->type) {
    case COMMAND_ROOM_CREATE:
      *room = relay_create(relay_of(self), command->name, &err);
      break;
    case ORDER_VERDICT:
      future_verdict(self, command);
      break;
    case ORDER_ANSWER:
      future_answer(self, command);
      break;
    case ORDER_RELOAD:
      engine_reload(&self->server->engine, 0, false);
      break;
    default:
      err = relay_command(relay_of(self), command);
  }
  return err;
}

static void carry_out(perigee_server *self, const Order *order) {
  Relay *relay = relay_of(self);
  RelayMark mark = relay_mark(relay);
  Command command;
  uint32_t room = 0;
  int err = 0;
  relay_begin_handler(relay);
  for (size_t at = 0; err == 0 && commands_next(&order->commands, &at, &command);)
    err = queue(self, &command, &room);
  if (err == 0)
    relay_begin_commit(relay);
  else
    relay_forget(relay, mark);
  if (order->request == 0) return;
  if (err == 0 && room != 0)
    buf_append(&self->pending, &(PendingRoom){order->request, room},
               sizeof(PendingRoom));
  else
    report(self, order->request, library_code(err), 0);
}

// What an order leaves for the next slice, or for a handler that it asks, comes before the next
// order.
void orders_run(perigee_server *self) {
  Order *order;
  while (!relay_has_urgent(relay_of(self)) && (order = take_first(&self->orders))) {
    carry_out(self, order);
    order_free(order);
  }
}
