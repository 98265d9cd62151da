// The signals of a server, delivered on the loop. The process ignores SIGPIPE: writes to a closed
// socket return an error instead.
#pragma once

typedef struct Loop Loop;
typedef struct Signals Signals;

typedef struct SignalEvents {
  /// SIGINT or SIGTERM; `name` is one of these.
  void (*stop)(void *data, const char *name);
  /// SIGHUP.
  void (*reload)(void *data);
} SignalEvents;

/// Handles the signals; does not keep the loop running.
Signals *signals_open(Loop *loop, const SignalEvents *events, void *data);

/// Restores the handlers before signals_open; the loop frees it. NULL is allowed.
void signals_close(Signals *signals);
