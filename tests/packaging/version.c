#include <perigee.h>
#include <perigee_server.h>
#include <stdio.h>

// Prints the version of the client; the name of the server's function is enough to link it.
int main(void) {
  perigee_server *(*start)(const perigee_server_config *, const perigee_server_log *, void *, char *,
                           size_t) = 0;
  (void)start;
  printf("%06x\n", perigee_version());
  return 0;
}
