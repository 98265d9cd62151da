// See bell.h.
#include "os/bell.h"

#include "base/mem.h"
#include "os/loop.h"

struct Bell {
  uv_async_t async;
  BellCallback *on_ring;
  void *data;
};

static void on_async(uv_async_t *async) {
  const Bell *bell = async->data;
  bell->on_ring(bell->data);
}

Bell *bell_open(Loop *loop, BellCallback *on_ring, void *data) {
  Bell *bell = mem_zalloc(sizeof *bell);
  bell->on_ring = on_ring;
  bell->data = data;
  bell->async.data = bell;
  if (uv_async_init(&loop->uv, &bell->async, on_async) != 0) {
    mem_free(bell);
    return NULL;
  }
  uv_unref((uv_handle_t *)&bell->async);
  return bell;
}

void bell_ring(Bell *bell) { uv_async_send(&bell->async); }

static void on_closed(uv_handle_t *handle) { mem_free(handle->data); }

void bell_close(Bell *bell) {
  if (bell != NULL) uv_close((uv_handle_t *)&bell->async, on_closed);
}
