#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum {
  DEFAULT_PORT = 7777,
  PORT_DIGITS = 5,
  READ_SIZE = 16 << 10,
  READ_MAX = 1 << 20,   // bytes that one poll reads from a stream
  DATAGRAMS_MAX = 256,  // datagrams that one poll reads
};

// --- The server's address ---

static bool parse_port(Driver *d, const char *text) {
  size_t size = strlen(text);
  if (size < 1 || size > PORT_DIGITS || strspn(text, "0123456789") != size)
    return false;
  long port = strtol(text, NULL, 10);
  snprintf(d->port, sizeof d->port, "%u", (unsigned)port & 0xffff);
  return port >= 1 && port <= UINT16_MAX;
}

static bool set_host(Driver *d, const char *host, size_t size) {
  if (size == 0) return false;
  d->host = mem_zalloc(size + 1);
  memcpy(d->host, host, size);
  return true;
}

// Parses "host", "host:port" or "[v6]:port"; returns false for anything else.
static bool parse_address(Driver *d, const char *address) {
  snprintf(d->port, sizeof d->port, "%d", DEFAULT_PORT);
  if (address[0] == '[') {
    const char *end = strchr(address, ']');
    if (!end || (end[1] != '\0' && (end[1] != ':' || !parse_port(d, end + 2))))
      return false;
    return set_host(d, address + 1, (size_t)(end - address) - 1);
  }
  if (strpbrk(address, " /[]")) return false;
  const char *colon = strchr(address, ':');
  if (colon && strchr(colon + 1, ':'))
    colon = NULL;  // an IPv6 address without
                   // brackets
  if (colon && !parse_port(d, colon + 1)) return false;
  return set_host(d, address, colon ? (size_t)(colon - address) : strlen(address));
}

// --- Opening ---

static void close_socket(int *fd) {
  if (*fd >= 0) os_close(*fd);
  *fd = -1;
}

__attribute__((format(printf, 4, 5))) static void fail(PerigeeClient *client, int code,
                                                       uint64_t now_us,
                                                       const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  perigee_connection_ended(client, code, text, now_us);
}

static void fail_to_connect(PerigeeClient *client, int code, const char *why,
                            uint64_t now_us) {
  const Driver *d = client->driver;
  bool is_v6 = strchr(d->host, ':') != NULL;
  fail(client, code, now_us,
       "cannot connect to %s%.255s%s:%s: %s; is the server running there?",
       is_v6 ? "[" : "", d->host, is_v6 ? "]" : "", d->port, why);
}

// Begins to connect to the next address that allows it. Each address gets a share of
// the time. If no address is left, ends the connection.
static void try_next(PerigeeClient *client, uint64_t now_us) {
  Driver *d = client->driver;
  while (d->next) {
    d->address = d->next;
    d->next = os_next_address(d->next);
    close_socket(&d->tcp);
    close_socket(&d->udp);
    bool is_udp = link_is_alone(client);
    int fd = is_udp ? os_open_udp(d->address) : os_open_tcp(d->address);
    if (fd < 0) {
      d->error = fd;
      continue;
    }
    *(is_udp ? &d->udp : &d->tcp) = fd;
    uint64_t ways = 1;
    for (const OsAddress *a = d->next; a; a = os_next_address(a)) ways++;
    d->skip_us = now_us + (d->until_us - now_us + ways - 1) / ways;
    if (is_udp) perigee_connection_opened(client, now_us);
    return;
  }
  const char *why = link_is_alone(client) ? "the address cannot be reached by UDP"
                                          : os_problem(d->error);
  fail_to_connect(client, PERIGEE_UNREACHABLE, why, now_us);
}

static void open_connection(PerigeeClient *client, uint64_t now_us) {
  Driver *d = client->driver;
  const char *problem = "";
  d->connection = perigee_connection(client);
  d->is_connected = d->was_open = false;
  d->udp_port = 0;
  d->until_us = now_us / 1000 * 1000 + d->timeout_us;
  if (!d->addresses) d->addresses = os_resolve(d->host, d->port, &problem);
  d->next = d->addresses;
  if (d->addresses)
    try_next(client, now_us);
  else
    fail(client, PERIGEE_UNREACHABLE, now_us,
         "cannot find the host %.255s: %s; is the name right, and the network there?",
         d->host, problem);
}

static void fail_to_answer(PerigeeClient *client, uint64_t now_us) {
  char why[64] = "no answer";
  if (link_is_alone(client))
    snprintf(why, sizeof why, "no answer by UDP from port %s; a firewall may block it",
             client->driver->port);
  fail_to_connect(client, PERIGEE_TIMEOUT, why, now_us);
}

// Checks whether the connection to the current address is open, has failed, or takes
// too long.
static void go_on_opening(PerigeeClient *client, uint64_t now_us) {
  Driver *d = client->driver;
  int code = d->tcp >= 0 ? os_finish_tcp(d->tcp) : OS_AGAIN;
  if (code == 0) {
    d->is_connected = true;
    perigee_connection_opened(client, now_us);
  } else if (code != OS_AGAIN) {
    d->error = code;
    try_next(client, now_us);
  } else if (now_us >= d->until_us) {
    fail_to_answer(client, now_us);
  } else if (now_us >= d->skip_us) {
    try_next(client, now_us);
  }
}

// --- Sending ---

// Sends all datagrams; one that cannot be sent counts as lost.
static void send_datagrams(PerigeeClient *client, uint64_t now_us) {
  Driver *d = client->driver;
  uint8_t bytes[PERIGEE_DATAGRAM_MAX];
  uint16_t port;
  size_t size;
  while ((size = perigee_next_datagram(client, bytes, &port, now_us)) > 0) {
    if (d->udp < 0 && d->address) d->udp = os_open_udp(d->address);
    if (d->udp < 0) continue;
    if (port != d->udp_port && os_set_port(d->udp, port) == 0) d->udp_port = port;
    (void)os_send(d->udp, bytes, size);
  }
}

// --- Receiving ---

static bool is_current(const PerigeeClient *client) {
  return client->driver->connection == perigee_connection(client);
}

static void receive_stream(PerigeeClient *client) {
  uint8_t bytes[READ_SIZE];
  for (size_t taken = 0; taken < READ_MAX;) {
    if (!is_current(client) || !perigee_wants_input(client)) return;
    int got = os_receive(client->driver->tcp, bytes, sizeof bytes);
    if (got == OS_AGAIN) return;
    if (got == 0) {
      perigee_connection_ended(client, PERIGEE_CONNECTION_CLOSED,
                               "the server closed the connection", os_clock_us());
    } else if (got < 0) {
      perigee_connection_ended(client, PERIGEE_CONNECTION_RESET, os_problem(got),
                               os_clock_us());
    } else {
      perigee_receive(client, bytes, (size_t)got, os_clock_us());
      if ((size_t)got < sizeof bytes) return;
      taken += (size_t)got;
    }
  }
}

// Sends output. If that is impossible, handles the server's last bytes and then ends
// the connection.
static void send_stream(PerigeeClient *client, uint64_t now_us) {
  size_t size;
  const uint8_t *bytes = perigee_output(client, &size, now_us);
  if (size == 0) return;
  int sent = os_send(client->driver->tcp, bytes, size);
  if (sent >= 0) perigee_sent(client, (size_t)sent);
  if (sent >= 0 || sent == OS_AGAIN) return;
  receive_stream(client);
  if (is_current(client))
    perigee_connection_ended(client, PERIGEE_CONNECTION_RESET, os_problem(sent),
                             os_clock_us());
}

static void receive_datagrams(PerigeeClient *client) {
  Driver *d = client->driver;
  uint8_t bytes[PERIGEE_DATAGRAM_MAX + 1];
  for (int i = 0; i < DATAGRAMS_MAX && d->udp >= 0; i++) {
    if (!is_current(client) || !perigee_wants_input(client)) return;
    int got = os_receive(d->udp, bytes, sizeof bytes);
    uint64_t now_us = os_clock_us();
    if (got >= 0) {
      d->is_connected = true;
      perigee_receive_datagram(client, bytes, (size_t)got, now_us);
      send_datagrams(client, now_us);  // each acknowledgement covers few datagrams
    } else if (!os_is_refused(got)) {
      return;
    } else if (!link_is_alone(client)) {
      link_udp_refused(client);
      return;
    } else if (d->is_connected) {
      return;
    } else if (d->next) {
      try_next(client, now_us);
    } else {
      fail(client, PERIGEE_UNREACHABLE, now_us,
           "nobody listens for UDP at port %s; is the server running there?", d->port);
    }
  }
}

// --- One client ---

// Closes the sockets that the client does not need any more. Sends their last datagrams
// before.
static void close_unneeded(PerigeeClient *client) {
  Driver *d = client->driver;
  bool is_over = !is_current(client);
  if (!is_over && (d->udp < 0 || link_is_alone(client) || client->datagrams)) return;
  send_datagrams(client, client->now_us);
  close_socket(&d->udp);
  if (!is_over) return;
  close_socket(&d->tcp);
  d->connection = 0;
  if (d->was_open) return;
  os_free_addresses(d->addresses);
  d->addresses = NULL;
  d->address = NULL;
}

static bool is_opening(const Driver *d) {
  return d->connection != 0 && !d->is_connected;
}

void driver_work(PerigeeClient *client, bool has_stream, bool has_datagrams) {
  Driver *d = client->driver;
  if (is_opening(d)) go_on_opening(client, os_clock_us());
  if (has_stream && d->tcp >= 0 && d->is_connected) receive_stream(client);
  if (has_datagrams) receive_datagrams(client);
  uint64_t now_us = os_clock_us();
  perigee_advance(client, now_us);
  if (perigee_state(client) == PERIGEE_STATE_OPEN) d->was_open = true;
  close_unneeded(client);
  if (perigee_connection(client) != d->connection) open_connection(client, now_us);
  if (d->tcp >= 0) send_stream(client, now_us);
  send_datagrams(client, now_us);
  close_unneeded(client);
}

uint64_t driver_due_us(const PerigeeClient *client) {
  const Driver *d = client->driver;
  uint64_t at_us = perigee_due_us(client);
  if (client->events.count > 0 || !is_current(client)) return 0;
  return is_opening(d) && d->skip_us < at_us ? d->skip_us : at_us;
}

int driver_fds(PerigeeClient *client, PerigeeFd fds[2]) {
  Driver *d = client->driver;
  int count = 0, wants_input = perigee_wants_input(client);
  close_unneeded(client);
  if (d->tcp >= 0)
    fds[count++] =
        (PerigeeFd){.fd = d->tcp,
                    .wants_read = d->is_connected && wants_input,
                    .wants_write = !d->is_connected || link_unsent(&client->link) > 0};
  if (d->udp >= 0) fds[count++] = (PerigeeFd){.fd = d->udp, .wants_read = wants_input};
  d->polled = count;
  return count;
}

PerigeeClient *perigee_connect(const char *address, const PerigeeOptions *options,
                               int *code) {
  Driver driver = {.tcp = -1, .udp = -1};
  uint64_t now_us = os_clock_us();
  PerigeeClient *client = NULL;
  if (code) *code = PERIGEE_BAD_ARGUMENT;
  if (address && parse_address(&driver, address))
    client = perigee_new(options, now_us, code);
  if (!client) {
    mem_free(driver.host);
    return NULL;
  }
  driver.timeout_us = client->options.timeout_ms * (uint64_t)1000;
  client->driver = mem_alloc(sizeof driver);
  *client->driver = driver;
  open_connection(client, now_us);
  return client;
}

void perigee_free(PerigeeClient *client) {
  Driver *d = client ? client->driver : NULL;
  if (d) {
    link_deinit(client);
    close_unneeded(client);
    os_free_addresses(d->addresses);
    mem_free(d->host);
    mem_free(d);
  }
  if (client) client_free(client);
}
