// Parses a game's files on threads, so that the loop does not wait for the parser. A set
// of files is parsed one after the other on one thread. A cancelled set ends by itself; its
// thread is joined when it has ended. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/reader.h"

enum { PARSER_THREADS_MAX = 4 };  // that run at a time, including cancelled ones

typedef struct Loop Loop;
typedef struct ParseSet ParseSet;

/// Called by the loop when the wanted set has been parsed, or a thread has become free for it.
typedef void ParserReady(void *data);

typedef struct Parser {
  Loop *loop;        // not owned; must outlive the parser; NULL in a simulation
  ParseSet *wanted;  // the files of the load that waits; NULL: none
  ParseSet *running[PARSER_THREADS_MAX];  // on threads; NULL: free
  bool is_short;                          // a load waits for a thread
  ParserReady *on_ready;
  void *data;  // of on_ready
} Parser;

typedef enum ParseOutcome {
  PARSE_DONE,     // a function lies on the stack
  PARSE_FAILED,   // what is wrong lies on the stack
  PARSE_UNKNOWN,  // nothing lies on the stack: the file is not parsed
} ParseOutcome;

typedef struct ParseFile {
  const char *path;
  Text text;
} ParseFile;

/// Without a loop, files are parsed on the calling thread, within the same limits.
void parser_init(Parser *parser, Loop *loop, ParserReady *on_ready, void *data);
void parser_deinit(Parser *parser);

/// Requests that these files be parsed, and cancels the set requested before. Returns
/// whether all of them are parsed; if not, call it again after `on_ready`.
bool parser_want(Parser *parser, const ParseFile *files, size_t count);

/// Cancels the requested set.
void parser_drop(Parser *parser);

/// Pushes the function of a file of the wanted set.
ParseOutcome parser_take(Parser *parser, lua_State *L, const ParseFile *file);

/// Parses one file and blocks the loop for that, for at most `us` microseconds.
ParseOutcome parser_wait(Parser *parser, lua_State *L, const ParseFile *file,
                         uint64_t us);
