// tls_cert and tls_key are set both or not at all.
#include "server/tls_files.h"

#include <stdio.h>

bool tls_files_apply(Net *net, const Config *config, TlsProblem *problem) {
  const char *cert = config_text(config, KEY_TLS_CERT);
  const char *key = config_text(config, KEY_TLS_KEY);
  if (*cert != '\0' && *key != '\0') return net_tls_load(net, cert, key, problem);
  if (*cert == '\0' && *key == '\0') {
    net_tls_off(net);
    return true;
  }
  snprintf(problem->text, sizeof problem->text,
           "%s is given and %s is not; give both or neither",
           *cert != '\0' ? "tls_cert" : "tls_key",
           *cert != '\0' ? "tls_key" : "tls_cert");
  return false;
}
