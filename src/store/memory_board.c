// See memory_board.h. Each entry is a document. Its id consists of the period and the
// entry's id, and its value of a Place and the data.
#include "store/memory_board.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/least.h"
#include "base/mem.h"

enum { PERIOD_SIZE = 8 };

typedef struct Place {
  double key;  // board_key of the score
  int64_t sequence;
} Place;

struct MemoryBoard {
  char *name;
  Board rules;  // rules; `rules.name` points to `name`
  Table table;
};

// --- Entries ---

// Writes the period in a form whose bytes sort like the period.
static void put_period(uint8_t *bytes, int64_t period) {
  uint64_t number = (uint64_t)period ^ (uint64_t)1 << 63;
  for (int i = 0; i < PERIOD_SIZE; i++) bytes[i] = (uint8_t)(number >> (56 - 8 * i));
}

static Text entry_key(Buf *buf, int64_t period, Text id) {
  buf->size = 0;
  put_period(buf_reserve(buf, PERIOD_SIZE), period);
  buf->size = PERIOD_SIZE;
  buf_append(buf, id.bytes, id.size);
  return (Text){(const char *)buf->data, (uint32_t)buf->size};
}

static Place place_of(const Document *entry) {
  Place place;
  memcpy(&place, document_value(entry).bytes, sizeof place);
  return place;
}

static Document *new_entry(Text key, Place place, Text data) {
  Buf value = {0};
  buf_append(&value, &place, sizeof place);
  buf_append(&value, data.bytes, data.size);
  const StoreStep step = {.id = key,
                          .value = {(const char *)value.data, (uint32_t)value.size}};
  Document *entry = document_new(&step, 0);
  buf_deinit(&value);
  return entry;
}

// Returns the position of the first entry of a period.
static uint32_t period_start(const Table *table, int64_t period) {
  uint8_t bytes[PERIOD_SIZE];
  put_period(bytes, period);
  return memory_table_position(table, (Text){(const char *)bytes, PERIOD_SIZE});
}

// --- Boards ---

void memory_boards_deinit(MemoryBoards *boards) {
  for (uint32_t i = 0; i < boards->count; i++) {
    memory_table_deinit(&boards->boards[i]->table);
    mem_free(boards->boards[i]->name);
    mem_free(boards->boards[i]);
  }
  mem_free(boards->boards);
  mem_free(boards->by_index);
  buf_deinit(&boards->key);
}

static MemoryBoard *get_board(MemoryBoards *boards, const Board *rules) {
  for (uint32_t i = 0; i < boards->count; i++)
    if (strcmp(boards->boards[i]->name, rules->name) == 0) return boards->boards[i];
  if (boards->count == boards->capacity)
    boards->capacity =
        array_grow(&boards->boards, boards->capacity, sizeof(MemoryBoard *), 4);
  MemoryBoard *board = mem_zalloc(sizeof *board);
  board->name = mem_strdup(rules->name);
  board->rules = (Board){board->name, rules->is_low, rules->keep};
  return boards->boards[boards->count++] = board;
}

StoreCode memory_boards_define(MemoryBoards *boards, uint32_t index, const Board *rules,
                               StoreFault *fault) {
  MemoryBoard *board = get_board(boards, rules);
  if (board->rules.is_low != rules->is_low) return board_fail_order(rules, fault);
  board->rules.keep = rules->keep;
  if (index >= boards->index_capacity)
    boards->index_capacity = array_reach(&boards->by_index, boards->index_capacity,
                                         sizeof(MemoryBoard *), index);
  boards->by_index[index] = board;
  return STORE_OK;
}

StoreCode memory_boards_apply(MemoryBoards *boards, Changes *changes,
                              const StoreStep *step, StoreFault *fault) {
  MemoryBoard *board = boards->by_index[step->collection];
  Table *table = &board->table;
  Text key = entry_key(&boards->key, step->version, step->id);
  Document *old = memory_table_find(table, key);
  if (step->type == STORE_REMOVE_SCORE) {
    changes_make(changes, table, old, NULL);
    return STORE_OK;
  }
  Place place = {board_key(&board->rules, step->score), ++boards->sequence};
  if (old != NULL) {
    bool is_kept;
    Place before = place_of(old);
    place.key = board_judge(&board->rules, before.key, place.key, &is_kept);
    if (!is_kept) return STORE_OK;
    if (place.key == before.key) place.sequence = before.sequence;
  }
  if (!isfinite(place.key)) return board_fail_sum(fault);
  changes_make(changes, table, old, new_entry(key, place, step->value));
  uint32_t expired = period_start(table, step->version - BOARD_PAST);
  for (; expired > 0; expired--)
    changes_make(changes, table, table->documents[0], NULL);
  return STORE_OK;
}

// --- Reads ---

static int compare(const void *a, const void *b) {
  Place left = place_of(*(const Document *const *)a);
  Place right = place_of(*(const Document *const *)b);
  if (left.key != right.key) return left.key < right.key ? -1 : 1;
  return left.sequence < right.sequence ? -1 : left.sequence > right.sequence;
}

static Text id_of(const Document *entry) {
  Text key = document_id(entry);
  return (Text){key.bytes + PERIOD_SIZE, key.size - PERIOD_SIZE};
}

static void put_entry(const MemoryBoard *board, const Document *entry, uint32_t at,
                      Buf *out) {
  Text value = document_value(entry);
  board_put_entry(out, &(BoardEntry){
                           .rank = (int64_t)at + 1,
                           .id = id_of(entry),
                           .score = board_key(&board->rules, place_of(entry).key),
                           .data = {value.bytes + sizeof(Place),
                                    value.size - (uint32_t)sizeof(Place)},
                       });
}

void memory_boards_read(const MemoryBoards *boards, const BoardQuery *query, Buf *out) {
  const MemoryBoard *board = boards->by_index[query->board];
  uint32_t first = period_start(&board->table, query->period);
  uint32_t count = period_start(&board->table, query->period + 1) - first;
  uint32_t from = 0, end = least(query->count, count);
  const Document **entries = mem_alloc((count + 1) * sizeof *entries);
  for (uint32_t i = 0; i < count; i++) entries[i] = board->table.documents[first + i];
  qsort(entries, count, sizeof *entries, compare);
  if (query->id.size > 0) {
    uint32_t at = 0;
    while (at < count && !text_equals(id_of(entries[at]), query->id)) at++;
    from = at - least(query->count, at);
    end = at < count ? least(at + 1 + query->count, count) : from;
  }
  buf_u8(out, '[');
  for (uint32_t i = from; i < end; i++) put_entry(board, entries[i], i, out);
  buf_u8(out, ']');
  mem_free(entries);
}
