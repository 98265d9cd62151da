// Two clients of a server across a wide area network, for tests/e2e/wan_spec.lua. One
// relays to the other and prints the results. Both are in this process, so one clock
// measures sending and arrival.
//
//   wan_traveller ADDRESS tcp|udp STORY SECONDS
//
// lossy    80 reliable messages a second, and as many unreliable ones
// narrow   reliable messages as fast as the line carries them
// flood    8 Mbit/s of unreliable messages, and ten reliable ones a second
//
// Prints name=value pairs; exits with 1 if a reliable message is missing, doubled or
// out of order.
#include <inttypes.h>
#include <perigee.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/program.h"

enum {
  LATENCIES_MAX = 1 << 20,
  UNDERWAY_MAX = 512,      // reliable messages sent and not received
  PATIENCE_US = 60000000,  // time to wait for messages that are under way at the end
  WARM_US = 3000000,  // time at the beginning that does not count for the throughput
};

typedef struct Story {
  const char *name;
  uint32_t loose_hz, loose_size;  // rate and size of unreliable messages
  uint32_t reliable_hz,
      reliable_size;  // rate and size of reliable messages; 0 Hz: as fast as possible
} Story;

static const Story STORIES[] = {{"lossy", 80, 100, 80, 100},
                                {"narrow", 0, 0, 0, 1000},
                                {"flood", 1000, 1000, 10, 100}};

typedef struct Note {
  uint64_t sent_us;
  uint32_t number;
  uint32_t is_reliable;
} Note;

// The arrived packets of one kind.
typedef struct Tally {
  uint32_t sent, received;
  uint64_t bytes;  // bytes that arrived during sending, after the beginning
  uint64_t *latencies;
} Tally;

static Tally tallies[2];           // by is_reliable
static uint64_t start_us, end_us;  // beginning and end of sending

static uint64_t now_us(void) { return clock_ns() / 1000; }

// --- Receiving ---

static void take_relay(const PerigeeEvent *event) {
  Note note;
  if (event->size < sizeof note) fail("a message is cut");
  memcpy(&note, event->data, sizeof note);
  Tally *tally = &tallies[note.is_reliable];
  if (note.is_reliable && note.number != tally->received)
    fail("not in order, or not once");
  uint64_t now = now_us();
  if (tally->received < LATENCIES_MAX)
    tally->latencies[tally->received] = now - note.sent_us;
  tally->received++;
  if (now >= start_us + WARM_US && now < end_us) tally->bytes += event->size;
}

// Takes all events; returns whether the client has joined its room.
static bool take_events(PerigeeClient *client) {
  static const char *const LOST[] = {"disconnected", "a new session", "closed"};
  bool has_joined = false;
  const PerigeeEvent *event;
  while ((event = perigee_next_event(client))) {
    if (event->type == PERIGEE_CONNECTED) perigee_join(client, "lobby", 0);
    if (event->type == PERIGEE_JOINED) has_joined = true;
    if (event->type == PERIGEE_RELAY) take_relay(event);
    if (event->type == PERIGEE_DISCONNECTED) fail("%s", LOST[0]);
    if (event->type == PERIGEE_LOST) fail("%s", LOST[1]);
    if (event->type == PERIGEE_CLOSED) fail("%s", LOST[2]);
  }
  return has_joined;
}

// --- Sending ---

static bool send_one(PerigeeClient *client, bool is_reliable, uint32_t size) {
  uint8_t bytes[2048] = {0};
  Tally *tally = &tallies[is_reliable];
  Note note = {.sent_us = now_us(), .number = tally->sent, .is_reliable = is_reliable};
  memcpy(bytes, &note, sizeof note);
  uint32_t room = perigee_find_room(client, "lobby");
  int flags = is_reliable ? 0 : PERIGEE_UNRELIABLE;
  if (perigee_relay(client, room, bytes, size, (uint32_t)flags) != 0) return false;
  tally->sent++;
  return true;
}

static void send_due(PerigeeClient *client, const Story *story) {
  uint64_t elapsed = now_us() - start_us;
  while (tallies[0].sent < elapsed * story->loose_hz / 1000000)
    if (!send_one(client, false, story->loose_size)) break;
  uint64_t due =
      story->reliable_hz ? elapsed * story->reliable_hz / 1000000 : UINT32_MAX;
  while (tallies[1].sent < due && tallies[1].sent - tallies[1].received < UNDERWAY_MAX)
    if (!send_one(client, true, story->reliable_size)) break;
}

// --- Printing ---

static int compare(const void *a, const void *b) {
  uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
  return (left > right) - (left < right);
}

static double part_ms(const Tally *tally, double part) {
  uint32_t count = tally->received < LATENCIES_MAX ? tally->received : LATENCIES_MAX;
  if (count == 0) return 0;
  return (double)tally->latencies[(uint32_t)((count - 1) * part)] / 1000;
}

static void print_tally(const char *name, Tally *tally, double seconds) {
  uint32_t count = tally->received < LATENCIES_MAX ? tally->received : LATENCIES_MAX;
  qsort(tally->latencies, count, sizeof *tally->latencies, compare);
  printf("%s_sent=%" PRIu32 " %s_received=%" PRIu32
         " %s_kbit=%.0f %s_p50=%.1f %s_p99=%.1f "
         "%s_worst=%.1f\n",
         name, tally->sent, name, tally->received, name,
         (double)tally->bytes * 8 / 1000 / seconds, name, part_ms(tally, 0.5), name,
         part_ms(tally, 0.99), name, part_ms(tally, 1));
}

// --- Connecting ---

static PerigeeClient *connect_to(const char *address, const char *transport,
                                 const char *name) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = name;
  options.transport = strcmp(transport, "udp") == 0 ? PERIGEE_UDP : PERIGEE_TCP;
  PerigeeClient *client = perigee_connect(address, &options, NULL);
  if (!client) fail("cannot connect");
  return client;
}

static void travel(PerigeeClient *from, PerigeeClient *to, const Story *story,
                   uint64_t us) {
  int joined = 0;
  uint64_t patience_us = now_us() + PATIENCE_US;
  for (uint64_t now = now_us(); now < patience_us; now = now_us()) {
    perigee_poll(from, 1);
    perigee_poll(to, 1);
    joined += take_events(from) + take_events(to);
    if (joined < 2) continue;
    if (start_us == 0) {
      start_us = now;
      end_us = now + us;
      patience_us = end_us + PATIENCE_US;
    }
    if (now < end_us)
      send_due(from, story);
    else if (tallies[1].received == tallies[1].sent)
      return;
  }
  fail("not all has arrived");
}

int main(int count, char **arguments) {
  if (count != 5) {
    fprintf(stderr,
            "usage: wan_traveller ADDRESS tcp|udp lossy|narrow|flood SECONDS\n");
    return 2;
  }
  const Story *story = NULL;
  for (size_t i = 0; i < sizeof STORIES / sizeof *STORIES; i++)
    if (strcmp(STORIES[i].name, arguments[3]) == 0) story = &STORIES[i];
  if (!story) fail("there is no such story");
  for (int i = 0; i < 2; i++)
    tallies[i].latencies = calloc(LATENCIES_MAX, sizeof(uint64_t));
  uint64_t us = (uint64_t)(atof(arguments[4]) * 1e6);
  PerigeeClient *from = connect_to(arguments[1], arguments[2], "from");
  PerigeeClient *to = connect_to(arguments[1], arguments[2], "to");
  travel(from, to, story, us);
  double seconds = us > WARM_US ? (double)(us - WARM_US) / 1e6 : 1;
  print_tally("loose", &tallies[0], seconds);
  print_tally("reliable", &tallies[1], seconds);
  perigee_free(from);
  perigee_free(to);
  for (int i = 0; i < 2; i++) free(tallies[i].latencies);
  return 0;
}
