// The server of the admin listener. Its routes answer only requests with a known host and, if
// it has a token, the right one.
#pragma once

#include "net/admin.h"
#include "net/protocol/http/http.h"

enum {
  ADMIN_CONNS_MAX = 128,    // at a time; more are refused with 503
  ADMIN_FAILURES_MAX = 5,   // wrong tokens from one address; from then on each of them
  ADMIN_LOCK_MS = 30000,    // has further wrong ones refused for so long
  GATE_ADDRESSES_MAX = 64,  // whose wrong tokens are remembered
};

/// Wrong tokens from one network, as address_network has it.
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
  char *host, *token, *names;  // owned; token NULL: none
  uint32_t conn_count;
  bool is_handing;  // a request is being handed up
  GateFailure failures[GATE_ADDRESSES_MAX];
};

extern const HttpKind ADMIN;  // admin.c

// --- gate.c ---

/// The decision about a request.
typedef struct Verdict {
  int status;       // that refuses it; 0: it may pass
  const char *why;  // static
  bool is_guess;    // its token is wrong
} Verdict;

/// Judges Host, Origin and token of a request.
Verdict gate_check(AdminPort *port, const char *address, const HttpRequest *request,
                   uint64_t now_ms);

// --- admin_requests.c ---

/// Hand requests up; net_admin_answer has their answers.
void mcp_handle(Conn *conn, const HttpRequest *request);
void mcp_gone(Conn *conn);
void api_handle(Conn *conn, const HttpRequest *request);
void api_gone(Conn *conn);
