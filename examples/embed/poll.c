// Runs a Perigee server on the poll loop of an existing program: this one waits for
// lines on standard input, and broadcasts them to all members of the lobby.
//
//   ./poll 7777
#include <perigee_server.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct Program {
  perigee_server *server;
  uint32_t lobby;  // 0: not created yet
  char line[512];
  size_t size;
} Program;

static void on_room_create(perigee_server *server, const perigee_server_event *event,
                           void *user_data) {
  Program *program = (Program *)user_data;
  (void)server;
  program->lobby = event->room;
}

static void broadcast(Program *program, const char *line, size_t size) {
  perigee_server_target lobby = {
      .kind = PERIGEE_SERVER_TO_ROOM, .id = program->lobby, .peers = NULL, .count = 0};
  if (program->lobby != 0)
    perigee_server_relay(program->server, NULL, &lobby, line, size, 0);
}

// Returns 0 at the end of the input.
static int read_input(Program *program) {
  ssize_t count = read(STDIN_FILENO, program->line + program->size,
                       sizeof program->line - program->size);
  if (count <= 0) return 0;
  program->size += (size_t)count;
  char *end;
  while ((end = (char *)memchr(program->line, '\n', program->size)) != NULL ||
         program->size == sizeof program->line) {
    size_t size = end ? (size_t)(end - program->line) : program->size;
    size_t used = end ? size + 1 : size;
    broadcast(program, program->line, size);
    program->size -= used;
    memmove(program->line, program->line + used, program->size);
  }
  return 1;
}

static void loop(Program *program) {
  int is_reading = 1;
  do {
    struct pollfd fds[] = {
        {.fd = perigee_server_fd(program->server), .events = POLLIN, .revents = 0},
        {.fd = is_reading ? STDIN_FILENO : -1, .events = POLLIN, .revents = 0}};
    poll(fds, 2, perigee_server_timeout_ms(program->server));
    if (fds[1].revents && !read_input(program)) {
      is_reading = 0;
      perigee_server_stop(program->server, "the input has ended");
    }
  } while (perigee_server_poll(program->server, 0) > 0);
}

int main(int argc, char **argv) {
  char error[1024];
  Program program = {.server = NULL, .lobby = 0, .line = "", .size = 0};
  perigee_server_handlers handlers = {.size = sizeof handlers,
                                      .on_room_create = on_room_create};
  perigee_server_config *config = perigee_server_config_new();
  perigee_server_config_set(config, "port", argc > 1 ? argv[1] : "7777");
  perigee_server_config_set(config, "admin", "false");
  program.server =
      perigee_server_start(config, &handlers, &program, error, sizeof error);
  perigee_server_config_free(config);
  if (program.server == NULL) {
    fprintf(stderr, "poll: %s\n", error);
    return 1;
  }
  printf("poll: ready on port %u\n", perigee_server_port(program.server));
  fflush(stdout);
  loop(&program);
  perigee_server_free(program.server);
  return 0;
}
