// Parses the lines of text peers (docs/protocol.md, section 6): commands, which begin
// with `/`, and other text.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "wire/reader.h"

typedef enum LineVerb {
  LINE_TEXT,       // `rest` is the whole line
  LINE_JOIN,       // `word` is the room
  LINE_JOIN_WITH,  // `word` is the room, `rest` the JSON of an object
  LINE_LEAVE,      // `word` is the room
  LINE_ROOMS,      // `rest` may be the JSON of a query
  LINE_NAME,       // `word` is the name
  LINE_SEND,       // `word` is the message's name, `rest` its JSON (may be empty)
  LINE_LOGIN,      // `word` is the name to sign in with
  LINE_QUIT,
  LINE_UNKNOWN,     // `word` is the command as typed
  LINE_INCOMPLETE,  // a known command without its argument; `word` is the command
} LineVerb;

typedef struct Line {
  LineVerb verb;
  Text word;
  Text rest;
} Line;

/// Parses a line without its end of line. Names may contain spaces: for JOIN, LEAVE, NAME
/// and LOGIN, the word is everything behind the command, trimmed. For SEND, the word ends at
/// a space. For JOIN_WITH, the word ends before the first `{` behind a space.
Line line_read(const char *text, size_t size);

/// Returns whether a line is the first line of an HTTP request: `METHOD target
/// HTTP/1.x`.
bool line_is_http_request(const char *text, size_t size);

/// Appends `size` bytes in a form that is safe for a terminal. Control characters, line
/// and paragraph separators and bytes that are not UTF-8 become '?', so that no peer
/// can forge a line or send an escape sequence.
void line_append_safe(Buf *buf, const char *text, size_t size);

/// Appends the name of a peer or of a message, like line_append_safe. Characters that
/// could make the line look like another kind of line become '?', too: '!', '*' and '/'
/// at the beginning, each '"', and each ':' before a space or at the end.
void line_append_name(Buf *buf, const char *name, size_t size);
