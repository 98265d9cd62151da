// A PostgreSQL server for the tests of a program, with an empty store for each test.
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/pg.h"

enum { POSTGRES_PLACE_SIZE = 256, POSTGRES_WAITS = 2000, POSTGRES_WAIT_US = 5000 };

typedef struct PostgresWorld {
  char folder[64];
  pid_t pid;    // 0: not running
  int schemas;  // number of stores that were created
} PostgresWorld;

/// Writes a place with a database, a user and further parameters, which begin with `&`.
static inline void postgres_world_place(const PostgresWorld *world, char *place,
                                        const char *user, const char *rest) {
  snprintf(place, POSTGRES_PLACE_SIZE, "postgres://%s@/postgres?host=%s%s", user,
           world->folder, rest);
}

/// Runs a statement as the owner of the server. Returns whether it succeeded.
static inline bool postgres_world_try(const PostgresWorld *world, const char *sql) {
  char place[POSTGRES_PLACE_SIZE];
  Pg link = {.timeout_ms = 5000};
  StoreFault fault;
  postgres_world_place(world, place, "perigee", "");
  bool is_good = pg_init(&link, place, &fault) == STORE_OK &&
                 pg_connect(&link, &fault) == STORE_OK &&
                 pg_ask(&link, sql, NULL, NULL, &fault) == STORE_OK;
  pg_deinit(&link);
  return is_good;
}

static inline void postgres_world_run(const PostgresWorld *world, const char *sql) {
  assert_true(postgres_world_try(world, sql));
}

/// Begins to start the server.
static inline void postgres_world_spawn(PostgresWorld *world) {
  world->pid = fork();
  if (world->pid != 0) return;
  char log[POSTGRES_PLACE_SIZE];
  snprintf(log, sizeof log, "%s/log", world->folder);
  int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(fd, STDOUT_FILENO);
  dup2(fd, STDERR_FILENO);
  execl(PERIGEE_SOURCE "/tests/postgres", "postgres", world->folder, (char *)NULL);
  _exit(1);
}

/// Starts the server, and waits until it accepts connections.
static inline void postgres_world_start(PostgresWorld *world) {
  postgres_world_spawn(world);
  for (int i = 0; i < POSTGRES_WAITS; i++) {
    if (postgres_world_try(world, "SELECT 1")) return;
    assert_int_equal(waitpid(world->pid, NULL, WNOHANG), 0);
    usleep(POSTGRES_WAIT_US);
  }
  fail_msg("PostgreSQL does not start; see %s/log", world->folder);
}

/// Ends the server as a crash would.
static inline void postgres_world_stop(PostgresWorld *world) {
  if (world->pid == 0) return;
  kill(world->pid, SIGQUIT);
  waitpid(world->pid, NULL, 0);
  world->pid = 0;
}

static inline void postgres_world_init(PostgresWorld *world) {
  *world = (PostgresWorld){0};
  snprintf(world->folder, sizeof world->folder, "/tmp/perigee-test-XXXXXX");
  assert_non_null(mkdtemp(world->folder));
  postgres_world_start(world);
}

static inline void postgres_world_deinit(PostgresWorld *world) {
  char command[POSTGRES_PLACE_SIZE];
  postgres_world_stop(world);
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
}

/// Creates an empty store, and writes its place.
static inline void postgres_world_store(PostgresWorld *world, char *place) {
  char text[64];
  snprintf(text, sizeof text, "CREATE SCHEMA store%d", ++world->schemas);
  postgres_world_run(world, text);
  snprintf(text, sizeof text, "&options=-csearch_path%%3Dstore%d", world->schemas);
  postgres_world_place(world, place, "perigee", text);
}
