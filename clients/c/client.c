// A client as a whole: how it begins and ends, and its turn of the loop.
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { TIMEOUT_MS = 10000, FIRST_MS = 250, MAX_MS = 8000 };
enum { END_MS = 1000 };  // for the server to answer BYE

uint64_t clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_ms(void) { return clock_us() / 1000; }

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
      .token = mem_strdup(given->token ? given->token : ""),
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

PerigeeClient *perigee_connect(const char *address, const PerigeeOptions *options,
                               int *code) {
  PerigeeOptions defaults;
  perigee_options_init(&defaults);
  if (!options) options = &defaults;
  Target target;
  bool is_good = address && are_possible(options) && target_parse(&target, address);
  if (code) *code = is_good ? 0 : PERIGEE_BAD_ARGUMENT;
  if (!is_good) return NULL;
  PerigeeClient *client = mem_zalloc(sizeof *client);
  client->options = copy_options(options);
  client->target = target;
  client->latency_us = -1;
  client->link.socket.fd = -1;
  client->datagrams.fd = -1;
  client->session.count = 1;
  link_open(client);
  link_settle(client);
  return client;
}

static void on_end(void *data, uint64_t now_ms) {
  (void)now_ms;
  client_finish(data, PERIGEE_CONNECTION_CLOSED, "closed");
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
  timers_set(&client->timers, &client->end_timer, clock_ms() + END_MS, on_end, client);
}

void client_finish(PerigeeClient *client, int code, const char *text) {
  if (client->state == PERIGEE_STATE_CLOSED) return;
  client->state = PERIGEE_STATE_CLOSED;
  char *kept = mem_strdup(text);  // it may be the connection's
  link_deinit(client);
  timers_stop(&client->timers, &client->pause_timer);
  timers_stop(&client->timers, &client->end_timer);
  requests_fail_all(client, code, kept);
  channels_end(client, code);
  rooms_deinit(&client->rooms);
  PerigeeEvent event = {.type = PERIGEE_CLOSED, .code = code};
  client_tell_text(client, &event, kept, strlen(kept));
  mem_free(kept);
}

static void channels_free(PerigeeClient *client) {
  while (client->channels) {
    struct Channel *next = client->channels->next;
    mem_free(client->channels);
    client->channels = next;
  }
}

void perigee_free(PerigeeClient *client) {
  if (!client) return;
  link_deinit(client);
  while (client->requests.first) request_free(client->requests.first);
  channels_free(client);
  rooms_deinit(&client->rooms);
  reliable_deinit(&client->session.stream);
  events_deinit(&client->events);
  buf_deinit(&client->scratch);
  timers_deinit(&client->timers);
  mem_free(client->lost_text);
  mem_free(client->options.name);
  mem_free(client->options.token);
  target_deinit(&client->target);
  mem_free(client);
}

// --- The session ---

void session_set_name(Session *session, const char *name, size_t size) {
  memcpy(session->name, name, size);
  session->name[size] = '\0';
}

bool session_is_resumable(const Session *session) {
  static const uint8_t NONE[UUID_SIZE];
  return memcmp(session->token, NONE, UUID_SIZE) != 0;
}

void client_tell(PerigeeClient *client, const PerigeeEvent *event) {
  events_push(&client->events, event, NULL);
}

void client_tell_text(PerigeeClient *client, const PerigeeEvent *event,
                      const char *text, size_t size) {
  events_push(&client->events, event, &(EventParts){.text = {text, size}});
}

// Nothing of the old session goes on but the rooms that were asked for.
static void change_rooms(PerigeeClient *client) {
  Rooms *rooms = &client->rooms;
  for (uint32_t i = rooms->count; i-- > 0;) {
    Room *room = rooms->list[i];
    room->is_joined = room->is_unconfirmed = false;
    if (room->match) match_pause(room->match);
    if (!room->is_asked || !client->options.rejoins)
      room_leave(client, room, PERIGEE_CONNECTION_RESET, 0);
  }
  for (uint32_t i = 0; i < rooms->count;) {
    if (room_join_again(client, rooms->list[i]))
      i++;
    else
      room_leave(client, rooms->list[i], PERIGEE_QUEUE_FULL, 0);
  }
}

void client_lose_session(PerigeeClient *client) {
  Session *session = &client->session;
  PerigeeEvent event = {.type = PERIGEE_LOST,
                        .count = reliable_waiting(&session->stream)};
  // Rooms that a new session was joining are joined by the next.
  for (Request *request = client->requests.first; request; request = request->next) {
    if (request->kind == REQUEST_JOIN) request->room = 0;
  }
  requests_fail_all(client, PERIGEE_CONNECTION_RESET, "the session was lost");
  reliable_deinit(&session->stream);
  session->stream = (Reliable){0};
  session->count++;
  channels_end(client, PERIGEE_CONNECTION_RESET);
  change_rooms(client);
  client_tell(client, &event);
}

// --- The loop ---

static void run(PerigeeClient *client) {
  link_receive(client);
  link_settle(client);
  timers_run(&client->timers, clock_ms());
  link_settle(client);
  link_send(client);
  link_settle(client);
}

int perigee_fds(PerigeeClient *client, PerigeeFd fds[2]) {
  int count = 0;
  if (client->link.socket.fd >= 0)
    fds[count++] = (PerigeeFd){.fd = client->link.socket.fd,
                               .wants_read = link_wants_read(client),
                               .wants_write = link_wants_write(client)};
  if (client->datagrams.fd >= 0) {
    bool has_stream = link_is_alone(client) && link_unsent(&client->link) > 0;
    fds[count++] =
        (PerigeeFd){.fd = client->datagrams.fd,
                    .wants_read = !events_are_full(&client->events),
                    .wants_write = has_stream && link_udp_stream_room(client) > 0};
  }
  return count;
}

int perigee_wait_ms(PerigeeClient *client) {
  if (client->events.count > 0 || client->link.has_more) return 0;
  uint64_t next_ms = timers_next_ms(&client->timers);
  uint64_t next_us = next_ms < UINT64_MAX / 1000 ? next_ms * 1000 : UINT64_MAX;
  uint64_t datagrams_us = datagrams_due_us(&client->datagrams);
  if (datagrams_us < next_us) next_us = datagrams_us;
  if (next_us == UINT64_MAX) return -1;
  uint64_t now_us = clock_us();
  if (next_us <= now_us) return 0;
  uint64_t wait_ms = (next_us - now_us + 999) / 1000;
  return wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX;
}

// Waits for a descriptor, or for `timeout_ms` (negative: for ever); false when a signal came first.
static bool wait_for(PerigeeClient *client, int timeout_ms) {
  PerigeeFd fds[2];
  struct pollfd polled[2];
  int count = perigee_fds(client, fds);
  for (int i = 0; i < count; i++) {
    int events = (fds[i].wants_read ? POLLIN : 0) | (fds[i].wants_write ? POLLOUT : 0);
    polled[i] = (struct pollfd){.fd = fds[i].fd, .events = (short)events};
  }
  int due_ms = perigee_wait_ms(client);
  if (timeout_ms < 0 || (due_ms >= 0 && due_ms < timeout_ms)) timeout_ms = due_ms;
  return poll(polled, (nfds_t)count, timeout_ms) >= 0 || errno != EINTR;
}

int perigee_poll(PerigeeClient *client, int timeout_ms) {
  uint64_t start = clock_ms();
  run(client);
  while (client->events.count == 0 && client->state != PERIGEE_STATE_CLOSED) {
    uint64_t waited = clock_ms() - start;
    if (timeout_ms >= 0 && waited >= (uint64_t)timeout_ms) break;
    bool is_over = !wait_for(client, timeout_ms < 0 ? -1 : timeout_ms - (int)waited);
    run(client);
    if (is_over) break;
  }
  return client->events.count > 0;
}

const PerigeeEvent *perigee_next_event(PerigeeClient *client) {
  return events_take(&client->events);
}
