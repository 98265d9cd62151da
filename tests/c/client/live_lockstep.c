// Lockstep with a real server: `live_lockstep ADDRESS TRANSPORT TURNS`. Three clients
// play a match. A fourth enters when a third of the match is over, and gets the state
// from another member. At two thirds, or when the fourth has entered, one client flips
// a bit of its state. Prints the results of each client; tests/e2e/c_client_spec.lua
// checks them.
#include <perigee.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PLAYERS = 4, LATE = 3, ODD = 1, DEADLINE_S = 60 };

typedef struct Player {
  PerigeeClient *client;
  uint32_t room;
  uint32_t state;
  uint32_t turn;    // turn of the state
  uint32_t inputs;  // inputs of all players so far
  uint32_t desync;  // the first turn that differed; 0: none
  bool is_odd;      // whether this client differed
  int odd_slot;     // slot that differed
  int how;          // how the match began
  int slot;
} Player;

static uint32_t mix(uint32_t state, const uint8_t *bytes, size_t size) {
  for (size_t i = 0; i < size; i++) state = (state ^ bytes[i]) * 16777619u;
  return state;
}

static void begin(Player *player, const PerigeeEvent *event) {
  PerigeeMatch match;
  if (perigee_lockstep_match(player->client, player->room, &match) != 0) exit(3);
  player->how = event->number;
  player->slot = match.slot;
  player->turn = event->count;
  if (event->number == PERIGEE_MATCH_FRESH) player->state = match.seed;
  if (event->number != PERIGEE_MATCH_FROM_SNAPSHOT ||
      event->size != sizeof player->state)
    return;
  memcpy(&player->state, event->data, sizeof player->state);
  perigee_lockstep_done(player->client, player->room, player->turn, player->state);
}

static uint32_t flipped;  // turn in which the bit was flipped; 0: not flipped yet

static void step(Player *player, const PerigeeEvent *event, bool flips) {
  for (uint32_t i = 0; i < event->entry_count; i++) {
    const PerigeeEntry *entry = &event->entries[i];
    if (entry->kind == PERIGEE_INPUT && entry->size > 0) player->inputs++;
    player->state = mix(player->state + entry->slot, entry->data, entry->size);
  }
  player->state = mix(player->state, (const uint8_t *)&event->count, 4);
  if (flips && flipped == 0) {
    player->state ^= 1;
    flipped = event->count;
  }
  if (event->count != player->turn + 1) exit(4);
  player->turn = event->count;
  if (perigee_lockstep_done(player->client, player->room, player->turn, player->state))
    exit(5);
  perigee_lockstep_input(player->client, player->room, &player->turn, 1);
}

static void take(Player *player, const PerigeeEvent *event, bool flips) {
  switch (event->type) {
    case PERIGEE_CONNECTED:
      perigee_join(player->client, "match:1", 0);
      break;
    case PERIGEE_JOINED:
      player->room = event->room;
      perigee_lockstep_enter(player->client, player->room, PERIGEE_GIVES_SNAPSHOTS,
                             NULL);
      break;
    case PERIGEE_MATCH:
      begin(player, event);
      break;
    case PERIGEE_TURN:
      step(player, event, flips);
      break;
    case PERIGEE_SNAPSHOT_WANTED:
      perigee_lockstep_snapshot(player->client, player->room, event->count,
                                &player->state, sizeof player->state);
      break;
    case PERIGEE_TREE_WANTED:
      perigee_lockstep_tree(player->client, player->room, event->count, NULL);
      break;
    case PERIGEE_DESYNC:
      if (player->desync == 0) {
        player->desync = event->count;
        player->is_odd = event->is_odd != 0;
        player->odd_slot = event->size == 1 ? event->data[0] : -1;
      }
      break;
    case PERIGEE_FAILED:
    case PERIGEE_ERROR:
    case PERIGEE_CLOSED:
      fprintf(stderr, "%s: %s\n", perigee_code_name(event->code), event->text);
      exit(6);
    default:
      break;
  }
}

static void start(Player *player, const char *address, const char *transport, int i) {
  static const char *const NAMES[PLAYERS] = {"ann", "bob", "cleo", "dora"};
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = NAMES[i];
  if (strcmp(transport, "udp") == 0) options.transport = PERIGEE_UDP;
  if (strcmp(transport, "attached") == 0) options.transport = PERIGEE_TCP_AND_UDP;
  player->client = perigee_connect(address, &options, NULL);
}

int main(int argc, char **argv) {
  static Player players[PLAYERS];
  if (argc != 4) return 2;
  uint32_t turns = (uint32_t)atoi(argv[3]);
  time_t deadline = time(NULL) + DEADLINE_S;
  for (int i = 0; i < PLAYERS; i++) {
    if (i != LATE) start(&players[i], argv[1], argv[2], i);
  }
  for (bool is_over = false; !is_over;) {
    if (time(NULL) > deadline) return 7;
    if (!players[LATE].client && players[0].turn >= turns / 3)
      start(&players[LATE], argv[1], argv[2], LATE);
    is_over = true;
    for (int i = 0; i < PLAYERS; i++) {
      Player *player = &players[i];
      const PerigeeEvent *event;
      if (player->client) perigee_poll(player->client, 1);
      while (player->client && (event = perigee_next_event(player->client)) != NULL)
        take(player, event,
             i == ODD && player->turn + 1 >= turns * 2 / 3 && players[LATE].turn > 0);
      if (player->turn < turns || player->desync == 0) is_over = false;
    }
  }
  for (int i = 0; i < PLAYERS; i++) {
    Player *player = &players[i];
    printf("slot %d how %d inputs %u late %u odd %d %d\n", player->slot, player->how,
           (unsigned)player->inputs, (unsigned)(player->desync - flipped),
           player->is_odd, player->odd_slot);
    perigee_close(player->client);
    while (perigee_state(player->client) != PERIGEE_STATE_CLOSED)
      perigee_poll(player->client, 100);
    perigee_free(player->client);
  }
  return 0;
}
