// Lists of rooms that clients and scripts ask for: open rooms that are not hidden, by name.
#pragma once

#include "base/sorted.h"
#include "relay/room.h"

enum {
  QUERY_BYTES = 4096,             // limit of the JSON of a query
  QUERY_LIMIT_MAX = 100,          // rooms in one answer
  QUERY_META_MAX = 8,             // keys of `meta` in a query
  QUERY_ANSWER_BYTES = 60 << 10,  // size of an answer at which it ends
  QUERY_WORK = 4000,  // rooms that one query looks at; 256 bytes of meta count as one
};

/// A key of public meta and the value that rooms must have there.
typedef struct MetaFilter {
  Buf key;
  Buf text;       // bytes of a text; owned
  double number;  // value of a number
  char kind;      // '"', '0', 't', 'f'
} MetaFilter;

/// A query, and how far it has come. The zero value asks for all rooms.
typedef struct RoomQuery {
  Buf kind;                // kind of the rooms; empty: any
  Buf at;                  // name of the last room that the query has looked at
  Buf text;                // reused
  const SortedNode *node;  // node of `at`, or NULL
  MetaFilter filters[QUERY_META_MAX];
  uint32_t filter_count;
  uint32_t limit;  // rooms that the query may still return
  uint32_t work;   // so far
  bool is_open;    // rooms that a client may join without a password
} RoomQuery;

/// Reads the JSON of a query. Returns NULL, or what is wrong with it. The caller frees the
/// query in both cases.
const char *query_read(RoomQuery *query, Text json);
void query_deinit(RoomQuery *query);

/// Returns the next room, or NULL: then `query->at` is the name behind which a later query
/// may go on; it is empty if the list has ended.
const Room *query_next(const Relay *relay, RoomQuery *query);

/// Adds a room to the lists, or removes it, after its state or settings have changed.
void listing_update(Relay *relay, Room *room);
