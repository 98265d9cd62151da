// The clients of the load generator: plain sockets on one epoll, all in one process. A
// Load owns its clients; what arrives is checked and counted here, and handed to the
// scenario's `on_packet`.
#pragma once

#include "cpu.h"
#include "program.h"
#include "secure.h"
#include "ws.h"

typedef struct Load Load;

enum {
  PUBLISHERS_MAX = 4,  // members of a room that broadcast; the first ones
  PUBLISHER_SHIFT =
      28,  // of a broadcast's number; below it counts its publisher's broadcasts
};

typedef struct Client {
  int fd;  // -1: closed
  uint32_t id;
  uint32_t room;                      // 0: in none
  uint32_t index;                     // among the load's clients
  uint32_t expected[PUBLISHERS_MAX];  // by publisher: the number of its next broadcast
  bool is_asking;                     // for a WebSocket: its answer has not come
  Bytes in;                           // the beginning of a packet
  Secure *secure;                     // NULL: without TLS
} Client;

struct Load {
  // the command line
  uint16_t port;
  int pid;  // of the server
  bool tls;
  bool ws;           // over WebSockets
  bool spin;         // never sleep: waking this process is then no cost of the server's
  double seconds;    // how long to measure
  uint32_t members;  // clients in a room; all clients where there are no rooms
  uint32_t rooms;
  uint32_t burst;       // broadcasts in one write
  uint32_t publishers;  // members that broadcast
  uint32_t rate;        // broadcasts a second, where they are paced
  uint32_t payload;     // bytes of data in one broadcast
  uint32_t stalled;     // clients that never read

  int epoll;
  bool lossy;      // broadcasts may be missing
  bool finishing;  // the server may close connections
  Client *clients;
  uint32_t count;
  uint64_t welcomed, joined, closed, deliveries, pings;
  void (*on_packet)(Load *load, Client *client, uint16_t type, const uint8_t *payload);
  void (*on_close)(Load *load, Client *client);
  void *data;  // the scenario's
};

/// Resident memory of the server in KiB.
uint64_t server_rss_kb(const Load *load);

/// Makes `count` clients, connects them, and has them welcomed.
void load_connect(Load *load, uint32_t count);

/// Has the clients join: `load->members` in a room, `bench:1` on. Returns when all are
/// in.
void load_join(Load *load);

/// Ends all clients in order; returns when the server has closed them.
void load_finish(Load *load);

/// One turn: reads what there is; waits at most `timeout_ms` where it may sleep.
void load_poll(Load *load, int timeout_ms);

/// Polls until `*counter` has reached `goal`; fails when that takes ten seconds.
void load_await(Load *load, const uint64_t *counter, uint64_t goal, const char *what);

/// Has client 0 broadcast `load->burst` packets in one write, numbered from `*number`
/// on, and returns when the others of its room have them all.
void load_burst(Load *load, uint32_t *number);

/// Opens a connection and sends HELLO.
void client_open(Load *load, Client *client);

void client_close(Client *client);

/// Has a publisher write `load->burst` broadcasts at once, numbered from `number` on.
void client_burst(Load *load, uint32_t publisher, uint32_t number);

/// Writes all of it, waiting where the socket is full.
void client_write(const Load *load, const Client *client, const Bytes *bytes);

void client_join(const Load *load, Client *client, uint32_t room_number);

/// A packet that carries a u32 (LEAVE) or nothing (BYE).
void client_send(const Load *load, Client *client, enum WireType type,
                 const uint32_t *room);

/// Begins or stops reading.
void client_watch(Load *load, Client *client);
void client_ignore(Load *load, Client *client);

/// Appends a broadcast whose data begins with `number` (see PUBLISHER_SHIFT) and `stamp`.
void broadcast_put(Bytes *bytes, const Load *load, const Client *client,
                   uint32_t number, uint64_t stamp);

/// The stamp in the payload of a relayed packet.
static inline uint64_t relayed_stamp(const uint8_t *payload) {
  return wire_u64(payload + 12);
}

/// The value at `share` (0.5: the median) of `values`, which get sorted.
uint32_t percentile(uint32_t *values, size_t count, double share);
