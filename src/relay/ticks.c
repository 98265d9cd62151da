// Ticks of rooms and of the game. A tick queues an event unless the event of the last
// tick still waits.

#include "relay/internal.h"

static void on_tick(void *data, uint64_t now_ms);

static void wait_for_next(Ticker *ticker) {
  timers_set(net_timers(ticker->relay->net), &ticker->timer,
             (ticker->next_us + 999) / 1000, on_tick, ticker);
}

static uint32_t clamp_u32(uint64_t value) {
  return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

// Queues a tick. If the tick is late, skips the whole intervals that have passed.
static void on_tick(void *data, uint64_t now_ms) {
  Ticker *ticker = data;
  uint64_t now_us = now_ms * 1000;
  uint64_t skipped = (now_us - ticker->next_us) / ticker->interval_us;
  ticker->next_us += (skipped + 1) * ticker->interval_us;
  wait_for_next(ticker);
  ticker->skipped += clamp_u32(skipped);
  ticker->relay->stats.ticks_late += skipped + ticker->is_queued;
  if (ticker->is_queued) {
    ticker->skipped++;
    return;
  }
  Event event = {
      .type = EVENT_TICK,
      .room = ticker->room,
      .a = clamp_u32(now_us - ticker->last_us),
      .b = ticker->skipped,
  };
  ticker->last_us = now_us;
  ticker->skipped = 0;
  ticker->is_queued = true;
  ticker->relay->stats.ticks++;
  relay_emit(ticker->relay, &event);
}

void ticker_set(Relay *relay, Ticker *ticker, uint32_t room, double rate) {
  uint64_t interval_us = rate > 0 ? (uint64_t)(1e6 / rate) : 0;
  if (rate > 0 && interval_us < 1000) interval_us = 1000;
  if (interval_us == ticker->interval_us) return;
  ticker->relay = relay;
  ticker->room = room;
  ticker->interval_us = interval_us;
  timers_stop(net_timers(relay->net), &ticker->timer);
  if (interval_us == 0) return;
  ticker->last_us = net_now_ms(relay->net) * 1000;
  ticker->next_us = ticker->last_us + interval_us;
  wait_for_next(ticker);
}

void ticker_refresh_room(Relay *relay, Room *room) {
  double rate =
      room->kind.tick_rate > 0 ? room->kind.tick_rate : relay->limits.tick_rate;
  bool is_wanted = room->kind.hooks & HOOK_TICK || room->ticking_bots > 0;
  ticker_set(relay, &room->ticker, room->id, is_wanted ? rate : 0);
}

void ticker_refresh_game(Relay *relay) {
  bool is_wanted = relay->game_hooks & HOOK_TICK;
  ticker_set(relay, &relay->ticker, 0, is_wanted ? relay->limits.tick_rate : 0);
}

void tick_taken(Relay *relay, const Event *event) {
  Room *room = relay_room(relay, event->room);
  if (event->room == 0) relay->ticker.is_queued = false;
  if (room) room->ticker.is_queued = false;
}
