// Helpers of the session and relay tests for a fake net: they send and expect packets
// of the control channel, messages and lines.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "fake_net.h"
#include "wire/control.h"

// --- Sending as a client ---

/// Sends a packet and empties `payload`.
static inline void say(Net *net, ConnId conn, Packet packet, Buf *payload) {
  packet.payload = payload->data;
  packet.length = (uint32_t)payload->size;
  fake_packet(net, conn, &packet);
  buf_deinit(payload);
}

static inline Packet control(ControlType type) {
  return (Packet){.type = (uint16_t)type, .priority = PRIORITY_NORMAL};
}

/// Returns the same packet as a REQUEST.
static inline Packet asking(Packet packet, uint16_t ref) {
  packet.flags |= PACKET_REQUEST;
  packet.ref = ref;
  return packet;
}

static inline Buf empty(void) { return (Buf){0}; }

static inline Buf with_str8(const char *text) {
  Buf buf = {0};
  buf_str8(&buf, text, strlen(text));
  return buf;
}

static inline Buf with_u32(uint32_t value) {
  Buf buf = {0};
  buf_u32(&buf, value);
  return buf;
}

static inline Buf with_u64(uint64_t value) {
  Buf buf = {0};
  buf_u64(&buf, value);
  return buf;
}

/// Returns a payload of a u32 and text, as in BROADCAST and messages.
static inline Buf with_data(uint32_t room, const char *data) {
  Buf buf = with_u32(room);
  buf_append(&buf, data, strlen(data));
  return buf;
}

static inline Buf hello_of(const char *name, const char *token) {
  static const uint8_t zeros[UUID_SIZE];
  Buf buf = {0};
  buf_u16(&buf, PROTOCOL_VERSION);
  buf_u64(&buf, 0);
  buf_str8(&buf, name, strlen(name));
  buf_str16(&buf, token, strlen(token));
  buf_append(&buf, zeros, sizeof zeros);
  buf_u32(&buf, 0);
  return buf;
}

static inline void say_hello(Net *net, ConnId conn, const char *name) {
  Buf hello = hello_of(name, "");
  say(net, conn, control(CONTROL_HELLO), &hello);
}

// --- Received packets ---

static inline void expect_nothing(Net *net, ConnId conn) {
  const Sent *sent = fake_next(net, conn);
  if (!sent) return;
  if (sent->packet.payload || sent->packet.type)
    fail_msg("unexpected packet: channel %u type %u", sent->packet.channel,
             sent->packet.type);
  fail_msg("unexpected line: %.*s", (int)sent->line.size, sent->line.bytes);
}

/// Removes all waiting packets without looking at them.
static inline void skip_all(Net *net, ConnId conn) {
  while (fake_next(net, conn)) continue;
}

static inline const Sent *expect_packet(Net *net, ConnId conn, uint16_t channel,
                                        uint16_t type) {
  const Sent *sent = fake_next(net, conn);
  assert_non_null(sent);
  assert_int_equal(sent->packet.channel, channel);
  assert_int_equal(sent->packet.type, type);
  return sent;
}

static inline const Sent *expect_control(Net *net, ConnId conn, ControlType type) {
  return expect_packet(net, conn, CHANNEL_CONTROL, (uint16_t)type);
}

/// Expects ERROR, REJECTED or CLOSING with that code. REJECTED and CLOSING come after
/// everything that was sent before; an ERROR has its place among normal packets.
static inline const Sent *expect_code(Net *net, ConnId conn, ControlType type,
                                      Code code) {
  const Sent *sent = expect_control(net, conn, type);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u16(&reader), code);
  reader_str16(&reader);
  if (code == CODE_UNAVAILABLE && type != CONTROL_ERROR) reader_u16(&reader);
  assert_true(reader_is_done(&reader));
  assert_int_equal(sent->packet.priority, PRIORITY_CRITICAL);
  assert_int_equal(sent->priority,
                   type == CONTROL_ERROR ? PRIORITY_NORMAL : PRIORITY_LOW);
  assert_true(sent->flags & OUT_KEEP);
  return sent;
}

/// Expects REJECTED or CLOSING with the code Unavailable and that many seconds to wait.
static inline void expect_retry(Net *net, ConnId conn, ControlType type,
                                uint16_t seconds) {
  const Sent *sent = expect_code(net, conn, type, CODE_UNAVAILABLE);
  Reader reader = reader_of(sent->packet.payload + sent->packet.length - 2, 2);
  assert_int_equal(reader_u16(&reader), seconds);
}

/// Checks that the packet answers the REQUEST with that ref.
static inline void expect_answer(const Sent *sent, uint16_t ref) {
  assert_int_equal(sent->packet.flags & PACKET_RESPONSE, PACKET_RESPONSE);
  assert_int_equal(sent->packet.ref, ref);
}

static inline void expect_no_answer(const Sent *sent) {
  assert_int_equal(sent->packet.flags & (PACKET_RESPONSE | PACKET_REQUEST), 0);
  assert_int_equal(sent->packet.ref, 0);
}

static inline const Sent *expect_line(Net *net, ConnId conn, const char *text) {
  const Sent *sent = fake_next(net, conn);
  assert_non_null(sent);
  char line[1024];
  snprintf(line, sizeof line, "%.*s", (int)sent->line.size, sent->line.bytes);
  assert_string_equal(line, text);
  return sent;
}

/// Checks that the payload is `ids` (each a u32), and then `text`.
static inline const Sent *expect_data(const Sent *sent, const uint32_t *ids, int count,
                                      const char *text) {
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  for (int i = 0; i < count; i++) assert_int_equal(reader_u32(&reader), ids[i]);
  assert_int_equal(reader_left(&reader), strlen(text));
  assert_memory_equal(reader.at, text, strlen(text));
  return sent;
}
