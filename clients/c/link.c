// Connections, one after the other: HELLO, pings and ACKs while one is there, and pauses that
// grow from try to try when it is lost.
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum {
  PACKET_MAX = 64 << 20,  // bytes; a length over this is garbage
  READ_MAX = 1 << 20,     // bytes taken in one turn, so that a turn ends
  PING_EVERY_MS = 5000,   // at most; a server that pings more often is pinged as often
  DEAD_AFTER_MS = 8000,   // of silence after a ping
  KEEP_CAPACITY = 64 << 10,  // of a buffer that has been emptied
};

void link_fail(PerigeeClient *client, int code, const char *text, size_t size) {
  Link *link = &client->link;
  if (!link->is_open || link->is_dead) return;
  link->is_dead = true;
  link->code = code;
  link->text = mem_alloc(size + 1);
  memcpy(link->text, text, size);
  link->text[size] = '\0';
}

static void fail(PerigeeClient *client, int code, const char *text) {
  link_fail(client, code, text, strlen(text));
}

// --- Opening ---

// To which host, as people write it.
static void append_target(Buf *text, const Target *target) {
  bool is_v6 = strchr(target->host, ':') != NULL;
  buf_printf(text, is_v6 ? "[%s]:%s" : "%s:%s", target->host, target->port);
}

static void fail_to_connect(PerigeeClient *client, int code, const char *why) {
  Buf text = {0};
  buf_printf(&text, "cannot connect to ");
  append_target(&text, &client->target);
  buf_printf(&text, ": %s; is the server running there?", why);
  link_fail(client, code, (const char *)text.data, text.size);
  buf_deinit(&text);
}

static void fail_to_resolve(PerigeeClient *client, const char *problem) {
  Buf text = {0};
  buf_printf(&text,
             "cannot find the host %s: %s; is the name right, and the network there?",
             client->target.host, problem);
  link_fail(client, PERIGEE_UNREACHABLE, (const char *)text.data, text.size);
  buf_deinit(&text);
}

// Nothing is to be reached at any address.
static void fail_to_reach(PerigeeClient *client) {
  const char *why = link_is_alone(client) ? "the address cannot be reached by UDP"
                                          : socket_problem(&client->link.socket);
  fail_to_connect(client, PERIGEE_UNREACHABLE, why);
}

static void watch_opening(PerigeeClient *client, uint64_t now_ms);

// What else can be tried, should the address that is tried now not be reached; NULL: nothing.
static const struct addrinfo *next_address(const PerigeeClient *client) {
  return link_is_alone(client) ? client->datagrams.next : client->link.socket.next;
}

// What is tried is given up for the next address, where there is one; false when nothing is left.
static bool skip(PerigeeClient *client) {
  if (link_is_alone(client)) return datagrams_skip(&client->datagrams, clock_us());
  return socket_skip(&client->link.socket) != SOCKET_END;
}

static void on_slow(void *data, uint64_t now_ms) {
  PerigeeClient *client = data;
  const Link *link = &client->link;
  bool has_begun = link->socket.is_connected || client->datagrams.phase == DATAGRAMS_ON;
  if (now_ms < link->until_ms) {
    if (has_begun || !next_address(client) || skip(client))
      watch_opening(client, now_ms);
    else
      fail_to_reach(client);
  } else if (has_begun) {
    fail(client, PERIGEE_TIMEOUT, "the server did not answer; is it a Perigee server?");
  } else {
    fail_to_connect(client, PERIGEE_TIMEOUT, "no answer");
  }
}

// The addresses of a host share the time.
static void watch_opening(PerigeeClient *client, uint64_t now_ms) {
  uint64_t left_ms = client->link.until_ms - now_ms, ways = 1;
  const struct addrinfo *next = next_address(client);
  for (; next; next = next->ai_next) ways++;
  timers_set(&client->timers, &client->open_timer, now_ms + (left_ms + ways - 1) / ways,
             on_slow, client);
}

void link_open(PerigeeClient *client) {
  Link *link = &client->link;
  *link = (Link){.is_open = true, .socket.fd = -1};
  const char *problem;
  const struct addrinfo *addresses = target_resolve(&client->target, &problem);
  if (!addresses) {
    fail_to_resolve(client, problem);
    return;
  }
  bool has_begun = link_is_alone(client)
                       ? link_udp_open(client, addresses)
                       : socket_open(&link->socket, addresses) != SOCKET_END;
  uint64_t now_ms = clock_ms();
  link->until_ms = now_ms + client->options.timeout_ms;
  if (has_begun)
    watch_opening(client, now_ms);
  else
    fail_to_reach(client);
}

void link_deinit(PerigeeClient *client) {
  Link *link = &client->link;
  timers_stop(&client->timers, &client->open_timer);
  timers_stop(&client->timers, &client->ack_timer);
  timers_stop(&client->timers, &client->beat_timer);
  link_udp_deinit(client);
  socket_close(&link->socket);
  buf_deinit(&link->in);
  buf_deinit(&link->out);
  mem_free(link->text);
  *link = (Link){.socket.fd = -1};
}

// --- Receiving ---

static void shrink(Buf *buf, size_t *at) {
  buf_consume(buf, *at);
  *at = 0;
  if (buf->size == 0 && buf->capacity > KEEP_CAPACITY) buf_deinit(buf);
}

void link_take_packets(PerigeeClient *client) {
  Link *link = &client->link;
  while (!link->is_dead && link->in_at < link->in.size &&
         !events_are_full(&client->events)) {
    Packet packet;
    int64_t size = packet_read(link->in.data + link->in_at, link->in.size - link->in_at,
                               PACKET_MAX, &packet);
    if (size == 0) break;
    if (size < 0) {
      take_malformed(client, "what is no packet");
      break;
    }
    link->in_at += (size_t)size;
    // Who has said goodbye hears no more.
    if (client->state != PERIGEE_STATE_CLOSING) packet_take(client, &packet);
  }
  shrink(&link->in, &link->in_at);
}

static void end(PerigeeClient *client) {
  if (client->link.socket.error != 0)
    fail(client, PERIGEE_CONNECTION_RESET, socket_problem(&client->link.socket));
  else
    fail(client, PERIGEE_CONNECTION_CLOSED, "the server closed the connection");
}

static void receive(PerigeeClient *client) {
  Link *link = &client->link;
  link->has_more = false;
  for (size_t taken = 0;;) {
    link_take_packets(client);
    if (link->is_dead) return;
    link->has_more = events_are_full(&client->events) || taken >= READ_MAX;
    if (link->has_more) return;
    if (link->has_ended) {
      end(client);
      return;
    }
    size_t before = link->in.size;
    SocketResult result = socket_receive(&link->socket, &link->in);
    if (result == SOCKET_AGAIN) return;
    if (result == SOCKET_END) link->has_ended = true;
    if (result == SOCKET_OK) link->heard_ms = clock_ms();
    taken += link->in.size - before;
  }
}

static void receive_stream(PerigeeClient *client) {
  Link *link = &client->link;
  if (!link->socket.is_connected) {
    SocketResult result = socket_finish(&link->socket);
    if (result == SOCKET_END) fail_to_reach(client);
    if (result != SOCKET_OK) return;
    link->heard_ms = clock_ms();
    hello_send(client);
  }
  receive(client);
}

void link_receive(PerigeeClient *client) {
  Link *link = &client->link;
  if (!link->is_open || link->is_dead) return;
  // Who does not listen cannot say that the server is silent.
  if (events_are_full(&client->events)) link->heard_ms = clock_ms();
  if (!link_is_alone(client)) {
    receive_stream(client);
  } else {
    link_take_packets(client);
    link->has_more = events_are_full(&client->events);
  }
  if (!link->is_dead) link_udp_receive(client);
}

bool link_wants_read(const PerigeeClient *client) {
  return client->link.socket.is_connected && !client->link.has_ended &&
         !events_are_full(&client->events);
}

// --- Sending ---

void link_write(PerigeeClient *client, const void *bytes, size_t size) {
  buf_append(&client->link.out, bytes, size);
}

size_t link_unsent(const Link *link) { return link->out.size - link->out_at; }

bool link_is_clogged(const Link *link) { return link_unsent(link) > UNSENT_MAX_BYTES; }

static void send_by_tcp(PerigeeClient *client) {
  Link *link = &client->link;
  if (!link->socket.is_connected || link_unsent(link) == 0) return;
  size_t sent;
  SocketResult result = socket_send(&link->socket, link->out.data + link->out_at,
                                    link_unsent(link), &sent);
  link->out_at += sent;
  if (result == SOCKET_END) {
    // Reading tells of the end, after all that the server has said before.
    link->out_at = link->out.size;
    link->has_more = true;
  }
  if (result != SOCKET_AGAIN || link->out_at > link->out.size / 2)
    shrink(&link->out, &link->out_at);
}

static void send_by_udp(PerigeeClient *client) {
  Link *link = &client->link;
  if (link_unsent(link) == 0) return;
  link->out_at +=
      link_udp_stream_write(client, link->out.data + link->out_at, link_unsent(link));
  if (link->out_at > link->out.size / 2) shrink(&link->out, &link->out_at);
}

void link_send(PerigeeClient *client) {
  const Link *link = &client->link;
  if (!link->is_open || link->is_dead) return;
  if (link_is_alone(client))
    send_by_udp(client);
  else
    send_by_tcp(client);
  link_udp_send(client);
}

bool link_wants_write(const PerigeeClient *client) {
  const Link *link = &client->link;
  return !link->socket.is_connected || link_unsent(link) > 0;
}

// --- While it is there ---

static uint32_t beat_ms(const PerigeeClient *client) {
  uint32_t interval = client->session.ping_interval_ms;
  return interval > 0 && interval < PING_EVERY_MS ? interval : PING_EVERY_MS;
}

static void beat(PerigeeClient *client) {
  client->beat_ping = ping_send(client);
  client->beat_ping_us = clock_us();
}

static void on_beat(void *data, uint64_t now_ms) {
  PerigeeClient *client = data;
  bool is_silent = now_ms > client->link.heard_ms + DEAD_AFTER_MS;
  if (client->beat_ping != 0 && is_silent) {
    fail(client, PERIGEE_PING_TIMEOUT, "the server does not answer");
    return;
  }
  if (client->beat_ping == 0) beat(client);
  timers_set(&client->timers, &client->beat_timer, now_ms + beat_ms(client), on_beat,
             client);
}

void link_welcomed(PerigeeClient *client) {
  client->link.is_welcome = true;
  timers_stop(&client->timers, &client->open_timer);
  beat(client);
  timers_set(&client->timers, &client->beat_timer, clock_ms() + beat_ms(client),
             on_beat, client);
}

static void on_ack(void *data, uint64_t now_ms);

static void acknowledge_later(PerigeeClient *client) {
  if (timers_is_set(&client->ack_timer)) return;
  timers_set(&client->timers, &client->ack_timer, clock_ms() + RELIABLE_ACK_MS, on_ack,
             client);
}

static void on_ack(void *data, uint64_t now_ms) {
  (void)now_ms;
  PerigeeClient *client = data;
  if (!reliable_owes(&client->session.stream)) return;
  if (link_is_clogged(&client->link))
    acknowledge_later(client);
  else
    ack_send(client);
}

void link_acknowledge(PerigeeClient *client, uint32_t bytes) {
  bool is_time = reliable_receive(&client->session.stream, bytes);
  if (is_time && !link_is_clogged(&client->link))
    ack_send(client);
  else
    acknowledge_later(client);
}

// --- The end, and the next one ---

// After these the same would only happen again.
static bool is_final(int code) {
  switch (code) {
    case PERIGEE_PAYLOAD_TOO_LARGE:
    case PERIGEE_PROTOCOL:
    case PERIGEE_KICKED:
    case PERIGEE_REJECTED:
    case PERIGEE_VERSION_MISMATCH:
    case PERIGEE_PROTOCOL_HASH_MISMATCH:
    case PERIGEE_RATE_LIMITED:
    case PERIGEE_UNSUPPORTED:
    case PERIGEE_UNAUTHORIZED:
    case PERIGEE_REPLACED:
      return true;
    default:
      return false;
  }
}

static void on_pause_over(void *data, uint64_t now_ms) {
  (void)now_ms;
  link_open(data);
}

// Returns an unpredictable number from `least` to `most`.
static uint64_t choose(uint64_t least, uint64_t most) {
  uint32_t random;
  randombytes_buf(&random, sizeof random);
  return least + (most - least) * (random >> 16) / (UINT16_MAX + 1);
}

// Each pause is twice the one before, and differs from client to client; what the server asks
// for comes before it.
static uint64_t choose_pause_us(const PerigeeClient *client, uint16_t retry_s) {
  const Options *options = &client->options;
  uint64_t pause_us = (uint64_t)options->first_ms * 1000;
  uint64_t max_us = (uint64_t)options->max_ms * 1000;
  uint64_t retry_us = (uint64_t)retry_s * 1000000;
  for (uint32_t i = 0; i < client->attempt && pause_us < max_us; i++) pause_us *= 2;
  if (pause_us > max_us) pause_us = max_us;
  return choose(pause_us / 2, pause_us) + choose(retry_us, retry_us + retry_us / 2);
}

static void try_again(PerigeeClient *client, uint16_t retry_s) {
  const Options *options = &client->options;
  uint64_t pause_us = choose_pause_us(client, retry_s);
  uint64_t due_ms = clock_ms() + (pause_us + 999) / 1000;
  if (options->for_ms > 0 && due_ms - client->lost_ms > options->for_ms) {
    client_finish(client, client->lost_code, client->lost_text);
    return;
  }
  client->attempt++;
  client_tell(client, &(PerigeeEvent){.type = PERIGEE_RECONNECTING,
                                      .count = client->attempt,
                                      .time_us = pause_us});
  timers_set(&client->timers, &client->pause_timer, due_ms, on_pause_over, client);
}

// Begins the time without a connection, in which the client tries again.
static void lose(PerigeeClient *client, int code, const char *text) {
  client->lost_ms = clock_ms();
  client->lost_code = code;
  mem_free(client->lost_text);
  client->lost_text = mem_strdup(text);
  client->attempt = 0;
  if (client->state != PERIGEE_STATE_OPEN) return;
  client->state = PERIGEE_STATE_RECONNECTING;
  PerigeeEvent event = {.type = PERIGEE_DISCONNECTED, .code = code};
  client_tell_text(client, &event, text, strlen(text));
}

// Returns whether a connection that ended so is the last one. The first connection is
// tried again once a server has said that it is not available yet.
static bool is_last(const PerigeeClient *client, int code) {
  bool is_first = client->state == PERIGEE_STATE_CONNECTING && client->attempt == 0;
  return !client->options.reconnects || is_final(code) ||
         (is_first && code != PERIGEE_UNAVAILABLE);
}

void link_settle(PerigeeClient *client) {
  Link *link = &client->link;
  if (!link->is_dead) return;
  int code = link->code;
  uint16_t retry_s = link->retry_s;
  char *text = link->text;
  link->text = NULL;
  bool was_welcome = link->is_welcome;
  link_deinit(client);
  if (!was_welcome) target_forget(&client->target);
  client->beat_ping = 0;
  if (client->state == PERIGEE_STATE_CLOSING) {
    client_finish(client, PERIGEE_CONNECTION_CLOSED, "closed");
  } else if (is_last(client, code)) {
    client_finish(client, code, text);
  } else {
    requests_fail_pings(client, code, text);
    if (client->state == PERIGEE_STATE_OPEN || client->attempt == 0)
      lose(client, code, text);
    try_again(client, retry_s);
  }
  mem_free(text);
}
