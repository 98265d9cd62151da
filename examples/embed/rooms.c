// A program that contains a Perigee server. Only people in the program's own table may
// join its rooms. Run it with a port, and join from another terminal:
//
//   ./rooms 7777
//   perigee connect localhost --name ada --room castle
#include <perigee_server.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { ERROR_SIZE = 1024 };

typedef struct Guest {
  const char *room, *name;
} Guest;

// Data of the program, which the server does not know.
static const Guest GUESTS[] = {
    {"castle", "ada"},
    {"castle", "bob"},
    {"cellar", "bob"},
};
static const char *const ROOMS[] = {"castle", "cellar"};

static perigee_server *running;

static int is(perigee_server_text text, const char *other) {
  return text.size == strlen(other) && memcmp(text.bytes, other, text.size) == 0;
}

static int on_join(perigee_server *server, const perigee_server_event *event,
                   void *user_data) {
  (void)server;
  (void)user_data;
  if (is(event->room_name, "lobby")) return PERIGEE_ACCEPT;
  for (size_t i = 0; i < sizeof GUESTS / sizeof *GUESTS; i++)
    if (is(event->room_name, GUESTS[i].room) && is(event->peer_name, GUESTS[i].name))
      return PERIGEE_ACCEPT;
  return PERIGEE_REJECT;
}

// Sends the wish of one member to all members of a room.
static void on_message(perigee_server *server, const perigee_server_event *event,
                       void *user_data) {
  (void)user_data;
  perigee_server_target members = {
      .kind = PERIGEE_SERVER_TO_ROOM, .id = event->room, .peers = NULL, .count = 0};
  if (is(event->name, "bell") && event->room != 0)
    perigee_server_send(server, NULL, &members, "rings", "true", 0);
}

static void on_result(perigee_server *server, const perigee_server_event *event,
                      void *user_data) {
  (void)server;
  (void)user_data;
  if (event->code != PERIGEE_SERVER_OK)
    fprintf(stderr, "rooms: %s\n", perigee_server_error(event->code));
}

static void on_log(perigee_server *server, const perigee_server_event *event,
                   void *user_data) {
  (void)server;
  (void)user_data;
  fprintf(stderr, "%.*s\n", (int)event->text.size, event->text.bytes);
}

static void on_signal(int number) {
  (void)number;
  perigee_server_stop(running, "a signal");
}

static perigee_server *start(const char *port, char error[ERROR_SIZE]) {
  perigee_server_handlers handlers = {.size = sizeof handlers,
                                      .on_join = on_join,
                                      .on_message = on_message,
                                      .on_log = on_log,
                                      .on_result = on_result};
  perigee_server_config *config = perigee_server_config_new();
  perigee_server *server = NULL;
  if (perigee_server_config_set(config, "port", port) != PERIGEE_SERVER_OK ||
      perigee_server_config_set(config, "admin", "false") != PERIGEE_SERVER_OK)
    snprintf(error, ERROR_SIZE, "%s", perigee_server_config_error(config));
  else
    server = perigee_server_start(config, &handlers, NULL, error, ERROR_SIZE);
  perigee_server_config_free(config);
  return server;
}

int main(int argc, char **argv) {
  char error[ERROR_SIZE];
  running = start(argc > 1 ? argv[1] : "7777", error);
  if (running == NULL) {
    fprintf(stderr, "rooms: %s\n", error);
    return 1;
  }
  signal(SIGINT, on_signal);
  signal(SIGTERM, on_signal);
  for (size_t i = 0; i < sizeof ROOMS / sizeof *ROOMS; i++)
    perigee_server_room_create(running, NULL, ROOMS[i], strlen(ROOMS[i]));
  printf("rooms: ready on port %u\n", perigee_server_port(running));
  fflush(stdout);
  perigee_server_run(running);
  perigee_server_free(running);
  return 0;
}
