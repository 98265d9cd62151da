// Parses a game's files on threads, so that the loop does not wait for the parser. A set
// of files is parsed one after the other on one thread. A set that nobody wants any more
// ends by itself; its thread is joined when it has ended. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"
#include "wire/reader.h"

enum { PARSER_THREADS_MAX = 4 };  // that run at a time, those nobody wants among them

typedef struct ParseSet ParseSet;

/// The wanted set has been parsed, or a thread has become free for it. From the loop.
typedef void ParserReady(void *data);

typedef struct Parser {
  Net *net;          // not owned; must outlive the parser
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

/// In a simulated Net everything is parsed where it is asked for, with the same limits.
void parser_init(Parser *parser, Net *net, ParserReady *on_ready, void *data);
void parser_deinit(Parser *parser);

/// Has these files parsed; another set that was wanted is not wanted any more. Returns
/// whether all of them are, else `on_ready` follows and the same is to be asked again.
bool parser_want(Parser *parser, const ParseFile *files, size_t count);

/// Nothing is wanted any more.
void parser_drop(Parser *parser);

/// Pushes the function of a file of the wanted set.
ParseOutcome parser_take(Parser *parser, lua_State *L, const ParseFile *file);

/// Parses one file while the loop waits, at most `us` microseconds.
ParseOutcome parser_wait(Parser *parser, lua_State *L, const ParseFile *file,
                         uint64_t us);
