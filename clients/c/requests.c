// Calls that wait for an answer. Each ends exactly once: by its answer, a refusal or
// its timeout.
#include <string.h>

#include "base/mem.h"
#include "internal.h"

static void on_timeout(void *data, uint64_t now_ms) {
  (void)now_ms;
  static const char TEXT[] = "no answer in time";
  request_fail(data, PERIGEE_TIMEOUT, TEXT, sizeof TEXT - 1);
}

bool requests_are_full(const PerigeeClient *client) {
  return client->requests.count >= REQUESTS_MAX;
}

// Returns the next ref that no request uses.
static uint16_t new_ref(PerigeeClient *client) {
  Requests *requests = &client->requests;
  do {
    if (++requests->last_ref == 0) requests->last_ref = 1;
  } while (request_find(client, requests->last_ref));
  return requests->last_ref;
}

Request *request_new(PerigeeClient *client, RequestKind kind, uint32_t timeout_ms) {
  Requests *requests = &client->requests;
  Request *request = mem_zalloc(sizeof *request);
  request->client = client;
  request->kind = kind;
  request->number = requests->last_number = requests->last_number % INT32_MAX + 1;
  if (kind != REQUEST_PING && kind != REQUEST_SYNC) request->ref = new_ref(client);
  Request **end = &requests->first;
  while (*end) end = &(*end)->next;
  *end = request;
  requests->count++;
  request->timeout_ms = timeout_ms ? timeout_ms : client->options.timeout_ms;
  client->has_calls = true;
  return request;
}

void requests_begin(PerigeeClient *client) {
  for (Request *request = client->requests.first; request; request = request->next) {
    if (timers_is_set(&request->timer)) continue;
    request->start_us = client->now_us;
    timers_set(&client->timers, &request->timer,
               client_now_ms(client) + request->timeout_ms, on_timeout, request);
  }
}

Request *request_find(const PerigeeClient *client, uint16_t ref) {
  Request *request = client->requests.first;
  while (request && (request->ref != ref || ref == 0)) request = request->next;
  return request;
}

Request *request_answered(PerigeeClient *client, const Packet *packet,
                          RequestKind kind) {
  static const char TEXT[] = "the server sent an answer of another kind";
  bool is_answer = packet->flags & PACKET_RESPONSE;
  Request *request = is_answer ? request_find(client, packet->ref) : NULL;
  if (!request || request->kind == kind) return request;
  request_fail(request, PERIGEE_PROTOCOL, TEXT, sizeof TEXT - 1);
  return NULL;
}

Request *request_find_join(const PerigeeClient *client, const char *name, size_t size) {
  Request *request = client->requests.first;
  for (; request; request = request->next) {
    if (request->kind != REQUEST_JOIN || strlen(request->name) != size) continue;
    if (memcmp(request->name, name, size) == 0) return request;
  }
  return NULL;
}

static Request *find_about(const PerigeeClient *client, RequestKind kind,
                           uint32_t room) {
  Request *request = client->requests.first;
  while (request && (request->kind != kind || request->room != room))
    request = request->next;
  return request;
}

Request *request_find_leave(const PerigeeClient *client, uint32_t room) {
  return find_about(client, REQUEST_LEAVE, room);
}

Request *request_find_enter(const PerigeeClient *client, uint32_t room) {
  return find_about(client, REQUEST_ENTER, room);
}

Request *request_find_ping(const PerigeeClient *client, uint64_t value) {
  Request *request = client->requests.first;
  while (request && (request->kind != REQUEST_PING || request->value != value))
    request = request->next;
  return request;
}

void request_free(Request *request) {
  Requests *requests = &request->client->requests;
  Request **at = &requests->first;
  while (*at != request) at = &(*at)->next;
  *at = request->next;
  requests->count--;
  timers_stop(&request->client->timers, &request->timer);
  mem_free(request->name);
  mem_free(request->options);
  mem_free(request);
}

static void fail(Request *request, int code, const EventParts *parts) {
  PerigeeClient *client = request->client;
  RequestKind kind = request->kind;
  if (kind == REQUEST_CHANNEL && request->number == 0)
    channel_refused(client, request->name, code, parts->text);
  if (kind == REQUEST_TOOL && request->number == 0)
    events_add(&client->events, &(PerigeeEvent){.type = PERIGEE_ERROR, .code = code},
               parts);
  Room *room = kind == REQUEST_JOIN || kind == REQUEST_ENTER
                   ? rooms_find(&client->rooms, request->room)
                   : NULL;
  if (request->number) {
    PerigeeEvent event = {
        .type = PERIGEE_FAILED, .request = request->number, .code = code};
    events_add(&client->events, &event, parts);
  }
  request_free(request);
  if (room && kind == REQUEST_ENTER) {
    if (room->match)
      match_refused(room->match, code, parts->text.bytes, parts->text.size);
  } else if (room) {
    // The room belongs to the previous session, and the server refuses the join in this
    // one.
    room_leave(client, room, code, 0);
  }
}

void request_fail(Request *request, int code, const char *text, size_t size) {
  fail(request, code, &(EventParts){.text = {text, size}});
}

void request_fault(Request *request, const EventParts *fault) {
  fail(request, PERIGEE_FAULT, fault);
}

// Returns whether the next session makes the request again.
static bool is_repeated(const Request *request) {
  bool is_kept = request->kind == REQUEST_CHANNEL || request->kind == REQUEST_TOOL;
  return request->kind == REQUEST_ENTER || (is_kept && request->number == 0);
}

static void fail_those(PerigeeClient *client, bool pings_alone, int code,
                       const char *text) {
  Request *next;
  for (Request *request = client->requests.first; request; request = next) {
    next = request->next;
    if (pings_alone && request->kind != REQUEST_PING) continue;
    if (is_repeated(request))
      request_free(request);
    else
      request_fail(request, code, text, strlen(text));
  }
}

void requests_fail_all(PerigeeClient *client, int code, const char *text) {
  fail_those(client, false, code, text);
}

void requests_fail_pings(PerigeeClient *client, int code, const char *text) {
  fail_those(client, true, code, text);
}

void requests_fail_channel(PerigeeClient *client, uint16_t channel) {
  static const char TEXT[] = "the channel is closed";
  Request *next;
  for (Request *request = client->requests.first; request; request = next) {
    next = request->next;
    if (request->kind == REQUEST_ASK_PEER && request->channel == channel)
      request_fail(request, PERIGEE_CHANNEL_NOT_FOUND, TEXT, sizeof TEXT - 1);
  }
}

void requests_synced(PerigeeClient *client, uint32_t news) {
  Request *next;
  for (Request *request = client->requests.first; request; request = next) {
    next = request->next;
    if (request->kind != REQUEST_SYNC) continue;
    request->value -= news < request->value ? news : request->value;
    if (request->value > 0) continue;
    PerigeeEvent event = {.type = PERIGEE_SYNCED, .request = request->number};
    events_add(&client->events, &event, NULL);
    request_free(request);
  }
}
