// The table of UDP connections, by address and by channel.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/sim.h"
#include "net/udp/udp_internal.h"

enum { MANY = 5000 };

static UdpEntry make(uint32_t number) {
  UdpEntry peer = {.path = {.ip = {[10] = 0xff, [11] = 0xff}}};
  memcpy(peer.path.ip + 12, &number, sizeof number);
  peer.path.port = (uint16_t)(number * 7);
  memcpy(peer.channel, &number, sizeof peer.channel);
  return peer;
}

static void each_of_many_is_found_both_ways(void **state) {
  (void)state;
  static const NetEvents EVENTS = {0};
  Net *net = net_new_simulated(&(NetLimits){0}, &EVENTS, NULL, 1);
  UdpTable table;
  table_init(&table, net);
  UdpEntry *peers = mem_alloc(MANY * sizeof *peers);
  for (uint32_t i = 0; i < MANY; i++) {
    peers[i] = make(i);
    table_add(&table, &peers[i]);
  }
  for (uint32_t i = 0; i < MANY; i++) {
    assert_ptr_equal(table_first(&table, &peers[i].path), &peers[i]);
    assert_null(table_next(&peers[i]));
    assert_ptr_equal(table_first_of(&table, peers[i].channel), &peers[i]);
    assert_null(table_next_of(&peers[i]));
  }
  for (uint32_t i = 0; i < MANY; i += 2) table_remove(&table, &peers[i]);
  for (uint32_t i = 0; i < MANY; i++) {
    UdpEntry *expected = i % 2 ? &peers[i] : NULL;
    assert_ptr_equal(table_first(&table, &peers[i].path), expected);
    assert_ptr_equal(table_first_of(&table, peers[i].channel), expected);
  }
  assert_int_equal(table.count, MANY / 2);
  table_deinit(&table);
  mem_free(peers);
  net_free(net);
  assert_int_equal(mem_live(), 0);
}

static void those_of_one_place_follow_each_other(void **state) {
  (void)state;
  static const NetEvents EVENTS = {0};
  Net *net = net_new_simulated(&(NetLimits){0}, &EVENTS, NULL, 1);
  UdpTable table;
  table_init(&table, net);
  UdpEntry one = make(1), two = make(1), other = make(2);
  two.channel[0] = 9;
  table_add(&table, &one);
  table_add(&table, &other);
  table_add(&table, &two);
  UdpEntry *first = table_first(&table, &one.path);
  assert_true(first == &one || first == &two);
  assert_ptr_equal(table_next(first), first == &one ? &two : &one);
  assert_null(table_next(table_next(first)));
  assert_ptr_equal(table_first_of(&table, two.channel), &two);
  table_remove(&table, &one);
  assert_ptr_equal(table_first(&table, &one.path), &two);
  assert_null(table_first_of(&table, one.channel));
  table_deinit(&table);
  net_free(net);
  assert_int_equal(mem_live(), 0);
}

static void an_address_is_the_same_in_both_families(void **state) {
  (void)state;
  SocketAddress v4 = {.v4 = {.sin_family = AF_INET,
                             .sin_port = htons(7777),
                             .sin_addr.s_addr = htonl(0x7f000005)}};
  SocketAddress v6 = {.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(7777)}};
  uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 5};
  memcpy(&v6.v6.sin6_addr, mapped, sizeof mapped);
  UdpOrigin a, b;
  origin_of(&v4, &a);
  origin_of(&v6, &b);
  assert_true(origin_is_same(&a, &b));
  char text[ADDRESS_SIZE];
  address_text(&v4, text);
  assert_string_equal(text, "127.0.0.5");
  address_text(&v6, text);
  assert_string_equal(text, "127.0.0.5");
  v6.v6.sin6_addr.s6_addr[0] = 0x20;
  address_text(&v6, text);
  assert_string_equal(text, "2000::ffff:7f00:5");
  b.port++;
  assert_false(origin_is_same(&a, &b));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_of_many_is_found_both_ways),
      cmocka_unit_test(those_of_one_place_follow_each_other),
      cmocka_unit_test(an_address_is_the_same_in_both_families),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
