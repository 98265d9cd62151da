// Runs statements of perigee.store.sql on a separate thread and connection, so that a
// long statement delays neither the game nor its writes.
#pragma once

#include "store/request.h"

typedef struct SqlThread SqlThread;

/// Returns requests with their answers, within the loop.
typedef void SqlEnd(void *data, RequestList *ended);

/// Starts the thread. Returns NULL if the system cannot create it. Copies `place`.
SqlThread *sql_thread_start(Loop *loop, const BackendOps *ops, const char *place,
                            SqlEnd *on_end, void *data);

/// Passes a request to the thread.
void sql_thread_post(SqlThread *thread, Request *request);

/// Ends the thread. No answers follow. NULL is allowed.
void sql_thread_close(SqlThread *thread);
