// Applies the settings of TLS to net, at the start and at each reload.
#pragma once

#include "net/tls.h"
#include "server/config.h"

/// Serves TLS with the present files of tls_cert and tls_key, or without TLS when both settings
/// are empty. Returns false with a sentence when the files are wrong; then those in use stay.
bool tls_files_apply(Net *net, const Config *config, TlsProblem *problem);
