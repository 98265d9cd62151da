// See parser.h.
#include "script/parser.h"

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "os/worker.h"
#include "script/guard/parse.h"

typedef struct Item {
  char *path;
  Buf text;
  Buf code;      // bytecode, or an error text
  bool is_good;  // `code` is bytecode
} Item;

// A set of files. The parser thread owns it until the thread ends; then the loop does.
struct ParseSet {
  atomic_bool is_unwanted;
  Parser *parser;  // owner; NULL: the parser was freed
  uint32_t slot;   // index in parser->running
  bool is_parsed;
  bool is_awaited;  // parser_wait waits for the set and frees it
  size_t count;
  Item items[];
};

// --- Sets ---

static ParseSet *set_new(Parser *parser, const ParseFile *files, size_t count) {
  ParseSet *set = mem_zalloc(sizeof *set + count * sizeof *set->items);
  set->parser = parser;
  set->count = count;
  for (size_t i = 0; i < count; i++) {
    set->items[i].path = mem_strdup(files[i].path);
    buf_append(&set->items[i].text, files[i].text.bytes, files[i].text.size);
  }
  return set;
}

static void set_free(ParseSet *set) {
  for (size_t i = 0; i < set->count; i++) {
    mem_free(set->items[i].path);
    buf_deinit(&set->items[i].text);
    buf_deinit(&set->items[i].code);
  }
  mem_free(set);
}

static const Item *set_find(const ParseSet *set, const ParseFile *file) {
  for (size_t i = 0; set != NULL && i < set->count; i++) {
    const Item *item = &set->items[i];
    if (strcmp(item->path, file->path) == 0 && item->text.size == file->text.size &&
        (item->text.size == 0 ||
         memcmp(item->text.data, file->text.bytes, item->text.size) == 0))
      return item;
  }
  return NULL;
}

// --- Threads ---

static void parse_all(void *data) {
  ParseSet *set = data;
  for (size_t i = 0; i < set->count && !atomic_load(&set->is_unwanted); i++) {
    Item *item = &set->items[i];
    Text text = {(const char *)item->text.data, (uint32_t)item->text.size};
    item->is_good = parse_to_code(item->path, text, &set->is_unwanted, &item->code);
  }
}

static void on_end(void *data) {
  ParseSet *set = data;
  Parser *parser = set->parser;
  if (parser == NULL) {
    set_free(set);
    return;
  }
  parser->running[set->slot] = NULL;
  set->is_parsed = true;
  bool is_wanted = parser->wanted == set;
  if (!is_wanted && !set->is_awaited) set_free(set);
  if (is_wanted || parser->is_short) parser->on_ready(parser->data);
}

// Starts a thread that parses the set. If the system cannot create one, parses the set
// here and returns NULL.
static Worker *start(ParseSet *set, uint32_t slot) {
  Worker *worker = worker_start(set->parser->loop, parse_all, on_end, set);
  if (worker == NULL) {
    parse_all(set);
    set->is_parsed = true;
    return NULL;
  }
  set->slot = slot;
  set->parser->running[slot] = set;
  return worker;
}

static uint32_t find_slot(const Parser *parser) {
  uint32_t slot = 0;
  while (slot < PARSER_THREADS_MAX && parser->running[slot] != NULL) slot++;
  return slot;
}

// --- The parser ---

void parser_init(Parser *parser, Loop *loop, ParserReady *on_ready, void *data) {
  *parser = (Parser){.loop = loop, .on_ready = on_ready, .data = data};
}

void parser_deinit(Parser *parser) {
  parser_drop(parser);
  for (uint32_t i = 0; i < PARSER_THREADS_MAX; i++) {
    ParseSet *set = parser->running[i];
    if (set == NULL) continue;
    set->parser = NULL;
    atomic_store(&set->is_unwanted, true);
  }
}

void parser_drop(Parser *parser) {
  ParseSet *set = parser->wanted;
  parser->wanted = NULL;
  parser->is_short = false;
  if (set == NULL) return;
  atomic_store(&set->is_unwanted, true);
  if (set->is_parsed) set_free(set);
}

static bool is_wanted(const ParseSet *set, const ParseFile *files, size_t count) {
  if (set == NULL || set->count != count) return false;
  for (size_t i = 0; i < count; i++)
    if (set_find(set, &files[i]) == NULL) return false;
  return true;
}

bool parser_want(Parser *parser, const ParseFile *files, size_t count) {
  if (parser->loop == NULL) return true;
  if (is_wanted(parser->wanted, files, count)) return parser->wanted->is_parsed;
  parser_drop(parser);
  if (count == 0) return true;
  uint32_t slot = find_slot(parser);
  parser->is_short = slot == PARSER_THREADS_MAX;
  if (parser->is_short) return false;
  parser->wanted = set_new(parser, files, count);
  start(parser->wanted, slot);
  log_debug("parsing the game", log_num("files", (int64_t)count));
  return parser->wanted->is_parsed;
}

static ParseOutcome push(lua_State *L, const Item *item) {
  if (item->is_good)
    return parse_load(L, item->path, &item->code) ? PARSE_DONE : PARSE_FAILED;
  lua_pushlstring(L, (const char *)item->code.data, item->code.size);
  return PARSE_FAILED;
}

static ParseOutcome parse_here(lua_State *L, const ParseFile *file) {
  return parse_text(L, file->path, file->text, NULL) ? PARSE_DONE : PARSE_FAILED;
}

ParseOutcome parser_take(Parser *parser, lua_State *L, const ParseFile *file) {
  if (parser->loop == NULL) return parse_here(L, file);
  const Item *item = set_find(parser->wanted, file);
  if (item == NULL || !parser->wanted->is_parsed) return PARSE_UNKNOWN;
  return push(L, item);
}

ParseOutcome parser_wait(Parser *parser, lua_State *L, const ParseFile *file,
                         uint64_t us) {
  if (parser->loop == NULL) return parse_here(L, file);
  uint32_t slot = find_slot(parser);
  if (slot == PARSER_THREADS_MAX) return PARSE_UNKNOWN;
  ParseSet *set = set_new(parser, file, 1);
  set->is_awaited = true;
  Worker *worker = start(set, slot);
  if (worker != NULL && !worker_wait(worker, us)) {
    set->is_awaited = false;
    atomic_store(&set->is_unwanted, true);
    return PARSE_UNKNOWN;
  }
  ParseOutcome outcome = push(L, &set->items[0]);
  set_free(set);
  return outcome;
}
