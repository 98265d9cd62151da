// Frames: the messages of one source and priority between two flushes, back to back,
// with an entry each. Empty frames wait in a pool, so that sending allocates nothing
// once a server is warm and an idle connection holds no frame.
#include "base/array.h"
#include "base/mem.h"
#include "net/out/output.h"

enum {
  FRAME_POOL_MAX = 256,          // empty frames kept for reuse
  FRAME_KEEP_BYTES = 256 << 10,  // larger frames give their memory back
};

static Frame *take_from_pool(Net *net) {
  Frame *frame = net->free_frames;
  if (!frame) return mem_zalloc(sizeof *frame);
  net->free_frames = frame->next_free;
  net->free_frame_count--;
  return frame;
}

static void frame_free(Frame *frame) {
  buf_deinit(&frame->bytes);
  mem_free(frame->entries);
  mem_free(frame);
}

Frame *frame_of(Net *net, Source *source, uint8_t priority) {
  if (!source->frames[priority]) {
    source->frames[priority] = take_from_pool(net);
    source->pending |= (uint8_t)(1u << priority);
  }
  return source->frames[priority];
}

// The newest message under `key` is the only live one, so the search ends at the first.
static void replace_key(Frame *frame, uint64_t key) {
  for (uint32_t i = frame->count; frame->keyed_count && i-- > 0;) {
    Entry *entry = &frame->entries[i];
    if (entry->key != key || entry->is_dead) continue;
    entry->is_dead = true;
    frame->dead_count++;
    return;
  }
}

void frame_append(Frame *frame, const Out *out, uint64_t stamp) {
  if (out->key) {
    replace_key(frame, out->key);
    frame->keyed_count++;
  }
  if (frame->count == frame->capacity)
    frame->capacity =
        array_grow(&frame->entries, frame->capacity, sizeof *frame->entries, 8);
  uint32_t size = out_size(out);
  out_gather(out, buf_reserve(&frame->bytes, size));
  frame->bytes.size += size;
  frame->entries[frame->count++] = (Entry){
      .end = (uint32_t)frame->bytes.size,
      .flags = out->flags,
      .stamp = stamp,
      .key = out->key,
  };
}

void frame_release(Net *net, Source *source, uint8_t priority) {
  Frame *frame = source->frames[priority];
  if (!frame) return;
  source->frames[priority] = NULL;
  source->pending &= (uint8_t) ~(1u << priority);
  if (net->free_frame_count >= FRAME_POOL_MAX ||
      frame->bytes.capacity > FRAME_KEEP_BYTES) {
    frame_free(frame);
    return;
  }
  frame->bytes.size = 0;
  frame->count = frame->dead_count = frame->keyed_count = 0;
  frame->next_free = net->free_frames;
  net->free_frames = frame;
  net->free_frame_count++;
}

void frame_pool_free(Net *net) {
  while (net->free_frames) {
    Frame *frame = net->free_frames;
    net->free_frames = frame->next_free;
    frame_free(frame);
  }
}
