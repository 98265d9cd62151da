// See guesses.h. A bucket of the hash table has a few entries. An entry has the times
// of the last failures of one name or one address. A byte before the key distinguishes
// names from addresses.
#include "account/guesses.h"

#include <sodium.h>
#include <string.h>

#include "base/hash.h"
#include "base/least.h"
#include "base/mem.h"

enum { BUCKETS = 4096, BUCKET_ENTRIES = 8, KEY_MAX = 256 };

typedef struct Entry {
  uint64_t hash;                // hash of the key; 0: the entry is empty
  uint64_t times[GUESSES_MAX];  // times of failures, in milliseconds plus 1; 0: none
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

// Returns the bucket of a name or address, and the hash of its entry.
static Entry *bucket_of(Guesses *guesses, char kind, Text text, uint64_t *hash) {
  char key[KEY_MAX + 1];
  size_t size = text.size < KEY_MAX ? text.size : KEY_MAX;
  key[0] = kind;
  if (size > 0) memcpy(key + 1, text.bytes, size);
  *hash = hash_bytes(guesses->key, key, size + 1);
  if (*hash == 0) *hash = 1;
  return guesses->entries[*hash % BUCKETS];
}

// Returns the number of failures that may follow. If that is 0, raises `*wait_s` to the
// seconds until a failure may follow again.
static uint32_t left_of(Guesses *guesses, char kind, Text text, uint64_t now_ms,
                        uint32_t *wait_s) {
  uint64_t hash, end = UINT64_MAX;
  uint32_t left = GUESSES_MAX;
  const Entry *entry = bucket_of(guesses, kind, text, &hash),
              *behind = entry + BUCKET_ENTRIES;
  while (entry < behind && entry->hash != hash) entry++;
  if (entry == behind) return left;
  for (int i = 0; i < GUESSES_MAX; i++) {
    uint64_t time = entry->times[i];
    if (time == 0 || time + GUESSES_WINDOW_MS <= now_ms + 1) continue;
    left--;
    if (time + GUESSES_WINDOW_MS < end) end = time + GUESSES_WINDOW_MS;
  }
  uint32_t wait = left > 0 ? 0 : (uint32_t)((end - now_ms - 1 + 999) / 1000);
  if (wait > *wait_s) *wait_s = wait;
  return left;
}

uint32_t guesses_left(Guesses *guesses, Text name, Text address, uint64_t now_ms,
                      uint32_t *wait_s) {
  *wait_s = 0;
  uint32_t left = left_of(guesses, 'a', address, now_ms, wait_s);
  if (name.size == 0) return left;
  return (uint32_t)least(left, left_of(guesses, 'n', name, now_ms, wait_s));
}

// Counts a failure of a name or address. If the name or address has no entry yet, its
// entry replaces the entry of the bucket whose last failure is the oldest.
static void fail(Guesses *guesses, char kind, Text text, uint64_t now_ms) {
  uint64_t hash;
  Entry *bucket = bucket_of(guesses, kind, text, &hash), *entry = bucket;
  for (int i = 0; i < BUCKET_ENTRIES && entry->hash != hash; i++)
    if (bucket[i].hash == hash || newest(&bucket[i]) < newest(entry))
      entry = &bucket[i];
  if (entry->hash != hash) *entry = (Entry){.hash = hash};
  *oldest(entry) = now_ms + 1;
}

void guesses_fail(Guesses *guesses, Text name, Text address, uint64_t now_ms) {
  fail(guesses, 'a', address, now_ms);
  if (name.size > 0) fail(guesses, 'n', name, now_ms);
}
