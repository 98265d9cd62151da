// The floor: a minimal fast relay, which is one thread with epoll. It supports as much
// of the protocol as the bench needs, and checks its input like a real server. It
// frames a broadcast once for each room and iteration, and sends to each member once in
// each iteration. The difference between Perigee and the floor is the price of all
// other features.
//
// A client that begins with a GET gets a WebSocket. Its packets arrive in messages, and
// all output for it in one iteration is one message.
//
// floor.c has the loop, floor_room.c the rooms and the output, floor_packet.c the
// input.
#pragma once

#include <sys/uio.h>

#include "ws.h"

enum {
  EVENTS = 512,
  PING_INTERVAL_MS = 13000,
  SEATS = 4,              // most rooms of one connection
  ROOMS = 8192,           // size of the table of names, a power of two
  RANGES = 64,            // most parts of one gathered write
  FRAME_MAX = 512 << 10,  // bytes above which a room is flushed early
  BACKLOG_MAX = 1 << 20,  // most waiting bytes of a connection that does not read
  READ_SIZE = 256 << 10,
};

typedef struct Conn Conn;
typedef struct Room Room;

typedef struct Seat {
  Room *room;
  uint32_t index;  // index among the room's members
} Seat;

struct Conn {
  int fd;  // -1: closed, and freed at the end of the iteration
  uint32_t id;
  bool greeted, dirty, blocked, pinged, is_ws;
  uint8_t name_size, seat_count;
  char name[WIRE_NAME_MAX];
  Seat seats[SEATS];
  Conn *previous, *next;  // ring in the order of the next PINGs
  uint64_t ping_at_ms;
  uint64_t sent_turn;  // last iteration in which it broadcast
  Bytes in;            // beginning of a packet
  Bytes
      out;  // packets to this connection alone, and output that waits while it is blocked
  Bytes rest;  // bytes that the socket did not accept; they go out first
};

typedef struct Member {
  Conn *conn;
  size_t start;  // where its part of the frame begins
} Member;

typedef struct Own {
  const Conn *sender;
  size_t from, to;
} Own;

struct Room {
  uint32_t id;
  uint8_t name_size;
  bool dirty;
  char name[WIRE_NAME_MAX];
  Member *members;
  uint32_t count, capacity;
  Bytes frame;  // packets of this iteration
  Bytes own;    // Own: parts of the frame that a member does not get
};

typedef struct Floor {
  int epoll, listener;
  uint32_t next_id, room_count;
  uint64_t turn;
  Conn ring;                // head of the ring
  Room *rooms[ROOMS + 1];   // by id
  uint32_t by_name[ROOMS];  // ids, with open addressing
  Bytes dirty_rooms;        // Room *
  Bytes dirty_conns;        // Conn *: connections with direct output
  Bytes dead;               // Conn *
  uint8_t read[READ_SIZE + WS_MESSAGE_MAX];
} Floor;

/// Makes the end of the iteration flush the connection's direct output.
void conn_dirty(Floor *floor, Conn *conn);
void conn_flush(Floor *floor, Conn *conn);
void conn_close(Floor *floor, Conn *conn);

/// Returns the index of the connection's membership in a room, or -1.
int conn_seat(const Conn *conn, uint32_t room_id);

/// Returns the room of that name, and makes it if needed; NULL if too many rooms exist.
Room *room_by_name(Floor *floor, const uint8_t *name, uint8_t size);
void room_join(Conn *conn, Room *room);
void room_leave(Floor *floor, Conn *conn, int seat);

/// Begins and ends a packet to all members but `except`.
size_t room_packet(Floor *floor, Room *room, uint16_t type);
void room_packet_end(Floor *floor, Room *room, size_t start, Conn *except);
void room_flush(Floor *floor, Room *room);

/// Handles a packet with a valid header; returns false if the connection must end.
bool packet_handle(Floor *floor, Conn *conn, const WireHeader *header,
                   const uint8_t *payload);
