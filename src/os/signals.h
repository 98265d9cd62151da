// The signals that a server answers, delivered on the loop. SIGPIPE is ignored for the
// process: writes to a socket that is gone give an error instead.
#pragma once

typedef struct Loop Loop;
typedef struct Signals Signals;

typedef struct SignalEvents {
  /// SIGINT or SIGTERM; `name` is one of these.
  void (*stop)(void *data, const char *name);
  /// SIGHUP.
  void (*reload)(void *data);
} SignalEvents;

/// Does not keep the loop running.
Signals *signals_open(Loop *loop, const SignalEvents *events, void *data);

/// From now on the signals do what they did before signals_open. Freed by the loop;
/// NULL is allowed.
void signals_close(Signals *signals);
