// A thread that serves requests: the loop posts requests, and gets them back with their
// answers.
#pragma once

#include "store/request.h"

typedef struct Service Service;

typedef struct ServiceEvents {
  /// Serves new requests, on the thread. Moves answered requests to `ended`. Returns
  /// the time of the next call, or UINT64_MAX. Before service_close, `end_ms` is
  /// UINT64_MAX. After it, `end_ms` is the time by which everything must have ended,
  /// and the thread ends when this returns UINT64_MAX.
  uint64_t (*serve)(void *data, RequestList *requests, RequestList *ended,
                    uint64_t now_ms, uint64_t end_ms);

  /// Returns answered requests, within the loop. Not called after service_close.
  void (*on_ended)(void *data, RequestList *ended);

  /// Reports that the thread has ended, within the loop. `data` may then be freed.
  void (*on_thread_end)(void *data);
} ServiceEvents;

/// Starts the thread. Does not keep the loop running. Returns NULL if the system cannot
/// create it. The thread owns the service.
Service *service_start(Loop *loop, const ServiceEvents *events, void *data);

/// Passes requests to the thread.
void service_post(Service *service, RequestList *requests);

/// Ends the thread after it has served all requests, for which it has `ms`
/// milliseconds. Returns the end of that time by the monotonic clock.
uint64_t service_close(Service *service, uint32_t ms);

/// Waits for the end of the thread after service_close, and calls on_thread_end.
void service_wait(Service *service);
