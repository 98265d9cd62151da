// Ends handlers that fail, and handlers that raise a fault (perigee.fault). A fault is
// an answer to a request.
#pragma once

#include "script/host.h"

typedef enum FailureKind { FAILED_PLAIN, FAILED_DEADLINE, FAILED_MEMORY } FailureKind;

/// Sets host->fault.
void failure_set_text(Host *host, const char *text, size_t size);

/// Ends a handler that has failed: discards its commands and reports the failure. The
/// error is `text`; if `text` is NULL, it is the value on top of `co`. Returns
/// HOST_FAILED.
HostOutcome failure_end(Host *host, lua_State *co, FailureKind kind, const char *text);

/// Returns whether the error of a coroutine is a fault, by which a handler answers its
/// request.
bool failure_is_fault(const Host *host, lua_State *co);

/// Ends a handler that has raised a fault: it has not failed, but its commands are
/// discarded.
HostOutcome failure_end_with_fault(Host *host, lua_State *co);
