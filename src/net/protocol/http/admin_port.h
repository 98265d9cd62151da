// The server of the admin listener. Its routes answer only requests with a known host
// and, if the listener has a token, that token.
#pragma once

#include "base/secret.h"
#include "net/admin.h"
#include "net/protocol/http/http.h"

#define HTTP_DASHBOARD "dashboard/"  // folder of the dashboard's files

enum {
  ADMIN_CONNS_MAX = 128,    // connections at a time; more are refused with 503
  ADMIN_FAILURES_MAX = 5,   // wrong tokens of a network before the lock
  ADMIN_LOCK_MS = 30000,    // length of the lock; wrong tokens get 429 then
  GATE_ADDRESSES_MAX = 64,  // networks whose wrong tokens are remembered
  LOGIN_TOKENS_MAX = 4,     // one-time tokens; a new one replaces the oldest one
  LOGINS_MAX = 16,          // browsers; a new one replaces the one unused for longest
  LOGIN_MS = 12 * 3600000,  // life of a one-time token, and of a browser's last request
};

/// Number of wrong tokens from one network (see address_network).
typedef struct GateFailure {
  char network[ADDRESS_SIZE];
  uint32_t count;
  uint64_t last_ms;
} GateFailure;

/// A one-time token, or a browser that is signed in.
typedef struct AdminLogin {
  bool is_set;
  uint64_t last_ms;  // time of the token, or of the browser's last request
  Secret cookie;     // unused in a one-time token
  Secret key;        // key of the browser's page, or the one-time token
} AdminLogin;

typedef struct AdminServer {
  const AdminEvents *events;  // NULL: requests get 404
  void *data;
} AdminServer;

struct AdminPort {
  NetPart part;
  HttpServer server;
  AdminServer servers[ADMIN_SERVICES];
  char *host, *token, *names;  // copies of the options; owned; token NULL: none
  char *secret;  // token of the console: a copy of `token`, or generated; owned
  uint32_t conn_count;
  bool is_handing;  // the listener is passing a request up
  uint16_t port;
  const AdminFile *files;  // files of the dashboard; NULL: none
  AdminLogin tokens[LOGIN_TOKENS_MAX], logins[LOGINS_MAX];
  GateFailure failures[GATE_ADDRESSES_MAX];
};

extern const HttpKind ADMIN;  // admin.c

// --- gate.c ---

/// The decision about a request.
typedef struct Verdict {
  int status;       // status of the refusal; 0: the request may pass
  const char *why;  // reason; static
  bool is_guess;    // the request has a wrong token
} Verdict;

/// Checks Host and Origin of a request, and that it carries `token`, or belongs to
/// a browser that is signed in. NULL: it needs neither.
Verdict gate_check(AdminPort *port, const char *token, const char *address,
                   const HttpRequest *request, uint64_t now_ms);

/// Counts a wrong token, and returns its refusal.
Verdict gate_guess(AdminPort *port, const char *address, uint64_t now_ms);

// --- logins.c ---

/// Writes a secret: random digits.
void login_make_digits(Net *net, char digits[ADMIN_SECRET_DIGITS + 1]);
/// Returns whether the request has cookie and key of a browser that is signed in.
bool login_is_good(AdminPort *port, const HttpRequest *request, uint64_t now_ms);
/// Exchanges the one-time token in the body for a cookie and a key.
void login_handle(Conn *conn, const HttpRequest *request);

// --- admin_files.c ---

/// Answers with a file of the dashboard.
void file_page_handle(Conn *conn, const HttpRequest *request);

// --- admin_requests.c ---

/// Pass requests up. The layer above answers them by net_admin_answer.
void mcp_handle(Conn *conn, const HttpRequest *request);
void mcp_gone(Conn *conn);
void api_handle(Conn *conn, const HttpRequest *request);
void api_gone(Conn *conn);
void dashboard_handle(Conn *conn, const HttpRequest *request);
void dashboard_gone(Conn *conn);
void metrics_handle(Conn *conn, const HttpRequest *request);
void console_handle(Conn *conn, const HttpRequest *request);
void console_gone(Conn *conn);
