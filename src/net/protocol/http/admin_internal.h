// What the admin files of net share.
#pragma once

#include "net/admin.h"
#include "net/conn.h"
#include "net/protocol/http/admin_calls.h"
#include "wire/http_body.h"

enum { GATE_ADDRESSES_MAX = 64 };  // whose wrong tokens are remembered

/// Wrong tokens from one network, as address_network has it.
typedef struct GateFailure {
  char network[ADDRESS_SIZE];
  uint32_t count;
  uint64_t last_ms;
} GateFailure;

struct AdminPort {
  AdminEvents events;
  void *data;
  char *host, *token, *names;  // owned; token NULL: none
  uint32_t conn_count;
  size_t reserved_bytes;  // for bodies that are being received
  GateFailure failures[GATE_ADDRESSES_MAX];
};

/// The decision about a request.
typedef struct Verdict {
  int status;       // that refuses it; 0: it may pass
  const char *why;  // static
  bool is_guess;    // it has a wrong token: the refusal is sent after ADMIN_WRONG_MS
} Verdict;

// admin_gate.c
/// Judges Host, Origin and token of a request.
Verdict gate_check(AdminPort *port, const char *address, const HttpRequest *request,
                   uint64_t now_ms);
