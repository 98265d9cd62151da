// A simulated Net with TLS, and TLS clients in memory with OpenSSL. The server answers
// each packet of channel 100 with its payload. Type 2 throttles until the next
// iteration, type 3 closes.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/sim.h"
#include "net/tls.h"

enum { CHANNEL_TEST = 100, TYPE_ECHO = 1, TYPE_HOLD = 2, TYPE_CLOSE = 3 };

typedef struct TlsWorld {
  Net *net;
  GroupId group;
  ConnId conn, held;  // connection that was opened last; connection that is throttled
  uint32_t opened, closed, faults, packets, visitors;
  uint32_t drops;
  ConnInfo info;
  Code last_close;
  Buf log;
  LogState log_before;
  SSL_CTX *client_context;
  char folder[64];
} TlsWorld;

typedef struct TlsClient {
  TlsWorld *world;
  SimId sim;
  SSL *ssl;
  BIO *in, *out;
  Buf heard;         // decrypted input
  size_t step;       // bytes that travel at a time; 0: all
  size_t sent;       // number of sent bytes
  size_t flip_at;    // number of the byte that arrives changed; 0: none
  size_t cut_at;     // number of the first byte that does not arrive; 0: all arrive
  int error;         // error of SSL_get_error at the end
  SimEnding ending;  // end of the connection below TLS
} TlsClient;

// --- The server ---

static inline const char *on_enter(void *data, const char *address) {
  ((TlsWorld *)data)->visitors++;
  assert_string_equal(address, "10.0.0.1");
  return NULL;
}

static inline void on_leave(void *data, const char *address) {
  (void)address;
  ((TlsWorld *)data)->visitors--;
}

static inline void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  TlsWorld *world = data;
  world->opened++;
  world->conn = conn;
  world->info = *info;
  net_group_join(world->net, world->group, conn);
  return world;
}

static inline void on_packet(void *data, void *conn_data, const Packet *packet) {
  (void)conn_data;
  TlsWorld *world = data;
  world->packets++;
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, packet);
  Out out = {.parts = {header, packet->payload},
             .sizes = {sizeof header, packet->length},
             .priority = packet->priority,
             .flags = OUT_KEEP};
  net_write(world->net, world->conn, &out);
  if (packet->type == TYPE_HOLD) {
    net_throttle(world->net, world->conn);
    world->held = world->conn;
  }
  if (packet->type == TYPE_CLOSE) net_close(world->net, world->conn);
}

static inline void on_fault(void *data, void *conn_data, Code code, const char *text) {
  (void)conn_data, (void)code, (void)text;
  TlsWorld *world = data;
  world->faults++;
  net_close(world->net, world->conn);
}

static inline void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                            uint32_t queued) {
  (void)conn_data, (void)tag, (void)queued;
  ((TlsWorld *)data)->drops += dropped;
}

static inline void on_close(void *data, void *conn_data, Code code) {
  (void)conn_data;
  TlsWorld *world = data;
  world->closed++;
  world->last_close = code;
}

static inline bool on_iteration(void *data, uint64_t now_us) {
  (void)now_us;
  TlsWorld *world = data;
  if (world->held) net_unthrottle(world->net, world->held);
  world->held = 0;
  return false;
}

static inline void on_log(void *data, LogLevel level, const char *text, size_t size) {
  (void)level;
  TlsWorld *world = data;
  buf_append(&world->log, text, size);
  buf_u8(&world->log, '\n');
}

static inline void turn(TlsWorld *world) {
  assert_true(net_sim_iterate(world->net, net_now_ms(world->net)));
}

static inline void pass(TlsWorld *world, uint64_t milliseconds) {
  assert_true(net_sim_iterate(world->net, net_now_ms(world->net) + milliseconds));
}

static inline bool is_logged(TlsWorld *world, const char *text) {
  buf_u8(&world->log, 0);
  world->log.size--;
  return strstr((const char *)world->log.data, text) != NULL;
}

static inline void tls_world_init(TlsWorld *world) {
  static const NetEvents EVENTS = {.enter = on_enter,
                                   .leave = on_leave,
                                   .open = on_open,
                                   .packet = on_packet,
                                   .fault = on_fault,
                                   .drops = on_drops,
                                   .close = on_close,
                                   .iteration = on_iteration};
  const NetLimits limits = {
      .max_payload = 1 << 20, .channel_capacity = 64, .handshake_timeout_ms = 5000};
  *world = (TlsWorld){0};
  world->log_before =
      log_swap((LogState){.level = LOG_DEBUG, .sink = on_log, .sink_data = world});
  world->net = net_new_simulated(&limits, &EVENTS, world, 1);
  world->group = net_group_open(world->net, 9);
  world->client_context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_security_level(world->client_context, 0);
  SSL_CTX_set_min_proto_version(world->client_context, 0);
  snprintf(world->folder, sizeof world->folder, "/tmp/perigee-test-XXXXXX");
  assert_non_null(mkdtemp(world->folder));
}

static inline void tls_world_deinit(TlsWorld *world) {
  net_free(world->net);
  SSL_CTX_free(world->client_context);
  assert_int_equal(world->visitors, 0);
  log_swap(world->log_before);
  buf_deinit(&world->log);
  char command[96];
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(mem_live(), 0);
  assert_int_equal(ERR_peek_error(), 0);
}

static inline void serve_dev(TlsWorld *world) {
  char fingerprint[TLS_FINGERPRINT_SIZE];
  assert_true(net_tls_dev(world->net, fingerprint));
  assert_int_equal(strlen(fingerprint), TLS_FINGERPRINT_SIZE - 1);
}

// --- Around each test ---

static inline int setup(void **state) {
  TlsWorld *world = malloc(sizeof *world);
  tls_world_init(world);
  *state = world;
  return 0;
}

static inline int teardown(void **state) {
  tls_world_deinit(*state);
  free(*state);
  return 0;
}

/// Serves TLS with the certificate that --tls-dev makes.
static inline int setup_dev(void **state) {
  setup(state);
  serve_dev(*state);
  return 0;
}

// --- Clients ---

/// Makes all later clients use this version alone.
static inline void set_version(TlsWorld *world, int version) {
  SSL_CTX_set_min_proto_version(world->client_context, version);
  SSL_CTX_set_max_proto_version(world->client_context, version);
}

static inline void client_init(TlsClient *client, TlsWorld *world) {
  *client = (TlsClient){.world = world};
  client->sim = net_sim_connect(world->net, FRAMING_SNIFF, "10.0.0.1");
  client->ssl = SSL_new(world->client_context);
  client->in = BIO_new(BIO_s_mem());
  client->out = BIO_new(BIO_s_mem());
  BIO_set_mem_eof_return(client->in, -1);
  SSL_set_bio(client->ssl, client->in, client->out);
  SSL_set_connect_state(client->ssl);
}

static inline void client_deinit(TlsClient *client) {
  SSL_free(client->ssl);
  buf_deinit(&client->heard);
  ERR_clear_error();
}

static inline size_t step_of(const TlsClient *client, size_t size) {
  return client->step > 0 && client->step < size ? client->step : size;
}

// Sends some bytes. Omits all bytes from `cut_at` on and ends the connection there.
static inline void client_send_step(TlsClient *client, char *bytes, size_t size) {
  size_t from = client->sent;
  client->sent += size;
  if (client->flip_at > from && client->flip_at <= client->sent)
    bytes[client->flip_at - from - 1] ^= 0x40;
  if (client->cut_at > 0 && client->cut_at <= client->sent) {
    size = client->cut_at > from ? client->cut_at - from - 1 : 0;
    net_sim_write(client->world->net, client->sim, bytes, size);
    net_sim_shutdown(client->world->net, client->sim);
  } else {
    net_sim_write(client->world->net, client->sim, bytes, size);
  }
  turn(client->world);
}

// Sends OpenSSL's output in steps. Returns whether OpenSSL had any.
static inline bool client_send(TlsClient *client) {
  char *bytes;
  size_t size = (size_t)BIO_get_mem_data(client->out, &bytes);
  for (size_t at = 0; at < size;) {
    size_t step = step_of(client, size - at);
    client_send_step(client, bytes + at, step);
    at += step;
  }
  (void)BIO_reset(client->out);
  return size > 0;
}

static inline bool client_receive(TlsClient *client) {
  size_t size;
  const uint8_t *bytes = net_sim_peek(client->world->net, client->sim, &size);
  if (size > 0) BIO_write(client->in, bytes, (int)size);
  client->ending = net_sim_take(client->world->net, client->sim);
  turn(client->world);
  return size > 0;
}

static inline void client_read_plain(TlsClient *client) {
  for (;;) {
    ERR_clear_error();
    uint8_t *to = buf_reserve(&client->heard, 1 << 14);
    int got = SSL_read(client->ssl, to, 1 << 14);
    if (got <= 0) {
      int error = SSL_get_error(client->ssl, got);
      if (error != SSL_ERROR_WANT_READ) client->error = error;
      return;
    }
    client->heard.size += (size_t)got;
  }
}

/// Exchanges bytes until neither side has any to send.
static inline void converse(TlsClient *client) {
  bool is_more = true;
  turn(client->world);
  for (int i = 0; i < 100000 && is_more; i++) {
    if (client->error == 0) client_read_plain(client);
    is_more = client_send(client);
    turn(client->world);
    is_more |= client_receive(client);
  }
  assert_false(is_more);
  if (client->error == 0) client_read_plain(client);
}

static inline void client_connect(TlsClient *client, TlsWorld *world) {
  client_init(client, world);
  converse(client);
  assert_true(SSL_is_init_finished(client->ssl));
}

/// Writes a packet with `size` bytes of payload, of which the first is `first`.
static inline void client_write(TlsClient *client, uint16_t type, uint8_t first,
                                uint32_t size) {
  uint8_t *payload = mem_alloc(size + 1);
  for (uint32_t i = 0; i < size; i++) payload[i] = (uint8_t)(first + i);
  Packet packet = {.channel = CHANNEL_TEST,
                   .type = type,
                   .priority = PRIORITY_NORMAL,
                   .length = size,
                   .payload = payload};
  Buf bytes = {0};
  packet_append(&bytes, &packet);
  assert_int_equal(SSL_write(client->ssl, bytes.data, (int)bytes.size),
                   (int)bytes.size);
  buf_deinit(&bytes);
  mem_free(payload);
}

/// Returns the number of whole packets that have come in the form of client_write.
static inline uint32_t client_count(const TlsClient *client) {
  uint32_t count = 0;
  for (size_t at = 0; at < client->heard.size; count++) {
    Packet packet;
    int64_t taken = packet_read(client->heard.data + at, client->heard.size - at,
                                UINT32_MAX, &packet);
    if (taken <= 0) break;
    for (uint32_t i = 1; i < packet.length; i++)
      assert_int_equal(packet.payload[i], (uint8_t)(packet.payload[0] + i));
    at += (size_t)taken;
  }
  return count;
}

/// Requests an echo and receives it.
static inline void client_check(TlsClient *client) {
  uint32_t before = client_count(client);
  client_write(client, TYPE_ECHO, 7, 100);
  converse(client);
  assert_int_equal(client_count(client), before + 1);
}
