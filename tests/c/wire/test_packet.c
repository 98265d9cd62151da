// The packet header: its bytes and its rules.
#include "wire/packet.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "leaks.h"

enum { MAX_PAYLOAD = 1000 };

static const uint8_t example[] = {2, 0, 0x34, 0x12, 1,   3,   0x78, 0x56, 5,
                                  0, 0, 0,    'h',  'e', 'l', 'l',  'o'};

// Reads the example's header with one byte changed.
static int64_t read_changed(size_t at, uint8_t byte) {
  uint8_t bytes[sizeof example];
  memcpy(bytes, example, sizeof bytes);
  bytes[at] = byte;
  Packet packet;
  return packet_read(bytes, sizeof bytes, MAX_PAYLOAD, &packet);
}

static void a_packet_is_read_field_by_field(void **state) {
  (void)state;
  Packet packet;
  assert_int_equal(packet_read(example, sizeof example, MAX_PAYLOAD, &packet), 17);
  assert_int_equal(packet.channel, CHANNEL_MESSAGE);
  assert_int_equal(packet.type, 0x1234);
  assert_int_equal(packet.priority, PRIORITY_HIGH);
  assert_int_equal(packet.flags, PACKET_RELIABLE | PACKET_REQUEST);
  assert_int_equal(packet.ref, 0x5678);
  assert_int_equal(packet.length, 5);
  assert_ptr_equal(packet.payload, example + PACKET_HEADER_SIZE);
}

static void a_packet_may_be_split_at_every_byte(void **state) {
  (void)state;
  for (size_t size = 0; size < sizeof example; size++) {
    uint8_t *bytes = mem_alloc(size);  // has exactly this size, for ASan
    memcpy(bytes, example, size);
    Packet packet = {.type = 77};
    assert_int_equal(packet_read(bytes, size, MAX_PAYLOAD, &packet), 0);
    assert_int_equal(packet.type, 77);  // the packet is unchanged
    mem_free(bytes);
  }
}

static void packets_come_back_to_back(void **state) {
  (void)state;
  uint8_t bytes[2 * sizeof example + 3];
  memcpy(bytes, example, sizeof example);
  memcpy(bytes + sizeof example, example, sizeof example);
  memcpy(bytes + 2 * sizeof example, example, 3);
  Packet packet;
  size_t at = 0;
  for (int i = 0; i < 2; i++) {
    int64_t taken = packet_read(bytes + at, sizeof bytes - at, MAX_PAYLOAD, &packet);
    assert_int_equal(taken, sizeof example);
    at += (size_t)taken;
  }
  assert_int_equal(packet_read(bytes + at, sizeof bytes - at, MAX_PAYLOAD, &packet), 0);
}

static void a_packet_may_have_no_payload(void **state) {
  (void)state;
  const uint8_t bytes[PACKET_HEADER_SIZE] = {0, 0, 11};
  Packet packet;
  assert_int_equal(packet_read(bytes, sizeof bytes, 0, &packet), PACKET_HEADER_SIZE);
  assert_int_equal(packet.length, 0);
}

static void priorities_are_0_to_3(void **state) {
  (void)state;
  for (int priority = 0; priority <= 255; priority++)
    assert_int_equal(read_changed(4, (uint8_t)priority),
                     priority < 4 ? 17 : ERR_MALFORMED);
}

static void flags_are_known_and_not_request_and_response_together(void **state) {
  (void)state;
  for (int flags = 0; flags <= 255; flags++) {
    bool is_good = flags < 8 && (flags & 6) != 6;
    assert_int_equal(read_changed(5, (uint8_t)flags), is_good ? 17 : ERR_MALFORMED);
  }
}

static void a_broken_header_is_judged_before_its_payload_comes(void **state) {
  (void)state;
  uint8_t bytes[PACKET_HEADER_SIZE];
  memcpy(bytes, example, sizeof bytes);
  bytes[4] = 4;
  Packet packet;
  assert_int_equal(packet_read(bytes, 11, MAX_PAYLOAD, &packet), 0);
  assert_int_equal(packet_read(bytes, 12, MAX_PAYLOAD, &packet), ERR_MALFORMED);
}

static void a_length_over_the_limit_is_judged_before_its_payload_comes(void **state) {
  (void)state;
  uint8_t bytes[PACKET_HEADER_SIZE];
  memcpy(bytes, example, sizeof bytes);
  Packet packet;
  bytes[8] = MAX_PAYLOAD & 0xff;
  bytes[9] = MAX_PAYLOAD >> 8;
  assert_int_equal(packet_read(bytes, 12, MAX_PAYLOAD, &packet), 0);
  bytes[8]++;
  assert_int_equal(packet_read(bytes, 11, MAX_PAYLOAD, &packet), 0);
  assert_int_equal(packet_read(bytes, 12, MAX_PAYLOAD, &packet), ERR_TOO_LARGE);
  memset(bytes + 8, 0xff, 4);
  assert_int_equal(packet_read(bytes, 12, MAX_PAYLOAD, &packet), ERR_TOO_LARGE);
}

static void a_header_that_is_broken_twice_is_malformed(void **state) {
  (void)state;
  uint8_t bytes[PACKET_HEADER_SIZE];
  memset(bytes, 0xff, sizeof bytes);
  Packet packet;
  assert_int_equal(packet_read(bytes, sizeof bytes, MAX_PAYLOAD, &packet),
                   ERR_MALFORMED);
}

static void the_greatest_length_does_not_overflow(void **state) {
  (void)state;
  uint8_t bytes[PACKET_HEADER_SIZE + 4] = {0};
  memset(bytes + 8, 0xff, 4);
  Packet packet;
  assert_int_equal(packet_read(bytes, sizeof bytes, UINT32_MAX, &packet), 0);
}

static void a_written_header_is_the_one_that_was_read(void **state) {
  (void)state;
  Packet packet;
  packet_read(example, sizeof example, MAX_PAYLOAD, &packet);
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, &packet);
  assert_memory_equal(header, example, sizeof header);
}

static void appending_writes_header_and_payload(void **state) {
  (void)state;
  Packet packet;
  packet_read(example, sizeof example, MAX_PAYLOAD, &packet);
  Buf buf = {0};
  buf_u8(&buf, 'x');
  packet_append(&buf, &packet);
  packet_append(&buf, &(Packet){.type = CHANNEL_CONTROL});
  assert_int_equal(buf.size, 1 + sizeof example + PACKET_HEADER_SIZE);
  assert_memory_equal(buf.data + 1, example, sizeof example);
  buf_deinit(&buf);
}

static void an_answer_carries_the_ref_of_its_request(void **state) {
  (void)state;
  Packet request = {.flags = PACKET_REQUEST | PACKET_RELIABLE, .ref = 7};
  Packet answer = {.flags = PACKET_RELIABLE};
  packet_answer(&answer, &request);
  assert_int_equal(answer.flags, PACKET_RELIABLE | PACKET_RESPONSE);
  assert_int_equal(answer.ref, 7);
}

static void what_answers_no_request_carries_nothing(void **state) {
  (void)state;
  Packet plain = {.ref = 7}, answer = {0};
  packet_answer(&answer, NULL);
  packet_answer(&answer, &plain);
  assert_int_equal(answer.flags, 0);
  assert_int_equal(answer.ref, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_packet_is_read_field_by_field),
      TEST(a_packet_may_be_split_at_every_byte),
      TEST(packets_come_back_to_back),
      TEST(a_packet_may_have_no_payload),
      TEST(priorities_are_0_to_3),
      TEST(flags_are_known_and_not_request_and_response_together),
      TEST(a_broken_header_is_judged_before_its_payload_comes),
      TEST(a_length_over_the_limit_is_judged_before_its_payload_comes),
      TEST(a_header_that_is_broken_twice_is_malformed),
      TEST(the_greatest_length_does_not_overflow),
      TEST(a_written_header_is_the_one_that_was_read),
      TEST(appending_writes_header_and_payload),
      TEST(an_answer_carries_the_ref_of_its_request),
      TEST(what_answers_no_request_carries_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
