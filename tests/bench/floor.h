// The floor: a minimal fast relay, which is one thread with epoll. It supports as much
// of the protocol as the bench needs and checks its input like a real server. A
// broadcast is framed once for each room and turn, and each member gets one send in
// each turn. The difference between Perigee and the floor is the price of all other
// features.
//
// A client that begins with a GET gets a WebSocket. Its packets arrive in messages, and
// all output for it in one turn is one message.
//
// floor.c has the loop, floor_room.c the rooms and the output, floor_packet.c the
// input.
#pragma once

#include <sys/uio.h>

#include "ws.h"

enum {
  EVENTS = 512,
  PING_INTERVAL_MS = 13000,
  SEATS = 4,              // rooms that one connection may be in
  ROOMS = 8192,           // a power of two: the table of names
  RANGES = 64,            // parts of one gathered write
  FRAME_MAX = 512 << 10,  // a room is flushed early past this
  BACKLOG_MAX = 1 << 20,  // what may wait for a connection that does not read
  READ_SIZE = 256 << 10,
};

typedef struct Conn Conn;
typedef struct Room Room;

typedef struct Seat {
  Room *room;
  uint32_t index;  // among the room's members
} Seat;

struct Conn {
  int fd;  // -1: closed, freed at the end of the turn
  uint32_t id;
  bool greeted, dirty, blocked, pinged, is_ws;
  uint8_t name_size, seat_count;
  char name[WIRE_NAME_MAX];
  Seat seats[SEATS];
  Conn *previous, *next;  // in the ring of those to ping, the next one first
  uint64_t ping_at_ms;
  uint64_t sent_turn;  // the last turn in which it broadcast
  Bytes in;            // the beginning of a packet
  Bytes out;           // packets to it alone, and what waits while it is blocked
  Bytes rest;          // what the socket did not take; goes out first
};

typedef struct Member {
  Conn *conn;
  size_t start;  // where in the frame its part begins
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
  Bytes frame;  // this turn's packets
  Bytes own;    // Own: parts of the frame that a member does not get
};

typedef struct Floor {
  int epoll, listener;
  uint32_t next_id, room_count;
  uint64_t turn;
  Conn ring;                // its head
  Room *rooms[ROOMS + 1];   // by id
  uint32_t by_name[ROOMS];  // open addressing; ids
  Bytes dirty_rooms;        // Room *
  Bytes dirty_conns;        // Conn *: with direct output
  Bytes dead;               // Conn *
  uint8_t read[READ_SIZE + WS_MESSAGE_MAX];
} Floor;

/// Has the connection's direct output flushed at the end of the turn.
void conn_dirty(Floor *floor, Conn *conn);
void conn_flush(Floor *floor, Conn *conn);
void conn_close(Floor *floor, Conn *conn);

/// Where the connection keeps its place in a room, or -1.
int conn_seat(const Conn *conn, uint32_t room_id);

/// The room of that name, which is made when it is not there; NULL when there are too
/// many.
Room *room_by_name(Floor *floor, const uint8_t *name, uint8_t size);
void room_join(Conn *conn, Room *room);
void room_leave(Floor *floor, Conn *conn, int seat);

/// Begins and ends a packet to all members but `except`.
size_t room_packet(Floor *floor, Room *room, uint16_t type);
void room_packet_end(Floor *floor, Room *room, size_t start, Conn *except);
void room_flush(Floor *floor, Room *room);

/// Handles a packet whose header is good; false when the connection has to end.
bool packet_handle(Floor *floor, Conn *conn, const WireHeader *header,
                   const uint8_t *payload);
