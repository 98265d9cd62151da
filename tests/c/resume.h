// A client's part in resuming a session, for the tests of session and relay.
#pragma once

#include "expect.h"

/// The contents of a WELCOME.
typedef struct Ticket {
  uint8_t token[UUID_SIZE];
  uint8_t session[UUID_SIZE];
  uint32_t peer;
  bool is_resumed;
  uint8_t resumed;  // WelcomeResumed
  uint32_t received;
} Ticket;

static inline Ticket read_welcome(Net *net, ConnId conn) {
  const Sent *sent = expect_control(net, conn, CONTROL_WELCOME);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  Ticket ticket;
  assert_int_equal(reader_u16(&reader), PROTOCOL_VERSION);
  ticket.peer = reader_u32(&reader);
  memcpy(ticket.session, reader_bytes(&reader, UUID_SIZE), UUID_SIZE);
  memcpy(ticket.token, reader_bytes(&reader, UUID_SIZE), UUID_SIZE);
  reader_bytes(&reader, 8 + 4 + 4 + 2);
  ticket.resumed = reader_u8(&reader);
  ticket.is_resumed = ticket.resumed != WELCOME_NEW;
  ticket.received = reader_u32(&reader);
  reader_bytes(&reader, 2 + 32);
  assert_true(reader_is_done(&reader));
  return ticket;
}

/// Sends a HELLO with the token and without a name.
static inline void say_resume(Net *net, ConnId conn, const Ticket *ticket,
                              uint32_t received) {
  Buf hello = {0};
  buf_u16(&hello, PROTOCOL_VERSION);
  buf_u64(&hello, 0);
  buf_str8(&hello, "", 0);
  buf_str16(&hello, "", 0);
  buf_append(&hello, ticket->token, UUID_SIZE);
  buf_u32(&hello, received);
  say(net, conn, control(CONTROL_HELLO), &hello);
}

static inline void say_ack(Net *net, ConnId conn, uint32_t count) {
  Buf payload = with_u32(count);
  say(net, conn, control(CONTROL_ACK), &payload);
}

static inline void expect_ack(Net *net, ConnId conn, uint32_t count) {
  const Sent *sent = expect_control(net, conn, CONTROL_ACK);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), count);
  assert_true(reader_is_done(&reader));
}
