// See sqlite_board.h. The place of an entry is (key, sequence): its board_key and, for
// ties, the number of the submission. The first block begins at -infinity.
#include "store/sqlite_board.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "store/query.h"

enum {
  BLOCK_MAX = 1024,  // entries of a block; a larger block is split
  EXPIRE_ROWS = 8,   // rows of old periods that one submission deletes
  SQL_SIZE = 640,
};

typedef enum Statement {
  FIND,
  PUT,
  REMOVE,
  FIND_BLOCK,
  PUT_BLOCK,
  REMOVE_BLOCK,
  COUNT_BLOCKS,
  COUNT_ENTRIES,
  SKIP,
  SKIP_BACK,
  SCAN,
  EXPIRE,
  EXPIRE_BLOCKS,
  STATEMENTS
} Statement;

// SQL in which the name of the board replaces `#`.
#define ENTRIES "\"perigee_board_#\""
#define BLOCKS "\"perigee_blocks_#\""

static const char *const SQL[STATEMENTS] = {
    [FIND] = "SELECT key, sequence FROM " ENTRIES " WHERE period = ?1 AND id = ?2",
    [PUT] = "INSERT INTO " ENTRIES
            " (period, id, key, sequence, data)"
            " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (period, id) DO UPDATE SET"
            " key = ?3, sequence = ?4, data = ?5",
    [REMOVE] = "DELETE FROM " ENTRIES " WHERE period = ?1 AND id = ?2",
    [FIND_BLOCK] = "SELECT key, sequence, count FROM " BLOCKS
                   " WHERE period = ?1 AND (key, sequence) <= (?2, ?3)"
                   " ORDER BY key DESC, sequence DESC LIMIT 1",
    [PUT_BLOCK] = "INSERT INTO " BLOCKS
                  " (period, key, sequence, count)"
                  " VALUES (?1, ?2, ?3, ?4) ON CONFLICT (period, key, sequence)"
                  " DO UPDATE SET count = ?4",
    [REMOVE_BLOCK] =
        "DELETE FROM " BLOCKS " WHERE period = ?1 AND key = ?2 AND sequence = ?3",
    [COUNT_BLOCKS] = "SELECT coalesce(sum(count), 0) FROM " BLOCKS
                     " WHERE period = ?1 AND (key, sequence) < (?2, ?3)",
    [COUNT_ENTRIES] = "SELECT count(*) FROM " ENTRIES
                      " WHERE period = ?1 AND (key, sequence) >= (?2, ?3)"
                      " AND (key, sequence) <= (?4, ?5)",
    [SKIP] = "SELECT key, sequence FROM " ENTRIES
             " WHERE period = ?1 AND (key, sequence) >= (?2, ?3)"
             " ORDER BY key, sequence LIMIT 1 OFFSET ?4",
    [SKIP_BACK] = "SELECT key, sequence FROM " ENTRIES
                  " WHERE period = ?1 AND (key, sequence) <= (?2, ?3)"
                  " ORDER BY key DESC, sequence DESC LIMIT 1 OFFSET ?4",
    [SCAN] = "SELECT id, key, data FROM " ENTRIES
             " WHERE period = ?1 AND (key, sequence) >= (?2, ?3)"
             " ORDER BY key, sequence LIMIT ?4",
    [EXPIRE] = "DELETE FROM " ENTRIES
               " WHERE (period, id) IN"
               " (SELECT period, id FROM " ENTRIES " WHERE period < ?1 LIMIT ?2)",
    [EXPIRE_BLOCKS] =
        "DELETE FROM " BLOCKS
        " WHERE (period, key, sequence) IN (SELECT"
        " period, key, sequence FROM " BLOCKS " WHERE period < ?1 LIMIT ?2)",
};

static const char CREATE[] =
    "CREATE TABLE IF NOT EXISTS perigee_boards (name TEXT PRIMARY KEY NOT NULL,"
    " is_low INTEGER NOT NULL) STRICT;"
    "CREATE TABLE IF NOT EXISTS " ENTRIES
    " (period INTEGER NOT NULL,"
    " id TEXT NOT NULL, key REAL NOT NULL, sequence INTEGER NOT NULL,"
    " data TEXT NOT NULL, PRIMARY KEY (period, id)) STRICT, WITHOUT ROWID;"
    "CREATE UNIQUE INDEX IF NOT EXISTS \"perigee_places_#\" ON " ENTRIES
    " (period, key, sequence);"
    "CREATE TABLE IF NOT EXISTS " BLOCKS
    " (period INTEGER NOT NULL,"
    " key REAL NOT NULL, sequence INTEGER NOT NULL, count INTEGER NOT NULL,"
    " PRIMARY KEY (period, key, sequence)) STRICT, WITHOUT ROWID;";

// Registers a board. A later order does not replace the first one.
static const char REGISTER[] =
    "INSERT INTO perigee_boards (name, is_low) VALUES (?1, ?2)"
    " ON CONFLICT (name) DO UPDATE SET name = name RETURNING is_low";

struct SqliteBoard {
  sqlite3 *db;  // not owned
  Board rules;  // rules of the board, without its name
  sqlite3_stmt *statements[STATEMENTS];
};

typedef struct Place {
  double key;
  int64_t sequence;
} Place;

typedef struct Block {
  Place first;
  int64_t count;
} Block;

// --- Life ---

// Writes the SQL for a board.
static const char *name_in(char *sql, const char *pattern, const char *name) {
  char *at = sql;
  for (; *pattern != '\0'; pattern++) {
    if (*pattern == '#')
      at = stpcpy(at, name);
    else
      *at++ = *pattern;
  }
  *at = '\0';
  return sql;
}

static StoreCode fail(sqlite3 *db, StoreFault *fault) {
  return store_fault(fault, STORE_UNAVAILABLE, "SQLite: %s", sqlite3_errmsg(db));
}

// Registers the board. Its order cannot change later, because it is part of the stored
// keys.
static StoreCode register_order(sqlite3 *db, const Board *board, StoreFault *fault) {
  sqlite3_stmt *statement;
  if (sqlite3_prepare_v2(db, REGISTER, -1, &statement, NULL) != SQLITE_OK)
    return fail(db, fault);
  sqlite3_bind_text(statement, 1, board->name, -1, SQLITE_STATIC);
  sqlite3_bind_int(statement, 2, board->is_low);
  bool is_same = sqlite3_step(statement) == SQLITE_ROW &&
                 sqlite3_column_int(statement, 0) == board->is_low;
  sqlite3_finalize(statement);
  if (is_same) return STORE_OK;
  return board_fail_order(board, fault);
}

static StoreCode prepare(SqliteBoard *board, const char *name, StoreFault *fault) {
  char sql[SQL_SIZE];
  for (int i = 0; i < STATEMENTS; i++) {
    if (sqlite3_prepare_v3(board->db, name_in(sql, SQL[i], name), -1,
                           SQLITE_PREPARE_PERSISTENT, &board->statements[i],
                           NULL) != SQLITE_OK)
      return fail(board->db, fault);
  }
  return STORE_OK;
}

SqliteBoard *sqlite_board_new(sqlite3 *db, const Board *rules, StoreFault *fault) {
  char sql[2 * SQL_SIZE];
  assert(store_is_name(rules->name) && "the name stands in SQL text");
  if (sqlite3_exec(db, name_in(sql, CREATE, rules->name), NULL, NULL, NULL) !=
      SQLITE_OK) {
    fail(db, fault);
    return NULL;
  }
  if (register_order(db, rules, fault) != STORE_OK) return NULL;
  SqliteBoard *board = mem_zalloc(sizeof *board);
  board->db = db;
  board->rules = (Board){.is_low = rules->is_low, .keep = rules->keep};
  if (prepare(board, rules->name, fault) == STORE_OK) return board;
  sqlite_board_free(board);
  return NULL;
}

void sqlite_board_free(SqliteBoard *board) {
  if (board == NULL) return;
  for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(board->statements[i]);
  mem_free(board);
}

// --- Statements ---

// Begins a statement whose first parameter is the period.
static sqlite3_stmt *start(SqliteBoard *board, Statement which, int64_t period) {
  sqlite3_stmt *statement = board->statements[which];
  sqlite3_bind_int64(statement, 1, period);
  return statement;
}

static void bind_place(sqlite3_stmt *statement, int at, Place place) {
  sqlite3_bind_double(statement, at, place.key);
  sqlite3_bind_int64(statement, at + 1, place.sequence);
}

static void bind_text(sqlite3_stmt *statement, int at, Text text) {
  sqlite3_bind_text(statement, at, text.size > 0 ? text.bytes : "", (int)text.size,
                    SQLITE_STATIC);
}

static int run(sqlite3_stmt *statement) {
  int result = sqlite3_step(statement);
  sqlite3_reset(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

// Reads the place in a row, if a row exists. Returns SQLITE_ROW, SQLITE_DONE or an
// error.
static int read_place(sqlite3_stmt *statement, Place *place) {
  int result = sqlite3_step(statement);
  if (result == SQLITE_ROW)
    *place = (Place){sqlite3_column_double(statement, 0),
                     sqlite3_column_int64(statement, 1)};
  return result;
}

static int read_one_place(sqlite3_stmt *statement, Place *place) {
  int result = read_place(statement, place);
  sqlite3_reset(statement);
  return result;
}

static int read_count(sqlite3_stmt *statement, int64_t *count) {
  int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) *count = sqlite3_column_int64(statement, 0);
  sqlite3_reset(statement);
  return result == SQLITE_ROW ? SQLITE_OK : result;
}

static int find(SqliteBoard *board, int64_t period, Text id, Place *place) {
  sqlite3_stmt *statement = start(board, FIND, period);
  bind_text(statement, 2, id);
  return read_one_place(statement, place);
}

// --- Blocks ---

// Finds the block of a place. For a place before all blocks, makes an empty block.
static int find_block(SqliteBoard *board, int64_t period, Place place, Block *block) {
  sqlite3_stmt *statement = start(board, FIND_BLOCK, period);
  bind_place(statement, 2, place);
  *block = (Block){.first = {-INFINITY, 0}};
  int result = read_place(statement, &block->first);
  if (result == SQLITE_ROW) block->count = sqlite3_column_int64(statement, 2);
  sqlite3_reset(statement);
  return result == SQLITE_ROW || result == SQLITE_DONE ? SQLITE_OK : result;
}

static int put_block(SqliteBoard *board, int64_t period, Block block) {
  sqlite3_stmt *statement =
      start(board, block.count > 0 ? PUT_BLOCK : REMOVE_BLOCK, period);
  bind_place(statement, 2, block.first);
  if (block.count > 0) sqlite3_bind_int64(statement, 4, block.count);
  return run(statement);
}

// Moves the second half of a block that is too large to a new block.
static int split(SqliteBoard *board, int64_t period, Block block) {
  Block second = {.count = block.count / 2};
  block.count -= second.count;
  sqlite3_stmt *statement = start(board, SKIP, period);
  bind_place(statement, 2, block.first);
  sqlite3_bind_int64(statement, 4, block.count);
  int result = read_one_place(statement, &second.first);
  if (result != SQLITE_ROW) return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
  result = put_block(board, period, block);
  return result == SQLITE_OK ? put_block(board, period, second) : result;
}

// Counts an added (1) or removed (-1) entry.
static int count(SqliteBoard *board, int64_t period, Place place, int change) {
  Block block;
  int result = find_block(board, period, place, &block);
  if (result != SQLITE_OK) return result;
  block.count += change;
  return block.count > BLOCK_MAX ? split(board, period, block)
                                 : put_block(board, period, block);
}

// --- Scores ---

static int expire(SqliteBoard *board, Statement which, int64_t period) {
  sqlite3_stmt *statement = start(board, which, period);
  sqlite3_bind_int64(statement, 2, EXPIRE_ROWS);
  return run(statement);
}

static int enter(SqliteBoard *board, const StoreStep *step, Place place) {
  sqlite3_stmt *statement = start(board, PUT, step->version);
  bind_text(statement, 2, step->id);
  bind_place(statement, 3, place);
  bind_text(statement, 5, step->value);
  int result = run(statement);
  if (result == SQLITE_OK) result = count(board, step->version, place, 1);
  if (result == SQLITE_OK) result = expire(board, EXPIRE, step->version - BOARD_PAST);
  if (result == SQLITE_OK)
    result = expire(board, EXPIRE_BLOCKS, step->version - BOARD_PAST);
  return result;
}

int sqlite_board_apply(SqliteBoard *board, const StoreStep *step, int64_t sequence) {
  Place old, new = {board_key(&board->rules, step->score), sequence};
  int result = find(board, step->version, step->id, &old);
  if (result != SQLITE_ROW && result != SQLITE_DONE) return result;
  bool is_new = result == SQLITE_DONE, is_kept = true;
  if (step->type == STORE_REMOVE_SCORE) {
    if (is_new) return SQLITE_OK;
    sqlite3_stmt *statement = start(board, REMOVE, step->version);
    bind_text(statement, 2, step->id);
    result = run(statement);
    return result == SQLITE_OK ? count(board, step->version, old, -1) : result;
  }
  if (is_new) return enter(board, step, new);
  new.key = board_judge(&board->rules, old.key, new.key, &is_kept);
  if (!is_kept) return SQLITE_OK;
  if (!isfinite(new.key)) return SQLITE_TOOBIG;
  if (new.key == old.key) new.sequence = old.sequence;
  result = count(board, step->version, old, -1);
  return result == SQLITE_OK ? enter(board, step, new) : result;
}

// --- Queries ---

static int find_rank(SqliteBoard *board, int64_t period, Place place, int64_t *rank) {
  Block block;
  int64_t before = 0, inside = 0;
  int result = find_block(board, period, place, &block);
  if (result != SQLITE_OK) return result;
  sqlite3_stmt *statement = start(board, COUNT_BLOCKS, period);
  bind_place(statement, 2, block.first);
  result = read_count(statement, &before);
  if (result != SQLITE_OK) return result;
  statement = start(board, COUNT_ENTRIES, period);
  bind_place(statement, 2, block.first);
  bind_place(statement, 4, place);
  result = read_count(statement, &inside);
  *rank = before + inside;
  return result;
}

static int scan(SqliteBoard *board, int64_t period, Place from, int64_t rank,
                int64_t rows, Buf *out) {
  int result;
  sqlite3_stmt *statement = start(board, SCAN, period);
  bind_place(statement, 2, from);
  sqlite3_bind_int64(statement, 4, rows);
  for (; (result = sqlite3_step(statement)) == SQLITE_ROW; rank++) {
    BoardEntry entry = {
        .rank = rank,
        .id = {(const char *)sqlite3_column_text(statement, 0),
               (uint32_t)sqlite3_column_bytes(statement, 0)},
        .score = board_key(&board->rules, sqlite3_column_double(statement, 1)),
        .data = {(const char *)sqlite3_column_text(statement, 2),
                 (uint32_t)sqlite3_column_bytes(statement, 2)},
    };
    board_put_entry(out, &entry);
  }
  sqlite3_reset(statement);
  return result == SQLITE_DONE ? SQLITE_OK : result;
}

// Reads the entry of an id and its neighbours.
static int scan_around(SqliteBoard *board, const BoardQuery *query, Buf *out) {
  Place place;
  int64_t rank;
  int result = find(board, query->period, query->id, &place);
  if (result != SQLITE_ROW) return result == SQLITE_DONE ? SQLITE_OK : result;
  result = find_rank(board, query->period, place, &rank);
  if (result != SQLITE_OK) return result;
  int64_t before = rank > query->count ? query->count : rank - 1;
  if (before > 0) {
    sqlite3_stmt *statement = start(board, SKIP_BACK, query->period);
    bind_place(statement, 2, place);
    sqlite3_bind_int64(statement, 4, before);
    result = read_one_place(statement, &place);
    if (result != SQLITE_ROW) return result == SQLITE_DONE ? SQLITE_CORRUPT : result;
  }
  return scan(board, query->period, place, rank - before, before + 1 + query->count,
              out);
}

int sqlite_board_read(SqliteBoard *board, const BoardQuery *query, Buf *out) {
  buf_u8(out, '[');
  int result = query->id.size > 0 ? scan_around(board, query, out)
                                  : scan(board, query->period, (Place){-INFINITY, 0}, 1,
                                         query->count, out);
  buf_u8(out, ']');
  return result;
}
