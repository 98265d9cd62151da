// Statements of perigee.store.sql, on a thread and a connection of their own, so that a
// long one delays neither the game nor its writes.
#pragma once

#include "store/request.h"

typedef struct SqlThread SqlThread;

/// Gives requests with their answers back, within the loop.
typedef void SqlEnd(void *data, RequestList *ended);

/// Starts the thread. Returns NULL if the system cannot create it. `place` is copied.
SqlThread *sql_thread_start(Loop *loop, const BackendOps *ops, const char *place,
                            SqlEnd *on_end, void *data);

/// Passes a request to the thread.
void sql_thread_post(SqlThread *thread, Request *request);

/// Ends the thread. There are no answers from then on. NULL is allowed.
void sql_thread_close(SqlThread *thread);
