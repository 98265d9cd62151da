// The detection of losses: when a datagram counts as lost, and when the link probes.
#include "wire/udp/loss.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/udp/link.h"

static const uint64_t MS = 1000;

enum { RTT_MS = 100 };

// Returns datagram `number`. Number 0 is sent at 1 s, and one datagram each 10 ms.
static UdpSent sent_at(uint64_t number) {
  return (UdpSent){.sent_us = (1000 + 10 * number) * MS, .size = 100};
}

// Acknowledges `number` a round trip after it was sent; returns that time.
static uint64_t ack(UdpLoss *loss, uint64_t number) {
  const UdpSent sent = sent_at(number);
  const uint64_t now_us = sent.sent_us + RTT_MS * MS;
  assert_int_equal(udp_loss_on_ack(loss, &sent, number, now_us), RTT_MS * MS);
  udp_loss_on_acks(loss, true, now_us);
  return now_us;
}

static bool is_lost(UdpLoss *loss, uint64_t number, uint64_t now_us) {
  const UdpSent sent = sent_at(number);
  loss->due_us = UDP_NEVER;
  return udp_loss_is_lost(loss, &sent, number, RTT_MS * MS, now_us);
}

static void three_later_ones_show_a_loss(void **state) {
  (void)state;
  UdpLoss loss;
  udp_loss_init(&loss);
  for (uint64_t number = 0; number < 4; number++) ack(&loss, number);
  uint64_t now_us = ack(&loss, 5);
  assert_false(is_lost(&loss, 4, now_us));
  now_us = ack(&loss, 6);
  assert_false(is_lost(&loss, 4, now_us));
  now_us = ack(&loss, 7);
  assert_true(is_lost(&loss, 4, now_us));
  assert_false(is_lost(&loss, 8, now_us));  // no later datagram has been acknowledged
}

static void where_they_overtake_time_shows_it(void **state) {
  (void)state;
  UdpLoss loss;
  udp_loss_init(&loss);
  loss.is_reordering = true;
  for (uint64_t number = 0; number < 4; number++) ack(&loss, number);
  uint64_t now_us = ack(&loss, 5);
  assert_false(is_lost(&loss, 4, now_us));
  // The deadline is a round trip, and at least a quarter of it for reordering.
  const uint64_t due_us = sent_at(4).sent_us + 125 * MS;
  assert_int_equal(loss.due_us, due_us);
  assert_false(is_lost(&loss, 4, due_us - 1));
  assert_true(is_lost(&loss, 4, due_us));
}

static void what_was_not_lost_widens_the_window(void **state) {
  (void)state;
  UdpLoss loss;
  udp_loss_init(&loss);
  loss.is_reordering = true;
  uint64_t now_us = ack(&loss, 10);
  udp_loss_on_spurious(&loss, 20);
  udp_loss_on_spurious(&loss, 20);  // a second time in the same round trip
  assert_false(is_lost(&loss, 4, now_us - 31 * MS + 20 * MS));
  assert_int_equal(loss.due_us, sent_at(4).sent_us + 150 * MS);
  ack(&loss, 20);
  for (int i = 0; i < 10; i++) {
    udp_loss_on_spurious(&loss, 20 + 2 * (uint64_t)i);
    ack(&loss, 21 + 2 * (uint64_t)i);
  }
  assert_false(is_lost(&loss, 4, sent_at(4).sent_us));
  assert_int_equal(loss.due_us, sent_at(4).sent_us + 200 * MS);  // the widest window
  uint64_t next = 100;
  for (int round = 0; round < 16 * 20; round++, next += 2) {
    ack(&loss, next);
    udp_loss_on_loss(&loss, next + 1);
  }
  assert_false(is_lost(&loss, 4, sent_at(4).sent_us));
  // The window is narrow again.
  assert_int_equal(loss.due_us, sent_at(4).sent_us + 125 * MS);
}

static void probes_come_less_and_less_often(void **state) {
  (void)state;
  UdpLoss loss;
  udp_loss_init(&loss);
  udp_loss_on_send(&loss, true, 1000 * MS);
  assert_int_equal(udp_loss_probe_us(&loss), (1000 + 225) * MS);
  ack(&loss, 0);
  udp_loss_on_send(&loss, true, 2000 * MS);
  // The round trip, four times its deviation, and the delay of an acknowledgement.
  assert_int_equal(udp_loss_probe_us(&loss), (2000 + 100 + 200 + 25) * MS);
  loss.probes = 1;
  assert_int_equal(udp_loss_probe_us(&loss), (2000 + 650) * MS);
  loss.probes = 2;
  assert_int_equal(udp_loss_probe_us(&loss), 3000 * MS);
  loss.probes = 200;
  assert_int_equal(udp_loss_probe_us(&loss), 3000 * MS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(three_later_ones_show_a_loss),
      cmocka_unit_test(where_they_overtake_time_shows_it),
      cmocka_unit_test(what_was_not_lost_widens_the_window),
      cmocka_unit_test(probes_come_less_and_less_often),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
