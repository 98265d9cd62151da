// The admin listener.
#include <assert.h>

#include "base/mem.h"
#include "net/protocol/http/admin_port.h"

static void free_port(NetPart *part) {
  AdminPort *port = (AdminPort *)part;
  mem_free(port->host);
  mem_free(port->token);
  mem_free(port->names);
  mem_free(port);
}

int net_admin_listen(Net *net, uint16_t *port, const AdminOptions *options) {
  static const NetPartOps PART = {.free = free_port};
  assert(net->admin == NULL);
  int err = net_listen(net, options->host, port, FRAMING_ADMIN);
  if (err) return err;
  AdminPort *admin = net->admin = mem_alloc(sizeof *admin);
  *admin = (AdminPort){
      .host = mem_strdup(options->host),
      .names = mem_strdup(options->names),
      .token = options->token ? mem_strdup(options->token) : NULL,
  };
  net_add_part(net, &admin->part, &PART);
  return 0;
}

void net_admin_serve(Net *net, AdminService service, const AdminEvents *events,
                     void *data) {
  if (net->admin) net->admin->servers[service] = (AdminServer){events, data};
}

bool net_admin_has_token(const Net *net) {
  return net->admin != NULL && net->admin->token != NULL;
}
