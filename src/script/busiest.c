// Adds up the time of handlers in each second of the clock. The first call of
// busiest_add or busiest_find in a later second evaluates the sums.
#include "script/busiest.h"

#include <string.h>

#include "base/log.h"
#include "relay/room.h"
#include "script/host.h"

// Least total time of all handlers in a second that is evaluated, in microseconds.
enum { LEAST_US = 100000 };

static bool is_same(BusiestSource a, BusiestSource b) {
  return a.peer == b.peer && a.room == b.room;
}

static bool was_logged(const Busiest *busiest, BusiestSource source) {
  uint32_t count = busiest->logged_count;
  if (count > BUSIEST_LOGGED) count = BUSIEST_LOGGED;
  for (uint32_t i = 0; i < count; i++)
    if (is_same(busiest->logged[i], source)) return true;
  return false;
}

static void log_found(const Host *host) {
  const Busiest *busiest = &host->busiest;
  LogField fields[8] = {{0}};
  int count = 0;
  const Peer *peer = session_find(relay_session(host->relay), busiest->found.peer);
  const Room *room = relay_room(host->relay, busiest->found.room);
  if (busiest->found.peer) fields[count++] = log_num("peer", busiest->found.peer);
  if (peer) fields[count++] = log_bytes("name", peer->name, peer->name_size);
  if (!peer && room) fields[count++] = log_bytes("room", room->name, room->name_size);
  fields[count++] = log_num("percent", (int64_t)(busiest->share * 100));
  fields[count++] = log_str("handler", busiest->name);
  fields[count++] = log_str("file", busiest->file);
  fields[count] = log_num("line", busiest->line);
  log_write(LOG_WARN, "one source takes more than half of the scripts' time", fields);
}

static void end_second(Host *host) {
  Busiest *busiest = &host->busiest;
  uint64_t total_us = busiest->total_us;
  if (!busiest->cost || total_us < LEAST_US || busiest->source_us * 2 <= total_us)
    return;
  busiest->found = busiest->source;
  busiest->found_second = busiest->second;
  busiest->share = (double)busiest->source_us / (double)total_us;
  memcpy(busiest->name, busiest->cost->name, sizeof busiest->name);
  memcpy(busiest->file, busiest->cost->file, sizeof busiest->file);
  busiest->line = busiest->cost->line;
  if (was_logged(busiest, busiest->found)) return;
  busiest->logged[busiest->logged_count++ % BUSIEST_LOGGED] = busiest->found;
  log_found(host);
}

static void look_at_clock(Host *host) {
  Busiest *busiest = &host->busiest;
  uint32_t second = (uint32_t)(host->deadline.now_us / 1000000);
  if (second == busiest->second) return;
  end_second(host);
  busiest->second = second;
  busiest->total_us = busiest->source_us = busiest->longest_us = 0;
  busiest->cost = NULL;
}

void busiest_add(Host *host, const Cost *cost, uint64_t us, uint64_t source_us) {
  Busiest *busiest = &host->busiest;
  look_at_clock(host);
  busiest->total_us += us;
  if (source_us < busiest->source_us || source_us == 0) return;
  // As in the relay, handlers of a peer's events in a room count for the peer.
  const Event *event = &host->event;
  BusiestSource source = {event->peer, event->peer ? 0 : event->room};
  if (!is_same(source, busiest->source)) busiest->longest_us = 0;
  busiest->source = source;
  busiest->source_us = source_us;
  if (us < busiest->longest_us) return;
  busiest->longest_us = us;
  busiest->cost = cost;
}

void busiest_forget_costs(Busiest *busiest) { busiest->cost = NULL; }

const Busiest *busiest_find(Host *host) {
  Busiest *busiest = &host->busiest;
  look_at_clock(host);
  bool is_recent =
      busiest->found_second && busiest->second - busiest->found_second <= 1;
  return is_recent ? busiest : NULL;
}
