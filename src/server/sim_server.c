// The surroundings of an engine in a test: a log in memory, and files in memory.
#include "server/sim_server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "base/mem.h"
#include "net/sim.h"
#include "server/engine.h"
#include "server/game_path.h"
#include "store/backend.h"
#include "wire/ignore.h"

typedef struct OwnFile {
  char *path;
  Buf text;
} OwnFile;

struct SimServer {
  Engine engine;  // engine; without a net: not created
  char *game, *lua_path;
  char *problem;     // reason why the start failed; NULL: none
  uint64_t seed;     // seed of the next start
  Config config;     // settings before those of the game
  Backend *backend;  // documents, while the server has no engine; NULL: none
  bool hides_files, is_shuffled, is_echoed;
  LogState log;    // log state of the server; while its code runs: that of its caller
  SimLine *lines;  // lines of the log; the first `taken` have been read
  uint32_t line_count, line_capacity, taken;
  OwnFile *files;
  size_t file_count;
  bool has_disk;  // files that are not in memory come from the disk
  char **env;     // names and values, alternating, ended by NULL; NULL: the process's
                  // environment
  Buf *report;    // report of the running reload
  bool is_good;   // whether the reload succeeded
};

// --- The log ---

static void on_line(void *data, LogLevel level, const char *text, size_t size) {
  SimServer *server = data;
  if (server->line_count == server->line_capacity)
    server->line_capacity =
        array_grow(&server->lines, server->line_capacity, sizeof(SimLine), 16);
  SimLine line = {.level = level, .text = mem_alloc(size + 1), .size = size};
  const Net *net = server->engine.net;
  line.at_ms = net == NULL ? SIM_START_MS : net_now_ms(net);
  memcpy(line.text, text, size);
  line.text[size] = '\0';
  server->lines[server->line_count++] = line;
  if (server->is_echoed) fprintf(stderr, "%s\n", line.text);
}

static void forget_lines(SimServer *server, size_t count) {
  if (count == 0) return;
  for (size_t i = 0; i < count; i++) mem_free(server->lines[i].text);
  server->line_count -= count;
  memmove(server->lines, server->lines + count, server->line_count * sizeof(SimLine));
}

static const SimLine *take_log(SimServer *server, size_t *count) {
  forget_lines(server, server->taken);
  *count = server->taken = server->line_count;
  return server->lines;
}

// Uses the log of this server until the next call, which restores the other log.
static void swap_log(SimServer *server) { server->log = log_swap(server->log); }

// --- Files ---

static void forget_files(SimServer *server) {
  for (size_t i = 0; i < server->file_count; i++) {
    mem_free(server->files[i].path);
    buf_deinit(&server->files[i].text);
  }
  mem_free(server->files);
  server->files = NULL;
  server->file_count = 0;
}

static void set_files(SimServer *server, const SimFile *files, size_t count) {
  forget_files(server);
  if (count == 0) return;
  server->files = mem_zalloc(count * sizeof *server->files);
  server->file_count = count;
  for (size_t i = 0; i < count; i++) {
    server->files[i].path = mem_strdup(files[i].path);
    buf_append(&server->files[i].text, files[i].text, files[i].size);
  }
}

// Returns the path inside the game: "rules.lua" for "examples/duel/rules.lua".
static const char *inner_path(const SimServer *server, const char *path) {
  size_t size = strlen(server->game);
  if (size > 4 && strcmp(server->game + size - 4, ".lua") == 0)
    while (size > 0 && server->game[size - 1] != '/') size--;
  if (strncmp(path, server->game, size) != 0) return path;
  path += size;
  while (*path == '/') path++;
  return path;
}

// Reads a file of the disk. Replaces a hidden module by a placeholder, because files that
// require the module must still load. Each field of the placeholder, and each call of
// it, gives the placeholder again.
static int read_disk(const SimServer *server, const char *path, Buf *bytes) {
  static const char STAND_IN[] =
      "local any = {}\n"
      "local function self() return any end\n"
      "local function text() return '' end\n"
      "return setmetatable(any, { __index = self, __call = self, __concat = text })\n";
  if (!server->hides_files) return file_read(path, bytes);
  const char *inner = inner_path(server, path);
  char rules_path[PATH_MAX];
  Buf rules = {0};
  snprintf(rules_path, sizeof rules_path, "%.*s" IGNORE_FILE, (int)(inner - path),
           path);
  bool is_hidden = file_read_if_any(rules_path, &rules) != 0 ||
                   ignore_has((Text){(char *)rules.data, (uint32_t)rules.size}, inner);
  buf_deinit(&rules);
  if (!is_hidden) return file_read(path, bytes);
  const char *ending = strrchr(path, '.');
  if (ending == NULL || strcmp(ending, ".lua") != 0) return -ENOENT;
  Buf text = {0};
  int err = file_read(path, &text);  // the file must exist
  buf_deinit(&text);
  if (err == 0) buf_append(bytes, STAND_IN, sizeof STAND_IN - 1);
  return err;
}

static int read_text(void *data, const char *path, Buf *bytes) {
  const SimServer *server = data;
  const char *inner = inner_path(server, path);
  for (size_t i = 0; i < server->file_count; i++) {
    const OwnFile *file = &server->files[i];
    if (strcmp(file->path, path) != 0 && strcmp(file->path, inner) != 0) continue;
    buf_append(bytes, file->text.data, file->text.size);
    return 0;
  }
  return server->has_disk ? read_disk(server, path, bytes) : -ENOENT;
}

// --- Environment ---

static void set_env(SimServer *server, const char *const *pairs) {
  size_t count = 0;
  while (pairs[count] != NULL) count++;
  server->env = mem_zalloc((count + 1) * sizeof *server->env);
  for (size_t i = 0; i < count; i++) server->env[i] = mem_strdup(pairs[i]);
}

static void forget_env(SimServer *server) {
  if (server->env == NULL) return;
  for (char **text = server->env; *text != NULL; text++) mem_free(*text);
  mem_free(server->env);
}

static const char *read_env(void *data, const char *name) {
  const SimServer *server = data;
  for (char **pair = server->env; *pair != NULL; pair += 2)
    if (strcmp(pair[0], name) == 0) return pair[1];
  return NULL;
}

// --- Reload and stop ---

static void on_reloaded(void *data, const ScriptOutcome *outcome) {
  SimServer *server = data;
  server->is_good = outcome->is_good;
  if (server->report == NULL) return;
  server->report->size = 0;
  buf_append(server->report, outcome->report, strlen(outcome->report));
}

static bool reload(SimServer *server, const SimFile *files, size_t count, Buf *report) {
  set_files(server, files, count);
  swap_log(server);
  server->is_good = false;
  const char *problem = engine_reload(&server->engine, 0, false);
  if (problem != NULL) {
    buf_append(report, problem, strlen(problem));
  } else {
    server->report = report;
    net_sim_iterate(server->engine.net, 0);
    server->report = NULL;
  }
  swap_log(server);
  return server->is_good;
}

static void stop(SimServer *server) {
  swap_log(server);
  engine_stop(&server->engine, "SIGTERM");
  swap_log(server);
}

// --- Start ---

static bool read_config(SimServer *server, Config *config, const char *const *pairs) {
  ConfigError error;
  for (; pairs != NULL && pairs[0] != NULL; pairs += 2) {
    if (config_set_program(config, pairs[0], pairs[1], &error)) continue;
    server->problem = mem_strdup(error.text);
    return false;
  }
  return true;
}

static bool check_game(SimServer *server) {
  if (server->game == NULL || server->file_count > 0) return true;
  const char *wrong = game_check(server->game);
  if (wrong == NULL) return true;
  Buf text = {0};
  buf_printf(&text, "%s: %s", server->game, wrong);
  buf_u8(&text, 0);
  server->problem = mem_strdup((char *)text.data);
  buf_deinit(&text);
  return false;
}

// Loads the game, at a time by net_now_ms.
static void load(SimServer *server, uint64_t now_ms) {
  static const EngineEvents EVENTS = {.reloaded = on_reloaded};
  EngineOptions options = {
      .script = {.game = server->game,
                 .lua_path = server->lua_path,
                 .read = read_text,
                 .env = server->env == NULL ? NULL : read_env,
                 .data = server,
                 .is_shuffled = server->is_shuffled,
                 .backend = server->backend},
      .config = &server->config,
      .seed = &server->seed,
      .events = &EVENTS,
      .data = server,
  };
  swap_log(server);
  server->backend = NULL;
  engine_init(&server->engine, &options);
  net_sim_set_clock(server->engine.net, now_ms);
  server->seed++;  // another process has other random numbers
  const char *problem = engine_load(&server->engine);
  if (problem != NULL) server->problem = mem_strdup(problem);
  swap_log(server);
}

static SimServer *open_server(const SimOptions *options) {
  SimServer *server = mem_zalloc(sizeof *server);
  server->has_disk = options->game != NULL;
  if (options->game != NULL)
    server->game = mem_strdup(options->game);
  else if (options->file_count > 0)
    server->game = mem_strdup("game");
  if (options->lua_path != NULL) server->lua_path = mem_strdup(options->lua_path);
  server->seed = options->seed;
  server->hides_files = options->hides_files;
  server->is_shuffled = options->is_shuffled;
  server->is_echoed = options->is_echoed;
  server->log = (LogState){.sink = on_line, .sink_data = server};
  set_files(server, options->files, options->file_count);
  if (options->env != NULL) set_env(server, options->env);
  config_init(&server->config);
  if (check_game(server) && read_config(server, &server->config, options->config))
    load(server, SIM_START_MS);
  return server;
}

static const char *problem_of(const SimServer *server) { return server->problem; }

static void ignore_line(void *data, LogLevel level, const char *text, size_t size) {
  (void)data, (void)level, (void)text, (void)size;
}

// Frees the engine. Discards the log lines that this causes, because an ended process
// logs nothing.
static void end(SimServer *server, bool is_crash) {
  if (server->engine.net == NULL) return;
  swap_log(server);
  server->backend = script_take_store(server->engine.script, is_crash);
  swap_log(server);
  LogState others = log_swap((LogState){.sink = ignore_line});
  engine_deinit(&server->engine);
  log_swap(others);
  server->engine = (Engine){0};
}

static void restart(SimServer *server, const SimFile *files, size_t count,
                    uint64_t now_ms) {
  set_files(server, files, count);
  mem_free(server->problem);
  server->problem = NULL;
  if (check_game(server)) load(server, now_ms);
}

static void close_server(SimServer *server) {
  end(server, true);
  if (server->backend != NULL) backend_memory.close(server->backend);
  config_deinit(&server->config);
  forget_lines(server, server->line_count);
  mem_free(server->lines);
  forget_files(server);
  forget_env(server);
  mem_free(server->game);
  mem_free(server->lua_path);
  mem_free(server->problem);
  mem_free(server);
}

static void start(SimServer *server) {
  swap_log(server);
  engine_start(&server->engine);
  net_sim_iterate(server->engine.net, 0);
  swap_log(server);
}

static Net *net_of(const SimServer *server) { return server->engine.net; }

static Script *script_of(const SimServer *server) { return server->engine.script; }

const SimOps *sim_server_ops(void) {
  static const SimOps OPS = {
      .open = open_server,
      .problem = problem_of,
      .start = start,
      .close = close_server,
      .enter = swap_log,
      .leave = swap_log,
      .net = net_of,
      .script = script_of,
      .stop = stop,
      .end = end,
      .restart = restart,
      .reload = reload,
      .log = take_log,
  };
  return &OPS;
}
