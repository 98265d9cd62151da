// Lists rooms in the order of their names. A query does a limited amount of work, however
// many rooms exist. The client's next query continues where the previous one stopped.

#include "relay/listing.h"

#include <stdlib.h>
#include <string.h>

#include "relay/internal.h"
#include "wire/json.h"

// --- Which rooms are listed ---

void listing_update(Relay *relay, Room *room) {
  bool is_listed = room->state == ROOM_OPEN && !room->kind.is_hidden;
  if (is_listed == room->is_listed) return;
  room->is_listed = is_listed;
  if (is_listed)
    sorted_add(&relay->listed, room->name, room->name_size, room);
  else
    sorted_remove(&relay->listed, room->name, room->name_size);
}

// --- Reading a query ---

static Text text_of(const Buf *buf) {
  return (Text){(const char *)buf->data, (uint32_t)buf->size};
}

static bool is_text(const Buf *buf, const char *text) {
  return text_equals(text_of(buf), text_from(text));
}

static bool read_text(Text value, Buf *text) {
  text->size = 0;
  return json_read_text(value, text);
}

// Reads a value of meta; returns false for a list, an object or null.
static bool read_value(MetaFilter *filter, Text value) {
  filter->kind = value.bytes[0];
  filter->text.size = 0;
  if (filter->kind == '"') return json_read_text(value, &filter->text);
  if (filter->kind == 't' || filter->kind == 'f') return true;
  if (filter->kind == '{' || filter->kind == '[' || filter->kind == 'n') return false;
  filter->kind = '0';
  buf_append(&filter->text, value.bytes, value.size);
  buf_u8(&filter->text, 0);
  filter->number = strtod((const char *)filter->text.data, NULL);
  return true;
}

static const char *read_meta(RoomQuery *query, Text meta) {
  Text key, value;
  if (meta.bytes[0] != '{') return "meta must be an object";
  query->filter_count = 0;
  for (uint32_t at = 0; json_next(meta, &at, &key, &value);) {
    if (query->filter_count == QUERY_META_MAX) return "meta has at most 8 keys";
    MetaFilter *filter = &query->filters[query->filter_count++];
    if (!read_text(key, &filter->key) || !read_value(filter, value))
      return "the values of meta are texts, numbers, true or false";
  }
  return NULL;
}

static const char *read_limit(RoomQuery *query, Text value) {
  uint32_t limit = 0;
  for (uint32_t i = 0; i < value.size; i++) {
    char c = value.bytes[i];
    if (c < '0' || c > '9') return "limit must be a whole number from 1";
    if (limit <= QUERY_LIMIT_MAX) limit = 10 * limit + (uint32_t)(c - '0');
  }
  if (limit == 0) return "limit must be a whole number from 1";
  if (limit < query->limit) query->limit = limit;
  return NULL;
}

static const char *read_field(RoomQuery *query, const Buf *name, Text value) {
  if (is_text(name, "kind"))
    return read_text(value, &query->kind) ? NULL : "kind must be a text";
  if (is_text(name, "after"))
    return read_text(value, &query->at) ? NULL : "after must be a text";
  if (is_text(name, "meta")) return read_meta(query, value);
  if (is_text(name, "limit")) return read_limit(query, value);
  if (!is_text(name, "open")) return "a query has kind, open, meta, limit and after";
  query->is_open = value.bytes[0] == 't';
  return query->is_open || value.bytes[0] == 'f' ? NULL : "open must be true or false";
}

const char *query_read(RoomQuery *query, Text json) {
  Text key, value;
  const char *wrong = NULL;
  *query = (RoomQuery){.limit = QUERY_LIMIT_MAX};
  if (json.size > QUERY_BYTES) return "a query has at most 4096 bytes";
  json = json_trim(json);
  if (json.size == 0 || json.bytes[0] != '{' || !json_is_value(json))
    return "a query is a JSON object";
  for (uint32_t at = 0; !wrong && json_next(json, &at, &key, &value);) {
    query->text.size = 0;
    json_read_text(key, &query->text);
    wrong = read_field(query, &query->text, value);
  }
  return wrong;
}

void query_deinit(RoomQuery *query) {
  buf_deinit(&query->kind);
  buf_deinit(&query->at);
  buf_deinit(&query->text);
  for (uint32_t i = 0; i < QUERY_META_MAX; i++) {
    buf_deinit(&query->filters[i].key);
    buf_deinit(&query->filters[i].text);
  }
}

// --- Matching ---

static bool is_of_kind(const RoomQuery *query, const SortedNode *node) {
  uint32_t size = (uint32_t)query->kind.size;
  return node->size >= size && memcmp(node->name, query->kind.data, size) == 0 &&
         (node->size == size || node->name[size] == ':');
}

// Compares a value with a room's value, whose JSON ends with a NUL.
static bool is_value(RoomQuery *query, const MetaFilter *filter, Text json) {
  char kind = json.bytes[0];
  query->text.size = 0;
  if (filter->kind == '"')
    return json_read_text(json, &query->text) &&
           text_equals(text_of(&query->text), text_of(&filter->text));
  if (filter->kind != '0') return kind == filter->kind;
  bool is_number = kind == '-' || (kind >= '0' && kind <= '9');
  return is_number && strtod(json.bytes, NULL) == filter->number;
}

static bool has_meta(RoomQuery *query, const Room *room, const MetaFilter *filter) {
  RoomMeta meta;
  return room_get_meta(room, text_of(&filter->key), &meta) && meta.is_public &&
         is_value(query, filter, meta.json);
}

static bool is_open(const Room *room) {
  const RoomKind *kind = &room->kind;
  return !kind->is_locked && !kind->has_password && room_has_place(room, false);
}

static bool matches(RoomQuery *query, const Room *room) {
  if (query->is_open && !is_open(room)) return false;
  if (query->filter_count > 0) query->work += (uint32_t)(room->meta.size / 256);
  for (uint32_t i = 0; i < query->filter_count; i++)
    if (!has_meta(query, room, &query->filters[i])) return false;
  return true;
}

// Returns the first node of the query's kind whose name begins with `name`, if it is
// behind query->at; otherwise NULL.
static const SortedNode *find_kind(const Relay *relay, const RoomQuery *query,
                                   Text name) {
  const SortedNode *node = sorted_from(&relay->listed, name.bytes, name.size);
  if (!node || !is_of_kind(query, node)) return NULL;
  bool is_behind =
      query->at.size == 0 ||
      sorted_compare(node, (const char *)query->at.data, query->at.size) > 0;
  return is_behind ? node : NULL;
}

// Returns the next node to visit, or NULL. The rooms of a kind are the room KIND, and
// all rooms whose names begin with "KIND:", which are adjacent.
static const SortedNode *next_node(const Relay *relay, RoomQuery *query) {
  Text at = text_of(&query->at);
  const SortedNode *node = query->node
                               ? query->node->next[0]
                               : sorted_after(&relay->listed, at.bytes, at.size);
  if (query->kind.size == 0 || !node || is_of_kind(query, node)) return node;
  if ((node = find_kind(relay, query, text_of(&query->kind)))) return node;
  query->text.size = 0;
  buf_append(&query->text, query->kind.data, query->kind.size);
  buf_u8(&query->text, ':');
  return find_kind(relay, query, text_of(&query->text));
}

const Room *query_next(const Relay *relay, RoomQuery *query) {
  const SortedNode *node;
  while ((node = next_node(relay, query))) {
    const Room *room = node->value;
    if (query->limit == 0 || query->work >= QUERY_WORK) return NULL;
    query->work++;
    query->node = node;
    query->at.size = 0;
    buf_append(&query->at, node->name, node->size);
    if (!matches(query, room)) continue;
    query->limit--;
    return room;
  }
  query->at.size = 0;
  return NULL;
}
