// Measures leaderboards with many entries: the rank of an id, the first ten entries,
// eleven entries around an id, and a new score. With SOCKET, the socket of a Redis
// server, measures the same with the sorted sets of Redis.
// bench_store_boards FOLDER [ENTRIES [SOCKET]]
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "program.h"
#include "store/backend.h"

enum {
  SAMPLES = 5000,
  OF_A_COMMIT = 20000,  // entries; larger transactions write each page of the file once
  OF_A_REPORT = 100000,
  AROUND = 5,
  TOP = 10,
  ID_SIZE = 24,
  LINE_SIZE = 256,
  ANSWER_SIZE = 64 << 10,
};

typedef enum Work { RANK, TOPS, AROUNDS, SUBMIT, WORKS } Work;

static const char *const NAMES[WORKS] = {"rank", "top", "around", "submit"};

static uint64_t state = 1;

static uint32_t draw(uint32_t below) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % below;
}

static Text id_text(char *room, uint32_t id) {
  snprintf(room, ID_SIZE, "player-%u", id);
  return text_from(room);
}

static int compare(const void *a, const void *b) {
  const uint64_t *left = a, *right = b;
  return *left < *right ? -1 : *left > *right;
}

static void report(const char *server, Work work, uint64_t *ns) {
  qsort(ns, SAMPLES, sizeof *ns, compare);
  printf("%-8s %-8s p50 %8.1f µs   p99 %8.1f µs\n", NAMES[work], server,
         (double)ns[SAMPLES / 2] / 1e3, (double)ns[SAMPLES * 99 / 100] / 1e3);
}

// --- The store ---

typedef struct Place {
  Backend *backend;
  StoreFault fault;
} Place;

static void must(Place *place, StoreCode code) {
  if (code != STORE_OK) fail("%s", place->fault.text);
}

static void submit(Place *place, uint32_t id, double score) {
  char room[ID_SIZE];
  StoreUnit unit = {0};
  int64_t version;
  unit_push(&unit, &(StoreStep){.type = STORE_SCORE,
                                .id = id_text(room, id),
                                .score = score,
                                .value = text_from("{\"name\":\"ada\"}")});
  must(place, backend_sqlite.apply(place->backend, &unit, &version, &place->fault));
  buf_deinit(&unit);
}

static void fill(Place *place, uint32_t entries) {
  for (uint32_t i = 0; i < entries; i++) {
    if (i % OF_A_COMMIT == 0)
      must(place, backend_sqlite.begin(place->backend, &place->fault));
    submit(place, i, draw(1 << 20));
    if (i % OF_A_COMMIT == OF_A_COMMIT - 1 || i == entries - 1)
      must(place, backend_sqlite.commit(place->backend, &place->fault));
    if ((i + 1) % OF_A_REPORT == 0)
      fprintf(stderr, "%u of %u entries are in the store\n", i + 1, entries);
  }
}

static void ask(Place *place, Work work, uint32_t id) {
  static Buf out;
  char room[ID_SIZE];
  BoardQuery query = {.count = work == RANK ? 0 : work == TOPS ? TOP : AROUND};
  if (work != TOPS) query.id = id_text(room, id);
  out.size = 0;
  must(place, backend_sqlite.read_board(place->backend, &query, &out, &place->fault));
}

static void measure_store(const char *folder, uint32_t entries) {
  char path[LINE_SIZE];
  uint64_t ns[SAMPLES];
  Place place = {0};
  snprintf(path, sizeof path, "%s/boards.db", folder);
  place.backend = backend_sqlite.open(path, BACKEND_SERVE, &place.fault);
  if (place.backend == NULL) fail("%s", place.fault.text);
  must(&place, backend_sqlite.define_board(place.backend, 0, &(Board){.name = "bench"},
                                           &place.fault));
  fill(&place, entries);
  for (Work work = RANK; work < WORKS; work++) {
    if (work == SUBMIT) must(&place, backend_sqlite.begin(place.backend, &place.fault));
    for (int i = 0; i < SAMPLES; i++) {
      uint32_t id = draw(entries);
      uint64_t start = clock_ns();
      if (work == SUBMIT)
        submit(&place, id, draw(1 << 21));
      else
        ask(&place, work, id);
      ns[i] = clock_ns() - start;
    }
    report("perigee", work, ns);
  }
  must(&place, backend_sqlite.commit(place.backend, &place.fault));
  backend_sqlite.close(place.backend);
}

// --- Redis ---

static int redis_connect(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0)
    fail("cannot connect to %s", path);
  return fd;
}

// Sends inline commands, the last of which is PING, and reads until the answer to PING.
static void redis(int fd, const char *format, ...) {
  static char text[LINE_SIZE], answer[ANSWER_SIZE];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(text, sizeof text - 8, format, arguments);
  va_end(arguments);
  size += sprintf(text + size, "\r\nPING\r\n");
  if (write(fd, text, (size_t)size) != size) fail("Redis does not read");
  size_t got = 0;
  while (got < 7 || memcmp(answer + got - 7, "+PONG\r\n", 7) != 0) {
    ssize_t n = read(fd, answer + got, sizeof answer - got);
    if (n <= 0) fail("Redis does not answer");
    got += (size_t)n;
  }
  if (answer[0] == '-') fail("Redis: %.60s", answer);
}

// Requests the rank first, as a client does, because the range around an id depends on
// its rank.
static void redis_ask(int fd, Work work, uint32_t id, uint32_t entries) {
  if (work == SUBMIT)
    redis(fd, "ZADD bench GT %u player-%u", draw(1 << 21), id);
  else if (work == TOPS)
    redis(fd, "ZREVRANGE bench 0 %d WITHSCORES", TOP - 1);
  else
    redis(fd, "ZREVRANK bench player-%u", id);
  uint32_t first = draw(entries);
  if (work == AROUNDS)
    redis(fd, "ZREVRANGE bench %u %u WITHSCORES", first, first + 2 * AROUND);
}

static void measure_redis(const char *path, uint32_t entries) {
  int fd = redis_connect(path);
  uint64_t ns[SAMPLES];
  for (uint32_t i = 0; i < entries; i += 4)
    redis(fd, "ZADD bench %u player-%u %u player-%u %u player-%u %u player-%u",
          draw(1 << 20), i, draw(1 << 20), i + 1, draw(1 << 20), i + 2, draw(1 << 20),
          i + 3);
  for (Work work = RANK; work < WORKS; work++) {
    for (int i = 0; i < SAMPLES; i++) {
      uint64_t start = clock_ns();
      redis_ask(fd, work, draw(entries), entries);
      ns[i] = clock_ns() - start;
    }
    report("redis", work, ns);
  }
  close(fd);
}

int main(int argc, char **argv) {
  if (argc < 2) fail("usage: bench_store_boards FOLDER [ENTRIES [SOCKET]]");
  uint32_t entries = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
  measure_store(argv[1], entries);
  if (argc > 3) measure_redis(argv[3], entries);
  return 0;
}
