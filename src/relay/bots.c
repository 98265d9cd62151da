// Bots in rooms, and the events for their brains: ticks, and the messages, relayed bytes
// and packets that a client would receive. Their commands are in handler.c and
// execute.c; bots join, leave and end as other peers do.

#include "relay/internal.h"

// --- Members ---

// Adds `change` to the counts of the bot's flags.
static void count(Relay *relay, Room *room, const Peer *bot, int change) {
  if (bot->relay.bot & BOT_FILLS) room->fillers += (uint32_t)change;
  if (bot->relay.bot & BOT_TICKS) room->ticking_bots += (uint32_t)change;
  ticker_refresh_room(relay, room);
}

void bot_enter(Relay *relay, Room *room, Peer *bot) {
  Peer *last = room->last_bot;
  *(last ? &last->relay.next_bot : &room->first_bot) = bot;
  bot->relay.previous_bot = last;
  room->last_bot = bot;
  room->bots++;
  count(relay, room, bot, 1);
}

void bot_leave(Relay *relay, Room *room, Peer *bot) {
  Peer *previous = bot->relay.previous_bot, *next = bot->relay.next_bot;
  *(previous ? &previous->relay.next_bot : &room->first_bot) = next;
  *(next ? &next->relay.previous_bot : &room->last_bot) = previous;
  bot->relay.previous_bot = bot->relay.next_bot = NULL;
  room->bots--;
  count(relay, room, bot, -1);
}

// --- Brains ---

void relay_set_brain(Relay *relay, uint32_t id, uint8_t flags) {
  Peer *bot = session_find(relay->session, id);
  if (!bot) return;
  bool is_member = bot->relay.room_count > 0;
  Room *room = relay_room(relay, bot->relay.home);
  if (is_member) count(relay, room, bot, -1);
  bot->relay.bot = (bot->relay.bot & BOT_FILLS) | flags;
  if (is_member) count(relay, room, bot, 1);
}

void bots_tick(Relay *relay, const Event *tick) {
  const Room *room = relay->is_over ? NULL : relay_room(relay, tick->room);
  for (const Peer *bot = room ? room->first_bot : NULL; bot;
       bot = bot->relay.next_bot) {
    if (!(bot->relay.bot & BOT_TICKS)) continue;
    Event event = *tick;
    event.type = EVENT_BOT_TICK;
    event.peer = bot->id;
    relay_emit(relay, &event);
  }
}

bool bot_is_busy(Relay *relay, Peer *bot) {
  if (bot->relay.queued < RELAY_BOT_EVENTS) return false;
  bot->dropped++;
  relay->stats.dropped++;
  return true;
}

// Queues the event behind the events of other peers, because brains may answer each
// other for ever and must not delay those peers.
void bot_hear(Relay *relay, Peer *bot, const Event *heard) {
  unsigned flag = heard->channel == CHANNEL_MESSAGE   ? BOT_MESSAGES
                  : heard->channel == CHANNEL_CONTROL ? BOT_BROADCASTS
                                                      : BOT_PACKETS;
  if (!(bot->relay.bot & flag) || bot_is_busy(relay, bot)) return;
  Event event = *heard;
  event.peer = bot->id;
  event_queue(relay, bot, &event);
}

static void hear_unless_excluded(Relay *relay, Peer *bot, const Event *heard) {
  if (bot->relay.excluded != relay->broadcast_number) bot_hear(relay, bot, heard);
}

void bots_hear(Relay *relay, const Room *room, const Event *heard) {
  Peer *peer = room ? room->first_bot : NULL;
  for (; peer; peer = peer->relay.next_bot) hear_unless_excluded(relay, peer, heard);
  if (room) return;
  for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
    if (peer->state == PEER_BOT) hear_unless_excluded(relay, peer, heard);
}
