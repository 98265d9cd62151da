// Numbers of datagrams: they are extended from 16 bits, each is accepted once, and
// acknowledgements report them.
#include "wire/udp/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_number_is_the_nearest(void **state) {
  (void)state;
  assert_int_equal(udp_number(5, 5), 5);
  assert_int_equal(udp_number(5, 4), 4);
  assert_int_equal(udp_number(0x1fffe, 0xffff), 0x1ffff);
  assert_int_equal(udp_number(0x1fffe, 0), 0x20000);
  assert_int_equal(udp_number(0x20000, 0xffff), 0x1ffff);
  assert_int_equal(udp_number(0x20000, 0x8000), 0x18000);
  assert_int_equal(udp_number(0x20000, 0x7fff), 0x27fff);
  assert_true(udp_number(5, 0xfff0) > INT64_MAX);
}

static void each_number_is_taken_once(void **state) {
  (void)state;
  UdpWindow window;
  udp_window_init(&window, 65000);
  for (uint64_t number = 65000; number < 70000; number++) {
    uint64_t mixed = number ^ 7;  // slightly out of order
    assert_true(udp_window_is_fresh(&window, mixed));
    udp_window_take(&window, mixed);
    assert_false(udp_window_is_fresh(&window, mixed));
  }
  for (uint64_t number = 65000; number < 70000; number++)
    assert_false(udp_window_is_fresh(&window, number));
  assert_int_equal(window.next, 70000);
}

static void what_is_1024_behind_is_too_old(void **state) {
  (void)state;
  UdpWindow window;
  udp_window_init(&window, 0);
  udp_window_take(&window, 5000);
  assert_true(udp_window_is_fresh(&window, 5000 - 1023));
  assert_false(udp_window_is_fresh(&window, 5000 - 1024));
  assert_false(udp_window_is_fresh(&window, 0));
  assert_false(udp_window_is_fresh(&window, UINT64_MAX));
  assert_true(udp_window_is_fresh(&window, 5001));
}

// Compares the window with a plain list of the received numbers.
static void bits_tell_of_what_came(void **state) {
  (void)state;
  static bool came[20000];
  memset(came, 0, sizeof came);
  UdpWindow window;
  udp_window_init(&window, 100);
  uint64_t newest = 99, seed = 1;
  for (int i = 0; i < 8000; i++) {
    seed = seed * UINT64_C(6364136223846793005) + 1;
    uint64_t number = newest + 3 - (seed >> 33) % 100;
    if (i % 1000 == 999) number = newest + 200;
    if (number < 100 || !udp_window_is_fresh(&window, number)) continue;
    assert_false(came[number]);
    udp_window_take(&window, number);
    came[number] = true;
    if (number > newest || newest == 99) newest = number;
    assert_int_equal(window.next, newest + 1);
    for (uint64_t of = number; of <= newest; of += newest - number + 1) {
      uint64_t bits = udp_window_bits(&window, of);
      for (uint64_t n = 0; n < 64; n++) {
        bool is_told = bits >> n & 1;
        bool has_come = of >= n + 1 && came[of - n - 1];
        if (is_told != has_come) assert_true(newest - (of - n - 1) >= UDP_WINDOW_SIZE);
      }
    }
    uint64_t bits = udp_window_bits(&window, newest);
    for (uint64_t n = 0; n < 64; n++)
      assert_int_equal(bits >> n & 1, newest >= n + 1 && came[newest - n - 1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_number_is_the_nearest),
      cmocka_unit_test(each_number_is_taken_once),
      cmocka_unit_test(what_is_1024_behind_is_too_old),
      cmocka_unit_test(bits_tell_of_what_came),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
