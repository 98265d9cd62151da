// TLS clients that break the rules: garbage, wrong or missing bytes, and attempts to
// make work for the server.
#include "tls_world.h"

static void garbage_is_refused(void **state) {
  TlsWorld *world = *state;
  static const char *const WORDS[] = {"\x16", "\x16\x03\x01\x02",
                                      "\x16GET / HTTP/1.1\r\n",
                                      "\x16\x03\x01\xff\xff this is no hello",
                                      "\x16\x16\x16\x16\x16\x16\x16\x16\x16\x16"};
  for (size_t i = 0; i < sizeof WORDS / sizeof *WORDS; i++) {
    SimId sim = net_sim_connect(world->net, FRAMING_SNIFF, "10.0.0.1");
    net_sim_write(world->net, sim, WORDS[i], strlen(WORDS[i]));
    turn(world);
    net_sim_shutdown(world->net, sim);
    turn(world);
    assert_int_not_equal(net_sim_take(world->net, sim), SIM_OPEN);
    assert_int_equal(world->visitors, 0);
  }
  assert_int_equal(world->opened, 0);
}

// Performs a handshake, requests two echoes and closes. Returns the number of bytes that
// the client has sent.
static size_t tell_a_story(TlsWorld *world, size_t cut_at, size_t flip_at) {
  TlsClient client;
  client_init(&client, world);
  client.cut_at = cut_at;
  client.flip_at = flip_at;
  converse(&client);
  for (int i = 0; i < 2 && client.error == 0; i++) {
    if (!SSL_is_init_finished(client.ssl)) break;
    client_write(&client, TYPE_ECHO, 1, 40);
    converse(&client);
  }
  if (client.error == 0 && SSL_is_init_finished(client.ssl)) SSL_shutdown(client.ssl);
  converse(&client);
  pass(world, 5001);
  pass(world, NET_LINGER_MS + 1);
  size_t sent = client.sent;
  client_deinit(&client);
  return sent;
}

static void cut_or_changed_anywhere(TlsWorld *world, int version) {
  set_version(world, version);
  size_t size = tell_a_story(world, 0, 0);
  assert_int_equal(world->packets, 2);
  assert_int_equal(world->last_close, CODE_CLOSED);
  for (size_t at = 1; at <= size; at++) {
    world->opened = world->closed = world->packets = world->faults = 0;
    tell_a_story(world, at, 0);
    assert_int_equal(world->visitors, 0);
    assert_int_equal(world->opened, world->closed + world->faults);
    // The end is orderly only if all bytes have arrived.
    if (world->closed > 0) assert_int_equal(world->last_close, CODE_RESET);
    world->opened = world->closed = world->packets = world->faults = 0;
    tell_a_story(world, 0, at);
    assert_int_equal(world->visitors, 0);
    assert_true(world->packets < 2 || world->last_close == CODE_RESET ||
                at <= SSL3_RT_HEADER_LENGTH);
  }
}

static void a_byte_that_is_wrong_or_missing_does_no_harm(void **state) {
  cut_or_changed_anywhere(*state, TLS1_2_VERSION);
  teardown(state);
  setup_dev(state);
  cut_or_changed_anywhere(*state, TLS1_3_VERSION);
}

static void broken_record_is_a_reset(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  client_write(&client, TYPE_ECHO, 1, 1000);
  char *bytes;
  long size = BIO_get_mem_data(client.out, &bytes);
  bytes[size / 2] ^= 1;
  converse(&client);
  assert_int_equal(world->packets, 1);
  assert_int_equal(world->last_close, CODE_RESET);
  assert_true(is_logged(world, "TLS failed address=10.0.0.1"));
  assert_int_equal(client.error, SSL_ERROR_SSL);  // the client got the alert
  client_deinit(&client);
}

static void tls_in_tls_is_no_packet(void **state) {
  TlsWorld *world = *state;
  TlsClient client;
  client_connect(&client, world);
  static const char HELLO[] = "\x16\x03\x01\x01\xff\x01\x02\x03\x04\x05\x06\x07\x08";
  SSL_write(client.ssl, HELLO, sizeof HELLO);
  converse(&client);
  assert_int_equal(world->faults, 1);
  assert_int_equal(net_tls_stats(world->net).handshakes, 1);
  client_deinit(&client);
}

static void renegotiation_is_refused(void **state) {
  TlsWorld *world = *state;
  set_version(world, TLS1_2_VERSION);
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  SSL_renegotiate(client.ssl);
  SSL_do_handshake(client.ssl);
  converse(&client);
  assert_int_equal(client.error, SSL_ERROR_SSL);  // the client reports an error
  assert_int_equal(net_tls_stats(world->net).handshakes, 1);
  client_deinit(&client);
}

// Each packet asks for an answer, and the client reads no answer.
static void key_updates_do_not_pile_up(void **state) {
  TlsWorld *world = *state;
  set_version(world, TLS1_3_VERSION);
  TlsClient client;
  client_connect(&client, world);
  client_check(&client);
  net_sim_window(world->net, client.sim, 0);
  for (int i = 0; i < 20; i++) {
    SSL_key_update(client.ssl, SSL_KEY_UPDATE_REQUESTED);
    client_write(&client, TYPE_ECHO, 1, 10);
    client_send(&client);
  }
  assert_int_equal(world->packets, 21);
  net_sim_window(world->net, client.sim, SIM_WINDOW_BYTES);
  converse(&client);
  assert_int_equal(client_count(&client), 21);
  client_deinit(&client);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_dev, teardown)
  const struct CMUnitTest tests[] = {
      TEST(garbage_is_refused),
      TEST(a_byte_that_is_wrong_or_missing_does_no_harm),
      TEST(broken_record_is_a_reset),
      TEST(tls_in_tls_is_no_packet),
      TEST(renegotiation_is_refused),
      TEST(key_updates_do_not_pile_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
