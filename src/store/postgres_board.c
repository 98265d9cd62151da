// Leaderboards in PostgreSQL, with the same blocks as in sqlite_board.c. Functions in
// the database do the work, so that a submission is one statement. See postgres.h.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/postgres.h"

static const char *const CREATE[] = {
    "CREATE TABLE IF NOT EXISTS perigee_boards (name text PRIMARY KEY,"
    " is_low boolean NOT NULL)",
    "CREATE TABLE IF NOT EXISTS perigee_entries (board text NOT NULL,"
    " period bigint NOT NULL, id text COLLATE \"C\" NOT NULL,"
    " key double precision NOT NULL, sequence bigint NOT NULL, data text NOT NULL,"
    " PRIMARY KEY (board, period, id))",
    "CREATE UNIQUE INDEX IF NOT EXISTS perigee_places"
    " ON perigee_entries (board, period, key, sequence)",
    "CREATE TABLE IF NOT EXISTS perigee_blocks (board text NOT NULL,"
    " period bigint NOT NULL, key double precision NOT NULL, sequence bigint NOT NULL,"
    " count bigint NOT NULL, PRIMARY KEY (board, period, key, sequence))",
    "CREATE SEQUENCE IF NOT EXISTS perigee_sequence",

    // Returns the block of a place. For a place before all blocks, makes an empty
    // block.
    "CREATE OR REPLACE FUNCTION perigee_block(of_board text, of_period bigint,"
    " at_key double precision, at_sequence bigint, OUT first_key double precision,"
    " OUT first_sequence bigint, OUT entries bigint) LANGUAGE plpgsql AS $$ BEGIN"
    " SELECT key, sequence, count INTO first_key, first_sequence, entries"
    "   FROM perigee_blocks WHERE board = of_board AND period = of_period"
    "   AND (key, sequence) <= (at_key, at_sequence)"
    "   ORDER BY key DESC, sequence DESC LIMIT 1;"
    " IF NOT FOUND THEN first_key := '-Infinity'; first_sequence := 0; entries := 0;"
    " END IF; END $$",

    // Counts an added (1) or removed (-1) entry. Splits a block that is too large.
    "CREATE OR REPLACE FUNCTION perigee_count(of_board text, of_period bigint,"
    " at_key double precision, at_sequence bigint, change bigint)"
    " RETURNS void LANGUAGE plpgsql AS $$"
    " DECLARE block record; second bigint := 0; BEGIN"
    " SELECT * INTO block"
    "   FROM perigee_block(of_board, of_period, at_key, at_sequence);"
    " block.entries := block.entries + change;"
    " IF block.entries > 1024 THEN"
    "   second := block.entries / 2; block.entries := block.entries - second;"
    "   INSERT INTO perigee_blocks SELECT of_board, of_period, key, sequence, second"
    "     FROM perigee_entries WHERE board = of_board AND period = of_period"
    "     AND (key, sequence) >= (block.first_key, block.first_sequence)"
    "     ORDER BY key, sequence LIMIT 1 OFFSET block.entries;"
    " END IF;"
    " IF block.entries > 0 THEN"
    "   INSERT INTO perigee_blocks VALUES (of_board, of_period, block.first_key,"
    "     block.first_sequence, block.entries)"
    "     ON CONFLICT (board, period, key, sequence)"
    "     DO UPDATE SET count = excluded.count;"
    " ELSE DELETE FROM perigee_blocks WHERE board = of_board AND period = of_period"
    "     AND (key, sequence) = (block.first_key, block.first_sequence);"
    " END IF; END $$",

    // See board_judge.
    "CREATE OR REPLACE FUNCTION perigee_submit(of_board text, of_period bigint,"
    " of_id text, new_key double precision, keep bigint, new_data text, past bigint)"
    " RETURNS void LANGUAGE plpgsql AS $$"
    " DECLARE old record; place bigint := nextval('perigee_sequence'); BEGIN"
    " SELECT key, sequence INTO old FROM perigee_entries"
    "   WHERE board = of_board AND period = of_period AND id = of_id;"
    " IF FOUND THEN"
    "   IF keep = 0 AND new_key >= old.key THEN RETURN; END IF;"
    "   IF keep = 2 THEN new_key := old.key + new_key; END IF;"
    "   IF new_key = old.key THEN place := old.sequence; END IF;"
    "   PERFORM perigee_count(of_board, of_period, old.key, old.sequence, -1);"
    " END IF;"
    " INSERT INTO perigee_entries"
    "   VALUES (of_board, of_period, of_id, new_key, place, new_data)"
    "   ON CONFLICT (board, period, id) DO UPDATE SET key = excluded.key,"
    "   sequence = excluded.sequence, data = excluded.data;"
    " PERFORM perigee_count(of_board, of_period, new_key, place, 1);"
    " DELETE FROM perigee_entries WHERE (board, period, id) IN (SELECT board, period, "
    "id"
    "   FROM perigee_entries WHERE board = of_board AND period < of_period - past"
    "   LIMIT 8);"
    " DELETE FROM perigee_blocks WHERE (board, period, key, sequence) IN (SELECT board,"
    "   period, key, sequence FROM perigee_blocks"
    "   WHERE board = of_board AND period < of_period - past LIMIT 8);"
    " END $$",

    "CREATE OR REPLACE FUNCTION perigee_remove(of_board text, of_period bigint,"
    " of_id text) RETURNS void LANGUAGE plpgsql AS $$ DECLARE old record; BEGIN"
    " DELETE FROM perigee_entries WHERE board = of_board AND period = of_period"
    "   AND id = of_id RETURNING key, sequence INTO old;"
    " IF FOUND THEN"
    "   PERFORM perigee_count(of_board, of_period, old.key, old.sequence, -1);"
    " END IF; END $$",

    // See BoardQuery.
    "CREATE OR REPLACE FUNCTION perigee_rows(of_board text, of_period bigint,"
    " of_id text, wanted bigint) RETURNS TABLE (rank bigint, entry text,"
    " score double precision, json text) LANGUAGE plpgsql AS $$"
    " DECLARE place_key double precision := '-Infinity'; place bigint := 0;"
    "   first bigint := 1; back bigint := 0; block record; BEGIN"
    " IF of_id <> '' THEN"
    "   SELECT key, sequence INTO place_key, place FROM perigee_entries"
    "     WHERE board = of_board AND period = of_period AND id = of_id;"
    "   IF NOT FOUND THEN RETURN; END IF;"
    "   SELECT * INTO block"
    "     FROM perigee_block(of_board, of_period, place_key, place);"
    "   SELECT coalesce(sum(count), 0) INTO first FROM perigee_blocks"
    "     WHERE board = of_board AND period = of_period"
    "     AND (key, sequence) < (block.first_key, block.first_sequence);"
    "   SELECT first + count(*) INTO first FROM perigee_entries"
    "     WHERE board = of_board AND period = of_period"
    "     AND (key, sequence) >= (block.first_key, block.first_sequence)"
    "     AND (key, sequence) <= (place_key, place);"
    "   back := least(wanted, first - 1); first := first - back;"
    "   wanted := wanted + 1 + back;"
    "   SELECT key, sequence INTO place_key, place FROM perigee_entries"
    "     WHERE board = of_board AND period = of_period"
    "     AND (key, sequence) <= (place_key, place)"
    "     ORDER BY key DESC, sequence DESC LIMIT 1 OFFSET back;"
    " END IF;"
    " RETURN QUERY SELECT first - 1 + row_number() OVER (ORDER BY key, sequence),"
    "   id::text, key, data FROM perigee_entries"
    "   WHERE board = of_board AND period = of_period"
    "   AND (key, sequence) >= (place_key, place) ORDER BY key, sequence LIMIT wanted;"
    " END $$",
};

typedef struct Statement {
  const char *name, *sql;
} Statement;

static const Statement SESSION[] = {
    {"submit",
     "SELECT perigee_submit($1::text, $2::bigint, $3::text, $4::double precision,"
     " $5::bigint, $6::text, $7::bigint)"},
    {"remove", "SELECT perigee_remove($1::text, $2::bigint, $3::text)"},
    {"rows", "SELECT * FROM perigee_rows($1::text, $2::bigint, $3::text, $4::bigint)"},
};

void postgres_create_boards(Backend *backend) {
  for (size_t i = 0; i < sizeof CREATE / sizeof *CREATE; i++)
    pg_run(&backend->link, CREATE[i], NULL);
}

void postgres_prepare_boards(Backend *backend) {
  for (size_t i = 0; i < sizeof SESSION / sizeof *SESSION; i++)
    pg_prepare(&backend->link, SESSION[i].name, SESSION[i].sql);
}

// Registers the order of a board. The order cannot change later, because it is part of
// the stored keys.
static StoreCode register_order(Backend *backend, const Board *board,
                                StoreFault *fault) {
  PgParams params = {0};
  pg_text(&params, text_from(board->name));
  pg_text(&params, text_from(board->is_low ? "t" : "f"));
  pg_run(&backend->link,
         "INSERT INTO perigee_boards VALUES ($1::text, $2::text::boolean)"
         " ON CONFLICT (name) DO UPDATE SET name = excluded.name RETURNING is_low",
         &params);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  bool is_low = pg_field(&backend->link, backend->rows, 0, 0).bytes[0] == 't';
  if (is_low == board->is_low) return STORE_OK;
  return store_fault(fault, STORE_INVALID,
                     "the leaderboard %s exists with order = \"%s\"; give the new one"
                     " another name",
                     board->name, is_low ? "low" : "high");
}

StoreCode postgres_define_board(Backend *backend, uint32_t index, const Board *board,
                                StoreFault *fault) {
  if (postgres_ensure(backend, fault) != STORE_OK) return fault->code;
  if (backend->use == BACKEND_SERVE &&
      register_order(backend, board, fault) != STORE_OK)
    return fault->code;
  if (index >= backend->boards_capacity)
    backend->boards_capacity =
        array_reach(&backend->boards, backend->boards_capacity, sizeof(Board), index);
  mem_free((char *)backend->boards[index].name);
  backend->boards[index] = *board;
  backend->boards[index].name = mem_strdup(board->name);
  return STORE_OK;
}

void postgres_send_score(Backend *backend, const StoreStep *step) {
  const Board *board = &backend->boards[step->collection];
  PgParams params = {0};
  pg_text(&params, text_from(board->name));
  pg_number(&params, step->version);
  pg_text(&params, step->id);
  if (step->type == STORE_REMOVE_SCORE) {
    pg_run_prepared(&backend->link, "remove", &params);
    return;
  }
  pg_double(&params, board_key(board, step->score));
  pg_number(&params, board->keep);
  pg_text(&params, step->value);
  pg_number(&params, BOARD_PAST);
  pg_run_prepared(&backend->link, "submit", &params);
}

StoreCode postgres_read_board(Backend *backend, const BoardQuery *query, Buf *out,
                              StoreFault *fault) {
  const Board *board = &backend->boards[query->board];
  const Pg *link = &backend->link;
  PgParams params = {0};
  if (postgres_begin_read(backend, fault) != STORE_OK) return fault->code;
  pg_text(&params, text_from(board->name));
  pg_number(&params, query->period);
  pg_text(&params, query->id);
  pg_number(&params, query->count);
  pg_run_prepared(&backend->link, "rows", &params);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  buf_u8(out, '[');
  for (int row = 0; row < link->pq->ntuples(backend->rows); row++) {
    double key = strtod(pg_field(link, backend->rows, row, 2).bytes, NULL);
    const BoardEntry entry = {.rank = pg_field_number(link, backend->rows, row, 0),
                              .id = pg_field(link, backend->rows, row, 1),
                              .score = board_key(board, key),
                              .data = pg_field(link, backend->rows, row, 3)};
    board_put_entry(out, &entry);
  }
  buf_u8(out, ']');
  return STORE_OK;
}
