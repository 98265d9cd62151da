#include "udp_work.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "cpu.h"

enum {
  EVENTS = 256,
  DUE_NS = 5000000,      // interval of calls of `due`
  SETTLE_NS = 30000000,  // time after which the server has nothing more to do
};

static const double WARM_UP_SECONDS = 0.2, JOIN_SECONDS = 5, BURST_SECONDS = 0.1;

static uint64_t after(double seconds) { return clock_ns() + (uint64_t)(seconds * 1e9); }

void udp_work_set(UdpWork *work, int option) {
  if (option == 'p') work->port = (uint16_t)atoi(optarg);
  if (option == 'i') work->pid = atoi(optarg);
  if (option == 's') work->seconds = atof(optarg);
  if (option == 'm') work->members = (uint32_t)atoi(optarg);
  if (option == 'b') work->burst = (uint32_t)atoi(optarg);
}

void udp_work_open(UdpWork *work) {
  raise_open_files();
  work->epoll = epoll_create1(0);
}

void udp_work_watch(UdpWork *work, int fd, void *member) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = member};
  if (epoll_ctl(work->epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
}

// Runs one iteration without sleeping.
static void turn(UdpWork *work) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(work->epoll, events, EVENTS, 0);
  for (int i = 0; i < count; i++) work->read(work, events[i].data.ptr);
  if (clock_ns() < work->next_due_ns) return;
  work->next_due_ns = clock_ns() + DUE_NS;
  work->due(work);
}

static bool await(UdpWork *work, const uint64_t *counter, uint64_t goal,
                  double seconds) {
  uint64_t until = after(seconds);
  while (*counter < goal && clock_ns() < until) turn(work);
  return *counter >= goal;
}

void udp_work_await_joined(UdpWork *work, uint32_t count) {
  if (!await(work, &work->joined, count, JOIN_SECONDS))
    fail("client %u does not join", count - 1);
}

// Returns the number of arrived datagrams, each with a burst.
static uint64_t run(UdpWork *work, double seconds) {
  uint64_t until = after(seconds), goals = 0, before = work->arrived;
  uint64_t each = (uint64_t)work->per_burst * (work->members - 1);
  while (clock_ns() < until) {
    uint64_t goal = work->arrived + each;
    work->send(work);
    await(work, &work->arrived, goal, BURST_SECONDS);
    goals += each;
  }
  if (work->arrived - before < goals * 99 / 100)
    fprintf(stderr, "bench: some datagrams were lost\n");
  return (work->arrived - before) / work->per_burst;
}

static void settle(UdpWork *work) {
  uint64_t until = clock_ns() + SETTLE_NS;
  while (clock_ns() < until) turn(work);
}

void udp_work_measure(UdpWork *work) {
  run(work, WARM_UP_SECONDS);
  settle(work);
  CpuTimes cpu = cpu_times(work->pid);
  uint64_t start = clock_ns();
  double count = (double)run(work, work->seconds);
  double seconds = (double)(clock_ns() - start) / 1e9;
  settle(work);
  CpuUse use = cpu_used(&cpu);
  printf("us_per_datagram=%.4f datagrams=%.0f per_second=%.0f ",
         (double)use.all_ns / 1e3 / count, count, count / seconds);
  printf("first_us=%.4f busiest_us=%.4f\n", (double)use.first_ns / 1e3 / count,
         (double)use.busiest_ns / 1e3 / count);
}
