// One server and its clients behind the same functions, on real or on simulated
// sockets. A transcript records everything that can be observed, so that tests compare
// the two.
//
// The server obeys lines: `echo X`, `big N` (sends N bytes), `all X` (sends X to all
// others), `hold` (throttles for one iteration), `bye X` (sends X and closes).
#pragma once

#include <stdlib.h>

#include "base/buf.h"
#include "net/sim.h"
#include "socket_world.h"

enum { CLIENTS_MAX = 8, QUIET_TURNS = 8 };

typedef struct Client {
  SimId sim;
  int fd;
  bool is_over;
} Client;

typedef struct Stage {
  Net *net;
  bool is_real;
  uint16_t port;
  Framing framing;
  ConnId conns[CLIENTS_MAX];
  GroupId group;
  uint32_t conn_count, client_count;
  ConnId held;
  bool is_refusing;
  Client clients[CLIENTS_MAX];
  uint32_t happened;  // number of events so far
  Buf transcript;
} Stage;

__attribute__((format(printf, 2, 3))) static inline void note(Stage *stage,
                                                              const char *format, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  buf_printf(&stage->transcript, "%s\n", text);
  stage->happened++;
}

// --- The server ---

static inline void say(Stage *stage, ConnId conn, const char *text) {
  Out out = {.parts = {text, "\n"},
             .sizes = {(uint32_t)strlen(text), 1},
             .priority = PRIORITY_NORMAL};
  net_write(stage->net, conn, &out);
}

static inline void stage_big(Stage *stage, ConnId conn, uint32_t size) {
  char *bytes = mem_alloc(size);
  for (uint32_t i = 0; i < size; i++) bytes[i] = (char)('a' + i % 26);
  Out out = {.parts = {bytes}, .sizes = {size}, .priority = PRIORITY_NORMAL};
  net_write(stage->net, conn, &out);
  mem_free(bytes);
}

static inline void *stage_open(void *data, ConnId conn, const ConnInfo *info) {
  Stage *stage = data;
  ConnId *place = &stage->conns[stage->conn_count++];
  *place = conn;
  note(stage, "open %u framing %d", (unsigned)(place - stage->conns), info->framing);
  if (stage->is_refusing) {
    say(stage, conn, "go away");
    net_close(stage->net, conn);
    return NULL;
  }
  net_group_join(stage->net, stage->group, conn);
  return place;
}

static inline unsigned stage_index(const Stage *stage, const void *conn_data) {
  return (unsigned)((const ConnId *)conn_data - stage->conns);
}

static inline void stage_packet(void *data, void *conn_data, const Packet *packet) {
  Stage *stage = data;
  note(stage, "packet of %u: type %u length %u", stage_index(stage, conn_data),
       packet->type, (unsigned)packet->length);
}

static inline void stage_line(void *data, void *conn_data, const char *text,
                              size_t size) {
  Stage *stage = data;
  ConnId conn = *(const ConnId *)conn_data;
  char line[128];
  snprintf(line, sizeof line, "%.*s", (int)size, text);
  note(stage, "line of %u: %.20s", stage_index(stage, conn_data), line);
  if (strncmp(line, "echo ", 5) == 0) {
    say(stage, conn, line + 5);
  } else if (strncmp(line, "big ", 4) == 0) {
    stage_big(stage, conn, (uint32_t)atoi(line + 4));
  } else if (strncmp(line, "all ", 4) == 0) {
    Out out = out_of(line + 4, PRIORITY_NORMAL);
    net_group_write(stage->net, stage->group, &out, &conn, 1);
  } else if (strcmp(line, "hold") == 0) {
    net_throttle(stage->net, conn);
    stage->held = conn;
  } else if (strncmp(line, "bye ", 4) == 0) {
    say(stage, conn, line + 4);
    net_close(stage->net, conn);
  }
}

static inline void stage_fault(void *data, void *conn_data, Code code,
                               const char *text) {
  Stage *stage = data;
  note(stage, "fault of %u: %s %s", stage_index(stage, conn_data), code_name(code),
       text);
  net_close(stage->net, *(const ConnId *)conn_data);
}

static inline void stage_drops(void *data, void *conn_data, uint32_t tag,
                               uint32_t dropped, uint32_t queued) {
  Stage *stage = data;
  note(stage, "drops of %u: tag %u dropped %u queued %u", stage_index(stage, conn_data),
       tag, dropped, queued);
}

static inline void stage_close(void *data, void *conn_data, Code code) {
  Stage *stage = data;
  note(stage, "close of %u: %s", stage_index(stage, conn_data), code_name(code));
}

static inline bool stage_iterate(void *data, uint64_t now_ms) {
  Stage *stage = data;
  (void)now_ms;
  if (stage->held) net_unthrottle(stage->net, stage->held);
  stage->held = 0;
  return false;
}

static inline void stage_init(Stage *stage, bool is_real, Framing framing,
                              NetLimits limits) {
  static const NetEvents EVENTS = {.open = stage_open,
                                   .packet = stage_packet,
                                   .line = stage_line,
                                   .fault = stage_fault,
                                   .drops = stage_drops,
                                   .close = stage_close,
                                   .iteration = stage_iterate};
  *stage = (Stage){.is_real = is_real, .framing = framing};
  if (is_real) {
    stage->net = net_new(&limits, &EVENTS, stage);
    assert_int_equal(net_listen(stage->net, "127.0.0.1", &stage->port, framing), 0);
  } else {
    stage->net = net_new_simulated(&limits, &EVENTS, stage, 1);
  }
  stage->group = net_group_open(stage->net, 9);
}

static inline void stage_deinit(Stage *stage) {
  for (uint32_t i = 0; i < stage->client_count; i++)
    if (stage->is_real && stage->clients[i].fd >= 0) close(stage->clients[i].fd);
  net_free(stage->net);
  buf_deinit(&stage->transcript);
}

// --- The clients ---

/// Runs iterations until nothing more happens.
static inline void settle(Stage *stage) {
  if (!stage->is_real) {
    assert_true(net_sim_iterate(stage->net, net_now_ms(stage->net)));
    return;
  }
  uint32_t before = stage->happened;
  for (int quiet = 0; quiet < QUIET_TURNS; quiet++) {
    uv_run(&net_loop(stage->net)->uv, UV_RUN_NOWAIT);
    poll(NULL, 0, 1);
    if (stage->happened != before) quiet = 0;
    before = stage->happened;
  }
}

static inline void start_client(Stage *stage) {
  Client *client = &stage->clients[stage->client_count++];
  if (!stage->is_real) {
    client->sim = net_sim_connect(stage->net, stage->framing, "127.0.0.1");
    return;
  }
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(stage->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  client->fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(client->fd, (struct sockaddr *)&address, sizeof address), 0);
}

static inline void client_send(Stage *stage, uint32_t index, const void *bytes,
                               size_t size) {
  const Client *client = &stage->clients[index];
  if (stage->is_real)
    send(client->fd, bytes, size, MSG_NOSIGNAL);
  else
    net_sim_write(stage->net, client->sim, bytes, size);
}

static inline void client_say(Stage *stage, uint32_t index, const char *text) {
  client_send(stage, index, text, strlen(text));
}

static inline void client_shutdown(Stage *stage, uint32_t index) {
  const Client *client = &stage->clients[index];
  if (stage->is_real)
    shutdown(client->fd, SHUT_WR);
  else
    net_sim_shutdown(stage->net, client->sim);
}

static inline void client_reset(Stage *stage, uint32_t index) {
  Client *client = &stage->clients[index];
  if (!stage->is_real) {
    net_sim_reset(stage->net, client->sim);
    return;
  }
  struct linger now = {1, 0};
  setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(client->fd);
  client->fd = -1;
}

// Appends the available bytes. Returns how the connection has ended.
static inline SimEnding client_take(Stage *stage, const Client *client, Buf *got) {
  if (!stage->is_real) {
    size_t size;
    const uint8_t *bytes = net_sim_peek(stage->net, client->sim, &size);
    if (size > 0) buf_append(got, bytes, size);
    return net_sim_take(stage->net, client->sim);
  }
  for (;;) {
    uint8_t *to = buf_reserve(got, 1 << 16);
    ssize_t size = recv(client->fd, to, 1 << 16, MSG_DONTWAIT);
    if (size == 0) return SIM_ENDED;
    if (size < 0) return errno == EAGAIN ? SIM_OPEN : SIM_RESET;
    got->size += (size_t)size;
  }
}

/// Reads until no more bytes come, and records them.
static inline void client_read(Stage *stage, uint32_t index) {
  static const char *const ENDINGS[] = {"", " end", " reset"};
  Buf got = {0};
  SimEnding ending = SIM_OPEN;
  for (int quiet = 0; quiet < 3 && ending == SIM_OPEN; quiet++) {
    size_t before = got.size;
    ending = client_take(stage, &stage->clients[index], &got);
    settle(stage);
    if (got.size > before) quiet = 0;
  }
  uint64_t sum = 0;
  for (size_t i = 0; i < got.size; i++) sum = sum * 31 + got.data[i];
  note(stage, "%u read %zu bytes (%.*s, %llx)%s", (unsigned)index, got.size,
       got.size < 60 ? (int)got.size : 60, (const char *)got.data,
       (unsigned long long)sum, ENDINGS[ending]);
  buf_deinit(&got);
}
