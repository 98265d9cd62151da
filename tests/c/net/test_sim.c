// The simulated net: clients observe the same as on the real net. Features of the
// simulation alone: the clock, the order of input, windows, and the source of random
// numbers.
#include <errno.h>
#include <signal.h>

#include "stage.h"

// --- Equal on the simulated and the real net ---

static void connect_clients(Stage *stage, uint32_t count) {
  while (stage->client_count < count) {
    start_client(stage);
    settle(stage);
  }
}

static void lines_are_cut_wherever_they_arrive(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "echo o");
  settle(stage);
  client_say(stage, 0, "ne\r\necho two\nec");
  settle(stage);
  client_say(stage, 0, "ho three\n");
  settle(stage);
  client_read(stage, 0);
}

static void orderly_end_hears_the_last_answer(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "echo no end of line");
  client_shutdown(stage, 0);
  settle(stage);
  client_read(stage, 0);
}

static void reset_is_told(Stage *stage) {
  connect_clients(stage, 2);
  client_say(stage, 1, "echo unheard\n");
  settle(stage);
  client_reset(stage, 1);
  settle(stage);
  client_say(stage, 0, "echo still here\n");
  settle(stage);
  client_read(stage, 0);
}

static void server_closes_when_all_is_read(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "echo first\nbye last\necho not handled\n");
  settle(stage);
  client_say(stage, 0, "nor is this\n");
  settle(stage);
  client_read(stage, 0);
  client_shutdown(stage, 0);
  settle(stage);
}

static void refused_connection_reads_why(Stage *stage) {
  stage->is_refusing = true;
  connect_clients(stage, 1);
  client_read(stage, 0);
}

static void line_over_the_limit_is_a_fault(Stage *stage) {
  char bytes[5000];
  memset(bytes, 'x', sizeof bytes);
  connect_clients(stage, 1);
  client_send(stage, 0, bytes, sizeof bytes);
  settle(stage);
  client_read(stage, 0);
}

static void held_input_comes_later(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "hold\necho a\nhold\nhold\necho b\n");
  settle(stage);
  client_shutdown(stage, 0);
  settle(stage);
  client_read(stage, 0);
}

static void groups_leave_out_the_sender(Stage *stage) {
  connect_clients(stage, 3);
  client_say(stage, 0, "all zero\necho own\nall again\n");
  settle(stage);
  client_say(stage, 2, "all two\n");
  settle(stage);
  for (uint32_t i = 0; i < 3; i++) client_read(stage, i);
}

static void slow_reader_gets_everything_in_the_end(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "big 3000000\necho between\nbig 5000000\necho done\n");
  settle(stage);
  client_read(stage, 0);
}

static void slow_reader_that_is_closed_gets_the_rest(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "big 7000000\nbye done\n");
  settle(stage);
  client_read(stage, 0);
}

static void half_closed_reader_gets_the_rest(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "big 7000000\necho done\n");
  client_shutdown(stage, 0);
  settle(stage);
  client_read(stage, 0);
}

static void slow_reader_that_vanishes_is_a_reset(Stage *stage) {
  connect_clients(stage, 1);
  client_say(stage, 0, "big 7000000\n");
  settle(stage);
  client_reset(stage, 0);
  settle(stage);
}

static void flood_is_handled_whole(Stage *stage) {
  static char bytes[300000];
  memset(bytes, 'x', sizeof bytes);
  for (size_t i = 3999; i < sizeof bytes; i += 4000) bytes[i] = '\n';
  connect_clients(stage, 1);
  client_send(stage, 0, bytes, sizeof bytes);
  client_say(stage, 0, "echo done\n");
  settle(stage);
  client_read(stage, 0);
}

typedef void Scenario(Stage *stage);

static void play(Scenario *scenario, bool is_real, Framing framing, Buf *transcript) {
  Stage stage;
  NetLimits limits = DEFAULTS;
  stage_init(&stage, is_real, framing, limits);
  scenario(&stage);
  buf_append(transcript, stage.transcript.data, stage.transcript.size);
  buf_u8(transcript, 0);
  stage_deinit(&stage);
}

static void compare(Scenario *scenario, Framing framing) {
  Buf real = {0}, simulated = {0};
  play(scenario, true, framing, &real);
  play(scenario, false, framing, &simulated);
  assert_string_equal((char *)simulated.data, (char *)real.data);
  buf_deinit(&real);
  buf_deinit(&simulated);
  assert_int_equal(mem_live(), 0);
}

static void lines_are_the_same(void **state) {
  static Scenario *const SCENARIOS[] = {
      lines_are_cut_wherever_they_arrive,
      orderly_end_hears_the_last_answer,
      reset_is_told,
      server_closes_when_all_is_read,
      refused_connection_reads_why,
      line_over_the_limit_is_a_fault,
      held_input_comes_later,
      groups_leave_out_the_sender,
      slow_reader_gets_everything_in_the_end,
      slow_reader_that_is_closed_gets_the_rest,
      half_closed_reader_gets_the_rest,
      slow_reader_that_vanishes_is_a_reset,
      flood_is_handled_whole,
  };
  (void)state;
  for (size_t i = 0; i < sizeof SCENARIOS / sizeof *SCENARIOS; i++)
    compare(SCENARIOS[i], FRAMING_LINES);
}

static void client_packet(Stage *stage, uint32_t length, size_t sent) {
  uint8_t bytes[64] = {0};
  packet_write_header(
      bytes, &(Packet){.type = 7, .priority = PRIORITY_NORMAL, .length = length});
  client_send(stage, 0, bytes, sent);
}

static void packets_are_cut(Stage *stage) {
  connect_clients(stage, 1);
  client_packet(stage, 10, PACKET_HEADER_SIZE + 10);
  client_packet(stage, 0, PACKET_HEADER_SIZE);
  client_packet(stage, 20, PACKET_HEADER_SIZE + 5);
  settle(stage);
  client_shutdown(stage, 0);  // the stream ends in the middle of a packet
  settle(stage);
  client_read(stage, 0);
}

static void header_over_the_limit(Stage *stage) {
  connect_clients(stage, 1);
  client_packet(stage, UINT32_MAX, PACKET_HEADER_SIZE);
  settle(stage);
  client_read(stage, 0);
}

static void packets_are_the_same(void **state) {
  (void)state;
  compare(packets_are_cut, FRAMING_PACKETS);
  compare(header_over_the_limit, FRAMING_PACKETS);
}

// --- Features of the simulation alone ---

static void expect_transcript(Stage *stage, const char *expected) {
  buf_u8(&stage->transcript, 0);
  assert_string_equal((char *)stage->transcript.data, expected);
  stage->transcript.size = 0;
}

static void input_goes_by_arrival_or_as_ordered(void **state) {
  (void)state;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 3);
  stage.transcript.size = 0;
  client_say(&stage, 2, "x\n");
  client_say(&stage, 0, "y\n");
  client_say(&stage, 1, "z\n");
  client_say(&stage, 2, "u\n");
  settle(&stage);
  expect_transcript(&stage, "line of 2: x\nline of 2: u\nline of 0: y\nline of 1: z\n");
  client_say(&stage, 2, "x\n");
  client_say(&stage, 0, "y\n");
  client_say(&stage, 1, "z\n");
  SimId order[] = {stage.clients[1].sim, stage.clients[2].sim, stage.clients[1].sim};
  net_sim_order(stage.net, order, 3);
  settle(&stage);
  expect_transcript(&stage, "line of 1: z\nline of 2: x\nline of 0: y\n");
  stage_deinit(&stage);
}

// As with real sockets, the server handles one read of the flood before the input of
// others, and no more.
static void flood_does_not_make_others_wait(void **state) {
  (void)state;
  static char bytes[4 * READ_BUFFER_BYTES];
  memset(bytes, 'x', sizeof bytes);
  for (size_t i = 4095; i < sizeof bytes; i += 4096) bytes[i] = '\n';
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 2);
  stage.happened = 0;
  client_send(&stage, 0, bytes, sizeof bytes);
  client_say(&stage, 1, "echo first\n");
  settle(&stage);
  stage.transcript.size--;
  buf_u8(&stage.transcript, 0);
  const char *text = (char *)stage.transcript.data;
  const char *other = strstr(text, "line of 1");
  assert_non_null(other);
  int before = 0;
  for (const char *at = text; (at = strstr(at, "line of 0")) != NULL && at < other;
       at++)
    before++;
  assert_int_equal(before, READ_BUFFER_BYTES / 4096);
  assert_int_equal(stage.happened, sizeof bytes / 4096 + 1);
  stage_deinit(&stage);
}

// A connection exists until the server has read its bytes, even if a write has already
// found the reset.
static void closed_within_a_read_of_many_bytes(void **state) {
  (void)state;
  static char bytes[4 * READ_BUFFER_BYTES] = "bye last\n";
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 1);
  stage.transcript.size = 0;
  client_send(&stage, 0, bytes, sizeof bytes);
  client_reset(&stage, 0);
  settle(&stage);
  expect_transcript(&stage, "line of 0: bye last\n");
  stage_deinit(&stage);
  assert_int_equal(mem_live(), 0);
}

static void on_timer(void *data, uint64_t now_ms) { *(uint64_t *)data = now_ms; }

static void clock_is_the_callers(void **state) {
  (void)state;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  uint64_t fired_ms = 0, start_ms = net_now_ms(stage.net);
  Timer timer = {0};
  assert_int_equal(start_ms, SIM_START_MS);
  assert_int_equal(net_clock_us(stage.net), SIM_START_MS * 1000ull);
  timers_set(net_timers(stage.net), &timer, start_ms + 50, on_timer, &fired_ms);
  assert_int_equal(net_sim_due(stage.net), start_ms + 50);
  assert_true(net_sim_iterate(stage.net, start_ms + 49));
  assert_int_equal(fired_ms, 0);
  assert_true(net_sim_iterate(stage.net, start_ms + 50));
  assert_int_equal(fired_ms, start_ms + 50);
  assert_true(net_sim_due(stage.net) == UINT64_MAX);
  uint64_t unix_us = net_unix_us(stage.net);
  assert_true(net_sim_iterate(stage.net, start_ms + 3050));
  assert_int_equal(net_unix_us(stage.net) - unix_us, 3000000);
  net_sim_connect(stage.net, FRAMING_LINES, "10.0.0.1");
  assert_int_equal(net_sim_due(stage.net), start_ms + 3050);
  stage_deinit(&stage);
}

static void note_timer(void *data, uint64_t now_ms) {
  (void)now_ms;
  note(data, "timer");
}

// As in the real loop, a connection whose bytes have arrived is not late.
static void input_comes_before_timers_of_the_same_time(void **state) {
  (void)state;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 1);
  stage.transcript.size = 0;
  Timer timer = {0};
  uint64_t due_ms = net_now_ms(stage.net) + 10;
  timers_set(net_timers(stage.net), &timer, due_ms, note_timer, &stage);
  client_say(&stage, 0, "x\n");
  assert_true(net_sim_iterate(stage.net, due_ms));
  expect_transcript(&stage, "line of 0: x\ntimer\n");
  stage_deinit(&stage);
}

static void *refuse(void *data, ConnId conn, const ConnInfo *info) {
  (void)info;
  net_close(*(Net **)data, conn);
  return NULL;
}

// The net reads refused connections to the end, up to a limit of connections. The last
// client is beyond the limit, so the net has already closed its connection.
static void end_with_unread_input_is_a_reset(void **state) {
  (void)state;
  NetEvents events = {.open = refuse, .iteration = stage_iterate};
  NetLimits limits = DEFAULTS;
  Stage stage = {0};
  events.iteration_data = &stage;
  Net *net = net_new_simulated(&limits, &events, &net, 1);
  SimId clients[REFUSED_MAX + 1];
  for (int i = 0; i <= REFUSED_MAX; i++) {
    clients[i] = net_sim_connect(net, FRAMING_LINES, "10.0.0.1");
    net_sim_write(net, clients[i], "x\n", 2);
  }
  assert_true(net_sim_iterate(net, 0));
  assert_int_equal(net_sim_take(net, clients[0]), SIM_ENDED);
  assert_int_equal(net_sim_take(net, clients[REFUSED_MAX]), SIM_RESET);
  net_free(net);
}

typedef struct Again {
  Stage stage;
  Timer timer;
} Again;

static void on_again(void *data, uint64_t now_ms) {
  Again *again = data;
  timers_set(net_timers(again->stage.net), &again->timer, now_ms, on_again, again);
}

static void iteration_without_end_is_given_up(void **state) {
  (void)state;
  Again again = {0};
  stage_init(&again.stage, false, FRAMING_LINES, DEFAULTS);
  on_again(&again, net_now_ms(again.stage.net));
  assert_false(net_sim_iterate(again.stage.net, 0));
  timers_stop(net_timers(again.stage.net), &again.timer);
  stage_deinit(&again.stage);
}

static void window_bounds_what_is_on_its_way(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 2;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, limits);
  connect_clients(&stage, 1);
  net_sim_window(stage.net, stage.clients[0].sim, 5);
  // A part of one message has been sent; the transport has the next message, and two
  // more wait.
  for (int i = 0; i < 6; i++) {
    client_say(&stage, 0, "echo 123\n");
    settle(&stage);
  }
  size_t size;
  net_sim_peek(stage.net, stage.clients[0].sim, &size);
  assert_int_equal(size, 5);
  net_sim_window(stage.net, stage.clients[0].sim, 7);
  settle(&stage);
  net_sim_peek(stage.net, stage.clients[0].sim, &size);
  assert_int_equal(size, 7);
  stage.transcript.size = 0;
  client_read(&stage, 0);
  buf_u8(&stage.transcript, 0);
  // The rest comes in pieces, without the dropped messages.
  assert_non_null(strstr((char *)stage.transcript.data, "0 read 16 bytes"));
  stage_deinit(&stage);
}

static void closing_connection_lingers_for_a_reader(void **state) {
  (void)state;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 1);
  client_say(&stage, 0, "big 1000000\nbye x\n");
  settle(&stage);
  uint64_t now_ms = net_now_ms(stage.net);
  assert_int_equal(net_sim_due(stage.net), now_ms + NET_LINGER_MS);
  assert_true(net_sim_iterate(stage.net, now_ms + NET_LINGER_MS));
  stage.transcript.size = 0;
  client_read(&stage, 0);
  buf_u8(&stage.transcript, 0);
  assert_non_null(strstr((char *)stage.transcript.data, "0 read 262144 bytes"));
  assert_non_null(strstr((char *)stage.transcript.data, " end"));
  stage_deinit(&stage);
}

static void flushes_go_by_the_simulated_clock(void **state) {
  (void)state;
  NetLimits limits = DEFAULTS;
  limits.batch_hz = 10;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, limits);
  connect_clients(&stage, 1);
  uint64_t now_ms = net_now_ms(stage.net);
  size_t size;
  client_say(&stage, 0, "echo 1\n");
  assert_true(net_sim_iterate(stage.net, now_ms + 1000));
  net_sim_peek(stage.net, stage.clients[0].sim, &size);
  assert_int_equal(size, 2);
  client_say(&stage, 0, "echo 2\n");
  assert_true(net_sim_iterate(stage.net, now_ms + 1001));
  net_sim_peek(stage.net, stage.clients[0].sim, &size);
  assert_int_equal(size, 2);
  assert_int_equal(net_sim_due(stage.net), now_ms + 1100);
  assert_true(net_sim_iterate(stage.net, now_ms + 1100));
  net_sim_peek(stage.net, stage.clients[0].sim, &size);
  assert_int_equal(size, 4);
  stage_deinit(&stage);
}

static uint64_t random_of(uint64_t seed) {
  NetEvents events = {.iteration = stage_iterate};
  NetLimits limits = DEFAULTS;
  Net *net = net_new_simulated(&limits, &events, NULL, seed);
  uint8_t bytes[20];
  uint64_t word;
  net_random(net, bytes, sizeof bytes);
  net_random(net, &word, sizeof word);
  net_free(net);
  for (size_t i = 0; i < sizeof bytes; i++) word = word * 31 + bytes[i];
  return word;
}

static void randomness_is_the_seeds(void **state) {
  (void)state;
  assert_int_equal(random_of(1), random_of(1));
  assert_true(random_of(1) != random_of(2));
  assert_true(random_of(0) != random_of(UINT64_MAX));
}

static void stopped_net_takes_nobody_in(void **state) {
  (void)state;
  Stage stage;
  stage_init(&stage, false, FRAMING_LINES, DEFAULTS);
  connect_clients(&stage, 1);
  start_client(&stage);
  net_stop(stage.net);
  start_client(&stage);
  settle(&stage);
  stage.transcript.size = 0;
  for (uint32_t i = 0; i < 3; i++) client_read(&stage, i);
  expect_transcript(&stage,
                    "0 read 0 bytes (, 0) end\n1 read 0 bytes (, 0) reset\n"
                    "2 read 0 bytes (, 0) reset\n");
  stage_deinit(&stage);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lines_are_the_same),
      cmocka_unit_test(packets_are_the_same),
      cmocka_unit_test(input_goes_by_arrival_or_as_ordered),
      cmocka_unit_test(flood_does_not_make_others_wait),
      cmocka_unit_test(closed_within_a_read_of_many_bytes),
      cmocka_unit_test(clock_is_the_callers),
      cmocka_unit_test(input_comes_before_timers_of_the_same_time),
      cmocka_unit_test(end_with_unread_input_is_a_reset),
      cmocka_unit_test(iteration_without_end_is_given_up),
      cmocka_unit_test(window_bounds_what_is_on_its_way),
      cmocka_unit_test(closing_connection_lingers_for_a_reader),
      cmocka_unit_test(flushes_go_by_the_simulated_clock),
      cmocka_unit_test(randomness_is_the_seeds),
      cmocka_unit_test(stopped_net_takes_nobody_in),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
