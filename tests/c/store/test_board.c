// Leaderboards get random scores and must agree with a plain sorted list.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "postgres_world.h"
#include "slowness.h"
#include "store/memory.h"

enum {
  STEPS = 10000 / SLOWNESS,
  STEPS_OF_A_COMMIT = 100,
  IDS = 3000,    // enough for several blocks of a board
  SCORES = 400,  // number of different scores, small enough that many entries are tied
  PERIODS = 2,
  ID_SIZE = 16,
  FOLDER_SIZE = 40,
};

typedef struct Row {
  uint32_t id;
  double score;
  uint64_t time;  // number of the step that reached the score
} Row;

typedef struct Model {
  Row rows[PERIODS][IDS];
  uint32_t count[PERIODS];
} Model;

typedef struct World {
  const BackendOps *ops;
  Backend *backend;
  StoreFault fault;
  uint64_t random;
  uint64_t time;
  Model *model;
  char folder[FOLDER_SIZE];  // folder in memory for SQLite's file
} World;

static uint32_t draw(World *world, uint32_t below) {
  world->random = world->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(world->random >> 33) % below;
}

static Text id_text(char *room, uint32_t id) {
  snprintf(room, ID_SIZE, "id%u", id);
  return text_from(room);
}

// --- The plain sorted list ---

static bool is_before(const Board *board, const Row *a, const Row *b) {
  if (a->score != b->score)
    return board->is_low ? a->score < b->score : a->score > b->score;
  return a->time < b->time;
}

static uint32_t model_find(const Model *model, int64_t period, uint32_t id) {
  uint32_t at = 0;
  while (at < model->count[period] && model->rows[period][at].id != id) at++;
  return at;
}

static void model_remove(Model *model, int64_t period, uint32_t at) {
  Row *rows = model->rows[period];
  memmove(rows + at, rows + at + 1, (--model->count[period] - at) * sizeof *rows);
}

static void model_enter(Model *model, const Board *board, int64_t period, Row row) {
  Row *rows = model->rows[period];
  uint32_t at = model->count[period]++;
  for (; at > 0 && is_before(board, &row, &rows[at - 1]); at--) rows[at] = rows[at - 1];
  rows[at] = row;
}

static void model_submit(Model *model, const Board *board, int64_t period, Row row) {
  uint32_t at = model_find(model, period, row.id);
  if (at < model->count[period]) {
    Row old = model->rows[period][at];
    if (board->keep == BOARD_SUM) row.score += old.score;
    if (row.score == old.score) return;
    if (board->keep == BOARD_BEST && !is_before(board, &row, &old)) return;
    model_remove(model, period, at);
  }
  model_enter(model, board, period, row);
}

// --- Both ---

static void apply(World *world, const StoreStep *steps, uint32_t count,
                  StoreCode code) {
  StoreUnit unit = {0};
  int64_t version;
  for (uint32_t i = 0; i < count; i++) unit_push(&unit, &steps[i]);
  assert_int_equal(world->ops->apply(world->backend, &unit, &version, &world->fault),
                   code);
  buf_deinit(&unit);
}

static void assert_rows(World *world, const BoardQuery *query, const Row *rows,
                        uint32_t first, uint32_t end) {
  Buf expected = {0}, found = {0};
  char id[ID_SIZE];
  buf_u8(&expected, '[');
  for (uint32_t i = first; i < end; i++)
    board_put_entry(&expected, &(BoardEntry){.rank = i + 1,
                                             .id = id_text(id, rows[i].id),
                                             .score = rows[i].score,
                                             .data = text_from("{}")});
  buf_u8(&expected, ']');
  assert_int_equal(world->ops->read_board(world->backend, query, &found, &world->fault),
                   STORE_OK);
  assert_int_equal(found.size, expected.size);
  assert_memory_equal(found.data, expected.data, expected.size);
  buf_deinit(&expected);
  buf_deinit(&found);
}

static void compare(World *world, int64_t period) {
  const Model *model = world->model;
  uint32_t count = model->count[period], n = draw(world, 20);
  uint32_t drawn = draw(world, IDS), at = model_find(model, period, drawn);
  char id[ID_SIZE];
  BoardQuery query = {.period = period, .count = n};
  assert_rows(world, &query, model->rows[period], 0, n < count ? n : count);
  query.id = id_text(id, drawn);
  uint32_t first = at > n ? at - n : 0, end = at + n + 1 < count ? at + n + 1 : count;
  assert_rows(world, &query, model->rows[period], at == count ? 0 : first,
              at == count ? 0 : end);
}

static void change(World *world, const Board *board) {
  char id[ID_SIZE];
  Row row = {draw(world, IDS), (double)draw(world, SCORES) / 4 - 10, world->time};
  int64_t period = draw(world, PERIODS);
  StoreStep steps[2] = {{.type = STORE_SCORE,
                         .version = period,
                         .id = id_text(id, row.id),
                         .score = row.score,
                         .value = text_from("{}")}};
  uint32_t kind = draw(world, 20);
  if (kind == 0) {
    steps[1] = (StoreStep){.type = STORE_CHECK, .version = 1, .id = text_from("none")};
    apply(world, steps, 2, STORE_CONFLICT);
  } else if (kind == 1) {
    steps[0].type = STORE_REMOVE_SCORE;
    apply(world, steps, 1, STORE_OK);
    uint32_t at = model_find(world->model, period, row.id);
    if (at < world->model->count[period]) model_remove(world->model, period, at);
  } else {
    apply(world, steps, 1, STORE_OK);
    model_submit(world->model, board, period, row);
  }
}

static void run(World *world, const Board *board, uint32_t steps) {
  const BackendOps *ops = world->ops;
  assert_int_equal(ops->define_board(world->backend, 0, board, &world->fault),
                   STORE_OK);
  while (++world->time <= steps) {
    bool is_first = world->time % STEPS_OF_A_COMMIT == 1;
    if (is_first) assert_int_equal(ops->begin(world->backend, &world->fault), STORE_OK);
    change(world, board);
    if (draw(world, 4) == 0) compare(world, draw(world, PERIODS));
    if (world->time % STEPS_OF_A_COMMIT == 0)
      assert_int_equal(ops->commit(world->backend, &world->fault), STORE_OK);
  }
}

static PostgresWorld postgres;

static void open_world(World *world, const BackendOps *ops, uint64_t seed) {
  char place[POSTGRES_PLACE_SIZE];
  *world =
      (World){.ops = ops, .random = seed, .folder = "/dev/shm/perigee-test-XXXXXX"};
  assert_non_null(mkdtemp(world->folder));
  snprintf(place, sizeof place, "%s/game.db", world->folder);
  if (ops == &backend_postgres) postgres_world_store(&postgres, place);
  world->backend = ops->open(place, BACKEND_SERVE, &world->fault);
  world->model = mem_zalloc(sizeof *world->model);
  assert_non_null(world->backend);
  assert_int_equal(
      ops->define(world->backend, 0, &(StoreCollection){.name = "c"}, &world->fault),
      STORE_OK);
}

static void close_world(World *world) {
  char command[FOLDER_SIZE + 16];
  world->ops->close(world->backend);
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
  mem_free(world->model);
  assert_int_equal(mem_live(), 0);
}

// Runs a board on one back end. The back ends in memory and PostgreSQL get fewer steps,
// because memory sorts at each read, and PostgreSQL is another process.
static void run_board(const BackendOps *ops, const Board *board, uint64_t seed) {
  World world;
  open_world(&world, ops, seed);
  run(&world, board, ops == &backend_sqlite ? STEPS : STEPS / 10);
  close_world(&world);
}

static void run_boards(const Board *board, uint64_t seed) {
  run_board(&backend_sqlite, board, seed);
  run_board(&backend_memory, board, seed);
  run_board(&backend_postgres, board, seed);
}

static void test_best_scores_as_a_sorted_list(void **state) {
  (void)state;
  run_boards(&(Board){.name = "best", .keep = BOARD_BEST}, 1);
}

static void test_last_scores_as_a_sorted_list(void **state) {
  (void)state;
  run_boards(&(Board){.name = "last", .keep = BOARD_LAST}, 2);
}

static void test_sums_with_the_lowest_first_as_a_sorted_list(void **state) {
  (void)state;
  run_boards(&(Board){.name = "sum", .is_low = true, .keep = BOARD_SUM}, 3);
}

static void test_the_data_belong_to_the_score_that_counts(void **state) {
  World world;
  open_world(&world, *state, 4);
  const BackendOps *ops = world.ops;
  Buf found = {0};
  StoreStep steps[] = {
      {.type = STORE_SCORE,
       .score = 5,
       .id = text_from("ada"),
       .value = text_from("{\"name\":\"Ada\"}")},
      {.type = STORE_SCORE,
       .score = 4,
       .id = text_from("ada"),
       .value = text_from("{\"name\":\"later\"}")},
      {.type = STORE_SCORE, .score = 5, .id = text_from("b\"b")},
  };
  ops->define_board(world.backend, 0, &(Board){.name = "best"}, &world.fault);
  apply(&world, steps, 3, STORE_OK);
  ops->read_board(world.backend, &(BoardQuery){.count = 10}, &found, &world.fault);
  buf_u8(&found, 0);
  assert_string_equal(
      (const char *)found.data,
      "[{\"rank\":1,\"score\":5,\"id\":\"ada\",\"data\":{\"name\":\"Ada\"}}"
      ",{\"rank\":2,\"score\":5,\"id\":\"b\\\"b\"}]");
  buf_deinit(&found);
  close_world(&world);
}

static void test_old_periods_go_with_newer_scores(void **state) {
  World world;
  open_world(&world, *state, 5);
  const BackendOps *ops = world.ops;
  ops->define_board(world.backend, 0, &(Board){.name = "weekly"}, &world.fault);
  for (int64_t period = 0; period <= BOARD_PAST + 1; period++) {
    StoreStep step = {
        .type = STORE_SCORE, .version = period, .score = 5, .id = text_from("ada")};
    apply(&world, &step, 1, STORE_OK);
  }
  for (int64_t period = 0; period <= BOARD_PAST + 1; period++) {
    Buf found = {0};
    BoardQuery query = {.period = period, .count = 10};
    ops->read_board(world.backend, &query, &found, &world.fault);
    assert_int_equal(found.size > 2, period > 0);
    buf_deinit(&found);
  }
  close_world(&world);
}

static void test_the_order_of_a_board_cannot_change(void **state) {
  World world;
  open_world(&world, *state, 6);
  Board board = {.name = "weekly"};
  world.ops->define_board(world.backend, 0, &board, &world.fault);
  board.is_low = true;
  assert_int_equal(world.ops->define_board(world.backend, 0, &board, &world.fault),
                   STORE_INVALID);
  assert_string_equal(world.fault.text,
                      "the leaderboard weekly exists with order = \"high\";"
                      " give the new one another name");
  close_world(&world);
}

static int set_up(void **state) {
  (void)state;
  postgres_world_init(&postgres);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  postgres_world_deinit(&postgres);
  return 0;
}

#define on(ops, test) cmocka_unit_test_prestate(test, (void *)&ops)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_best_scores_as_a_sorted_list),
      cmocka_unit_test(test_last_scores_as_a_sorted_list),
      cmocka_unit_test(test_sums_with_the_lowest_first_as_a_sorted_list),
      on(backend_sqlite, test_the_data_belong_to_the_score_that_counts),
      on(backend_memory, test_the_data_belong_to_the_score_that_counts),
      on(backend_postgres, test_the_data_belong_to_the_score_that_counts),
      on(backend_sqlite, test_old_periods_go_with_newer_scores),
      on(backend_memory, test_old_periods_go_with_newer_scores),
      on(backend_postgres, test_old_periods_go_with_newer_scores),
      on(backend_sqlite, test_the_order_of_a_board_cannot_change),
      on(backend_memory, test_the_order_of_a_board_cannot_change),
      on(backend_postgres, test_the_order_of_a_board_cannot_change),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
