// See thread.h.
#define _GNU_SOURCE  // pthread_setname_np
#include "os/thread.h"

#include <pthread.h>
#include <signal.h>

int thread_start(uv_thread_t *thread, const char *name, uv_thread_cb run, void *data) {
  static const int OWN[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) sigdelset(&all, OWN[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int err = uv_thread_create(thread, run, data);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (err == 0) pthread_setname_np(*thread, name);
  return err;
}
