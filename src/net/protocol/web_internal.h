// What the web files of net share.
#pragma once

#include <stdio.h>

#include "base/buf.h"
#include "net/conn.h"
#include "net/protocol/web_calls.h"
#include "net/web.h"
#include "wire/http_file.h"
#include "wire/websocket.h"

enum {
  WEB_KEEP_ALIVE_MS = 15000,      // until the next request of a connection begins
  WEB_STALL_MS = 30000,           // until a piece of an answer is taken
  WEB_CHUNK_BYTES = 32 << 10,     // of a file, read and written at a time
  WEB_REFUSE_WAIT_MS = 250,       // for the first byte of who may not stay
  SOCKET_SPARE_BYTES = 16 << 10,  // of a message beyond the packet of `max_payload`
  SOCKET_PONGS_MAX = 4 << 10,     // bytes of answers that wait while others are written
  SOCKET_READERS_MAX = 16,        // kept for reuse
  WEB_MODULES_MAX = 4,            // of the server's own
  HOST_NOTICES = 32,              // unknown hosts that were logged in the last minute
};

/// A log line about an unknown host.
typedef struct HostNotice {
  char name[64];    // of the host; the rest of a longer one is cut
  uint64_t due_ms;  // when the next line may follow; 0: there has been none
} HostNotice;

struct Web {
  char *name, *folder, *origins, *hosts;   // owned; NULL: none
  WebModule modules[WEB_MODULES_MAX + 1];  // behind the last is one without a name
  HttpVersion module_versions[WEB_MODULES_MAX];
  Buf schema;  // the text of /schema.js
  HttpVersion schema_version;
  bool is_watched;
  List readers;  // WsReaders at rest
  Buf scratch;   // for one write at a time
  WebStats stats;
  HostNotice notices[HOST_NOTICES];
};

/// What is answered besides a body.
typedef struct Answer {
  int status;
  const char *type;            // of the body; NULL: it has none
  const HttpVersion *version;  // of a file; NULL: it is none
  const char *location;        // NULL: none
  const char *allow_origin;
  bool may_change;        // at any time: nothing is kept without asking
  uint64_t size;          // of the whole body
  uint64_t first, count;  // of the part of it that is sent; with status 206
} Answer;

// web.c
/// Sets the time until which a WebSocket has to have begun to speak.
void web_await(Conn *conn);

// web_pages.c
/// Appends a page for people that says what a status means here. `text` is HTML.
void page_put_status(Buf *body, int status, const char *text);
/// Appends the page of a server without a page.
void page_put_welcome(Buf *body, const Web *web, Text host);

// web_http.c
/// Writes the head of an answer to the request under way.
void http_put_answer(Buf *out, Conn *conn, const Answer *answer);
/// Answers the request under way with a page about a status.
void http_refuse(Conn *conn, const HttpRequest *request, int status, const char *text);
/// The request under way, as it was handed over.
const HttpRequest *http_request(Conn *conn, HttpRequest *request);
/// The answer is all written, or on its way.
void http_finish(Conn *conn);
/// Writes a piece of the answer; when it is out `http_drained` goes on.
void http_write(Conn *conn, const Buf *bytes);
/// The page that stands for the folder itself where it has none.
void http_welcome(Conn *conn, const HttpRequest *request);

// web_host.c
/// Returns whether the request may be served under the host that it names. If not, `name`
/// is that host, without its port.
bool web_knows_host(const Conn *conn, const HttpRequest *request, Text *name);
/// Logs that a request for the host was refused, at most once a minute for each name.
void web_note_host(Conn *conn, Text name);

// web_file.c
typedef struct FileJob FileJob;
/// Answers the request under way with a file of the folder, now or by and by.
FileJob *file_serve(Conn *conn, const HttpPath *path);
/// Continues with the next piece.
void file_continue(FileJob *job);
/// The connection is not interested any more.
void file_drop(FileJob *job);
