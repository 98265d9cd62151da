// The server of the admin listener. Its routes answer only requests with a known host
// and, if the listener has a token, that token.
#pragma once

#include "net/admin.h"
#include "net/protocol/http/http.h"

enum {
  ADMIN_CONNS_MAX = 128,    // connections at a time; more are refused with 503
  ADMIN_FAILURES_MAX = 5,   // wrong tokens of a network before the lock
  ADMIN_LOCK_MS = 30000,    // length of the lock; wrong tokens get 429 then
  GATE_ADDRESSES_MAX = 64,  // networks whose wrong tokens are remembered
};

/// Number of wrong tokens from one network (see address_network).
typedef struct GateFailure {
  char network[ADDRESS_SIZE];
  uint32_t count;
  uint64_t last_ms;
} GateFailure;

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

/// Checks Host and Origin of a request, and that it carries `token`. NULL: it needs no
/// token.
Verdict gate_check(AdminPort *port, const char *token, const char *address,
                   const HttpRequest *request, uint64_t now_ms);

// --- admin_requests.c ---

/// Pass requests up. The layer above answers them by net_admin_answer.
void mcp_handle(Conn *conn, const HttpRequest *request);
void mcp_gone(Conn *conn);
void api_handle(Conn *conn, const HttpRequest *request);
void api_gone(Conn *conn);
void metrics_handle(Conn *conn, const HttpRequest *request);
void console_handle(Conn *conn, const HttpRequest *request);
void console_gone(Conn *conn);
