// A proxy before PostgreSQL's socket, which can stop passing bytes and cut connections.
#pragma once

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "postgres_world.h"

enum { PROXY_LINES = 16, PROXY_TURN_MS = 2, PROXY_BYTES = 65536 };

typedef enum ProxyMode {
  PROXY_PASS,
  PROXY_NO_ANSWERS,  // loses PostgreSQL's answers
  PROXY_SILENT,      // passes no bytes
  PROXY_CUT,         // ends all connections, new ones too
} ProxyMode;

typedef struct CuttingProxy {
  // Folder of the proxy's socket, the `host` of the place.
  char folder[POSTGRES_PLACE_SIZE];
  struct sockaddr_un server;
  int fd;
  int lines[PROXY_LINES][2];  // client and server; 0: free
  _Atomic int mode;           // ProxyMode
  _Atomic bool is_over;
  pthread_t thread;
} CuttingProxy;

static inline void cutting_proxy_accept(CuttingProxy *proxy) {
  int client = accept(proxy->fd, NULL, NULL);
  if (client < 0) return;
  int server = socket(AF_UNIX, SOCK_STREAM, 0), i = 0;
  while (i < PROXY_LINES && proxy->lines[i][0] != 0) i++;
  bool is_good =
      i < PROXY_LINES && proxy->mode != PROXY_CUT &&
      connect(server, (struct sockaddr *)&proxy->server, sizeof proxy->server) == 0;
  if (!is_good) {
    close(client);
    close(server);
    return;
  }
  proxy->lines[i][0] = client;
  proxy->lines[i][1] = server;
}

static inline void cutting_proxy_cut(int *line) {
  if (line[0] != 0) {
    close(line[0]);
    close(line[1]);
  }
  line[0] = line[1] = 0;
}

// Passes the bytes that one side has sent. Returns false at the end of the connection.
static inline bool cutting_proxy_pass(CuttingProxy *proxy, const int *line, int side) {
  char bytes[PROXY_BYTES];
  ssize_t size = recv(line[side], bytes, sizeof bytes, MSG_DONTWAIT);
  if (size <= 0) return size < 0 && errno == EAGAIN;
  bool is_lost = side == 1 && proxy->mode == PROXY_NO_ANSWERS;
  return is_lost || send(line[1 - side], bytes, (size_t)size, MSG_NOSIGNAL) == size;
}

static inline void *cutting_proxy_run(void *data) {
  CuttingProxy *proxy = data;
  while (!proxy->is_over) {
    cutting_proxy_accept(proxy);
    for (int i = 0; i < PROXY_LINES; i++) {
      int *line = proxy->lines[i];
      int mode = proxy->mode;
      bool is_whole = mode != PROXY_CUT;
      if (line[0] == 0 || mode == PROXY_SILENT) continue;
      for (int side = 0; side < 2 && is_whole; side++)
        is_whole = cutting_proxy_pass(proxy, line, side);
      if (!is_whole) cutting_proxy_cut(line);
    }
    poll(NULL, 0, PROXY_TURN_MS);
  }
  return NULL;
}

static inline void cutting_proxy_init(CuttingProxy *proxy, const PostgresWorld *world) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  *proxy = (CuttingProxy){.server = {.sun_family = AF_UNIX}};
  snprintf(proxy->folder, sizeof proxy->folder, "%s/proxy", world->folder);
  mkdir(proxy->folder, 0700);
  snprintf(proxy->server.sun_path, sizeof proxy->server.sun_path, "%s/.s.PGSQL.5432",
           world->folder);
  snprintf(address.sun_path, sizeof address.sun_path, "%.80s/.s.PGSQL.5432",
           proxy->folder);
  unlink(address.sun_path);
  proxy->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
  assert_int_equal(bind(proxy->fd, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(listen(proxy->fd, PROXY_LINES), 0);
  assert_int_equal(pthread_create(&proxy->thread, NULL, cutting_proxy_run, proxy), 0);
}

static inline void cutting_proxy_deinit(CuttingProxy *proxy) {
  proxy->is_over = true;
  pthread_join(proxy->thread, NULL);
  for (int i = 0; i < PROXY_LINES; i++) cutting_proxy_cut(proxy->lines[i]);
  close(proxy->fd);
}
