// Implements live.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "client/live.h"

Live live;

uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// --- Clients ---

PerigeeOptions options_of(const char *name) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = name;
  options.transport = live.transport;
  options.reconnect_first_ms = 2;
  options.reconnect_max_ms = 20;
  return options;
}

PerigeeClient *open_with(const PerigeeOptions *options) {
  PerigeeClient *client = perigee_connect(live.address, options, NULL);
  assert_non_null(client);
  live.clients[live.client_count++] = client;
  return client;
}

// Drives all clients of the test until this one has an event.
const PerigeeEvent *any_event(PerigeeClient *client, uint64_t wait_ms) {
  uint64_t deadline = now_ms() + wait_ms;
  for (;;) {
    for (int i = 0; i < live.client_count; i++) {
      if (live.clients[i] != client) perigee_poll(live.clients[i], 0);
    }
    const PerigeeEvent *event = perigee_next_event(client);
    // These events come at any time, so tests that need one wait for it.
    if (event && event->type == PERIGEE_UDP_UP) live.ups++;
    if (event && (event->type == PERIGEE_UDP_UP || event->type == PERIGEE_UDP_DOWN))
      continue;
    if (event) return event;
    if (now_ms() > deadline) return NULL;
    perigee_poll(client, live.client_count > 1 ? 2 : 100);
  }
}

const PerigeeEvent *expect(PerigeeClient *client, PerigeeEventType type) {
  const PerigeeEvent *event = any_event(client, DEADLINE_MS);
  if (!event) fail_msg("event %d does not come", type);
  if (event->type != type)
    fail_msg("event %d instead of %d: %d %s %s", event->type, type, event->code,
             event->name, event->text);
  return event;
}

void expect_failure(PerigeeClient *client, int request, int code) {
  const PerigeeEvent *event = expect(client, PERIGEE_FAILED);
  assert_int_equal(request, event->request);
  assert_int_equal(code, event->code);
}

void expect_message(PerigeeClient *client, const char *name, const char *json) {
  const PerigeeEvent *event = expect(client, PERIGEE_MESSAGE);
  assert_string_equal(name, event->name);
  assert_string_equal(json, (const char *)event->data);
}

void expect_answer(PerigeeClient *client, int request, const char *data) {
  const PerigeeEvent *event = expect(client, PERIGEE_ANSWER);
  assert_int_equal(request, event->request);
  assert_string_equal(data, (const char *)event->data);
}

PerigeeClient *open_client(const char *name) {
  PerigeeOptions options = options_of(name);
  PerigeeClient *client = open_with(&options);
  expect(client, PERIGEE_CONNECTED);
  return client;
}

uint32_t join(PerigeeClient *client, const char *name) {
  int request = perigee_join(client, name, 0);
  const PerigeeEvent *event = expect(client, PERIGEE_JOINED);
  assert_int_equal(request, event->request);
  return event->room;
}

// Joins the lobby, and receives the greeting of its script.
uint32_t join_lobby(PerigeeClient *client) {
  uint32_t room = join(client, "lobby");
  expect_message(client, "entering", "\"lobby\"");
  return room;
}

int tear_down(void **state) {
  (void)state;
  for (int i = 0; i < live.client_count; i++) perigee_close(live.clients[i]);
  for (int i = 0; i < live.client_count; i++) {
    while (perigee_state(live.clients[i]) != PERIGEE_STATE_CLOSED)
      perigee_poll(live.clients[i], 1000);
    perigee_free(live.clients[i]);
  }
  live.client_count = 0;
  return 0;
}
