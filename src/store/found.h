// The documents of a find, and the find's version. A transaction compares versions to
// notice that another write came first.
#pragma once

#include "store/request.h"

/// Carry out a find, a count or a scan, and fill in the answer.
StoreCode found_find(const BackendOps *ops, Backend *backend, Request *request);
StoreCode found_scan(const BackendOps *ops, Backend *backend, Request *request);

/// Checks that a find has the same result as before: see STORE_CHECK_FOUND. For back
/// ends.
StoreCode found_check(const BackendOps *ops, Backend *backend, const StoreStep *step,
                      StoreFault *fault);
