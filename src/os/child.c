// A child has ended when the handles of its process and its pipes have closed. Then its
// callback runs, and its memory is freed.
#include "os/child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "os/loop.h"

enum { ARGUMENTS_MAX = 8, ARGUMENTS_OWN = 2, PIPES = 3 };

typedef struct Child {
  uv_process_t process;
  uv_pipe_t pipes[PIPES];  // standard input, output and error
  uv_write_t write;
  Loop *loop;
  ChildEnd *on_end;  // callback for the end; NULL: no callback follows
  void *data;
  uint32_t token;
  int status;
  int running;  // number of handles that are not closed
  Timer timer;
  Buf input, output;
  char buffer[4096];
} Child;

// --- The end ---

static void finish(Child *child) {
  timers_stop(&child->loop->timers, &child->timer);
  list_remove(&child->loop->children, child);
  if (child->on_end)
    child->on_end(child->data, child->token, child->status,
                  (const char *)child->output.data, child->output.size);
  buf_deinit(&child->input);
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

// --- Input and output ---

// Handles the end of the write. Ignores errors, because a child may end without reading
// its input.
static void on_written(uv_write_t *write, int status) {
  (void)status;
  Child *child = write->data;
  uv_close((uv_handle_t *)&child->pipes[0], on_closed);
}

static void write_input(Child *child) {
  child->write.data = child;
  uv_buf_t buf = uv_buf_init((char *)child->input.data, (unsigned)child->input.size);
  if (buf.len == 0 || uv_write(&child->write, (uv_stream_t *)&child->pipes[0], &buf, 1,
                               on_written) != 0)
    uv_close((uv_handle_t *)&child->pipes[0], on_closed);
}

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

// --- The start ---

static int spawn(Child *child, const char *const *arguments) {
  char path[PATH_MAX];
  size_t size = sizeof path;
  char parent[16];  // id of this process; the child ends when this process ends
  snprintf(parent, sizeof parent, "%d", (int)uv_os_getpid());
  char *args[1 + ARGUMENTS_OWN + ARGUMENTS_MAX + 1] = {path, "--child-of", parent};
  int err = uv_exepath(path, &size);
  if (err) return err;
  for (int i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
    args[1 + ARGUMENTS_OWN + i] = (char *)arguments[i];
  uv_stdio_container_t stdio[PIPES];
  for (int i = 0; i < PIPES; i++) {
    stdio[i].flags = UV_CREATE_PIPE | (i == 0 ? UV_READABLE_PIPE : UV_WRITABLE_PIPE);
    stdio[i].data.stream = (uv_stream_t *)&child->pipes[i];
  }
  uv_process_options_t options = {.exit_cb = on_exit,
                                  .file = path,
                                  .args = args,
                                  .stdio = stdio,
                                  .stdio_count = PIPES};
  return uv_spawn(&child->loop->uv, &child->process, &options);
}

void child_allow(Loop *loop) { loop->has_program = true; }

int child_start(Loop *loop, const ChildStart *start) {
  if (!loop->has_program) return -ENOENT;
  if (loop->children.count >= CHILD_MAX) return ERR_FULL;
  Child *child = mem_zalloc(sizeof *child);
  *child = (Child){
      .loop = loop, .data = start->data, .token = start->token, .running = 1 + PIPES};
  buf_append(&child->input, start->input.bytes, start->input.size);
  list_add(&loop->children, child);
  child->process.data = child;
  for (int i = 0; i < PIPES; i++) {
    uv_pipe_init(&loop->uv, &child->pipes[i], 0);
    child->pipes[i].data = child;
  }
  int err = spawn(child, start->arguments);
  if (err) {
    uv_close((uv_handle_t *)&child->process, on_closed);
    for (int i = 0; i < PIPES; i++)
      uv_close((uv_handle_t *)&child->pipes[i], on_closed);
    return err;
  }
  child->on_end = start->on_end;
  write_input(child);
  for (int i = 1; i < PIPES; i++)
    uv_read_start((uv_stream_t *)&child->pipes[i], on_alloc, on_read);
  loop_set_timer(loop, &child->timer, start->timeout_ms, on_timeout, child);
  return 0;
}

void child_stop_all(Loop *loop) {
  for (uint32_t i = 0; i < loop->children.count; i++) {
    Child *child = loop->children.items[i];
    child->on_end = NULL;
    on_timeout(child, 0);
  }
}
