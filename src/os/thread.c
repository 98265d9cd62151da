// See thread.h.
#define _GNU_SOURCE  // pthread_setname_np, gettid
#include "os/thread.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

typedef struct Start {
  void (*run)(void *data);
  void *data;
  Log *log;
} Start;

static void *begin(void *data) {
  Start start = *(Start *)data;
  mem_free(data);
  log_use(start.log);
  start.run(start.data);
  return NULL;
}

int thread_start(pthread_t *thread, const char *name, void (*run)(void *data),
                 void *data) {
  static const int OWN[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
  sigset_t all, before;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof OWN / sizeof *OWN; i++) sigdelset(&all, OWN[i]);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Start *start = mem_alloc(sizeof *start);
  *start = (Start){.run = run, .data = data, .log = log_used()};
  int err = -pthread_create(thread, NULL, begin, start);
  if (err != 0) mem_free(start);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (err == 0) pthread_setname_np(*thread, name);
  return err;
}

// Sets the thread's id through glibc's internal names, because glibc has no public name
// for that member.
int thread_timer(clockid_t clock, int signal, void *value, timer_t *timer) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                           .sigev_signo = signal,
                           .sigev_value.sival_ptr = value};
  event._sigev_un._tid = gettid();
  return timer_create(clock, &event, timer) == 0 ? 0 : -errno;
}
