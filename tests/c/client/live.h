// Clients of a real server, for the stories in live.c and live_stories.c. While a test
// waits for one client, all of them are driven. A test fails if an expected event
// misses its deadline.
#pragma once

#include <perigee.h>
#include <stdint.h>

enum { DEADLINE_MS = 15000, PATIENCE_MS = 60000, CLIENTS_MAX = 12 };

/// Arguments of the command line.
typedef struct Live {
  const char *address;
  PerigeeTransport transport;
  const char *argument;  // argument of the story; may be NULL
  int ups;               // number of PERIGEE_UDP_UP events so far
  int client_count;
  PerigeeClient *clients[CLIENTS_MAX];
} Live;

extern Live live;

uint64_t now_ms(void);

/// Returns the default options, with shorter pauses for tests.
PerigeeOptions options_of(const char *name);

/// Returns a client that begins to connect, or one that is connected.
PerigeeClient *open_with(const PerigeeOptions *options);
PerigeeClient *open_client(const char *name);

/// Returns the next event of a client; NULL after the deadline. Skips events about UDP,
/// and counts PERIGEE_UDP_UP.
const PerigeeEvent *any_event(PerigeeClient *client, uint64_t wait_ms);

/// Returns the next event, and checks its type. The other functions also check a
/// request or an answer.
const PerigeeEvent *expect(PerigeeClient *client, PerigeeEventType type);
void expect_failure(PerigeeClient *client, int request, int code);
void expect_message(PerigeeClient *client, const char *name, const char *json);
void expect_answer(PerigeeClient *client, int request, const char *data);

/// Joins a room, and takes the greeting of the lobby's script.
uint32_t join(PerigeeClient *client, const char *name);
uint32_t join_lobby(PerigeeClient *client);

/// Ends all clients.
int tear_down(void **state);

/// Runs a story of live_stories.c; returns 2 if none has this name.
int run_story(const char *name);

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
