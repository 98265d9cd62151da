// Searches both folders of control_path.h for sockets, because the server may run with
// another XDG_RUNTIME_DIR.
#include "app/remote.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "server/control_path.h"

enum { SERVERS_MAX = 64, ANSWER_MAX_SECONDS = 12, READ_STEP = 1024 };

typedef struct Found {
  char path[CONTROL_PATH_MAX];
  uint16_t port;
} Found;

typedef struct FoundList {
  Found items[SERVERS_MAX];
  size_t count;
} FoundList;

// Returns a socket connected to the server at `path`, or -1. `flags` are flags of
// socket(2), such as SOCK_NONBLOCK.
static int connect_to(const char *path, int flags) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return -1;
  strcpy(address.sun_path, path);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (fd < 0) return -1;
  struct timeval patience = {.tv_sec = ANSWER_MAX_SECONDS};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

// Returns the port of a file name such as "7777.sock", or 0.
static uint16_t port_of(const char *name) {
  char *end;
  unsigned long port = strtoul(name, &end, 10);
  return strcmp(end, ".sock") == 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

// Adds the server on `port` if it is alive. Does not wait to connect. If the socket's
// queue is full (EAGAIN), the server hangs, but is alive.
static void add_if_alive(FoundList *found, const char *directory, uint16_t port) {
  if (port == 0 || found->count == SERVERS_MAX) return;
  Found *next = &found->items[found->count];
  next->port = port;
  snprintf(next->path, sizeof next->path, "%s/%u.sock", directory, port);
  int fd = connect_to(next->path, SOCK_NONBLOCK);
  if (fd >= 0 || errno == EAGAIN) found->count++;
  if (fd >= 0) close(fd);
}

static void find_in(FoundList *found, const char *directory) {
  DIR *entries = opendir(directory);
  if (entries == NULL) return;
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
    add_if_alive(found, directory, port_of(entry->d_name));
  closedir(entries);
}

// Finds the server on `port`; if that is 0, all servers.
static FoundList find_servers(uint16_t port) {
  FoundList found = {.count = 0};
  char folder[CONTROL_PATH_MAX - 16];
  for (int i = 0; i < CONTROL_FOLDERS; i++) {
    struct stat info;
    bool is_own = control_folder(i, folder, sizeof folder) &&
                  lstat(folder, &info) == 0 && info.st_uid == geteuid();
    if (!is_own) continue;
    if (port == 0)
      find_in(&found, folder);
    else
      add_if_alive(&found, folder, port);
  }
  return found;
}

static void print_ports(const FoundList *found) {
  for (size_t i = 0; i < found->count; i++)
    fprintf(stderr, "%s%u", i == 0 ? "" : ", ", found->items[i].port);
}

static void explain_missing(uint16_t port) {
  FoundList others = find_servers(0);
  fprintf(stderr, "perigee: no server of yours is running on port %u", port);
  if (others.count > 0) fputs("; there is one on port ", stderr);
  print_ports(&others);
  fputc('\n', stderr);
}

// Returns the server to use; or prints an error and returns NULL.
static const Found *choose(const FoundList *found, uint16_t port) {
  if (found->count > 0 && (port != 0 || found->count == 1)) return &found->items[0];
  if (port != 0) {
    explain_missing(port);
  } else if (found->count == 0) {
    fputs("perigee: no server of yours is running; `perigee run` starts one\n", stderr);
  } else {
    fputs("perigee: several servers are running; choose one with --port: ", stderr);
    print_ports(found);
    fputc('\n', stderr);
  }
  return NULL;
}

// Sends the request and reads the whole answer. Returns false if the server does not
// answer.
static bool ask(const char *path, const char *request, Buf *reply) {
  int fd = connect_to(path, 0);
  if (fd < 0) return false;
  size_t size = strlen(request);
  bool is_good = send(fd, request, size, MSG_NOSIGNAL) == (ssize_t)size;
  while (is_good) {
    ssize_t length = read(fd, buf_reserve(reply, READ_STEP), READ_STEP);
    if (length > 0) reply->size += (size_t)length;
    if (length <= 0) break;
  }
  close(fd);
  return is_good && reply->size > 0;
}

// Reads an answer of the form `ok TEXT` or `error TEXT`.
static int read_answer(Buf *reply) {
  const char *text = (const char *)reply->data;
  bool is_good = reply->size > 3 && memcmp(text, "ok ", 3) == 0;
  const char *space = memchr(text, ' ', reply->size);
  buf_consume(reply, space == NULL ? 0 : (size_t)(space - text) + 1);
  if (!is_good)
    fprintf(stderr, "perigee: %.*s", (int)reply->size, (const char *)reply->data);
  return is_good ? 0 : 1;
}

int remote_ask(uint16_t *port, const char *request, Buf *reply) {
  FoundList found = find_servers(*port);
  const Found *server = choose(&found, *port);
  if (server == NULL) return found.count > 1 && *port == 0 ? 2 : 1;
  *port = server->port;
  if (ask(server->path, request, reply)) return read_answer(reply);
  fprintf(stderr, "perigee: the server on port %u did not answer\n", server->port);
  return 1;
}

int remote_reload(uint16_t port, bool is_forced) {
  Buf report = {0};
  int code = remote_ask(
      &port, is_forced ? CONTROL_RELOAD_FORCED "\n" : CONTROL_RELOAD "\n", &report);
  if (code == 0) printf("perigee: %.*s", (int)report.size, (const char *)report.data);
  buf_deinit(&report);
  return code;
}
