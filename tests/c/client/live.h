// Clients of a real server, for the stories in live.c and live_stories.c. While a test
// waits for one client, all of them are driven. A test fails if an expected event
// misses its deadline.
#pragma once

#include <perigee.h>
#include <stdint.h>

enum { DEADLINE_MS = 15000, PATIENCE_MS = 60000, CLIENTS_MAX = 12 };

/// As the command line has it.
typedef struct Live {
  const char *address;
  PerigeeTransport transport;
  const char *argument;  // of the story, where it has one
  int ups;               // PERIGEE_UDP_UP so far
  int client_count;
  PerigeeClient *clients[CLIENTS_MAX];
} Live;

extern Live live;

uint64_t now_ms(void);

/// The defaults, but for pauses that do not hold a test up.
PerigeeOptions options_of(const char *name);

/// A client that begins to connect, and one that is connected.
PerigeeClient *open_with(const PerigeeOptions *options);
PerigeeClient *open_client(const char *name);

/// The next event of a client but PERIGEE_UDP_UP, which is counted; NULL when none comes.
const PerigeeEvent *any_event(PerigeeClient *client, uint64_t wait_ms);

/// The next event, which is of this type; and more of it.
const PerigeeEvent *expect(PerigeeClient *client, PerigeeEventType type);
void expect_failure(PerigeeClient *client, int request, int code);
void expect_message(PerigeeClient *client, const char *name, const char *json);
void expect_answer(PerigeeClient *client, int request, const char *data);

/// Joins a room; the lobby's script greets.
uint32_t join(PerigeeClient *client, const char *name);
uint32_t join_lobby(PerigeeClient *client);

/// Ends all clients.
int tear_down(void **state);

/// Runs one of live_stories.c; 2: there is none of this name.
int run_story(const char *name);

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)
