// The dashboard's half in the server: the history of the last hour, failures by place,
// and a stream of events (text/event-stream) for each page that is open. A page opens a
// stream for what it shows, and a new one when it shows something else. Without pages,
// only a row of history is made every two seconds.
#pragma once

#include "net/admin.h"

typedef struct Dashboard Dashboard;
typedef struct Server Server;

/// Begins the history, and serves streams.
Dashboard *dashboard_open(Server *server);

/// Stops the timers. Streams get nothing more.
void dashboard_stop(Dashboard *dashboard);
void dashboard_free(Dashboard *dashboard);

/// Counts a failure: an error with its traceback, in several lines.
void dashboard_failed(Dashboard *dashboard, const char *text);

/// Keeps the report of a reload.
void dashboard_reloaded(Dashboard *dashboard, bool is_good, const char *report);
