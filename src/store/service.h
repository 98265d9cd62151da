// A thread that serves requests: the loop posts them, and gets them back with their
// answers.
#pragma once

#include "store/request.h"

typedef struct Service Service;

typedef struct ServiceEvents {
  /// Serves new requests, on the thread. Moves those with answers to `ended`. Returns the
  /// time at which it must be called again, or UINT64_MAX. After service_close, `end_ms`
  /// is the time by which everything must have ended, and the thread ends when this
  /// returns UINT64_MAX; before it, `end_ms` is UINT64_MAX.
  uint64_t (*serve)(void *data, RequestList *requests, RequestList *ended,
                    uint64_t now_ms, uint64_t end_ms);

  /// Gives requests with answers back, within the loop. Not called after service_close.
  void (*on_ended)(void *data, RequestList *ended);

  /// The thread has ended, within the loop; `data` may be freed.
  void (*on_thread_end)(void *data);
} ServiceEvents;

/// Starts the thread. Does not keep the loop running. Returns NULL if the system cannot
/// create it. The thread owns the service.
Service *service_start(Loop *loop, const ServiceEvents *events, void *data);

/// Passes requests to the thread.
void service_post(Service *service, RequestList *requests);

/// Ends the thread when it has served everything, for which it has that time. Returns the
/// end of that time by the monotonic clock.
uint64_t service_close(Service *service, uint32_t ms);

/// Waits for the end of the thread after service_close, and calls on_thread_end.
void service_wait(Service *service);
