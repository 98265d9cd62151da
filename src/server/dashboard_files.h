// The files of the dashboard: web/dashboard/ and the library that draws its charts.
// scripts/embed_dashboard.cmake compiles them into the binary.
#pragma once

#include "net/admin.h"

/// Ended by an entry without a name.
extern const AdminFile dashboard_files[];
