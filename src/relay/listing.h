// Lists of rooms for clients and scripts: the open rooms that are not hidden, by name.
#pragma once

#include "base/sorted.h"
#include "relay/room.h"

enum {
  QUERY_BYTES = 4096,             // limit of the JSON of a query
  QUERY_LIMIT_MAX = 100,          // most rooms in one answer
  QUERY_META_MAX = 8,             // most keys of `meta` in a query
  QUERY_ANSWER_BYTES = 60 << 10,  // limit of the bytes of the rooms in one answer
  QUERY_WORK = 4000,  // limit of rooms that one query visits; 256 bytes of meta count
                      // as one room
  QUERY_WORK_OF_PACKET = 100,  // visits that count as one packet for rate_limit
};

/// A key of public meta, and the value that the listed rooms must have.
typedef struct MetaFilter {
  Buf key;
  Buf text;       // bytes of a text; owned
  double number;  // value of a number
  char kind;      // type of the value: '"' text, '0' number, 't' true, 'f' false
} MetaFilter;

/// A query and its progress. The zero value requests all rooms.
typedef struct RoomQuery {
  Buf kind;                // kind of the rooms; empty: any
  Buf at;                  // name of the last visited room
  Buf text;                // reused
  const SortedNode *node;  // node of `at`, or NULL
  MetaFilter filters[QUERY_META_MAX];
  uint32_t filter_count;
  uint32_t limit;  // rooms that the query may still return
  uint32_t work;   // work so far, in visited rooms
  bool is_open;    // list only rooms that a client may join without a password
} RoomQuery;

/// Parses the JSON of a query. Returns NULL, or an error text. The caller frees the
/// query in both cases.
const char *query_read(RoomQuery *query, Text json);
void query_deinit(RoomQuery *query);

/// Returns the next room. Returns NULL if the answer must end; `query->at` is then the
/// name behind which a later query continues, or empty at the end of the list.
const Room *query_next(const Relay *relay, RoomQuery *query);

/// Adds a room to the lists, or removes it, after a change of its state or settings.
void listing_update(Relay *relay, Room *room);
