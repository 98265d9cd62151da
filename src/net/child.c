// A child is over when it has ended and both of its pipes are at their ends; it goes when
// its handles have closed.
#include "net/child.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/internal.h"

enum { ARGUMENTS_MAX = 8, ARGUMENTS_OWN = 2 };

typedef struct Child {
  uv_process_t process;
  uv_pipe_t pipes[2];  // its standard output and its standard error
  Net *net;
  ChildEnd *on_end;  // NULL: nobody wants to know
  void *data;
  uint32_t token;
  int status;
  int running;  // of its three handles, those that are not closed
  Timer timer;
  Buf output;
  char buffer[4096];
} Child;

// --- The end ---

static void finish(Child *child) {
  timers_stop(net_timers(child->net), &child->timer);
  list_remove(&child->net->children, child);
  if (child->on_end)
    child->on_end(child->data, child->token, child->status,
                  (const char *)child->output.data, child->output.size);
  buf_deinit(&child->output);
  mem_free(child);
}

static void on_closed(uv_handle_t *handle) {
  Child *child = handle->data;
  if (--child->running == 0) finish(child);
}

static void on_exit(uv_process_t *process, int64_t status, int signal_number) {
  Child *child = process->data;
  child->status = signal_number ? -signal_number : (int)status;
  uv_close((uv_handle_t *)process, on_closed);
}

static void on_timeout(void *data, uint64_t now_ms) {
  (void)now_ms;
  Child *child = data;
  if (!uv_is_closing((uv_handle_t *)&child->process))
    uv_process_kill(&child->process, SIGKILL);
}

// --- Output ---

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf) {
  (void)wanted;
  Child *child = handle->data;
  *buf = uv_buf_init(child->buffer, sizeof child->buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
  Child *child = stream->data;
  size_t room = CHILD_OUTPUT_MAX - child->output.size;
  if (count > 0)
    buf_append(&child->output, buf->base, (size_t)count < room ? (size_t)count : room);
  else if (count < 0)
    uv_close((uv_handle_t *)stream, on_closed);
}

// --- The beginning ---

static int spawn(Child *child, const char *const *arguments) {
  char path[PATH_MAX];
  size_t size = sizeof path;
  char parent[16];  // it does not outlive this process
  snprintf(parent, sizeof parent, "%d", (int)uv_os_getpid());
  char *args[1 + ARGUMENTS_OWN + ARGUMENTS_MAX + 1] = {path, "--child-of", parent};
  int err = uv_exepath(path, &size);
  if (err) return err;
  for (int i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
    args[1 + ARGUMENTS_OWN + i] = (char *)arguments[i];
  uv_stdio_container_t stdio[3] = {{.flags = UV_IGNORE}};
  for (int i = 0; i < 2; i++) {
    stdio[i + 1].flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE;
    stdio[i + 1].data.stream = (uv_stream_t *)&child->pipes[i];
  }
  uv_process_options_t options = {
      .exit_cb = on_exit, .file = path, .args = args, .stdio = stdio, .stdio_count = 3};
  return uv_spawn(net_loop(child->net), &child->process, &options);
}

int child_start(Net *net, const char *const *arguments, ChildEnd *on_end, void *data,
                uint32_t token) {
  if (net->children.count >= CHILD_MAX) return ERR_FULL;
  Child *child = mem_zalloc(sizeof *child);
  *child = (Child){.net = net, .data = data, .token = token, .running = 3};
  list_add(&net->children, child);
  child->process.data = child;
  for (int i = 0; i < 2; i++) {
    uv_pipe_init(net_loop(net), &child->pipes[i], 0);
    child->pipes[i].data = child;
  }
  int err = spawn(child, arguments);
  if (err) {
    uv_close((uv_handle_t *)&child->process, on_closed);
    for (int i = 0; i < 2; i++) uv_close((uv_handle_t *)&child->pipes[i], on_closed);
    return err;
  }
  child->on_end = on_end;
  for (int i = 0; i < 2; i++)
    uv_read_start((uv_stream_t *)&child->pipes[i], on_alloc, on_read);
  timers_set(net_timers(net), &child->timer, net_now_ms(net) + CHILD_TIMEOUT_MS,
             on_timeout, child);
  return 0;
}

void child_stop_all(Net *net) {
  for (uint32_t i = 0; i < net->children.count; i++) {
    Child *child = net->children.items[i];
    child->on_end = NULL;
    on_timeout(child, 0);
  }
}
