// The store of a host: its place, the units of handlers, and requests. The host ends a
// handler's unit before it carries out the handler's commands. A request is a command,
// so a failed handler makes no requests.
//
// The data of EVENT_STORE and EVENT_STORE_FAILED consists of a StoreHead, an id, and a
// text. The text is the JSON of a document, a StoreUnit with found documents, a count,
// or an error text. The id is that of a failed write, or the cursor of a find.
#pragma once

#include <lua.h>
#include <stddef.h>

#include "relay/relay.h"

typedef struct Host Host;
typedef struct Backend Backend;

/// `flags` of COMMAND_STORE. Its `id` is the token.
typedef enum StoreRequest {
  STORE_REQUEST_GET,    // room: collection, name: id
  STORE_REQUEST_UNIT,   // body: a StoreUnit
  STORE_REQUEST_BOARD,  // room: board, name: id, key: period, code: number of entries
  STORE_REQUEST_FLUSH,  // answered when all earlier writes are on disk
  // Body: a StoreQuery; packed: a StoreUnit that the query sees as written.
  STORE_REQUEST_FIND,
  // Name: the statement, body: StoreValues of its arguments, each with its text behind
  // it, code: milliseconds that it may run.
  STORE_REQUEST_SQL,
  // Room: collection, code: schema_below, name: id behind which the scan begins.
  STORE_REQUEST_SCAN,
} StoreRequest;

enum { STORE_SQL_ARGUMENTS_MAX = 64 };

/// Opens the store at a place, unless it is open. Returns NULL, or an error text that
/// is valid until the next call.
const char *host_store_open(Host *host, const char *place);

/// Ends the store, which first writes everything that it has got. Returns false if some
/// of it is lost.
bool host_store_close(Host *host);

/// Ends the store in a simulation, and returns its documents, for
/// ScriptOptions.backend. If `is_crash` is true, writes that are not committed are
/// lost.
Backend *host_store_take(Host *host, bool is_crash);

/// Passes all units and requests so far to the store. Call it at the end of each
/// iteration.
void host_store_post(Host *host);

size_t host_store_mark(const Host *host);
void host_store_cut(Host *host, size_t mark);

/// Ends the unit of the running handler.
void host_store_end_unit(Host *host);

/// Carries out a COMMAND_STORE.
void host_store_request(Host *host, const Command *command);

/// Pushes the arguments of an event of the store: those of every event, then version,
/// schema and id. `b` is the name of the code, or nil. Returns the number of arguments.
int host_store_push(lua_State *co, const Event *event);
