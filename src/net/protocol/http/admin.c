// The admin listener.
#include <assert.h>

#include "base/mem.h"
#include "net/protocol/http/admin_port.h"

int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options,
                     const AdminEvents *events, void *data) {
  assert(net->admin == NULL);
  int err = net_listen(net, options->host, port, FRAMING_ADMIN);
  if (err) return err;
  net->admin = mem_zalloc(sizeof *net->admin);
  *net->admin = (AdminPort){
      .events = *events,
      .data = data,
      .host = mem_strdup(options->host),
      .names = mem_strdup(options->names),
      .token = options->token ? mem_strdup(options->token) : NULL,
  };
  return 0;
}

bool net_admin_has_token(const Net *net) {
  return net->admin != NULL && net->admin->token != NULL;
}

void admin_port_free(Net *net) {
  AdminPort *port = net->admin;
  if (!port) return;
  mem_free(port->host);
  mem_free(port->token);
  mem_free(port->names);
  mem_free(port);
  net->admin = NULL;
}
