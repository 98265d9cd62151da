// Creates and frees the Relay, and handles the events of the session.

#include "relay/relay.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "relay/internal.h"
#include "relay/notify.h"

// Interval between warnings about one peer's drops. It doubles while drops continue.
enum { WARN_EVERY_MS = 1000, WARN_EVERY_MAX_MS = 60000 };

Relay *relay_new(const RelayLimits *limits) {
  Relay *relay = mem_zalloc(sizeof *relay);
  relay->limits = *limits;
  names_init(&relay->room_names);
  sorted_init(&relay->listed);
  names_init(&relay->channels.names);
  names_init(&relay->channels.networks);
  kinds_init(&relay->kinds);
  kinds_init(&relay->next_kinds);
  return relay;
}

void relay_attach(Relay *relay, Session *session, Net *net) {
  relay->session = session;
  relay->net = net;
  schedule_init(relay);
}

static void free_objects(Relay *relay) {
  Room *room;
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));) {
    mem_free(peer->relay.rooms);
    peer->relay.rooms = NULL;
    peer->relay.room_count = peer->relay.room_capacity = 0;
  }
  for (uint32_t cursor = 0; (room = slots_next(&relay->rooms, &cursor));)
    room_free(relay, room);
  ticker_set(relay, &relay->ticker, 0, 0);
  for (int i = 0; i < FORM_COUNT; i++) net_group_close(relay->net, relay->all[i]);
}

void relay_free(Relay *relay) {
  if (relay->net) free_objects(relay);
  schedule_deinit(relay);
  slots_deinit(&relay->rooms);
  script_joins_free(relay);
  names_deinit(&relay->room_names);
  sorted_deinit(&relay->listed);
  names_deinit(&relay->channels.names);
  names_deinit(&relay->channels.networks);
  buf_deinit(&relay->channels.spans);
  kinds_deinit(&relay->kinds);
  kinds_deinit(&relay->next_kinds);
  buf_deinit(&relay->handler.commands);
  batch_free_all(relay);
  buf_deinit(&relay->handler.names);
  buf_deinit(&relay->scratch);
  buf_deinit(&relay->except);
  captured_free(relay);
  mem_free(relay);
}

const RelayLimits *relay_limits(const Relay *relay) { return &relay->limits; }

void relay_set_limits(Relay *relay, const RelayLimits *limits) {
  relay->limits = *limits;
  if (!relay->net) return;
  ticker_refresh_game(relay);
  Room *room;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));)
    if (room->state >= ROOM_OPEN) ticker_refresh_room(relay, room);
}

void relay_kinds_end(Relay *relay) {
  kinds_deinit(&relay->kinds);
  relay->kinds = relay->next_kinds;
  relay->game_hooks = relay->kinds.script_hooks | relay->program_hooks;
  kinds_init(&relay->next_kinds);
  ticker_refresh_game(relay);
  Room *room;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (room->state < ROOM_OPEN) continue;
    uint32_t id = room->id;
    room_refresh(relay, room);
    if (relay_room(relay, id) && room->kind.loses_lost)
      suspended_leave_room(relay, room);
  }
}

void relay_set_host(Relay *relay, const RelayHost *host, void *data) {
  relay->host = host;
  relay->host_data = data;
}

void relay_set_scripted(Relay *relay) { relay->is_scripted = true; }

void relay_set_accept(Relay *relay, RelayAccept *accept) { relay->accept = accept; }

void relay_set_program_accept(Relay *relay, RelayAccept *accept, void *data) {
  relay->program_accept = accept;
  relay->program_data = data;
}

void relay_set_keep(Relay *relay, RelayKeep *keep) { relay->keep = keep; }

void relay_set_program_hooks(Relay *relay, uint32_t hooks) {
  relay->program_hooks = relay->game_hooks = hooks;
  if (hooks != 0) relay->is_scripted = true;
}

// --- Reports of the session ---

static void on_connect(void *data, Peer *peer) {
  Relay *relay = data;
  if (relay->game_hooks & HOOK_CONNECT)
    relay_emit(relay, &(Event){.type = EVENT_CONNECT, .peer = peer->id});
  else
    relay_accept(relay, peer->id, (Text){0});
}

static void on_sign_in(void *data, Peer *peer, const Packet *request, Text json) {
  Relay *relay = data;
  Event event = {.type = EVENT_SIGN_IN,
                 .peer = peer->id,
                 .flags = request->flags,
                 .ref = request->ref,
                 .data = json};
  if (relay->kinds.script_hooks & HOOK_SIGN_IN)
    relay_emit(relay, &event);
  else
    relay_answer_sign_in(
        relay, &event,
        &(SignInAnswer){.code = CODE_UNSUPPORTED,
                        .body = text_from("this game has no accounts")});
}

static void warn_of_drops(Relay *relay, Peer *peer, uint32_t dropped, uint32_t queued) {
  uint64_t now_ms = net_now_ms(relay->net);
  if (now_ms < peer->relay.next_warn_ms) return;
  bool was_quiet = now_ms >= peer->relay.next_warn_ms + peer->relay.warn_every_ms;
  uint32_t every_ms = was_quiet ? WARN_EVERY_MS : 2 * peer->relay.warn_every_ms;
  peer->relay.warn_every_ms =
      every_ms < WARN_EVERY_MAX_MS ? every_ms : WARN_EVERY_MAX_MS;
  peer->relay.next_warn_ms = now_ms + peer->relay.warn_every_ms;
  log_warn("messages dropped", log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size), log_num("dropped", dropped),
           log_num("queued", queued),
           log_num("dropped_so_far", (int64_t)peer->dropped));
}

static void on_drops(void *data, Peer *peer, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  Relay *relay = data;
  relay->stats.dropped += dropped;
  warn_of_drops(relay, peer, dropped, queued);
  const Room *room = relay_room(relay, tag);
  uint32_t hooks = room ? room->kind.hooks : relay->game_hooks;
  if (hooks & HOOK_BACKPRESSURE)
    relay_emit(relay, &(Event){.type = EVENT_BACKPRESSURE,
                               .peer = peer->id,
                               .room = room ? room->id : 0,
                               .a = dropped,
                               .b = queued});
}

static bool on_accept(void *data, const char *address, uint16_t port) {
  const Relay *relay = data;
  if (relay->program_accept &&
      !relay->program_accept(relay->program_data, address, port))
    return false;
  if (!(relay->kinds.script_hooks & HOOK_ACCEPT)) return true;
  return relay->accept(relay->host_data, address, port);
}

static void on_keep(void *data, Peer *peer) {
  const Relay *relay = data;
  if (relay->keep) relay->keep(relay->host_data, peer);
}

static void on_disconnect(void *data, Peer *peer, Code reason) {
  on_keep(data, peer);
  drain_disconnect(data, peer, reason);
}

SessionEvents relay_session_events(void) {
  return (SessionEvents){
      .accept = on_accept,
      .connect = on_connect,
      .sign_in = on_sign_in,
      .packet = drain_packet,
      .line = drain_line,
      .drops = on_drops,
      .disconnect = on_disconnect,
      .suspend = suspended_begin,
      .resume = suspended_end,
      .keep = on_keep,
  };
}
