// A player of a lockstep match, for tests/e2e/lockstep_wan_spec.lua and lockstep_c_spec.lua.
//
//   wan_player ADDRESS tcp|attached|udp NAME TURNS FILE [SEAT] [FLIP]
//
// Presses a key every fourth turn or so, at random times within a turn, and writes the
// hash of its state after each turn to FILE. SEAT ("-": none) is the seat of an earlier
// player. In turn FLIP, a bit of the state flips. tests/wan/player.mjs is the same player
// in JavaScript.
//
// Prints `match HOW SLOT TURN SEAT` at each beginning of a match, `pace SPEED`,
// `resumed`, `lost` and `ended`, and figures (name=value) after turn TURNS.
#include <inttypes.h>
#include <perigee.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/program.h"

enum { PRESSES_MAX = 1 << 16, PATIENCE_S = 30, WARM_TURNS = 20 };

typedef struct Press {
  uint64_t at_us;
  uint32_t latency_us;  // time until the turn of the input came; 0: it has not come
  uint8_t delay;        // input delay at that moment
} Press;

static struct {
  PerigeeClient *client;
  FILE *file;
  uint32_t room, state, turn, last, flip;
  uint8_t seat[PERIGEE_SEAT_SIZE];
  bool has_seat;
  PerigeeMatch match;
  int first_delay;
  Press presses[PRESSES_MAX];
  uint32_t pressed, landed, missing;
  uint64_t next_press_us, stepped_us, longest_us;
} me;

static uint64_t now_us(void) { return clock_ns() / 1000; }

static void tell(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  fflush(stdout);
}

// --- The game ---

static void mix(const void *bytes, size_t size) {
  for (size_t i = 0; i < size; i++)
    me.state = (me.state ^ ((const uint8_t *)bytes)[i]) * 16777619u;
}

static void take_own(const PerigeeEntry *entry) {
  uint32_t number;
  if (entry->kind == PERIGEE_INPUT_MISSING) me.missing++;
  if (entry->kind != PERIGEE_INPUT || entry->size != sizeof number) return;
  memcpy(&number, entry->data, sizeof number);
  // Inputs of an earlier player with this slot that were under way are lost.
  if (number >= me.pressed || me.presses[number].latency_us != 0) return;
  me.presses[number].latency_us = (uint32_t)(now_us() - me.presses[number].at_us);
  me.landed++;
}

static void step(const PerigeeEvent *event) {
  if (event->count != me.turn + 1) fail("a turn is missing");
  me.turn = event->count;
  for (uint32_t i = 0; i < event->entry_count; i++) {
    const PerigeeEntry *entry = &event->entries[i];
    uint8_t head[2] = {entry->slot, (uint8_t)entry->kind};
    mix(head, sizeof head);
    mix(entry->data, entry->size);
    if (entry->slot == me.match.slot) take_own(entry);
  }
  mix(&event->count, sizeof event->count);
  if (me.turn == me.flip) me.state ^= 1;
  fprintf(me.file, "%" PRIu32 " %" PRIu32 "\n", me.turn, me.state);
  uint64_t now = now_us();
  if (me.stepped_us != 0 && now - me.stepped_us > me.longest_us)
    me.longest_us = now - me.stepped_us;
  me.stepped_us = now;
  if (perigee_lockstep_done(me.client, me.room, me.turn, me.state) != 0)
    fail("the turn is not the next one");
}

static void begin(const PerigeeEvent *event) {
  perigee_lockstep_match(me.client, me.room, &me.match);
  me.turn = event->count;
  if (event->number == PERIGEE_MATCH_FRESH) me.state = me.match.seed;
  if (event->number == PERIGEE_MATCH_FROM_SNAPSHOT) {
    if (event->size != sizeof me.state) fail("the snapshot is none");
    memcpy(&me.state, event->data, sizeof me.state);
    perigee_lockstep_done(me.client, me.room, me.turn, me.state);
  }
  me.stepped_us = 0;
  if (me.first_delay == 0) me.first_delay = me.match.input_delay;
  char seat[2 * PERIGEE_SEAT_SIZE + 1];
  for (size_t i = 0; i < PERIGEE_SEAT_SIZE; i++)
    snprintf(seat + 2 * i, 3, "%02x", me.match.seat[i]);
  tell("match %d %d %" PRIu32 " %s", event->number, me.match.slot, me.turn, seat);
}

// Presses a key when it is due, once the client has measured the round trip. The next
// key follows after half a turn to seven and a half turns, four on average.
static void press(void) {
  uint64_t now = now_us();
  if (me.turn < WARM_TURNS || now < me.next_press_us || me.pressed == PRESSES_MAX)
    return;
  me.next_press_us =
      now + me.match.turn_us / 2 + (uint64_t)rand() % (me.match.turn_us * UINT64_C(7));
  me.presses[me.pressed] = (Press){.at_us = now, .delay = me.match.input_delay};
  perigee_lockstep_input(me.client, me.room, &me.pressed, sizeof me.pressed);
  me.pressed++;
}

static void take(const PerigeeEvent *event) {
  switch (event->type) {
    case PERIGEE_CONNECTED:
      perigee_join(me.client, "match:1", 0);
      break;
    case PERIGEE_JOINED:
      me.room = event->room;
      perigee_lockstep_enter(me.client, me.room, PERIGEE_GIVES_SNAPSHOTS,
                             me.has_seat ? me.seat : NULL);
      break;
    case PERIGEE_MATCH:
      begin(event);
      break;
    case PERIGEE_PACE:
      perigee_lockstep_match(me.client, me.room, &me.match);
      tell("pace %d", me.match.speed_percent);
      break;
    case PERIGEE_RESUMED:
      tell("resumed");
      break;
    case PERIGEE_LOST:
      tell("lost");
      break;
    case PERIGEE_MATCH_ENDED:
      tell("ended");
      break;
    case PERIGEE_TURN:
      if (me.turn < me.last) step(event);
      break;
    case PERIGEE_SNAPSHOT_WANTED:
      perigee_lockstep_snapshot(me.client, me.room, event->count, &me.state,
                                sizeof me.state);
      break;
    case PERIGEE_TREE_WANTED:
      perigee_lockstep_tree(me.client, me.room, event->count, NULL);
      break;
    case PERIGEE_FAILED:
    case PERIGEE_ERROR:
    case PERIGEE_CLOSED:
      fail("%s", event->text[0] ? event->text : "the session is over");
    default:
      break;
  }
}

// --- Figures ---

static int compare(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left > right) - (left < right);
}

static double part_ms(int64_t *values, size_t count, double part) {
  if (count == 0) return 0;
  qsort(values, count, sizeof *values, compare);
  return (double)values[(size_t)((double)(count - 1) * part)] / 1000;
}

static void tell_figures(void) {
  static int64_t all[PRESSES_MAX], over[PRESSES_MAX];
  size_t count = 0;
  int highest = 0;
  for (uint32_t i = 0; i < me.pressed; i++) {
    const Press *press = &me.presses[i];
    if (press->delay > highest) highest = press->delay;
    if (press->latency_us == 0) continue;
    all[count] = press->latency_us;
    over[count++] =
        (int64_t)press->latency_us - (int64_t)press->delay * me.match.turn_us;
  }
  tell(
      "latency=%.1f latency_p99=%.1f over=%.1f pressed=%u landed=%u missing=%u "
      "gap=%.1f "
      "first_delay=%d highest_delay=%d",
      part_ms(all, count, 0.5), part_ms(all, count, 0.99), part_ms(over, count, 0.5),
      me.pressed, me.landed, me.missing, (double)me.longest_us / 1000, me.first_delay,
      highest);
}

static bool read_seat(const char *hex) {
  for (size_t i = 0; i < PERIGEE_SEAT_SIZE; i++) {
    unsigned byte;
    if (sscanf(hex + 2 * i, "%2x", &byte) != 1) return false;
    me.seat[i] = (uint8_t)byte;
  }
  return true;
}

int main(int argc, char **argv) {
  if (argc < 6 || argc > 8) return 2;
  me.last = (uint32_t)atoi(argv[4]);
  me.file = fopen(argv[5], "w");
  if (!me.file) fail("the file cannot be written");
  setvbuf(me.file, NULL, _IOLBF, 0);  // a killed player leaves complete lines
  me.has_seat = argc > 6 && read_seat(argv[6]);
  me.flip = argc > 7 ? (uint32_t)atoi(argv[7]) : 0;
  srand((unsigned)(argv[3][strlen(argv[3]) - 1]));
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = argv[3];
  options.reconnect_first_ms = 10;
  options.reconnect_max_ms = 100;
  if (strcmp(argv[2], "udp") == 0) options.transport = PERIGEE_UDP;
  if (strcmp(argv[2], "attached") == 0) options.transport = PERIGEE_TCP_AND_UDP;
  me.client = perigee_connect(argv[1], &options, NULL);
  uint64_t stepped_s = now_us() / 1000000;
  while (me.turn < me.last) {
    uint32_t before = me.turn;
    perigee_poll(me.client, 2);
    const PerigeeEvent *event;
    while ((event = perigee_next_event(me.client)) != NULL) take(event);
    press();
    if (me.turn != before) stepped_s = now_us() / 1000000;
    if (now_us() / 1000000 > stepped_s + PATIENCE_S) fail("nothing goes on");
  }
  fclose(me.file);
  tell_figures();
  perigee_close(me.client);
  while (perigee_state(me.client) != PERIGEE_STATE_CLOSED) perigee_poll(me.client, 100);
  perigee_free(me.client);
  return 0;
}
