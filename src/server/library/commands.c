// Functions for any thread: each makes an order, or adds a command to a batch.
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "server/library/library.h"
#include "wire/json.h"
#include "wire/message.h"

struct perigee_server_batch {
  perigee_server *server;
  Order *order;
};

enum {
  FAULT_BYTES = 16 << 10,
  ALL_FLAGS = PERIGEE_SERVER_RELIABLE | PERIGEE_SERVER_CRITICAL | PERIGEE_SERVER_HIGH |
              PERIGEE_SERVER_LOW
};

static Order *order_new(void) { return mem_zalloc(sizeof(Order)); }

// Returns the batch's order, or a new order, which `end` will push.
static Order *begin(perigee_server_batch *batch) {
  return batch != NULL ? batch->order : order_new();
}

// Appends a command; returns false without appending if the order would be too large.
static bool add(Order *order, const Command *command) {
  size_t size = order->commands.size + sizeof *command + command->name.size +
                command->body.size + command->except_count * sizeof(uint32_t);
  if (size <= ORDERS_BYTES) commands_push(&order->commands, command);
  return size <= ORDERS_BYTES;
}

static int end(perigee_server *self, perigee_server_batch *batch, Order *order,
               bool is_reported) {
  return batch != NULL ? PERIGEE_SERVER_OK : orders_push(self, order, is_reported);
}

static int put(perigee_server *self, perigee_server_batch *batch,
               const Command *command) {
  bool is_reported =
      command->type == COMMAND_ROOM_CREATE || command->type == ORDER_RELOAD;
  Order *order = begin(batch);
  if (add(order, command)) return end(self, batch, order, is_reported);
  if (batch == NULL) order_free(order);
  return PERIGEE_SERVER_LIMIT;
}

// --- Batches ---

perigee_server_batch *perigee_server_begin(perigee_server *server) {
  perigee_server_batch *batch = mem_zalloc(sizeof *batch);
  batch->server = server;
  batch->order = order_new();
  return batch;
}

int perigee_server_commit(perigee_server_batch *batch) {
  int code = orders_push(batch->server, batch->order, true);
  mem_free(batch);
  return code;
}

void perigee_server_cancel(perigee_server_batch *batch) {
  if (batch == NULL) return;
  order_free(batch->order);
  mem_free(batch);
}

// --- Sending ---

static void set_flags(Command *command, unsigned flags) {
  command->priority = flags & PERIGEE_SERVER_CRITICAL ? PRIORITY_CRITICAL
                      : flags & PERIGEE_SERVER_HIGH   ? PRIORITY_HIGH
                      : flags & PERIGEE_SERVER_LOW    ? PRIORITY_LOW
                                                      : PRIORITY_NORMAL;
  command->flags = flags & PERIGEE_SERVER_RELIABLE ? PACKET_RELIABLE : 0;
}

// Returns false for peer 0 and room 0, which do not exist.
static bool is_target(const perigee_server_target *target) {
  if (target->kind < PERIGEE_SERVER_TO_PEER || target->kind > PERIGEE_SERVER_TO_ALL ||
      target->count > UINT16_MAX)
    return false;
  for (size_t i = 0; target->kind == PERIGEE_SERVER_TO_PEERS && i < target->count; i++)
    if (target->peers[i] == 0) return false;
  bool has_id =
      target->kind == PERIGEE_SERVER_TO_PEER || target->kind == PERIGEE_SERVER_TO_ROOM;
  return !has_id || target->id != 0;
}

// Appends a command for each of the peers, or no command at all.
static int send_to_peers(perigee_server *self, perigee_server_batch *batch,
                         Command *command, const perigee_server_target *target) {
  Order *order = begin(batch);
  size_t before = order->commands.size, added = 0;
  for (; added < target->count; added++) {
    command->id = target->peers[added];
    if (!add(order, command)) break;
  }
  if (added == target->count && added > 0) return end(self, batch, order, false);
  commands_cut(&order->commands, before);
  if (batch == NULL) order_free(order);
  return added == target->count ? PERIGEE_SERVER_OK : PERIGEE_SERVER_LIMIT;
}

static int send_to(perigee_server *self, perigee_server_batch *batch, Command *command,
                   const perigee_server_target *target) {
  static const uint8_t TARGETS[] = {[PERIGEE_SERVER_TO_PEER] = TARGET_PEER,
                                    [PERIGEE_SERVER_TO_PEERS] = TARGET_PEER,
                                    [PERIGEE_SERVER_TO_ROOM] = TARGET_ROOM,
                                    [PERIGEE_SERVER_TO_ALL] = TARGET_ALL};
  command->target = TARGETS[target->kind];
  command->id = target->id;
  if (target->kind == PERIGEE_SERVER_TO_PEERS)
    return send_to_peers(self, batch, command, target);
  if (target->kind != PERIGEE_SERVER_TO_PEER) {
    command->except = target->peers;
    command->except_count = (uint32_t)target->count;
  }
  return put(self, batch, command);
}

int perigee_server_send(perigee_server *server, perigee_server_batch *batch,
                        const perigee_server_target *target, const char *name,
                        const char *json, unsigned flags) {
  if (!is_target(target) || name == NULL || flags & ~(unsigned)ALL_FLAGS)
    return PERIGEE_SERVER_INVALID;
  Buf body = {0};
  Command command = {
      .type = COMMAND_MESSAGE, .channel = CHANNEL_MESSAGE, .name = text_from(name)};
  set_flags(&command, flags);
  command.value_at = message_body(&body, text_from(name), text_from(json));
  command.body = (Text){(const char *)body.data, (uint32_t)body.size};
  int code = body.size > ORDERS_BYTES ? PERIGEE_SERVER_TOO_LARGE
                                      : send_to(server, batch, &command, target);
  buf_deinit(&body);
  return code;
}

int perigee_server_send_packet(perigee_server *server, perigee_server_batch *batch,
                               const perigee_server_target *target, uint16_t channel,
                               uint16_t type, const void *bytes, size_t size,
                               unsigned flags) {
  if (!is_target(target) || channel == CHANNEL_CONTROL || flags & ~(unsigned)ALL_FLAGS)
    return PERIGEE_SERVER_INVALID;
  if (size > ORDERS_BYTES) return PERIGEE_SERVER_TOO_LARGE;
  Command command = {.type = COMMAND_PACKET,
                     .channel = channel,
                     .packet_type = type,
                     .body = {bytes, (uint32_t)size}};
  set_flags(&command, flags);
  return send_to(server, batch, &command, target);
}

int perigee_server_relay(perigee_server *server, perigee_server_batch *batch,
                         const perigee_server_target *target, const void *bytes,
                         size_t size, unsigned flags) {
  if (!is_target(target) || flags & ~(unsigned)ALL_FLAGS) return PERIGEE_SERVER_INVALID;
  if (size > ORDERS_BYTES) return PERIGEE_SERVER_TOO_LARGE;
  Command command = {.type = COMMAND_RELAY, .body = {bytes, (uint32_t)size}};
  set_flags(&command, flags);
  return send_to(server, batch, &command, target);
}

// --- Rooms and peers ---

static Text settings_text(const RoomSettings *settings) {
  return (Text){(const char *)settings, sizeof *settings};
}

int library_room_create(perigee_server *self, perigee_server_batch *batch, Text name,
                        const RoomSettings *settings) {
  return put(
      self, batch,
      &(Command){
          .type = COMMAND_ROOM_CREATE, .name = name, .body = settings_text(settings)});
}

int perigee_server_room_create(perigee_server *server, perigee_server_batch *batch,
                               const char *name, size_t size) {
  perigee_server_room_settings none = {.size = sizeof none};
  return perigee_server_room_create_with(server, batch, name, size, &none);
}

static bool read_switch(int given, uint32_t setting, RoomSettings *settings) {
  if (given != 0) settings->given |= setting;
  return given > 0;
}

// Returns false if the settings are invalid.
static bool read_settings(const perigee_server_room_settings *given,
                          RoomSettings *settings) {
  perigee_server_room_settings from = {0};
  if (given->size == 0) return false;
  memcpy(&from, given, given->size < sizeof from ? given->size : sizeof from);
  Text password = text_from(from.password);
  if (from.capacity > CAPACITY_MAX || password.size > NAME_MAX_BYTES) return false;
  *settings = (RoomSettings){0};
  settings->values = (RoomKind){
      .capacity = from.capacity,
      .is_hidden = read_switch(from.hidden, SETTING_HIDDEN, settings),
      .is_locked = read_switch(from.locked, SETTING_LOCKED, settings),
      .keep =
          read_switch(from.permanent, SETTING_KEEP, settings) ? KEEP_ALL : KEEP_NONE,
      .has_password = password.size > 0,
      .password = secret_of(password.bytes, password.size),
      .has_auto_delete = from.auto_delete_ms > 0,
      .auto_delete_ms = from.auto_delete_ms};
  if (from.capacity > 0) settings->given |= SETTING_CAPACITY;
  if (from.password != NULL) settings->given |= SETTING_PASSWORD;
  if (from.auto_delete_ms > 0) settings->given |= SETTING_AUTO_DELETE;
  return true;
}

int perigee_server_room_create_with(perigee_server *server, perigee_server_batch *batch,
                                    const char *name, size_t size,
                                    const perigee_server_room_settings *settings) {
  RoomSettings own;
  if (size > NAME_MAX_BYTES || !read_settings(settings, &own))
    return PERIGEE_SERVER_INVALID;
  return library_room_create(server, batch, (Text){name, (uint32_t)size}, &own);
}

int perigee_server_room_set(perigee_server *server, perigee_server_batch *batch,
                            uint32_t room,
                            const perigee_server_room_settings *settings) {
  RoomSettings own;
  if (!read_settings(settings, &own)) return PERIGEE_SERVER_INVALID;
  return library_room_set(server, batch, room, &own);
}

int library_room_set(perigee_server *self, perigee_server_batch *batch, uint32_t room,
                     const RoomSettings *settings) {
  return put(
      self, batch,
      &(Command){
          .type = COMMAND_ROOM_SET, .id = room, .body = settings_text(settings)});
}

int perigee_server_room_delete(perigee_server *server, perigee_server_batch *batch,
                               uint32_t room) {
  return put(server, batch, &(Command){.type = COMMAND_ROOM_DELETE, .id = room});
}

int perigee_server_room_meta(perigee_server *server, perigee_server_batch *batch,
                             uint32_t room, const char *key, const char *value) {
  return library_room_meta(server, batch, room, key, value, false);
}

int library_room_meta(perigee_server *self, perigee_server_batch *batch, uint32_t room,
                      const char *key, const char *value, bool is_public) {
  Text name = text_from(key), text = text_from(value);
  if (name.size == 0 || name.size > NAME_MAX_BYTES ||
      !text_is_utf8(name.bytes, name.size) || !text_is_utf8(text.bytes, text.size))
    return PERIGEE_SERVER_INVALID;
  uint8_t flags = is_public ? META_SETS | META_PUBLIC : META_SETS;
  if (value == NULL) flags = 0;
  Buf json = {0};
  json_put_text(&json, text);
  int code = put(self, batch,
                 &(Command){.type = COMMAND_ROOM_META,
                            .id = room,
                            .name = name,
                            .body = {(const char *)json.data, (uint32_t)json.size},
                            .flags = flags});
  buf_deinit(&json);
  return code;
}

int perigee_server_join(perigee_server *server, perigee_server_batch *batch,
                        uint32_t peer, uint32_t room) {
  return put(server, batch, &(Command){.type = COMMAND_JOIN, .id = peer, .room = room});
}

int perigee_server_leave(perigee_server *server, perigee_server_batch *batch,
                         uint32_t peer, uint32_t room) {
  return put(
      server, batch,
      &(Command){.type = COMMAND_LEAVE, .id = peer, .room = room, .code = CODE_CLOSED});
}

int perigee_server_kick(perigee_server *server, perigee_server_batch *batch,
                        uint32_t peer, const char *reason) {
  return put(server, batch,
             &(Command){.type = COMMAND_CLOSE,
                        .id = peer,
                        .code = CODE_KICKED,
                        .body = text_from(reason)});
}

int library_reload(perigee_server *self, bool is_forced) {
  return put(self, NULL, &(Command){.type = ORDER_RELOAD, .flags = is_forced});
}

int perigee_server_reload(perigee_server *server) {
  return library_reload(server, false);
}

// --- Answers ---

int perigee_server_verdict(perigee_server *server, uint64_t token, int verdict,
                           const char *reason) {
  if (token == 0 || (verdict != PERIGEE_ACCEPT && verdict != PERIGEE_REJECT))
    return PERIGEE_SERVER_INVALID;
  return put(server, NULL,
             &(Command){.type = ORDER_VERDICT,
                        .key = token,
                        .code = (uint32_t)verdict,
                        .body = text_from(reason)});
}

int perigee_server_answer(perigee_server *server, uint64_t token, const void *bytes,
                          size_t size) {
  if (token == 0) return PERIGEE_SERVER_INVALID;
  if (size > ORDERS_BYTES) return PERIGEE_SERVER_TOO_LARGE;
  return put(
      server, NULL,
      &(Command){.type = ORDER_ANSWER, .key = token, .body = {bytes, (uint32_t)size}});
}

int perigee_server_fault(perigee_server *server, uint64_t token, const char *code,
                         const char *json) {
  Text name = text_from(code),
       value = json_trim(text_from(json == NULL ? "null" : json));
  if (token == 0 || !text_is_name(name.bytes, name.size) || !json_is_value(value))
    return PERIGEE_SERVER_INVALID;
  if (name.size + value.size > FAULT_BYTES) return PERIGEE_SERVER_TOO_LARGE;
  return put(
      server, NULL,
      &(Command){.type = ORDER_FAULT, .key = token, .name = name, .body = value});
}

const char *perigee_server_error(int code) {
  static const char *const SENTENCES[] = {
      [-PERIGEE_SERVER_OK] = "it went well",
      [-PERIGEE_SERVER_INVALID] = "the call can never succeed",
      [-PERIGEE_SERVER_NOT_FOUND] = "there is no such peer, room, member or token",
      [-PERIGEE_SERVER_EXISTS] = "it exists already",
      [-PERIGEE_SERVER_LIMIT] = "a limit is reached",
      [-PERIGEE_SERVER_TOO_LARGE] = "it is larger than max_payload",
      [-PERIGEE_SERVER_OVER] = "the server is stopping",
      [-PERIGEE_SERVER_REFUSED] = "a handler of the game refused it, or failed",
      [-PERIGEE_SERVER_HAS_THREAD] =
          "the server has a thread of its own, which runs it",
  };
  bool is_known = code <= 0 && code > -(int)(sizeof SENTENCES / sizeof *SENTENCES);
  return is_known ? SENTENCES[-code] : "unknown code";
}
