// A player of the arena in C, which goes to the nearest fighter and shoots.
#include <limits.h>
#include <math.h>
#include <perigee.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"

#define PI 3.14159265358979323846
#define NEAR_BY 150
#define FAR_OFF 350

enum { INPUT_US = 50000 };  // microseconds between two inputs

typedef struct Player {
  PerigeeClient *client;
  uint32_t room;     // room; 0: has not joined yet
  uint64_t input;    // number of the newest input
  uint64_t next_us;  // time of the next input
  unsigned snapshots, shots;
  ArenaSnapshot snapshot;  // newest snapshot; its pointers point into `memory`
  PerigeeMemory memory;
} Player;

static void play(Player *player) {
  uint8_t data[64];
  ArenaPlay name = {perigee_text("cecil")};
  int size = arena_play_encode(&name, data, sizeof data, NULL);
  perigee_ask_bytes(player->client, player->room, ARENA_PLAY, data, (size_t)size, 0);
}

static double distance(const ArenaFighter *a, const ArenaFighter *b) {
  return hypot(a->x - b->x, a->y - b->y);
}

static const ArenaFighter *find(const ArenaFighterList *list, uint32_t id) {
  for (size_t i = 0; i < list->count; i++) {
    if (list->items[i].id == (int64_t)id) return &list->items[i];
  }
  return NULL;
}

static const ArenaFighter *find_nearest(const ArenaFighterList *list,
                                        const ArenaFighter *to) {
  const ArenaFighter *nearest = NULL;
  for (size_t i = 0; i < list->count; i++) {
    const ArenaFighter *other = &list->items[i];
    if (other == to || other->dead) continue;
    if (nearest == NULL || distance(other, to) < distance(nearest, to)) nearest = other;
  }
  return nearest;
}

// Goes towards a distant fighter, away from a near one, and around one in between.
static ArenaInput decide(const Player *player) {
  ArenaInput input = {0, 0, 0, 0, false, false};
  const ArenaFighterList *list = &player->snapshot.fighters;
  const ArenaFighter *me = find(list, perigee_peer_id(player->client));
  const ArenaFighter *other = me == NULL ? NULL : find_nearest(list, me);
  if (other == NULL) return input;
  double far = distance(me, other);
  input.a = atan2(other->y - me->y, other->x - me->x);
  double way = input.a + (far < NEAR_BY ? PI : far < FAR_OFF ? PI / 2 : 0);
  input.x = cos(way);
  input.y = sin(way);
  input.f = far < 2 * FAR_OFF;
  return input;
}

static void steer(Player *player) {
  uint8_t data[ARENA_INPUT_MAX];
  PerigeeFault fault;
  ArenaInput input = decide(player);
  input.n = ++player->input;
  int size = arena_input_encode(&input, data, sizeof data, &fault);
  if (size < 0) {  // a value that the schema does not have
    fprintf(stderr, "%s\n", fault.text);
    return;
  }
  perigee_send_bytes(player->client, player->room, ARENA_INPUT, data, (size_t)size,
                     PERIGEE_UNRELIABLE);
}

// Returns a negative value if the bytes are no such message. Ignores other messages.
static int take_message(Player *player, const PerigeeEvent *event,
                        PerigeeFault *fault) {
  int code = 0;
  if (event->number == ARENA_SNAPSHOT) {
    player->memory.used = 0;  // frees the previous snapshot
    code = arena_snapshot_decode(&player->snapshot, event->data, event->size,
                                 &player->memory, fault);
    player->snapshots++;
  } else if (event->number == ARENA_SHOT) {
    ArenaShot shot;
    code = arena_shot_decode(&shot, event->data, event->size, NULL, fault);
    if (shot.owner == (int64_t)perigee_peer_id(player->client)) player->shots++;
  } else if (event->number == ARENA_KILL) {
    ArenaKill kill;
    static uint8_t space[ARENA_KILL_MEMORY];
    PerigeeMemory memory = {space, sizeof space, 0};
    code = arena_kill_decode(&kill, event->data, event->size, &memory, fault);
    if (code == 0) printf("%s\n", kill.text.data);
  }
  return code;
}

static void take_event(Player *player, const PerigeeEvent *event) {
  PerigeeFault fault;
  switch (event->type) {
    case PERIGEE_CONNECTED:
      perigee_join(player->client, "arena:1", 0);
      break;
    case PERIGEE_JOINED:
      player->room = event->room;
      play(player);
      break;
    case PERIGEE_MESSAGE:
      if (take_message(player, event, &fault) < 0) fprintf(stderr, "%s\n", fault.text);
      break;
    case PERIGEE_FAILED:
    case PERIGEE_ERROR:
    case PERIGEE_CLOSED:
      fprintf(stderr, "%s: %s\n", perigee_code_name(event->code), event->text);
      break;
    default:
      break;
  }
}

int main(int argc, char **argv) {
  static uint64_t space[ARENA_SNAPSHOT_MEMORY / sizeof(uint64_t) + 1];
  Player player = {0};
  player.memory = (PerigeeMemory){space, sizeof space, 0};
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = "cecil";
  options.protocol_hash = ARENA_PROTOCOL_HASH;
  player.client =
      perigee_connect(argc > 1 ? argv[1] : "localhost:7777", &options, NULL);
  if (player.client == NULL) return 2;
  unsigned long shots = argc > 2 ? strtoul(argv[2], NULL, 10) : ULONG_MAX;
  while (perigee_state(player.client) != PERIGEE_STATE_CLOSED) {
    const PerigeeEvent *event;
    perigee_poll(player.client, 10);
    while ((event = perigee_next_event(player.client)) != NULL)
      take_event(&player, event);
    uint64_t now_us = perigee_clock_us();
    if (player.shots >= shots) perigee_close(player.client);
    if (player.room != 0 && now_us >= player.next_us) {
      player.next_us = now_us + INPUT_US;
      steer(&player);
    }
  }
  printf("%u snapshots, %u shots\n", player.snapshots, player.shots);
  perigee_free(player.client);
  return player.snapshots > 0 ? 0 : 1;
}
