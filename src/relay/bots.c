// Bots in rooms, and the events for their brains: ticks, and the messages that a client
// would receive. Their commands are in handler.c and execute.c; bots join, leave and
// end as other peers do.

#include "relay/internal.h"

// --- Members ---

// Adds `change` to the counts of the bot's flags.
static void count(Relay *relay, Room *room, const Peer *bot, int change) {
  if (bot->relay.bot & BOT_FILLS) room->fillers += (uint32_t)change;
  if (bot->relay.bot & BOT_TICKS) room->ticking_bots += (uint32_t)change;
  ticker_refresh_room(relay, room);
}

void bot_enter(Relay *relay, Room *room, Peer *bot) {
  Peer **last = &room->first_bot;
  while (*last) last = &(*last)->relay.next_bot;
  *last = bot;
  room->bots++;
  count(relay, room, bot, 1);
}

void bot_leave(Relay *relay, Room *room, Peer *bot) {
  Peer **at = &room->first_bot;
  while (*at != bot) at = &(*at)->relay.next_bot;
  *at = bot->relay.next_bot;
  bot->relay.next_bot = NULL;
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
void bot_hear(Relay *relay, Peer *bot, uint32_t room, const Command *message) {
  if (!(bot->relay.bot & BOT_LISTENS) || bot_is_busy(relay, bot)) return;
  Text body = message->packet_type ? message->packed : message->body;
  event_queue(relay, bot,
              &(Event){.type = EVENT_BOT_MESSAGE,
                       .flags = message->flags,
                       .ref = message->ref,
                       .packet_type = message->packet_type,
                       .peer = bot->id,
                       .room = room,
                       .data = body});
}

static void hear_unless_excluded(Relay *relay, Peer *bot, uint32_t room,
                                 const Command *message) {
  if (bot->relay.excluded != relay->broadcast_number)
    bot_hear(relay, bot, room, message);
}

void bots_hear(Relay *relay, const Room *room, const Command *message) {
  if (room) {
    for (Peer *bot = room->first_bot; bot; bot = bot->relay.next_bot)
      hear_unless_excluded(relay, bot, room->id, message);
  } else if (relay->bots > 0) {
    Peer *peer;
    for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
      if (peer->state == PEER_BOT) hear_unless_excluded(relay, peer, 0, message);
  }
}
