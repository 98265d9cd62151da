// The clients of the load generator: plain sockets on one epoll, all in one process. A
// Load owns its clients. This file checks and counts their input, and passes it to the
// scenario's `on_packet`.
#pragma once

#include "cpu.h"
#include "program.h"
#include "secure.h"
#include "ws.h"

typedef struct Load Load;

enum {
  PUBLISHERS_MAX = 4,  // members of a room that broadcast: its first members
  PUBLISHER_SHIFT =
      28,  // bits of a broadcast's number; the bits above it identify the publisher
};

typedef struct Client {
  int fd;  // -1: closed
  uint32_t id;
  uint32_t room;                      // room; 0: none
  uint32_t index;                     // index among the load's clients
  uint32_t expected[PUBLISHERS_MAX];  // number of the next broadcast of each publisher
  bool is_asking;  // whether the answer to the WebSocket request is due
  Bytes in;        // beginning of a packet
  Secure *secure;  // TLS; NULL: none
} Client;

struct Load {
  // the command line
  uint16_t port;
  int pid;  // process of the server
  bool tls;
  bool ws;    // whether clients use WebSockets
  bool spin;  // never sleep, so that the server does not pay for waking this process
  double seconds;    // duration of a measurement
  uint32_t members;  // clients in a room; all clients if the scenario has no rooms
  uint32_t rooms;
  uint32_t burst;       // broadcasts in one write
  uint32_t publishers;  // members that broadcast
  uint32_t rate;        // broadcasts a second, if they are paced
  uint32_t payload;     // bytes of data in one broadcast
  uint32_t stalled;     // clients that never read

  int epoll;
  bool lossy;      // broadcasts may be missing
  bool finishing;  // whether the server may close connections
  Client *clients;
  uint32_t count;
  uint64_t welcomed, joined, closed, deliveries, pings;
  void (*on_packet)(Load *load, Client *client, uint16_t type, const uint8_t *payload);
  void (*on_close)(Load *load, Client *client);
  void *data;  // data of the scenario
};

/// Returns the resident memory of the server in KiB.
uint64_t server_rss_kb(const Load *load);

/// Makes and connects `count` clients, and waits for WELCOME of each.
void load_connect(Load *load, uint32_t count);

/// Makes the clients join rooms from `bench:1` on, `load->members` in each. Returns
/// when all have joined.
void load_join(Load *load);

/// Ends all clients in order; returns when the server has closed them.
void load_finish(Load *load);

/// Runs one iteration: reads available input, and waits at most `timeout_ms` if it may
/// sleep.
void load_poll(Load *load, int timeout_ms);

/// Polls until `*counter` has reached `goal`; fails after ten seconds.
void load_await(Load *load, const uint64_t *counter, uint64_t goal, const char *what);

/// Makes client 0 broadcast `load->burst` packets in one write, numbered from `*number`
/// on. Returns when all other members of its room have got them.
void load_burst(Load *load, uint32_t *number);

/// Opens a connection and sends HELLO.
void client_open(Load *load, Client *client);

void client_close(Client *client);

/// Makes a publisher write `load->burst` broadcasts at once, numbered from `number` on.
void client_burst(Load *load, uint32_t publisher, uint32_t number);

/// Writes all bytes; waits while the socket is full.
void client_write(const Load *load, const Client *client, const Bytes *bytes);

void client_join(const Load *load, Client *client, uint32_t room_number);

/// Writes a packet with a u32 (LEAVE) or without a payload (BYE).
void client_send(const Load *load, Client *client, enum WireType type,
                 const uint32_t *room);

/// Begins or stops reading.
void client_watch(Load *load, Client *client);
void client_ignore(Load *load, Client *client);

/// Appends a broadcast whose data begins with `number` (see PUBLISHER_SHIFT) and `stamp`.
void broadcast_put(Bytes *bytes, const Load *load, const Client *client,
                   uint32_t number, uint64_t stamp);

/// Returns the stamp in the payload of a relayed packet.
static inline uint64_t relayed_stamp(const uint8_t *payload) {
  return wire_u64(payload + 12);
}

/// Sorts `values`; returns the value at `share` (0.5: the median).
uint32_t percentile(uint32_t *values, size_t count, double share);
