// A client as a whole: its beginning, its end, and the functions that pass time, bytes
// and datagrams in and out. This file does no I/O and reads no clock.
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { TIMEOUT_MS = 10000, FIRST_MS = 250, MAX_MS = 8000 };
enum { END_MS = 1000 };  // time in which the server should answer BYE

// --- Beginning and end ---

void perigee_options_init(PerigeeOptions *options) {
  *options = (PerigeeOptions){
      .timeout_ms = TIMEOUT_MS,
      .reconnect_first_ms = FIRST_MS,
      .reconnect_max_ms = MAX_MS,
      .reconnect = 1,
      .rejoin = 1,
  };
}

static Options copy_options(const PerigeeOptions *given) {
  return (Options){
      .name = mem_strdup(given->name ? given->name : "guest"),
      .token = given->token && *given->token ? mem_strdup(given->token) : NULL,
      .sign_in = given->sign_in ? mem_strdup(given->sign_in) : NULL,
      .protocol_hash = given->protocol_hash,
      .timeout_ms = given->timeout_ms ? given->timeout_ms : TIMEOUT_MS,
      .first_ms = given->reconnect_first_ms ? given->reconnect_first_ms : FIRST_MS,
      .max_ms = given->reconnect_max_ms ? given->reconnect_max_ms : MAX_MS,
      .for_ms = given->reconnect_for_ms,
      .reconnects = given->reconnect != 0,
      .rejoins = given->rejoin != 0,
      .transport = given->transport,
  };
}

static bool are_possible(const PerigeeOptions *options) {
  return (!options->name || text_is_peer_name(options->name, strlen(options->name))) &&
         (!options->token || strlen(options->token) <= UINT16_MAX) &&
         options->transport >= PERIGEE_TCP && options->transport <= PERIGEE_UDP;
}

PerigeeClient *perigee_new(const PerigeeOptions *options, uint64_t now_us, int *code) {
  PerigeeOptions defaults;
  perigee_options_init(&defaults);
  if (!options) options = &defaults;
  bool is_good = are_possible(options);
  if (code) *code = is_good ? 0 : PERIGEE_BAD_ARGUMENT;
  if (!is_good) return NULL;
  PerigeeClient *client = mem_zalloc(sizeof *client);
  client->options = copy_options(options);
  client->now_us = now_us;
  client->latency_us = -1;
  client->session.count = 1;
  link_open(client);
  return client;
}

void perigee_close(PerigeeClient *client) {
  static const char TEXT[] = "closed";
  if (client->state >= PERIGEE_STATE_CLOSING) return;
  if (client->state != PERIGEE_STATE_OPEN) {
    client_finish(client, PERIGEE_CONNECTION_CLOSED, TEXT);
    return;
  }
  packet_begin(client);
  control_send(client, CONTROL_BYE);
  client->state = PERIGEE_STATE_CLOSING;
  requests_fail_all(client, PERIGEE_CONNECTION_CLOSED, TEXT);
  client->has_calls = true;
}

void client_finish(PerigeeClient *client, int code, const char *text) {
  if (client->state == PERIGEE_STATE_CLOSED) return;
  client->state = PERIGEE_STATE_CLOSED;
  char *kept = mem_strdup(text);  // link_deinit may free `text`
  link_deinit(client);
  timers_stop(&client->timers, &client->pause_timer);
  timers_stop(&client->timers, &client->end_timer);
  requests_fail_all(client, code, kept);
  channels_end(client, code);
  for (uint32_t i = 0; i < client->rooms.count; i++) {
    if (client->rooms.list[i]->match) match_lose(client->rooms.list[i]->match, code);
  }
  rooms_deinit(&client->rooms);
  PerigeeEvent event = {.type = PERIGEE_CLOSED, .code = code};
  client_push_text(client, &event, kept, strlen(kept));
  mem_free(kept);
}

void client_free(PerigeeClient *client) {
  link_deinit(client);
  datagrams_free(client->datagrams);
  while (client->requests.first) request_free(client->requests.first);
  while (client->channels) channel_free(&client->channels);
  rooms_deinit(&client->rooms);
  reliable_deinit(&client->session.stream);
  events_free(&client->events);
  buf_deinit(&client->scratch);
  timers_deinit(&client->timers);
  mem_free(client->session.name);
  mem_free(client->lost_text);
  mem_free(client->options.name);
  mem_free(client->options.token);
  mem_free(client->options.sign_in);
  mem_free(client);
}

// --- The session ---

void session_set_name(Session *session, const char *name, size_t size) {
  mem_free(session->name);
  session->name = mem_zalloc(size + 1);
  if (size > 0) memcpy(session->name, name, size);
}

bool session_is_resumable(const Session *session) {
  static const uint8_t NONE[UUID_SIZE];
  return memcmp(session->token, NONE, UUID_SIZE) != 0;
}

void client_push(PerigeeClient *client, const PerigeeEvent *event) {
  events_add(&client->events, event, NULL);
}

void client_push_text(PerigeeClient *client, const PerigeeEvent *event,
                      const char *text, size_t size) {
  events_add(&client->events, event, &(EventParts){.text = {text, size}});
}

// For a new session: if the option `rejoins` is set, joins the rooms that the program
// joined in the old session. Leaves all other rooms.
static void change_rooms(PerigeeClient *client) {
  Rooms *rooms = &client->rooms;
  for (uint32_t i = rooms->count; i-- > 0;) {
    Room *room = rooms->list[i];
    room->is_joined = room->is_unconfirmed = false;
    if (room->match) match_stop(room->match);
    if (!room->is_requested || !client->options.rejoins)
      room_leave(client, room, PERIGEE_CONNECTION_RESET, 0);
  }
  for (uint32_t i = 0; i < rooms->count;) {
    if (room_join_again(client, rooms->list[i]))
      i++;
    else
      room_leave(client, rooms->list[i], PERIGEE_QUEUE_FULL, 0);
  }
}

uint32_t client_drop_stream(PerigeeClient *client, const char *why) {
  Session *session = &client->session;
  uint32_t count = reliable_waiting(&session->stream);
  requests_fail_all(client, PERIGEE_CONNECTION_RESET, why);
  reliable_deinit(&session->stream);
  session->stream = (Reliable){0};
  session->count++;
  return count;
}

void client_lose_session(PerigeeClient *client) {
  PerigeeEvent event = {.type = PERIGEE_LOST};
  // Keeps the rooms that this session was still joining again, so that the next session
  // joins them.
  for (Request *request = client->requests.first; request; request = request->next) {
    if (request->kind == REQUEST_JOIN) request->room = 0;
  }
  event.count = client_drop_stream(client, "the session was lost");
  change_rooms(client);
  channels_open_again(client);
  client_push(client, &event);
}

// --- Time, bytes and datagrams ---

static void on_end(void *data, uint64_t now_ms) {
  (void)now_ms;
  client_finish(data, PERIGEE_CONNECTION_CLOSED, "closed");
}

// Starts the timeouts of the calls that had no time, from the current time on.
static void begin_calls(PerigeeClient *client) {
  if (!client->has_calls) return;
  client->has_calls = false;
  requests_begin(client);
  if (client->state == PERIGEE_STATE_CLOSING && !timers_is_set(&client->end_timer))
    timers_set(&client->timers, &client->end_timer, client_now_ms(client) + END_MS,
               on_end, client);
}

static void enter(PerigeeClient *client, uint64_t now_us) {
  if (now_us > client->now_us) client->now_us = now_us;
  begin_calls(client);
}

static void leave(PerigeeClient *client) {
  client->scratch.size = 0;
  link_give_back(&client->scratch);
  link_settle(client);
  link_udp_settle(client);
  begin_calls(client);
}

uint32_t perigee_connection(const PerigeeClient *client) {
  return client->link.is_open ? client->connection_count : 0;
}

void perigee_connection_opened(PerigeeClient *client, uint64_t now_us) {
  enter(client, now_us);
  link_opened(client);
  leave(client);
}

void perigee_connection_ended(PerigeeClient *client, int code, const char *text,
                              uint64_t now_us) {
  enter(client, now_us);
  link_end(client, code, text);
  leave(client);
}

int perigee_wants_input(const PerigeeClient *client) {
  return !events_are_full(&client->events) && !client->link.has_more;
}

void perigee_receive(PerigeeClient *client, const void *bytes, size_t size,
                     uint64_t now_us) {
  enter(client, now_us);
  link_receive(client, bytes, size);
  leave(client);
}

const uint8_t *perigee_output(PerigeeClient *client, size_t *size, uint64_t now_us) {
  const Link *link = &client->link;
  enter(client, now_us);
  bool has_output = link->is_connected && !link_is_alone(client);
  *size = has_output ? link_unsent(link) : 0;
  return *size > 0 ? link_output(link) : NULL;
}

void perigee_sent(PerigeeClient *client, size_t size) {
  if (size <= link_unsent(&client->link)) link_sent(&client->link, size);
}

int perigee_uses_datagrams(const PerigeeClient *client) {
  return client->datagrams != NULL;
}

void perigee_receive_datagram(PerigeeClient *client, const void *bytes, size_t size,
                              uint64_t now_us) {
  enter(client, now_us);
  link_udp_receive(client, bytes, size);
  leave(client);
}

size_t perigee_next_datagram(PerigeeClient *client, void *bytes, uint16_t *port,
                             uint64_t now_us) {
  enter(client, now_us);
  size_t size = link_udp_produce(client, bytes, port);
  leave(client);
  return size;
}

void perigee_advance(PerigeeClient *client, uint64_t now_us) {
  enter(client, now_us);
  link_advance(client);
  link_settle(client);
  timers_run(&client->timers, client_now_ms(client));
  leave(client);
}

uint64_t perigee_due_us(const PerigeeClient *client) {
  bool has_kept = client->link.has_more && !events_are_full(&client->events);
  if (client->has_calls || has_kept || link_udp_has_stream(client)) return 0;
  uint64_t due_ms = timers_next_ms(&client->timers);
  uint64_t due_us = due_ms < UINT64_MAX / 1000 ? due_ms * 1000 : UINT64_MAX;
  uint64_t datagrams_us =
      client->datagrams ? datagrams_due_us(client->datagrams) : UINT64_MAX;
  return datagrams_us < due_us ? datagrams_us : due_us;
}

const PerigeeEvent *perigee_next_event(PerigeeClient *client) {
  return events_take(&client->events);
}
