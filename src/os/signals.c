// A Signals owns three uv_signal handles. It is freed when all three have closed.
#include "os/signals.h"

#include <signal.h>

#include "base/mem.h"
#include "os/loop.h"

enum { SIGNAL_COUNT = 3 };

struct Signals {
  uv_signal_t handles[SIGNAL_COUNT];
  SignalEvents events;
  void *data;
  int open_count;
};

static void on_signal(uv_signal_t *handle, int number) {
  Signals *signals = handle->data;
  if (number == SIGHUP)
    signals->events.reload(signals->data);
  else
    signals->events.stop(signals->data, number == SIGINT ? "SIGINT" : "SIGTERM");
}

Signals *signals_open(Loop *loop, const SignalEvents *events, void *data) {
  static const int NUMBERS[SIGNAL_COUNT] = {SIGINT, SIGTERM, SIGHUP};
  Signals *signals = mem_zalloc(sizeof *signals);
  signals->events = *events;
  signals->data = data;
  signals->open_count = SIGNAL_COUNT;
  for (int i = 0; i < SIGNAL_COUNT; i++) {
    uv_signal_init(&loop->uv, &signals->handles[i]);
    signals->handles[i].data = signals;
    uv_unref((uv_handle_t *)&signals->handles[i]);
    uv_signal_start(&signals->handles[i], on_signal, NUMBERS[i]);
  }
  signal(SIGPIPE, SIG_IGN);
  return signals;
}

static void on_closed(uv_handle_t *handle) {
  Signals *signals = handle->data;
  if (--signals->open_count == 0) mem_free(signals);
}

void signals_close(Signals *signals) {
  if (signals == NULL) return;
  for (int i = 0; i < SIGNAL_COUNT; i++) {
    uv_handle_t *handle = (uv_handle_t *)&signals->handles[i];
    if (!uv_is_closing(handle)) uv_close(handle, on_closed);
  }
}
