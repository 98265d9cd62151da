// The site is the server of the game's port. It serves the game's files and a few pages
// of its own.
#pragma once

#include "base/list.h"
#include "net/protocol/http/http.h"
#include "net/web.h"

enum {
  SITE_MODULES_MAX = 4,         // number of the server's own modules
  SITE_NOTICES = 32,            // log lines about unknown hosts in one minute
  FILE_CHUNK_BYTES = 32 << 10,  // bytes of a file that are read and written at a time
};

/// A log line about an unknown host.
typedef struct HostNotice {
  char name[64];    // host name; a longer one is cut
  uint64_t due_ms;  // time from which the next line may follow; 0: no line so far
} HostNotice;

struct Web {
  NetPart part;
  HttpServer server;
  Buf texts;  // texts of the options, each with its NUL; empty: none
  const char *name, *folder, *origins, *hosts;  // pointers into `texts`
  WebModule modules[SITE_MODULES_MAX + 1];      // modules, ended by one without name
  HttpVersion module_versions[SITE_MODULES_MAX];
  Buf schema;  // text of /schema.js
  HttpVersion schema_version;
  bool is_watched;
  List readers;  // unused WsReaders
  Buf scratch;   // bytes of one write; reused
  HostNotice notices[SITE_NOTICES];
};

// --- site.c ---

/// Returns the site's state; creates it on the first call.
Web *web_of(Net *net);

// --- site_routes.c ---

extern const HttpKind SITE;

// --- pages.c ---

/// Appends a page about a status, for people. `text` is HTML.
void page_put_status(Buf *body, int status, const char *text);
/// Appends the page of a server whose game has no page.
void page_put_welcome(Buf *body, const Web *web, Text host);

// --- host.c ---

/// Returns whether the request may be served under the name in its Host header. Sets
/// `name` to that name without its port, if there is a Host header.
bool host_is_known(const Conn *conn, const HttpRequest *request, Text *name);
/// Logs that a request for the host was refused, at most once a minute for each name.
void host_note(Conn *conn, Text name);

// --- file.c ---

/// Handle requests for files. Answer with a file of the folder, or with a page that the
/// server generates.
void file_handle(Conn *conn, const HttpRequest *request);
void file_drained(Conn *conn);
void file_gone(Conn *conn);

// --- upgrade.c ---

/// Makes the connection a WebSocket.
void upgrade_handle(Conn *conn, const HttpRequest *request);
