// Waiting packets: their order, their limits, and replacement by key.
#include "wire/udp/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static UdpQueue queue_of(uint32_t count, uint32_t size) {
  return (UdpQueue){.max_count = count, .max_size = size};
}

static uint32_t push(UdpQueue *queue, const char *text, uint32_t key) {
  return udp_queue_push(queue, text, (uint16_t)strlen(text), key);
}

static void expect(UdpQueue *queue, const char *text, uint32_t key) {
  UdpQueueEntry entry;
  assert_true(udp_queue_peek(queue, &entry));
  assert_int_equal(entry.size, strlen(text));
  assert_memory_equal(entry.packet, text, entry.size);
  assert_int_equal(entry.key, key);
  udp_queue_pop(queue);
}

static void expect_empty(UdpQueue *queue) {
  UdpQueueEntry entry;
  assert_false(udp_queue_peek(queue, &entry));
  assert_int_equal(queue->count, 0);
  assert_int_equal(queue->size, 0);
  assert_int_equal(queue->keyed, 0);
  udp_queue_deinit(queue);
  assert_int_equal(mem_live(), 0);
}

static void packets_keep_their_order(void **state) {
  (void)state;
  UdpQueue queue = queue_of(10, 1000);
  for (int round = 0; round < 1000; round++) {
    assert_int_equal(push(&queue, "one", 0), 0);
    assert_int_equal(push(&queue, "two, longer", 0), 0);
    assert_int_equal(push(&queue, "three", 0), 0);
    expect(&queue, "one", 0);
    expect(&queue, "two, longer", 0);
    if (round % 7 == 0) expect(&queue, "three", 0);
    if (queue.count > 6)
      while (queue.count > 0) udp_queue_pop(&queue);
    else if (queue.count > 0)
      udp_queue_pop(&queue);
  }
  assert_true(queue.capacity <= 1024);
  expect_empty(&queue);
}

static void a_full_queue_drops_the_newest(void **state) {
  (void)state;
  UdpQueue queue = queue_of(2, 1000);
  assert_int_equal(push(&queue, "a", 0), 0);
  assert_int_equal(push(&queue, "b", 0), 0);
  assert_int_equal(push(&queue, "c", 0), 1);
  expect(&queue, "a", 0);
  expect(&queue, "b", 0);
  expect_empty(&queue);
}

static void or_the_oldest(void **state) {
  (void)state;
  UdpQueue queue = queue_of(10, 5);
  queue.drops_oldest = true;
  assert_int_equal(push(&queue, "aa", 0), 0);
  assert_int_equal(push(&queue, "bb", 0), 0);
  assert_int_equal(push(&queue, "cccc", 0), 2);
  assert_int_equal(push(&queue, "d", 0), 0);
  expect(&queue, "cccc", 0);
  expect(&queue, "d", 0);
  expect_empty(&queue);
}

static void a_key_replaces_what_waits(void **state) {
  (void)state;
  UdpQueue queue = queue_of(3, 1000);
  push(&queue, "a1", 7);
  push(&queue, "b1", 8);
  push(&queue, "-", 0);
  assert_int_equal(push(&queue, "a2", 7), 0);      // takes the place of the old packet
  assert_int_equal(push(&queue, "longer", 8), 0);  // goes to the end
  assert_int_equal(push(&queue, "longer2", 8), 0);
  assert_int_equal(queue.count, 3);
  assert_int_equal(queue.keyed, 2);
  expect(&queue, "a2", 7);
  expect(&queue, "-", 0);
  expect(&queue, "longer2", 8);
  expect_empty(&queue);
}

static void what_is_replaced_takes_no_memory_for_long(void **state) {
  (void)state;
  UdpQueue queue = queue_of(100, 10000);
  push(&queue, "first", 0);
  for (int i = 0; i < 10000; i++) push(&queue, i % 2 ? "even" : "uneven", 9);
  assert_int_equal(queue.count, 2);
  assert_true(queue.capacity <= 2048);
  expect(&queue, "first", 0);
  expect(&queue, "even", 9);
  expect_empty(&queue);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packets_keep_their_order),
      cmocka_unit_test(a_full_queue_drops_the_newest),
      cmocka_unit_test(or_the_oldest),
      cmocka_unit_test(a_key_replaces_what_waits),
      cmocka_unit_test(what_is_replaced_takes_no_memory_for_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
