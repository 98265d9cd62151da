// TLS connections from the hello to close_notify, in memory: versions, pieces of every
// size, cut streams, and violations by the other side.
#include "tls_world.h"

// --- Handshakes ---

static void serves_version(TlsWorld *world, int version) {
  set_version(world, version);
  TlsClient client;
  client_connect(&client, world);
  assert_int_equal(SSL_version(client.ssl), version);
  assert_int_equal(world->opened, 0);
  assert_int_equal(world->visitors, 1);
  client_check(&client);
  assert_int_equal(world->visitors, 0);
  assert_int_equal(world->opened, 1);
  assert_true(world->info.is_tls);
  assert_int_equal(world->info.transport, TRANSPORT_TCP);
  assert_string_equal(world->info.address, "10.0.0.1");
  assert_int_equal(net_tls_stats(world->net).handshakes, 1);
  client_deinit(&client);
}

static void tls_1_2_and_1_3_are_served(void **state) {
  serves_version(*state, TLS1_2_VERSION);
  teardown(state);
  setup_dev(state);
  serves_version(*state, TLS1_3_VERSION);
}

static void refuses_version(TlsWorld *world, int version) {
  set_version(world, version);
  TlsClient client;
  client_init(&client, world);
  converse(&client);
  assert_int_equal(client.error, SSL_ERROR_SSL);
  assert_int_not_equal(client.ending, SIM_OPEN);
  assert_int_equal(world->opened, 0);
  assert_true(is_logged(world,
                        "TLS handshake failed address=10.0.0.1 "
                        "error=\"unsupported protocol\""));
  client_deinit(&client);
}

static void older_versions_are_refused(void **state) {
  TlsWorld *world = *state;
  refuses_version(world, TLS1_VERSION);
  refuses_version(world, TLS1_1_VERSION);
  assert_int_equal(net_tls_stats(world->net).failed, 2);
}

static void ciphers_without_forward_secrecy_are_refused(void **state) {
  TlsWorld *world = *state;
  set_version(world, TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(world->client_context, "AES128-SHA:AES256-GCM-SHA384");
  TlsClient client;
  client_init(&client, world);
  converse(&client);
  assert_int_equal(client.error, SSL_ERROR_SSL);
  assert_true(is_logged(world, "no shared cipher"));
  client_deinit(&client);
}

static void offer(TlsClient *client, const char *protocols) {
  assert_int_equal(SSL_set_alpn_protos(client->ssl, (const unsigned char *)protocols,
                                       (unsigned)strlen(protocols)),
                   0);
}

static void alpn_is_http_1_1(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_init(&client, world);
  offer(&client, "\x02h2\x08http/1.1");
  converse(&client);
  const unsigned char *chosen;
  unsigned size;
  SSL_get0_alpn_selected(client.ssl, &chosen, &size);
  assert_int_equal(size, 8);
  assert_memory_equal(chosen, "http/1.1", 8);
  client_deinit(&client);
  client_init(&client, world);
  offer(&client, "\x02h2");
  converse(&client);
  assert_int_equal(client.error, SSL_ERROR_SSL);
  client_deinit(&client);
}

static void server_names_do_not_matter(void **state) {
  TlsClient client;
  client_init(&client, *state);
  SSL_set_tlsext_host_name(client.ssl, "somewhere.example");
  converse(&client);
  client_check(&client);
  client_deinit(&client);
}

static void without_a_certificate_a_hello_is_refused(void **state) {
  TlsWorld *world = *state;
  net_tls_off(world->net);
  TlsClient client;
  client_init(&client, world);
  converse(&client);
  assert_int_not_equal(client.ending, SIM_OPEN);
  assert_int_equal(net_tls_stats(world->net).refused, 1);
  assert_true(is_logged(world, "there is no certificate address=10.0.0.1"));
  assert_int_equal(world->visitors, 0);
  client_deinit(&client);
}

static void plain_clients_are_served_beside(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  SimId plain = net_sim_connect(world->net, FRAMING_SNIFF, "10.0.0.1");
  Buf bytes = {0};
  packet_append(&bytes, &(Packet){.channel = CHANNEL_TEST, .type = TYPE_ECHO});
  net_sim_write(world->net, plain, bytes.data, bytes.size);
  turn(world);
  size_t size;
  net_sim_peek(world->net, plain, &size);
  assert_int_equal(size, PACKET_HEADER_SIZE);
  assert_false(world->info.is_tls);
  buf_deinit(&bytes);
  client_deinit(&client);
}

static void handshake_that_stalls_is_ended(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_init(&client, world);
  client_read_plain(&client);  // makes the client create its hello
  char *hello;
  size_t size = (size_t)BIO_get_mem_data(client.out, &hello);
  net_sim_write(world->net, client.sim, hello, size / 2);
  turn(world);
  pass(world, 4999);
  assert_int_equal(net_sim_take(world->net, client.sim), SIM_OPEN);
  pass(world, 2);
  assert_int_not_equal(net_sim_take(world->net, client.sim), SIM_OPEN);
  assert_int_equal(world->opened, 0);
  assert_int_equal(net_tls_stats(world->net).failed, 1);
  client_deinit(&client);
}

static void silence_after_the_handshake_is_ended_too(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  pass(world, 5001);
  // The server then reports the fault to the client.
  assert_int_equal(world->opened, 1);
  client_deinit(&client);
}

// --- Pieces ---

static void bytes_may_come_one_by_one(TlsWorld *world, int version) {
  set_version(world, version);
  TlsClient client;
  client_init(&client, world);
  client.step = 1;
  net_sim_window(world->net, client.sim, 1);
  converse(&client);
  assert_true(SSL_is_init_finished(client.ssl));
  client_check(&client);
  client_write(&client, TYPE_CLOSE, 1, 300);
  converse(&client);
  assert_int_equal(client_count(&client), 2);
  assert_int_equal(client.error, SSL_ERROR_ZERO_RETURN);
  client_deinit(&client);
}

static void one_byte_at_a_time_both_ways(void **state) {
  bytes_may_come_one_by_one(*state, TLS1_2_VERSION);
  bytes_may_come_one_by_one(*state, TLS1_3_VERSION);
}

static void much_comes_through_small_windows(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  net_sim_window(world->net, client.sim, 3000);
  for (uint8_t i = 0; i < 8; i++) client_write(&client, TYPE_ECHO, i, 1 << 20);
  converse(&client);
  assert_int_equal(world->packets, 8);
  assert_int_equal(client_count(&client), 8);
  assert_int_equal(net_queued(world->net, world->conn).packets, 0);
  client_deinit(&client);
}

static void group_write(TlsWorld *world, uint32_t size) {
  uint8_t *payload = mem_zalloc(size);
  for (uint32_t i = 0; i < size; i++) payload[i] = (uint8_t)i;
  Buf bytes = {0};
  packet_append(&bytes, &(Packet){.channel = CHANNEL_TEST,
                                  .type = TYPE_ECHO,
                                  .length = size,
                                  .payload = payload});
  Out out = {.parts = {bytes.data},
             .sizes = {(uint32_t)bytes.size},
             .priority = PRIORITY_NORMAL};
  net_group_write(world->net, world->group, &out, NULL, 0);
  buf_deinit(&bytes);
  mem_free(payload);
}

static size_t unread_size(const TlsClient *client) {
  size_t size;
  net_sim_peek(client->world->net, client->sim, &size);
  return size;
}

// A flush of many small messages makes few records, of at most 16 KB and 22 bytes.
static void messages_of_a_flush_share_records(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  for (int i = 0; i < 500; i++) group_write(world, 52);
  turn(world);
  assert_in_range(unread_size(&client), 500 * 64, 500 * 64 + 2 * 22);
  converse(&client);
  assert_int_equal(client_count(&client), 501);
  client_deinit(&client);
}

// If a client does not read, its messages wait unencrypted, so that they can still be
// dropped. Only a message whose sending has begun is encrypted.
static void backlog_is_counted_in_messages(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  net_sim_window(world->net, client.sim, 1000);
  for (int i = 0; i < 300; i++) {
    group_write(world, 2000);
    turn(world);
  }
  assert_int_equal(net_queued(world->net, world->conn).packets, 64);
  assert_in_range(world->drops, 300 - 64 - 2 * WRITE_CHUNK_BYTES / 2000, 300 - 64);
  uint32_t dropped = world->drops;
  converse(&client);
  assert_int_equal(client_count(&client), 1 + 300 - dropped);
  assert_int_equal(net_queued(world->net, world->conn).packets, 0);
  client_check(&client);
  client_deinit(&client);
}

// --- Ends ---

static void close_notify_is_an_orderly_end(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_write(&client, TYPE_ECHO, 5, 50000);
  SSL_shutdown(client.ssl);
  converse(&client);
  assert_int_equal(client_count(&client), 1);  // the answer still comes
  assert_int_equal(client.error, SSL_ERROR_ZERO_RETURN);
  assert_int_equal(client.ending, SIM_ENDED);
  assert_int_equal(world->closed, 1);
  assert_int_equal(world->last_close, CODE_CLOSED);
  client_deinit(&client);
}

static void goodbye_may_come_with_the_handshake(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_init(&client, world);
  client_read_plain(&client);
  client_send(&client);
  client_receive(&client);
  client_read_plain(&client);
  client_write(&client, TYPE_ECHO, 1, 10);
  SSL_shutdown(client.ssl);
  converse(&client);
  assert_int_equal(net_tls_stats(world->net).handshakes, 1);
  assert_int_equal(world->packets, 1);
  assert_int_equal(client_count(&client), 1);
  assert_int_equal(world->last_close, CODE_CLOSED);
  client_deinit(&client);
  client_init(&client, world);
  client_read_plain(&client);
  client_send(&client);
  client_receive(&client);
  client_read_plain(&client);
  SSL_shutdown(client.ssl);
  converse(&client);
  assert_int_equal(net_tls_stats(world->net).handshakes, 2);
  assert_int_equal(client.ending, SIM_ENDED);
  client_deinit(&client);
}

static void end_without_close_notify_is_a_reset(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  net_sim_shutdown(world->net, client.sim);
  turn(world);
  assert_int_equal(world->closed, 1);
  assert_int_equal(world->last_close, CODE_RESET);
  client_deinit(&client);
}

static void end_in_a_record_is_a_reset(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  client_write(&client, TYPE_ECHO, 1, 1000);
  char *bytes;
  long size = BIO_get_mem_data(client.out, &bytes);
  net_sim_write(world->net, client.sim, bytes, (size_t)size - 1);
  net_sim_shutdown(world->net, client.sim);
  turn(world);
  assert_int_equal(world->packets, 1);
  assert_int_equal(world->last_close, CODE_RESET);
  client_deinit(&client);
}

static void server_says_close_notify(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  net_sim_window(world->net, client.sim, 2000);
  client_write(&client, TYPE_CLOSE, 9, 200000);
  converse(&client);
  assert_int_equal(client_count(&client), 1);
  assert_int_equal(client.error, SSL_ERROR_ZERO_RETURN);
  assert_int_equal(client.ending, SIM_ENDED);
  client_deinit(&client);
}

// The server sends its last message and closes the connection. Then the client ends its
// side, with close_notify or without it. The last message still arrives.
static void last_words_survive_the_end_of_the_other_side(void **state) {
  TlsWorld *world = *state;
  for (int is_announced = 0; is_announced < 2; is_announced++) {
    TlsClient client;
    client_connect(&client, world);
    client_check(&client);
    net_sim_window(world->net, client.sim, 1000);
    group_write(world, 5000);
    turn(world);
    net_close(world->net, world->conn);
    if (is_announced) SSL_shutdown(client.ssl);
    client_send(&client);
    if (!is_announced) net_sim_shutdown(world->net, client.sim);
    turn(world);
    converse(&client);
    assert_int_equal(client_count(&client), 2);
    assert_int_equal(client.error, SSL_ERROR_ZERO_RETURN);
    assert_int_equal(client.ending, SIM_ENDED);
    client_deinit(&client);
  }
}

static void end_waits_for_held_input(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_write(&client, TYPE_HOLD, 1, 10);
  client_write(&client, TYPE_HOLD, 2, 10);
  client_write(&client, TYPE_ECHO, 3, 10);
  SSL_shutdown(client.ssl);
  converse(&client);
  assert_int_equal(world->packets, 3);
  assert_int_equal(client_count(&client), 3);
  assert_int_equal(world->last_close, CODE_CLOSED);
  client_deinit(&client);
}

static void stop_in_a_handshake_leaves_nothing(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_init(&client, world);
  client_read_plain(&client);
  client_send(&client);
  net_stop(world->net);
  pass(world, NET_LINGER_MS + 1);
  assert_int_not_equal(net_sim_take(world->net, client.sim), SIM_OPEN);
  client_deinit(&client);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_dev, teardown)
  const struct CMUnitTest tests[] = {
      TEST(tls_1_2_and_1_3_are_served),
      TEST(older_versions_are_refused),
      TEST(ciphers_without_forward_secrecy_are_refused),
      TEST(alpn_is_http_1_1),
      TEST(server_names_do_not_matter),
      TEST(without_a_certificate_a_hello_is_refused),
      TEST(plain_clients_are_served_beside),
      TEST(handshake_that_stalls_is_ended),
      TEST(silence_after_the_handshake_is_ended_too),
      TEST(one_byte_at_a_time_both_ways),
      TEST(much_comes_through_small_windows),
      TEST(messages_of_a_flush_share_records),
      TEST(backlog_is_counted_in_messages),
      TEST(close_notify_is_an_orderly_end),
      TEST(goodbye_may_come_with_the_handshake),
      TEST(end_without_close_notify_is_a_reset),
      TEST(end_in_a_record_is_a_reset),
      TEST(server_says_close_notify),
      TEST(last_words_survive_the_end_of_the_other_side),
      TEST(end_waits_for_held_input),
      TEST(stop_in_a_handshake_leaves_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
