// Starts a server of the library, and prints the version of the client.
#include <perigee.h>
#include <perigee_server.h>
#include <stdio.h>

int main(void) {
  char error[256];
  perigee_server_config *config = perigee_server_config_new();
  perigee_server_config_set(config, "port", "0");
  perigee_server *server =
      perigee_server_start(config, NULL, NULL, error, sizeof error);
  if (server == NULL) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  perigee_server_stop(server, "seen");
  perigee_server_run(server);
  perigee_server_free(server);
  perigee_server_config_free(config);
  printf("client %06x\n", (unsigned)perigee_version());
  return 0;
}
