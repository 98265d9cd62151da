// A link is one connection: it reads a line, waits for the answer, writes the answer
// and closes. Each step has a deadline. The Control is freed when its listener and all
// its links have closed.
#include "os/control.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/slots.h"
#include "os/loop.h"

typedef struct Link {
  uv_pipe_t pipe;
  uv_write_t request;
  Control *control;
  ControlToken token;
  Timer timer;
  bool is_asking;  // the request was passed up and has no answer yet
  uint32_t size;   // bytes that have arrived
  char line[CONTROL_LINE_MAX + 1];
  char *answer;  // answer that is being written; owned
} Link;

struct Control {
  uv_pipe_t pipe;
  Loop *loop;
  ControlRequest *on_request;
  void *data;
  Slots links;
  bool is_closing;
  uint32_t open_count;  // handles that are not closed yet
};

static void release(Control *control) {
  if (--control->open_count > 0) return;
  slots_deinit(&control->links);
  mem_free(control);
}

// --- Links ---

static void on_link_closed(uv_handle_t *handle) {
  Link *link = handle->data;
  Control *control = link->control;
  slots_remove(&control->links, link->token);
  mem_free(link->answer);
  mem_free(link);
  release(control);
}

static void link_close(Link *link) {
  timers_stop(&link->control->loop->timers, &link->timer);
  link->is_asking = false;
  if (!uv_is_closing((uv_handle_t *)&link->pipe))
    uv_close((uv_handle_t *)&link->pipe, on_link_closed);
}

static void on_written(uv_write_t *request, int status) {
  (void)status;
  link_close(request->data);
}

static void on_deadline(void *data, uint64_t now_ms);

static void link_set_deadline(Link *link) {
  loop_set_timer(link->control->loop, &link->timer, CONTROL_DEADLINE_MS, on_deadline,
                 link);
}

static void link_answer(Link *link, const char *text, size_t size) {
  link->is_asking = false;
  link->answer = mem_alloc(size);
  memcpy(link->answer, text, size);
  link->request.data = link;
  uv_buf_t buf = uv_buf_init(link->answer, (unsigned)size);
  link_set_deadline(link);
  if (uv_write(&link->request, (uv_stream_t *)&link->pipe, &buf, 1, on_written) != 0)
    link_close(link);
}

static void link_fail(Link *link, const char *text) {
  link_answer(link, text, strlen(text));
}

static void on_deadline(void *data, uint64_t now_ms) {
  Link *link = data;
  (void)now_ms;
  if (link->is_asking)
    link_fail(link, "error the server did not answer in time\n");
  else
    link_close(link);
}

static void on_alloc(uv_handle_t *handle, size_t hint, uv_buf_t *buf) {
  Link *link = handle->data;
  (void)hint;
  *buf = uv_buf_init(link->line + link->size, CONTROL_LINE_MAX - link->size);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf) {
  Link *link = stream->data;
  (void)buf;
  if (size < 0) link_close(link);
  if (size <= 0) return;
  link->size += (uint32_t)size;
  char *end = memchr(link->line, '\n', link->size);
  if (end == NULL && link->size < CONTROL_LINE_MAX) return;
  uv_read_stop(stream);
  if (end == NULL) {
    link_fail(link, "error the request is too long\n");
    return;
  }
  if (memchr(link->line, '\0', (size_t)(end - link->line)) != NULL) {
    link_fail(link, "error the request is no text\n");
    return;
  }
  if (end > link->line && end[-1] == '\r') end--;
  *end = '\0';
  link->is_asking = true;
  link_set_deadline(link);
  link->control->on_request(link->control->data, link->token, link->line);
}

static void on_link(uv_stream_t *server, int status) {
  Control *control = server->data;
  if (status != 0) return;
  Link *link = mem_zalloc(sizeof *link);
  link->control = control;
  link->token = slots_add(&control->links, link);
  link->pipe.data = link;
  uv_pipe_init(&control->loop->uv, &link->pipe, 0);
  control->open_count++;
  int err = uv_accept(server, (uv_stream_t *)&link->pipe);
  bool is_full = control->links.count > CONTROL_CONNECTIONS_MAX;
  if (err != 0 || is_full) {
    link_close(link);
    return;
  }
  link_set_deadline(link);
  uv_read_start((uv_stream_t *)&link->pipe, on_alloc, on_read);
}

void control_reply(Control *control, ControlToken token, const char *text,
                   size_t size) {
  Link *link = slots_find(&control->links, token);
  if (link != NULL && link->is_asking) link_answer(link, text, size);
}

// --- The socket ---

// Returns 0 if `path` is a directory in which only this user can create files.
static int check_directory(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) return -errno;
  if (!S_ISDIR(info.st_mode)) return -ENOTDIR;
  return info.st_uid == geteuid() && (info.st_mode & 077) == 0 ? 0 : -EPERM;
}

static int ensure_directory(const char *path) {
  const char *slash = strrchr(path, '/');
  if (slash == NULL || slash == path) return -EINVAL;
  char *directory = mem_strdup(path);
  directory[slash - path] = '\0';
  int err = mkdir(directory, 0700) == 0 || errno == EEXIST ? 0 : -errno;
  if (err == 0) err = check_directory(directory);
  mem_free(directory);
  return err;
}

// Removes a socket that a server has left behind.
static int remove_stale(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) return errno == ENOENT ? 0 : -errno;
  if (!S_ISSOCK(info.st_mode)) return -EEXIST;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  bool is_alone = connect(fd, (struct sockaddr *)&address, sizeof address) != 0 &&
                  errno == ECONNREFUSED;
  close(fd);
  if (!is_alone) return -EADDRINUSE;
  return unlink(path) == 0 ? 0 : -errno;
}

static void on_closed(uv_handle_t *handle) { release(handle->data); }

static int control_listen(Control *control, const char *path) {
  if (strlen(path) >= sizeof((struct sockaddr_un *)NULL)->sun_path)
    return -ENAMETOOLONG;
  int err = ensure_directory(path);
  if (err == 0) err = remove_stale(path);
  if (err == 0) err = uv_pipe_bind(&control->pipe, path);
  if (err == 0)
    err = uv_listen((uv_stream_t *)&control->pipe, CONTROL_CONNECTIONS_MAX, on_link);
  return err;
}

Control *control_open(Loop *loop, const char *path, ControlRequest *on_request,
                      void *data, int *err) {
  Control *control = mem_zalloc(sizeof *control);
  control->loop = loop;
  control->on_request = on_request;
  control->data = data;
  control->open_count = 1;
  control->pipe.data = control;
  uv_pipe_init(&loop->uv, &control->pipe, 0);
  *err = control_listen(control, path);
  if (*err == 0) return control;
  control_close(control);
  return NULL;
}

void control_close(Control *control) {
  if (control == NULL || control->is_closing) return;
  control->is_closing = true;
  uv_close((uv_handle_t *)&control->pipe, on_closed);  // libuv removes the socket's
                                                       // file
  uint32_t cursor = 0;
  for (Link *link; (link = slots_next(&control->links, &cursor)) != NULL;)
    link_close(link);
}
