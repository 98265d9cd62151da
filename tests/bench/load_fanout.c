// Fan-out: the server's cost of one delivery, in one busy room and in many quiet ones.
#include <time.h>

#include "scenarios.h"

enum {
  SETTLE_NS = 3000000
};  // pause until the server waits again, so that its CPU time is exact
static const double WARM_UP_SECONDS = 0.1;

static void settle(void) {
  const struct timespec wait = {.tv_nsec = SETTLE_NS};
  nanosleep(&wait, NULL);
}

// Runs `work` to warm up and then for the measurement; prints the cost.
static void measure(Load *load, uint64_t (*work)(Load *load, uint64_t until_ns)) {
  work(load, clock_ns() + (uint64_t)(WARM_UP_SECONDS * 1e9));
  settle();
  CpuTimes cpu = cpu_times(load->pid);
  uint64_t deliveries = load->deliveries, start = clock_ns();
  uint64_t messages = work(load, start + (uint64_t)(load->seconds * 1e9));
  double seconds = (double)(clock_ns() - start) / 1e9;
  settle();
  CpuUse use = cpu_used(&cpu);
  double micros = (double)use.all_ns / 1e3;
  double count = (double)(load->deliveries - deliveries);
  printf("us_per_delivery=%.4f us_per_message=%.4f deliveries=%.0f per_second=%.0f ",
         micros / count, micros / (double)messages, count, count / seconds);
  printf("first_us=%.4f busiest_us=%.4f\n", (double)use.first_ns / 1e3 / count,
         (double)use.busiest_ns / 1e3 / count);
}

// Counts the broadcasts and the missing deliveries of each publisher of a room.
typedef struct Publishers {
  uint32_t numbers[PUBLISHERS_MAX];
  uint64_t missing[PUBLISHERS_MAX];  // missing deliveries of the newest burst
  uint64_t until_ns;
} Publishers;

static void publish(Load *load, uint32_t publisher) {
  Publishers *all = load->data;
  all->missing[publisher] = (uint64_t)load->burst * (load->members - 1);
  client_burst(load, publisher, all->numbers[publisher]);
  all->numbers[publisher] += load->burst;
}

static void on_published(Load *load, Client *client, uint16_t type,
                         const uint8_t *payload) {
  (void)client;
  if (type != WIRE_RELAYED) return;
  Publishers *all = load->data;
  uint32_t publisher = wire_u32(payload + 8) >> PUBLISHER_SHIFT;
  if (--all->missing[publisher] == 0 && clock_ns() < all->until_ns)
    publish(load, publisher);
}

static uint64_t fanout(Load *load, uint64_t until_ns) {
  Publishers *all = load->data;
  uint64_t goal = load->deliveries, sent = 0;
  all->until_ns = until_ns;
  for (uint32_t i = 0; i < load->publishers; i++) sent -= all->numbers[i];
  for (uint32_t i = 0; i < load->publishers; i++) publish(load, i);
  while (clock_ns() < until_ns) load_poll(load, 10);
  for (uint32_t i = 0; i < load->publishers; i++) sent += all->numbers[i];
  load_await(load, &load->deliveries, goal + sent * (load->members - 1), "deliveries");
  return sent;
}

void run_fanout(Load *load) {
  Publishers all = {0};
  load_connect(load, load->members);
  load_join(load);
  load->data = &all;
  load->on_packet = on_published;
  measure(load, fanout);
  load_finish(load);
}

static uint64_t pace(Load *load, uint64_t until_ns) {
  uint64_t goal = load->deliveries, sent = 0, next_ns = clock_ns();
  uint32_t first = load->clients[1].expected[0];
  for (; next_ns < until_ns; next_ns += 1000000000u / load->rate) {
    while (clock_ns() < next_ns) load_poll(load, 1);
    client_burst(load, 0, first + (uint32_t)sent++);
  }
  load_await(load, &load->deliveries, goal + sent * (load->members - 1), "deliveries");
  return sent;
}

void run_paced(Load *load) {
  load->burst = 1;
  load_connect(load, load->members);
  load_join(load);
  measure(load, pace);
  load_finish(load);
}

typedef struct Rooms {
  uint32_t *waiting;  // members that do not have the broadcast of a room yet, by room
  uint64_t until_ns, sent;
  Bytes packet;
} Rooms;

static void send_one(Load *load, Rooms *rooms, uint32_t room) {
  const Client *sender = &load->clients[(size_t)room * load->members];
  rooms->packet.size = 0;
  broadcast_put(&rooms->packet, load, sender, sender[1].expected[0], 0);
  rooms->waiting[room] = load->members - 1;
  rooms->sent++;
  client_write(load, sender, &rooms->packet);
}

static void on_room_packet(Load *load, Client *client, uint16_t type,
                           const uint8_t *payload) {
  (void)payload;
  if (type != WIRE_RELAYED) return;
  Rooms *rooms = load->data;
  uint32_t room = client->index / load->members;
  if (--rooms->waiting[room] == 0 && clock_ns() < rooms->until_ns)
    send_one(load, rooms, room);
}

static uint64_t ping_rooms(Load *load, uint64_t until_ns) {
  Rooms *rooms = load->data;
  uint64_t goal = load->deliveries;
  rooms->until_ns = until_ns;
  rooms->sent = 0;
  for (uint32_t i = 0; i < load->rooms; i++) send_one(load, rooms, i);
  while (clock_ns() < until_ns) load_poll(load, 10);
  goal += rooms->sent * (load->members - 1);
  load_await(load, &load->deliveries, goal, "deliveries");
  return rooms->sent;
}

void run_rooms(Load *load) {
  Rooms rooms = {.waiting = calloc(load->rooms, sizeof *rooms.waiting)};
  load_connect(load, load->members * load->rooms);
  load_join(load);
  load->data = &rooms;
  load->on_packet = on_room_packet;
  measure(load, ping_rooms);
  load_finish(load);
  bytes_deinit(&rooms.packet);
  free(rooms.waiting);
}
