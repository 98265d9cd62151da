// Parses a game's files on threads, so that the loop does not wait for the parser. One
// thread parses a set of files. A cancelled set ends by itself; the loop then joins its
// thread. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "wire/reader.h"

enum { PARSER_THREADS_MAX = 4 };  // limit of running threads, including cancelled ones

typedef struct Loop Loop;
typedef struct ParseSet ParseSet;

/// The loop calls this when the wanted set has been parsed, or when a thread has become
/// free for it.
typedef void ParserReady(void *data);

typedef struct Parser {
  Loop *loop;        // not owned; must outlive the parser; NULL in a simulation
  ParseSet *wanted;  // files of the waiting load; NULL: none
  ParseSet *running[PARSER_THREADS_MAX];  // sets on threads; NULL: free
  bool is_short;                          // a load waits for a free thread
  ParserReady *on_ready;
  void *data;  // argument of on_ready
} Parser;

typedef enum ParseOutcome {
  PARSE_DONE,     // pushed a function
  PARSE_FAILED,   // pushed an error text
  PARSE_UNKNOWN,  // pushed nothing, because the file has not been parsed
} ParseOutcome;

typedef struct ParseFile {
  const char *path;
  Text text;
} ParseFile;

/// Initializes a parser. Without a loop it parses files on the calling thread, within
/// the same limits.
void parser_init(Parser *parser, Loop *loop, ParserReady *on_ready, void *data);
void parser_deinit(Parser *parser);

/// Requests these files, and cancels the previous request. Returns whether all of them
/// have been parsed. If not, call it again after `on_ready`.
bool parser_want(Parser *parser, const ParseFile *files, size_t count);

/// Cancels the requested set.
void parser_drop(Parser *parser);

/// Pushes the function of a file in the wanted set, or its error text.
ParseOutcome parser_take(Parser *parser, lua_State *L, const ParseFile *file);

/// Parses one file and pushes its function or its error text. Blocks the loop for at
/// most `us` microseconds.
ParseOutcome parser_wait(Parser *parser, lua_State *L, const ParseFile *file,
                         uint64_t us);
