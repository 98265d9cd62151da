// The settings of TLS, taken to net: at the start, and again at each reload.
#pragma once

#include "net/tls.h"
#include "server/config.h"

/// Serves TLS as tls_cert and tls_key say: with what is in the files now, or not at all
/// when both are empty. False, with the sentence, when they are at fault; what was in use
/// stays.
bool tls_files_apply(Net *net, const Config *config, TlsProblem *problem);
