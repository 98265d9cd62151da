// See guesses.h. A bucket of the hash table has a few entries, and an entry the times of
// the last failures of one name or address. Names differ from addresses by a byte in front.
#include "account/guesses.h"

#include <sodium.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { BUCKETS = 4096, BUCKET_ENTRIES = 8, KEY_MAX = 256 };

typedef struct Entry {
  uint64_t hash;                // 0: empty
  uint64_t times[GUESSES_MAX];  // of failures, in milliseconds plus 1; 0: none
} Entry;

struct Guesses {
  uint64_t key[2];
  Entry entries[BUCKETS][BUCKET_ENTRIES];
};

Guesses *guesses_new(void) {
  Guesses *guesses = mem_zalloc(sizeof *guesses);
  randombytes_buf(guesses->key, sizeof guesses->key);
  return guesses;
}

void guesses_free(Guesses *guesses) { mem_free(guesses); }

static uint64_t newest(const Entry *entry) {
  uint64_t time = 0;
  for (int i = 0; i < GUESSES_MAX; i++)
    if (entry->times[i] > time) time = entry->times[i];
  return time;
}

static uint64_t *oldest(Entry *entry) {
  uint64_t *time = &entry->times[0];
  for (int i = 1; i < GUESSES_MAX; i++)
    if (entry->times[i] < *time) time = &entry->times[i];
  return time;
}

// Returns the entry of a name or address. If it has none yet, its entry replaces the one
// of the bucket whose last failure is the oldest.
static Entry *entry_of(Guesses *guesses, char kind, Text text) {
  char key[KEY_MAX + 1];
  size_t size = text.size < KEY_MAX ? text.size : KEY_MAX;
  key[0] = kind;
  if (size > 0) memcpy(key + 1, text.bytes, size);
  uint64_t hash = hash_bytes(guesses->key, key, size + 1);
  if (hash == 0) hash = 1;
  Entry *bucket = guesses->entries[hash % BUCKETS], *entry = &bucket[0];
  for (int i = 0; i < BUCKET_ENTRIES; i++) {
    if (bucket[i].hash == hash) return &bucket[i];
    if (newest(&bucket[i]) < newest(entry)) entry = &bucket[i];
  }
  *entry = (Entry){.hash = hash};
  return entry;
}

static uint32_t wait_s(Entry *entry, uint64_t now_ms) {
  uint64_t time = *oldest(entry), end = time + GUESSES_WINDOW_MS;
  if (time == 0 || end <= now_ms + 1) return 0;
  return (uint32_t)((end - now_ms - 1 + 999) / 1000);
}

uint32_t guesses_begin(Guesses *guesses, Text name, Text address, uint64_t now_ms) {
  Entry *here = entry_of(guesses, 'a', address);
  uint32_t wait = wait_s(here, now_ms);
  if (wait == 0 && name.size > 0) {
    Entry *named = entry_of(guesses, 'n', name);
    wait = wait_s(named, now_ms);
    if (wait == 0) *oldest(named) = now_ms + 1;
  }
  if (wait == 0) *oldest(entry_of(guesses, 'a', address)) = now_ms + 1;
  return wait;
}

static void forgive(Entry *entry, uint64_t begun_ms) {
  for (int i = 0; i < GUESSES_MAX; i++) {
    if (entry->times[i] != begun_ms + 1) continue;
    entry->times[i] = 0;
    return;
  }
}

void guesses_forgive(Guesses *guesses, Text name, Text address, uint64_t begun_ms) {
  forgive(entry_of(guesses, 'a', address), begun_ms);
  if (name.size > 0) forgive(entry_of(guesses, 'n', name), begun_ms);
}
