// The state that the files of this folder share.
#pragma once

#include "server/dashboard/dashboard.h"
#include "server/dashboard/failures.h"
#include "server/dashboard/history.h"
#include "server/dashboard/views.h"

enum {
  VIEWERS_MAX = 16,    // pages at a time; more get 503
  REPORTS_MAX = 20,    // kept reports of reloads
  REPORT_BYTES = 4096  // bytes of a report; a longer one is cut
};

typedef struct ReloadReport {
  double at_s;  // seconds since 1970
  bool is_good;
  uint32_t version;  // live version after the reload
  char *text;        // owned
} ReloadReport;

/// An open page.
typedef struct Viewer {
  ConnId conn;  // 0: unused
  ViewQuery query;
  uint64_t shown;   // hash of the object that the page has
  uint64_t logged;  // number of the next line of the log for the page
} Viewer;

struct Dashboard {
  Server *server;
  Timer step;  // of the history
  Timer tick;  // of the viewers; runs only while a page is open
  History history;
  Failures failures;
  ReloadReport reports[REPORTS_MAX];  // a ring
  uint32_t report_count;              // number of all reports so far
  uint32_t viewer_count;
  Viewer viewers[VIEWERS_MAX];
};
