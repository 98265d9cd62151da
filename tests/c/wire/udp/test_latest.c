// LATEST packets: later packets with the same key make earlier ones outdated.
#include "wire/udp/latest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void later_ones_pass_over_earlier_ones(void **state) {
  (void)state;
  UdpLatest latest = {0};
  assert_true(udp_latest_take(&latest, 5, 1));
  assert_true(udp_latest_take(&latest, 5, 3));
  assert_false(udp_latest_take(&latest, 5, 2));
  assert_false(udp_latest_take(&latest, 5, 3));
  assert_true(udp_latest_take(&latest, 6, 2));  // another key
  assert_true(udp_latest_take(&latest, 0, 4));  // any number is a key
  assert_false(udp_latest_take(&latest, 0, 1));
  udp_latest_deinit(&latest);
  assert_int_equal(mem_live(), 0);
}

static void orders_wrap_round(void **state) {
  (void)state;
  UdpLatest latest = {0};
  assert_true(udp_latest_take(&latest, 1, 0));
  assert_true(udp_latest_take(&latest, 9, 1));
  for (uint32_t order = 2; order < 300000; order++) {
    assert_true(udp_latest_take(&latest, 1, (uint16_t)order));
    assert_false(udp_latest_take(&latest, 1, (uint16_t)(order - 1)));
  }
  assert_true(udp_latest_take(&latest, 9, (uint16_t)300000));  // after a long silence
  udp_latest_deinit(&latest);
}

static void it_may_begin_anywhere(void **state) {
  (void)state;
  for (uint32_t first = 0; first < 65536; first += 4369) {
    UdpLatest latest = {0};
    for (uint32_t i = 0; i < 70000; i += 100) {
      assert_true(udp_latest_take(&latest, 1, (uint16_t)(first + i)));
      assert_false(udp_latest_take(&latest, 1, (uint16_t)(first + i)));
    }
    udp_latest_deinit(&latest);
  }
  UdpLatest latest = {0};
  const uint16_t orders[] = {65535, 0, 65535, 1, 0};
  const bool taken[] = {true, true, false, true, false};
  for (int i = 0; i < 5; i++)
    assert_int_equal(udp_latest_take(&latest, 1, orders[i]), taken[i]);
  udp_latest_deinit(&latest);
}

static void of_many_keys_the_oldest_are_forgotten(void **state) {
  (void)state;
  UdpLatest latest = {0};
  uint16_t order = 0;
  for (uint32_t key = 0; key < 100000; key++)
    assert_true(udp_latest_take(&latest, key, ++order));
  assert_true(latest.capacity <= UDP_LATEST_KEYS);
  int known = 0;
  for (uint32_t key = 100000 - 100; key < 100000; key++)
    known += !udp_latest_take(&latest, key, (uint16_t)(order - 101));
  assert_true(known >= 99);
  udp_latest_deinit(&latest);
  assert_int_equal(mem_live(), 0);
}

static void hundreds_of_keys_are_kept(void **state) {
  (void)state;
  UdpLatest latest = {0};
  uint16_t order = 0;
  for (int round = 0; round < 3; round++)
    for (uint32_t key = 1; key <= 400; key++)
      assert_true(udp_latest_take(&latest, key * 2654435761u, ++order));
  for (uint32_t key = 1; key <= 400; key++)
    assert_false(udp_latest_take(&latest, key * 2654435761u, (uint16_t)(order - 500)));
  udp_latest_deinit(&latest);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(later_ones_pass_over_earlier_ones),
      cmocka_unit_test(orders_wrap_round),
      cmocka_unit_test(it_may_begin_anywhere),
      cmocka_unit_test(of_many_keys_the_oldest_are_forgotten),
      cmocka_unit_test(hundreds_of_keys_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
