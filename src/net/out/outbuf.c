// An outbuf contains the messages of one source and priority between two flushes. The
// bytes are back to back, and each message has an Entry. A pool keeps empty outbufs.
// Therefore a running server sends without allocating memory, and an idle connection
// has no outbuf.
#include "base/array.h"
#include "base/mem.h"
#include "net/out/output.h"

enum {
  OUTBUF_POOL_MAX = 256,          // empty outbufs kept for reuse
  OUTBUF_KEEP_BYTES = 256 << 10,  // size above which the memory of an empty outbuf is
                                  // freed
};

static Outbuf *take_from_pool(Net *net) {
  Outbuf *outbuf = net->free_outbufs;
  if (!outbuf) return mem_zalloc(sizeof *outbuf);
  net->free_outbufs = outbuf->next_free;
  net->free_outbuf_count--;
  return outbuf;
}

static void outbuf_free(Outbuf *outbuf) {
  buf_deinit(&outbuf->bytes);
  mem_free(outbuf->entries);
  mem_free(outbuf);
}

Outbuf *outbuf_of(Net *net, Source *source, uint8_t priority) {
  if (!source->outbufs[priority]) {
    source->outbufs[priority] = take_from_pool(net);
    source->pending |= (uint8_t)(1u << priority);
  }
  return source->outbufs[priority];
}

// Marks the waiting message with `key` as dead; returns whether one exists. Searches
// from the newest message on.
static bool replace_key(Outbuf *outbuf, uint64_t key) {
  for (uint32_t i = outbuf->count; outbuf->keyed_count && i-- > 0;) {
    Entry *entry = &outbuf->entries[i];
    if (entry->key != key || entry->is_dead) continue;
    entry->is_dead = true;
    outbuf->dead_count++;
    return true;
  }
  return false;
}

bool outbuf_append(Outbuf *outbuf, const Out *out, uint64_t sequence) {
  bool is_replacing = out->key && replace_key(outbuf, out->key);
  outbuf->keyed_count += out->key != 0;
  if (outbuf->count == outbuf->capacity)
    outbuf->capacity =
        array_grow(&outbuf->entries, outbuf->capacity, sizeof *outbuf->entries, 8);
  uint32_t size = out_size(out);
  out_gather(out, buf_reserve(&outbuf->bytes, size));
  outbuf->bytes.size += size;
  outbuf->entries[outbuf->count++] = (Entry){
      .end = (uint32_t)outbuf->bytes.size,
      .flags = out->flags,
      .sequence = sequence,
      .key = out->key,
  };
  return is_replacing;
}

void outbuf_release(Net *net, Source *source, uint8_t priority) {
  Outbuf *outbuf = source->outbufs[priority];
  if (!outbuf) return;
  source->outbufs[priority] = NULL;
  source->pending &= (uint8_t) ~(1u << priority);
  if (net->free_outbuf_count >= OUTBUF_POOL_MAX ||
      outbuf->bytes.capacity > OUTBUF_KEEP_BYTES) {
    outbuf_free(outbuf);
    return;
  }
  outbuf->bytes.size = 0;
  outbuf->count = outbuf->dead_count = outbuf->keyed_count = 0;
  outbuf->next_free = net->free_outbufs;
  net->free_outbufs = outbuf;
  net->free_outbuf_count++;
}

void outbuf_pool_free(Net *net) {
  while (net->free_outbufs) {
    Outbuf *outbuf = net->free_outbufs;
    net->free_outbufs = outbuf->next_free;
    outbuf_free(outbuf);
  }
}
