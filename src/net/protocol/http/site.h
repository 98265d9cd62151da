// The site: the server of the game's port. Its pages are the game's files and a few of the
// server's own.
#pragma once

#include "base/list.h"
#include "net/protocol/http/http.h"
#include "net/web.h"

enum {
  SITE_MODULES_MAX = 4,         // of the server's own
  SITE_NOTICES = 32,            // unknown hosts that were logged in the last minute
  FILE_CHUNK_BYTES = 32 << 10,  // of a file, read and written at a time
};

/// A log line about an unknown host.
typedef struct HostNotice {
  char name[64];    // of the host; the rest of a longer one is cut
  uint64_t due_ms;  // when the next line may follow; 0: there has been none
} HostNotice;

struct Web {
  NetPart part;
  HttpServer server;
  Buf texts;  // of the options, each with its NUL; empty: none
  const char *name, *folder, *origins, *hosts;  // in `texts`
  WebModule modules[SITE_MODULES_MAX + 1];      // behind the last is one without a name
  HttpVersion module_versions[SITE_MODULES_MAX];
  Buf schema;  // the text of /schema.js
  HttpVersion schema_version;
  bool is_watched;
  List readers;  // WsReaders at rest
  Buf scratch;   // for one write at a time
  HostNotice notices[SITE_NOTICES];
};

// --- site.c ---

/// Returns the site's state; makes it at the first call.
Web *web_of(Net *net);

// --- site_routes.c ---

extern const HttpKind SITE;

// --- pages.c ---

/// Appends a page for people about a status. `text` is HTML.
void page_put_status(Buf *body, int status, const char *text);
/// Appends the page of a server without a page.
void page_put_welcome(Buf *body, const Web *web, Text host);

// --- host.c ---

/// Returns whether the request may be served under the host that it names. If not, `name`
/// is that host, without its port.
bool host_is_known(const Conn *conn, const HttpRequest *request, Text *name);
/// Logs that a request for the host was refused, at most once a minute for each name.
void host_note(Conn *conn, Text name);

// --- file.c ---

/// Answer with a file of the folder, or the page that stands for it.
void file_handle(Conn *conn, const HttpRequest *request);
void file_drained(Conn *conn);
void file_gone(Conn *conn);

// --- upgrade.c ---

/// Makes the connection a WebSocket.
void upgrade_handle(Conn *conn, const HttpRequest *request);
