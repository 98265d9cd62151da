// The connections of a client, one after the other. Sends HELLO, pings and ACKs. After
// a loss, reconnects with growing pauses.
#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum {
  PACKET_MAX = 64 << 20,  // bytes; a longer packet breaks the protocol
  PING_EVERY_MS = 5000,   // longest interval between pings; a shorter interval of the
                          // server replaces it
  DEAD_AFTER_MS = 8000,   // silence after an unanswered ping until the connection ends
};

void link_fail(PerigeeClient *client, int code, const char *text, size_t size) {
  Link *link = &client->link;
  if (!link->is_open || link->is_dead) return;
  link->is_dead = true;
  link->code = code;
  mem_free(link->text);
  link->text = mem_alloc(size + 1);
  if (size > 0) memcpy(link->text, text, size);
  link->text[size] = '\0';
}

static void fail(PerigeeClient *client, int code, const char *text) {
  link_fail(client, code, text, strlen(text));
}

// --- Opening ---

static void on_slow(void *data, uint64_t now_ms) {
  (void)now_ms;
  fail(data, PERIGEE_TIMEOUT, "the server did not answer; is it a Perigee server?");
}

void link_open(PerigeeClient *client) {
  Link *link = &client->link;
  *link = (Link){.is_open = true};
  client->connection_count++;
  timers_set(&client->timers, &client->open_timer,
             client_now_ms(client) + client->options.timeout_ms, on_slow, client);
}

void link_opened(PerigeeClient *client) {
  Link *link = &client->link;
  if (timers_is_set(&client->pause_timer)) {
    timers_stop(&client->timers, &client->pause_timer);
    link_open(client);
  }
  if (!link->is_open || link->is_dead) return;
  link->heard_ms = client_now_ms(client);
  if (!link_is_alone(client)) {
    if (!link->is_connected) hello_send(client);
  } else if (!link_udp_open(client)) {
    fail(client, PERIGEE_UNREACHABLE, "libsodium does not work here");
  }
  link->is_connected = true;
}

void link_deinit(PerigeeClient *client) {
  Link *link = &client->link;
  timers_stop(&client->timers, &client->open_timer);
  timers_stop(&client->timers, &client->ack_timer);
  timers_stop(&client->timers, &client->beat_timer);
  link_udp_deinit(client);
  buf_deinit(&link->in);
  buf_deinit(&link->out);
  mem_free(link->text);
  *link = (Link){0};
}

void link_end(PerigeeClient *client, int code, const char *text) {
  Link *link = &client->link;
  if (link->text) return;
  fail(client, code, text);
  if (link->has_more)
    link->is_dead = false;  // the packets in `in` must be handled first
}

// --- Receiving ---

void link_give_back(Buf *buf) {
  if (buf->size == 0) buf_deinit(buf);
}

// Handles the packets in these bytes, until too many events wait. Returns the number of
// bytes handled.
static size_t take_packets(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  Link *link = &client->link;
  size_t at = 0;
  link->has_more = false;
  while (!link->is_dead && at < size) {
    Packet packet;
    int64_t taken = packet_read(bytes + at, size - at, PACKET_MAX, &packet);
    if (taken == 0) break;
    if (taken < 0) {
      take_malformed(client, "what is no packet");
      break;
    }
    if (events_are_full(&client->events)) {
      link->has_more = true;
      break;
    }
    at += (size_t)taken;
    // After perigee_close, the client reports nothing more.
    if (client->state != PERIGEE_STATE_CLOSING) packet_take(client, &packet);
  }
  return at;
}

void link_take(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  Buf *in = &client->link.in;
  bool is_kept = in->size > 0;
  if (is_kept) buf_append(in, bytes, size);
  size_t taken = is_kept ? take_packets(client, in->data, in->size)
                         : take_packets(client, bytes, size);
  if (!is_kept)
    buf_append(in, bytes + taken, size - taken);
  else
    buf_consume(in, taken);
  link_give_back(in);
}

void link_receive(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  Link *link = &client->link;
  if (!link->is_connected || link->text || link_is_alone(client)) return;
  link->heard_ms = client_now_ms(client);
  link_take(client, bytes, size);
}

void link_advance(PerigeeClient *client) {
  Link *link = &client->link;
  if (link->has_more) link_take(client, NULL, 0);
  if (link->text && !link->has_more) link->is_dead = true;
  // If the program takes no events, the client does not read, so the server does not
  // count as silent.
  if (events_are_full(&client->events)) link->heard_ms = client_now_ms(client);
}

// --- Sending ---

void link_write(PerigeeClient *client, const void *bytes, size_t size) {
  buf_append(&client->link.out, bytes, size);
}

size_t link_unsent(const Link *link) { return link->out.size - link->out_at; }

const uint8_t *link_output(const Link *link) { return link->out.data + link->out_at; }

void link_sent(Link *link, size_t size) {
  link->out_at += size;
  if (link->out_at <= link->out.size / 2) return;
  buf_consume(&link->out, link->out_at);
  link->out_at = 0;
  link_give_back(&link->out);
}

bool link_is_clogged(const Link *link) { return link_unsent(link) > UNSENT_MAX_BYTES; }
// --- During a connection ---

static uint32_t beat_ms(const PerigeeClient *client) {
  uint32_t interval = client->session.ping_interval_ms;
  return interval > 0 && interval < PING_EVERY_MS ? interval : PING_EVERY_MS;
}

static void beat(PerigeeClient *client) {
  client->beat_ping = ping_send(client);
  client->beat_ping_us = client->now_us;
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
  timers_set(&client->timers, &client->beat_timer,
             client_now_ms(client) + beat_ms(client), on_beat, client);
}

static void on_ack(void *data, uint64_t now_ms);

static void acknowledge_later(PerigeeClient *client) {
  if (timers_is_set(&client->ack_timer)) return;
  timers_set(&client->timers, &client->ack_timer,
             client_now_ms(client) + RELIABLE_ACK_MS, on_ack, client);
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

// --- The end, and the next connection ---

// Returns whether another attempt would end with the same code.
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

// Returns the pause before the next attempt, plus the pause that the server requests.
// The pause doubles with each attempt. It is partly random, so that clients do not
// return all at once.
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
  uint64_t due_ms = client_now_ms(client) + (pause_us + 999) / 1000;
  if (options->for_ms > 0 && due_ms - client->lost_ms > options->for_ms) {
    client_finish(client, client->lost_code, client->lost_text);
    return;
  }
  client->attempt++;
  PerigeeEvent event = {.type = PERIGEE_RECONNECTING,
                        .code = client->lost_code,
                        .number = retry_s,
                        .count = client->attempt,
                        .time_us = pause_us};
  client_push_text(client, &event, client->lost_text, strlen(client->lost_text));
  timers_set(&client->timers, &client->pause_timer, due_ms, on_pause_over, client);
}

// Stores the time and the reason of a loss. If the client was open, reports the loss.
static void lose(PerigeeClient *client, int code, const char *text) {
  client->lost_ms = client_now_ms(client);
  client->lost_code = code;
  mem_free(client->lost_text);
  client->lost_text = mem_strdup(text);
  client->attempt = 0;
  if (client->state != PERIGEE_STATE_OPEN) return;
  client->state = PERIGEE_STATE_RECONNECTING;
  PerigeeEvent event = {.type = PERIGEE_DISCONNECTED, .code = code};
  client_push_text(client, &event, text, strlen(text));
}

// Returns whether the client ends with this connection. It also ends if its first
// connection fails, unless the server was unavailable.
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
  link_deinit(client);
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
