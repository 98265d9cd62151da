// Connections that other threads serve: limits of the memory that waits for the main
// thread, for a thread, or for slow readers.
#include <fcntl.h>

#include "net/threads_world.h"

enum { FLOOD_BYTES = 32 << 20 };

// While the main thread is busy, the thread stops reading from a connection that
// floods; no line is lost.
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

// The output that waits for slow readers is limited for all threads together.
static void test_backlogs_share_a_total(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world);
  static char line[4001];
  memset(line, 'x', sizeof line - 1);
  line[sizeof line - 2] = '\n';
  // Pretends that the backlogs of other connections have this number of bytes.
  world.net->totals->backlog_bytes += NET_BACKLOG_TOTAL;
  for (int i = 0; i < TRIES && peer->drops == 0; i++) {
    for (int k = 0; k < 16; k++) write_line(&world, peer, line);
    turn(&world);
  }
  assert_true(peer->drops > 0);
  // Otherwise 64 packets may wait, which have more bytes.
  assert_in_range(net_queued(world.net, peer->id).bytes, 1, NET_BACKLOG_SHARE);
  world.net->totals->backlog_bytes -= NET_BACKLOG_TOTAL;
  close_world(&world);
}

typedef struct Delay {
  IoThread *thread;
  uv_sem_t begun;
} Delay;

static bool has_much(Mailbox *calls) {
  uv_mutex_lock(&calls->lock);
  bool is_much = calls->posted.size > CALLS_MAX;
  uv_mutex_unlock(&calls->lock);
  return is_much;
}

// Blocks a thread until much waits for it, and a while longer.
static void delay(void *data) {
  Delay *delay = data;
  uv_mutex_lock(&delay->thread->lock);
  uv_sem_post(&delay->begun);
  for (int i = 0; i < TRIES && !has_much(&delay->thread->calls); i++) poll(NULL, 0, 1);
  poll(NULL, 0, 200);
  uv_mutex_unlock(&delay->thread->lock);
}

// The main thread waits for a thread that is too slow, even if each iteration posts
// little.
static void test_commands_have_a_bound(void **state) {
  (void)state;
  World world;
  open_world(&world, FRAMING_LINES);
  const Peer *peer = join(&world);
  Delay late = {.thread = thread_of(&world, peer)};
  uv_thread_t thread;
  uv_sem_init(&late.begun, 0);
  assert_int_equal(uv_thread_create(&thread, delay, &late), 0);
  uv_sem_wait(&late.begun);
  static char line[256 << 10];
  size_t most = 0;
  for (int i = 0; i < 200; i++) {
    net_write(world.net, peer->id, &(Out){.parts = {line}, .sizes = {sizeof line}});
    net_end_iteration(world.net, net_clock_us(world.net));
    size_t posted = mailbox_pending(&late.thread->calls);
    if (posted > most) most = posted;
  }
  uv_thread_join(&thread);
  uv_sem_destroy(&late.begun);
  assert_in_range(most, CALLS_MAX, CALLS_MAX + 2 * sizeof line);
  close_world(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_flood),
      cmocka_unit_test(test_backlogs_share_a_total),
      cmocka_unit_test(test_commands_have_a_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
