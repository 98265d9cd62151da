// The signals of a server, delivered on the loop. The process ignores SIGPIPE, so that
// writes to a closed socket return an error instead.
#pragma once

typedef struct Loop Loop;
typedef struct Signals Signals;

typedef struct SignalEvents {
  /// Reports SIGINT or SIGTERM; `name` is the name of the signal.
  void (*stop)(void *data, const char *name);
  /// Reports SIGHUP.
  void (*reload)(void *data);
} SignalEvents;

/// Starts to handle the signals. The handles do not keep the loop running.
Signals *signals_open(Loop *loop, const SignalEvents *events, void *data);

/// Stops handling the signals; SIGPIPE stays ignored. The loop frees the Signals. NULL
/// is allowed.
void signals_close(Signals *signals);
