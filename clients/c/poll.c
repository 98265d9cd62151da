// Waits for the sockets of one client, or of many clients at a time.
#include <string.h>

#include "base/mem.h"
#include "driver.h"
#include "internal.h"

enum { CLIENTS_PER_MS = 2000 };

// Returns the milliseconds until a time; -1: forever.
static int ms_until(uint64_t at_us) {
  if (at_us == UINT64_MAX) return -1;
  uint64_t now_us = os_clock_us();
  uint64_t wait_ms = at_us > now_us ? (at_us - now_us + 999) / 1000 : 0;
  return wait_ms < INT32_MAX ? (int)wait_ms : INT32_MAX;
}

int perigee_fds(PerigeeClient *client, PerigeeFd fds[2]) {
  return client->driver ? driver_fds(client, fds) : PERIGEE_BAD_ARGUMENT;
}

int perigee_wait_ms(PerigeeClient *client) {
  return client->driver ? ms_until(driver_due_us(client)) : PERIGEE_BAD_ARGUMENT;
}

// A wait for the descriptors of all clients, followed by other descriptors.
typedef struct Wait {
  PerigeeClient **clients;
  size_t client_count;
  PerigeeFd *others;
  size_t other_count;
  PerigeeFd *fds;  // descriptors of the clients, followed by `others`
} Wait;

// With many clients, sleeps for a moment, so that the input of several clients arrives
// before the next wait. That saves time, because a wait costs time for each client,
// ready or not. Sleeps a millisecond for each CLIENTS_PER_MS clients, but not beyond
// `until_us`. Returns false if a signal was handled.
static bool gather(const Wait *wait, uint64_t until_us) {
  int left_ms = ms_until(until_us), ms = (int)(wait->client_count / CLIENTS_PER_MS);
  if (left_ms >= 0 && left_ms < ms) ms = left_ms;
  return ms == 0 || os_poll(NULL, 0, ms);
}

// Waits until a descriptor is ready or work is due, at most until `until_us`. Returns
// false if a signal was handled, or all clients are closed.
static bool wait_for(const Wait *wait, uint64_t until_us) {
  size_t count = 0, others_size = wait->other_count * sizeof *wait->fds;
  bool is_live = others_size > 0;
  for (size_t i = 0; i < wait->client_count; i++) {
    PerigeeClient *client = wait->clients[i];
    if (!client->driver) continue;
    client->driver->due_us = driver_due_us(client);
    is_live = is_live || client->state != PERIGEE_STATE_CLOSED;
    if (client->driver->due_us < until_us) until_us = client->driver->due_us;
    count += (size_t)driver_fds(client, wait->fds + count);
  }
  if (others_size > 0) memcpy(wait->fds + count, wait->others, others_size);
  int timeout_ms = is_live ? ms_until(until_us) : 0;
  return os_poll(wait->fds, count + wait->other_count, timeout_ms) && is_live;
}

static bool is_ready(const PerigeeFd *fd) { return fd->wants_read || fd->wants_write; }

// Drives the clients that are ready or due; no other client has events. Moves clients
// with events to the front, and sets `ready` to their number. Returns the first
// descriptor of `others`. Reads only the driver of a client that is neither ready nor due.
static const PerigeeFd *drive_all(const Wait *wait, size_t *ready) {
  const PerigeeFd *fd = wait->fds;
  uint64_t now_us = os_clock_us();
  *ready = 0;
  for (size_t i = 0; i < wait->client_count; i++) {
    PerigeeClient *client = wait->clients[i];
    const Driver *d = client->driver;
    if (!d) continue;
    const PerigeeFd *end = fd + d->polled;
    bool has_stream = fd < end && d->tcp >= 0 && is_ready(fd++);
    bool has_datagrams = fd < end && is_ready(fd);
    fd = end;
    if (!has_stream && !has_datagrams && d->due_us > now_us) continue;
    driver_work(client, has_stream, has_datagrams);
    if (client->events.count == 0) continue;
    wait->clients[i] = wait->clients[*ready];
    wait->clients[(*ready)++] = client;
  }
  return fd;
}

size_t perigee_poll_all(PerigeeClient **clients, size_t client_count, PerigeeFd *fds,
                        size_t fd_count, int timeout_ms) {
  Wait wait = {clients, client_count, fds, fd_count, NULL};
  wait.fds = mem_alloc((2 * client_count + fd_count + 1) * sizeof *fds);
  uint64_t end_us =
      timeout_ms < 0 ? UINT64_MAX : os_clock_us() + (uint64_t)timeout_ms * 1000;
  size_t ready = 0;
  for (bool goes_on = true; goes_on;) {
    bool is_calm = gather(&wait, end_us);
    goes_on = wait_for(&wait, is_calm ? end_us : 0) && is_calm;
    const PerigeeFd *others = drive_all(&wait, &ready);
    goes_on = goes_on && ready == 0 && os_clock_us() < end_us;
    for (size_t i = 0; i < fd_count; i++) goes_on = goes_on && !is_ready(&others[i]);
    if (!goes_on && fd_count > 0) memcpy(fds, others, fd_count * sizeof *fds);
  }
  mem_free(wait.fds);
  return ready;
}

int perigee_poll(PerigeeClient *client, int timeout_ms) {
  if (!client->driver) return PERIGEE_BAD_ARGUMENT;
  return perigee_poll_all(&client, 1, NULL, 0, timeout_ms) > 0;
}

uint64_t perigee_clock_us(void) { return os_clock_us(); }
