// Connections that other threads serve: what net's interface promises holds all the same.
// Clients are sockets of this process, and the main thread's loop is turned by hand.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/servicer_internal.h"

enum { THREADS = 2, CONNS_MAX = 16, TRIES = 5000, FLOOD_BYTES = 32 << 20 };

typedef struct Peer {
  struct World *world;
  ConnId id;
  uint32_t lines, next, closed, faults, drops;
  uint32_t hold_at, close_at, answer_at;  // after so many lines; 0: not
} Peer;

typedef struct World {
  Net *net;
  uint16_t port;
  Peer peers[CONNS_MAX];
  int sockets[CONNS_MAX];
  uint32_t count;
  int visitors;
} World;

// --- Events ---

static const char *on_enter(void *data, const char *address) {
  (void)address;
  ((World *)data)->visitors++;
  return NULL;
}

static void on_leave(void *data, const char *address) {
  assert_string_equal(address, "127.0.0.1");
  ((World *)data)->visitors--;
}

static void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  World *world = data;
  assert_string_equal(info->address, "127.0.0.1");
  assert_true(info->since_ms <= net_now_ms(world->net));
  Peer *peer = &world->peers[world->count++];
  peer->world = world;
  peer->id = conn;
  return peer;
}

static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  const World *world = data;
  Peer *peer = conn_data;
  assert_int_equal(peer->closed, 0);
  peer->lines++;
  char copy[16];
  snprintf(copy, sizeof copy, "%.*s", (int)size, text);
  uint32_t number;
  if (sscanf(copy, "%u", &number) == 1) assert_int_equal(number, peer->next++);
  if (peer->lines == peer->answer_at)
    net_write(world->net, peer->id, &(Out){.parts = {"answer\n"}, .sizes = {7}});
  if (peer->lines == peer->hold_at) net_hold(world->net, peer->id);
  if (peer->lines == peer->close_at) net_close(world->net, peer->id);
}

static void on_packet(void *data, void *conn_data, const Packet *packet) {
  const World *world = data;
  Peer *peer = conn_data;
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, packet);
  peer->lines++;
  net_write(world->net, peer->id,
            &(Out){.parts = {header, packet->payload},
                   .sizes = {sizeof header, packet->length},
                   .priority = packet->priority});
}

static void on_fault(void *data, void *conn_data, Code code, const char *text) {
  const World *world = data;
  Peer *peer = conn_data;
  assert_int_equal(code, CODE_PAYLOAD_TOO_LARGE);
  assert_non_null(strstr(text, "max_payload"));
  peer->faults++;
  net_close(world->net, peer->id);
}

static void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  (void)data, (void)tag, (void)queued;
  ((Peer *)conn_data)->drops += dropped;
}

static void on_close(void *data, void *conn_data, Code code) {
  (void)data, (void)code;
  ((Peer *)conn_data)->closed++;
}

static bool on_turn(void *data, uint64_t now_ms) {
  (void)data, (void)now_ms;
  return false;
}

static const NetEvents EVENTS = {.enter = on_enter,
                                 .leave = on_leave,
                                 .open = on_open,
                                 .line = on_line,
                                 .packet = on_packet,
                                 .fault = on_fault,
                                 .drops = on_drops,
                                 .close = on_close,
                                 .turn = on_turn};

// --- The world ---

static void open_world(World *world, Framing framing) {
  NetLimits limits = {.max_payload = 4096, .channel_capacity = 64};
  *world = (World){0};
  world->net = net_new(&limits, &EVENTS, world);
  assert_int_equal(net_serve(world->net, THREADS), 0);
  assert_int_equal(net_listen(world->net, "127.0.0.1", &world->port, framing), 0);
}

static void close_world(World *world) {
  for (uint32_t i = 0; i < world->count; i++) close(world->sockets[i]);
  net_free(world->net);
  assert_int_equal(mem_live(), 0);
}

// Turns the loop once, and gives the others a moment.
static void turn(World *world) {
  uv_run(net_loop(world->net), UV_RUN_NOWAIT);
  poll(NULL, 0, 1);
}

static void turn_until_lines(World *world, const Peer *peer, uint32_t lines) {
  for (int i = 0; i < TRIES && peer->lines < lines; i++) turn(world);
  assert_int_equal(peer->lines, lines);
}

static int connect_to(uint16_t port) {
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  return fd;
}

static Peer *join(World *world) {
  uint32_t index = world->count;
  int fd = connect_to(world->port);
  for (int i = 0; i < TRIES && world->count == index; i++) turn(world);
  assert_int_equal(world->count, index + 1);
  world->sockets[index] = fd;
  return &world->peers[index];
}

static int socket_of(const World *world, const Peer *peer) {
  return world->sockets[peer - world->peers];
}

static void say(const World *world, const Peer *peer, const char *text) {
  ssize_t size = (ssize_t)strlen(text);
  assert_int_equal(send(socket_of(world, peer), text, (size_t)size, 0), size);
}

// The numbers from `first` on, a line each.
static void count_off(const World *world, const Peer *peer, uint32_t first,
                      uint32_t count) {
  char lines[8192];
  size_t size = 0;
  for (uint32_t i = first; i < first + count; i++)
    size += (size_t)snprintf(lines + size, sizeof lines - size, "%u\n", i);
  say(world, peer, lines);
}

static void write_line(World *world, const Peer *peer, const char *text) {
  net_write(world->net, peer->id,
            &(Out){.parts = {text}, .sizes = {(uint32_t)strlen(text)}});
}

static void expect(World *world, const Peer *peer, const char *wanted) {
  char got[4096] = {0};
  size_t size = 0;
  for (int i = 0; i < TRIES && size < strlen(wanted); i++) {
    turn(world);
    ssize_t n =
        recv(socket_of(world, peer), got + size, strlen(wanted) - size, MSG_DONTWAIT);
    if (n > 0) size += (size_t)n;
  }
  assert_string_equal(got, wanted);
}

static void expect_end(World *world, const Peer *peer) {
  char byte;
  ssize_t got = -1;
  for (int i = 0; i < TRIES && got < 0; i++) {
    turn(world);
    got = recv(socket_of(world, peer), &byte, 1, MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN) return;
  }
  assert_int_equal(got, 0);
}

static const Servicer *servicer_of(const World *world, const Peer *peer) {
  return conn_find(world->net, peer->id)->servicer;
}

// --- Tests ---

static void test_lines(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  assert_ptr_not_equal(servicer_of(&world, peers[0]), servicer_of(&world, peers[1]));
  for (int i = 0; i < 4; i++) count_off(&world, peers[i], 0, 500);
  for (int i = 0; i < 4; i++) turn_until_lines(&world, peers[i], 500);
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "a\n");
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "b\n");
  for (int i = 0; i < 4; i++) expect(&world, peers[i], "a\nb\n");
  NetSent sent = net_sent(world.net, peers[0]->id);
  assert_int_equal(sent.packets, 2);
  assert_int_equal(sent.bytes, 4);
  assert_int_equal(net_sent_in_all(world.net).packets, 8);
  close_world(&world);
}

static void test_packets(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_SNIFF);
  // Who says nothing is a visitor; the first byte makes this one known.
  int fd = connect_to(world.port);
  for (int i = 0; i < TRIES && world.visitors == 0; i++) turn(&world);
  assert_int_equal(world.visitors, 1);
  uint8_t bytes[PACKET_HEADER_SIZE + 3] = {0};
  packet_write_header(bytes, &(Packet){.channel = 2, .priority = 2, .length = 3});
  memcpy(bytes + PACKET_HEADER_SIZE, "abc", 3);
  assert_int_equal(send(fd, bytes, sizeof bytes, 0), sizeof bytes);
  world.sockets[0] = fd;
  uint8_t got[sizeof bytes];
  size_t size = 0;
  for (int i = 0; i < TRIES && size < sizeof got; i++) {
    turn(&world);
    ssize_t n = recv(fd, got + size, sizeof got - size, MSG_DONTWAIT);
    if (n > 0) size += (size_t)n;
  }
  assert_memory_equal(got, bytes, sizeof bytes);
  assert_int_equal(world.visitors, 0);
  close_world(&world);
}

static void test_hold(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->hold_at = 3;
  count_off(&world, peer, 0, 100);
  turn_until_lines(&world, peer, 3);
  count_off(&world, peer, 100, 100);
  for (int i = 0; i < 50; i++) turn(&world);
  assert_int_equal(peer->lines, 3);
  net_release(world.net, peer->id);
  turn_until_lines(&world, peer, 200);
  close_world(&world);
}

// The end that came while it was held comes last.
static void test_end_while_held(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->hold_at = 2;
  count_off(&world, peer, 0, 10);
  shutdown(socket_of(&world, peer), SHUT_WR);
  turn_until_lines(&world, peer, 2);
  for (int i = 0; i < 50; i++) turn(&world);
  assert_int_equal(peer->closed, 0);
  net_release(world.net, peer->id);
  turn_until_lines(&world, peer, 10);
  for (int i = 0; i < TRIES && peer->closed == 0; i++) turn(&world);
  assert_int_equal(peer->closed, 1);
  close_world(&world);
}

// What is answered in the turn that hears of the end is still written.
static void test_last_answer(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->answer_at = 3;
  count_off(&world, peer, 0, 3);
  shutdown(socket_of(&world, peer), SHUT_WR);
  expect(&world, peer, "answer\n");
  expect_end(&world, peer);
  for (int i = 0; i < TRIES && peer->closed == 0; i++) turn(&world);
  assert_int_equal(peer->closed, 1);
  close_world(&world);
}

// What is written as it ends is counted, too, once its thread has written it.
static void test_last_words_are_counted(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world), *other = join(&world);
  NetAccount account = {0}, closed = {0};
  net_set_account(world.net, peer->id, &account);
  net_set_account(world.net, other->id, &closed);
  write_line(&world, peer, "first\n");
  expect(&world, peer, "first\n");
  write_line(&world, peer, "last words\n");
  write_line(&world, other, "last words\n");
  net_close(world.net, peer->id);
  net_close(world.net, other->id);
  net_close_account(&closed);
  expect(&world, other, "last words\n");
  for (int i = 0; i < TRIES && account.sent.packets < 2; i++) turn(&world);
  assert_int_equal(account.sent.packets, 2);
  assert_int_equal(account.sent.bytes, strlen("first\nlast words\n"));
  assert_int_equal(closed.sent.packets, 0);
  net_close_account(&account);
  close_world(&world);
}

static void test_closed_is_silent(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  peer->close_at = 5;
  count_off(&world, peer, 0, 500);
  write_line(&world, peer, "bye\n");
  turn_until_lines(&world, peer, 5);
  expect(&world, peer, "bye\n");
  expect_end(&world, peer);
  for (int i = 0; i < 20; i++) turn(&world);
  assert_int_equal(peer->lines, 5);
  assert_int_equal(peer->closed, 0);
  close_world(&world);
}

static void test_fault(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world), *other = join(&world);
  net_set_max_payload(world.net, peer->id, 20);
  say(&world, peer, "short\n");
  turn_until_lines(&world, peer, 1);
  say(&world, peer, "this one is longer than what was allowed\nshort\n");
  expect_end(&world, peer);
  assert_int_equal(peer->faults, 1);
  assert_int_equal(peer->lines, 1);
  say(&world, other, "this one is longer than what was allowed\n");
  turn_until_lines(&world, other, 1);
  close_world(&world);
}

static void test_groups(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  GroupId group = net_group_open(world.net, 7);
  for (int i = 0; i < 4; i++) net_group_join(world.net, group, peers[i]->id);
  net_group_join(world.net, group, peers[0]->id);  // once
  Out one = {.parts = {"one\n"}, .sizes = {4}},
      two = {.parts = {"two\n"}, .sizes = {4}};
  const ConnId except[] = {peers[1]->id, peers[2]->id, peers[2]->id};
  net_group_write(world.net, group, &one, except, 3);
  write_line(&world, peers[1], "direct\n");
  net_group_write(world.net, group, &two, NULL, 0);
  expect(&world, peers[0], "one\ntwo\n");
  expect(&world, peers[1], "direct\ntwo\n");
  expect(&world, peers[2], "two\n");
  expect(&world, peers[3], "one\ntwo\n");
  // One servicer has none of it any more.
  net_group_leave(world.net, group, peers[0]->id);
  net_group_leave(world.net, group, peers[2]->id);
  net_group_write(world.net, group, &one, NULL, 0);
  net_group_leave(world.net, group, peers[3]->id);
  net_group_write(world.net, group, &two, &except[0], 1);
  net_group_write(world.net, group, &two, NULL, 0);
  net_group_close(world.net, group);
  for (int i = 0; i < 4; i++) write_line(&world, peers[i], "end\n");
  expect(&world, peers[0], "end\n");
  expect(&world, peers[1], "one\ntwo\nend\n");
  expect(&world, peers[2], "end\n");
  expect(&world, peers[3], "one\nend\n");
  close_world(&world);
}

// Who is gone has left its groups, and a group of the same place is another one.
static void test_group_after_end(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *gone = join(&world), *other = join(&world), *third = join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, gone->id);
  net_group_join(world.net, group, other->id);
  net_close(world.net, gone->id);
  net_group_write(world.net, group, &(Out){.parts = {"x\n"}, .sizes = {2}}, NULL, 0);
  expect_end(&world, gone);
  expect(&world, other, "x\n");
  net_group_close(world.net, group);
  for (int i = 0; i < 100; i++) {
    group = net_group_open(world.net, 1);
    net_group_join(world.net, group, third->id);
    net_group_close(world.net, group);
  }
  group = net_group_open(world.net, 1);
  net_group_join(world.net, group, third->id);
  net_group_write(world.net, group, &(Out){.parts = {"y\n"}, .sizes = {2}}, NULL, 0);
  expect(&world, third, "y\n");
  close_world(&world);
}

// While the main thread is busy one that floods is not read any more, and no line is lost.
static void test_flood(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world);
  static char lines[64 << 10];
  memset(lines, '\n', sizeof lines);
  int fd = socket_of(&world, peer);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  size_t sent = 0;
  for (int quiet = 0; quiet < 100 && sent < FLOOD_BYTES;) {
    ssize_t n = send(fd, lines, sizeof lines, 0);
    quiet = n > 0 ? 0 : quiet + 1;
    if (n > 0) sent += (size_t)n;
    if (n < 0) poll(NULL, 0, 1);
  }
  assert_true(sent < FLOOD_BYTES);
  for (int i = 0; i < TRIES && peer->lines < sent; i++) turn(&world);
  assert_int_equal(peer->lines, sent);
  close_world(&world);
}

// What waits for slow readers is limited for all threads together.
static void test_backlogs_share_a_total(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world);
  static char line[4001];
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 2] = '\n';
  world.net->totals->backlog_bytes += NET_BACKLOG_TOTAL;  // as if others had so much
  for (int i = 0; i < TRIES && peer->drops == 0; i++) {
    for (int k = 0; k < 16; k++) write_line(&world, peer, line);
    turn(&world);
  }
  assert_true(peer->drops > 0);
  // Else 64 of them may wait, which are more bytes.
  assert_in_range(net_queued(world.net, peer->id).bytes, 1, NET_BACKLOG_SHARE);
  world.net->totals->backlog_bytes -= NET_BACKLOG_TOTAL;
  close_world(&world);
}

static void test_stop(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peer = join(&world), *stalled = join(&world);
  int visitor = connect_to(world.port);
  write_line(&world, peer, "last words\n");
  static char much[1 << 20];
  memset(much, 'x', sizeof much);
  for (int i = 0; i < 16; i++)
    net_write(world.net, stalled->id,
              &(Out){.parts = {much}, .sizes = {sizeof much}, .flags = OUT_KEEP});
  net_stop(world.net);
  net_run(world.net);  // as long as the stalled one may take
  char got[16] = {0};
  assert_int_equal(recv(socket_of(&world, peer), got, sizeof got - 1, 0), 11);
  assert_string_equal(got, "last words\n");
  assert_int_equal(recv(socket_of(&world, peer), got, 1, 0), 0);
  close(visitor);
  close_world(&world);
}

// With everything open, and events and commands that nobody has looked at.
static void test_free_at_once(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  Peer *peers[4];
  for (int i = 0; i < 4; i++) peers[i] = join(&world);
  GroupId group = net_group_open(world.net, 1);
  for (int i = 0; i < 4; i++) net_group_join(world.net, group, peers[i]->id);
  net_hold(world.net, peers[0]->id);
  for (int i = 0; i < 4; i++) count_off(&world, peers[i], 0, 100);
  int late = connect_to(world.port);
  poll(NULL, 0, 20);
  uv_run(net_loop(world.net), UV_RUN_NOWAIT);
  close_world(&world);
  close(late);
}

// Servicers that wait for the main thread to take what has come are not told that it has
// when they are no more.
static void test_free_while_held_back(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  static char lines[512 << 10];
  memset(lines, '\n', sizeof lines);
  for (int i = 0; i < 4; i++) {
    const Peer *peer = join(&world);
    say(&world, peer, "0\n");
    turn_until_lines(&world, peer, 1);
    for (int j = 0; j < 20; j++) turn(&world);  // it is let go on
    send(socket_of(&world, peer), lines, sizeof lines, MSG_DONTWAIT);
  }
  poll(NULL, 0, 100);
  close_world(&world);
}

typedef struct Delay {
  Servicer *servicer;
  uv_sem_t begun;
} Delay;

static bool has_much(Mailbox *commands) {
  uv_mutex_lock(&commands->lock);
  bool is_much = commands->posted.size > COMMANDS_MAX;
  uv_mutex_unlock(&commands->lock);
  return is_much;
}

// Keeps a servicer from ending its turn until much waits for it, and a while longer.
static void delay(void *data) {
  Delay *delay = data;
  uv_mutex_lock(&delay->servicer->lock);
  uv_sem_post(&delay->begun);
  for (int i = 0; i < TRIES && !has_much(&delay->servicer->commands); i++)
    poll(NULL, 0, 1);
  poll(NULL, 0, 200);
  uv_mutex_unlock(&delay->servicer->lock);
}

// The main thread waits for one that does not keep up, however little it says in a turn.
static void test_commands_have_a_bound(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world);
  Delay late = {.servicer =
                    &world.net->servicers->items[servicer_of(&world, peer)->index]};
  uv_thread_t thread;
  uv_sem_init(&late.begun, 0);
  assert_int_equal(uv_thread_create(&thread, delay, &late), 0);
  uv_sem_wait(&late.begun);
  static char line[256 << 10];
  size_t most = 0;
  for (int i = 0; i < 200; i++) {
    net_write(world.net, peer->id, &(Out){.parts = {line}, .sizes = {sizeof line}});
    net_end_turn(world.net);
    size_t posted = mailbox_pending(&late.servicer->commands);
    if (posted > most) most = posted;
  }
  uv_thread_join(&thread);
  uv_sem_destroy(&late.begun);
  assert_in_range(most, COMMANDS_MAX, COMMANDS_MAX + 2 * sizeof line);
  close_world(&world);
}

static void test_no_threads(void **state) {
  (void)state;
  NetLimits limits = {.max_payload = 4096};
  World world = {0};
  world.net = net_new(&limits, &EVENTS, &world);
  struct rlimit before, few;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  int next = dup(0);
  close(next);
  few = (struct rlimit){(rlim_t)next + 8, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
  assert_int_equal(net_serve(world.net, 8), UV_EMFILE);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  close_world(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lines),
      cmocka_unit_test(test_packets),
      cmocka_unit_test(test_hold),
      cmocka_unit_test(test_end_while_held),
      cmocka_unit_test(test_last_answer),
      cmocka_unit_test(test_last_words_are_counted),
      cmocka_unit_test(test_closed_is_silent),
      cmocka_unit_test(test_fault),
      cmocka_unit_test(test_groups),
      cmocka_unit_test(test_group_after_end),
      cmocka_unit_test(test_flood),
      cmocka_unit_test(test_backlogs_share_a_total),
      cmocka_unit_test(test_stop),
      cmocka_unit_test(test_free_at_once),
      cmocka_unit_test(test_free_while_held_back),
      cmocka_unit_test(test_commands_have_a_bound),
      cmocka_unit_test(test_no_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
