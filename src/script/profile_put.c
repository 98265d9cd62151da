// Writes a profile as JSON.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "script/profile.h"
#include "wire/json.h"

enum { LISTED = 100 };  // handlers, and lines

// The sum of several nodes: of a handler, or of a line.
typedef struct Sum {
  uint32_t source, line, name;  // as in ProfileFrame; of a line, the first function's
                                // name
  uint64_t total;
  ProfileAmounts amounts;
} Sum;

static const char *const PARTS[PROFILE_PARTS] = {"lua", "c", "collector", "compiler"};

static uint64_t total_of(const ProfileAmounts *amounts) {
  uint64_t total = 0;
  for (int i = 0; i < PROFILE_PARTS; i++) total += amounts->parts[i];
  return total;
}

// --- Sums ---

// Returns the node of the handler that has led to a node; or of the line that the node
// counts for, which is its own, or that of the nearest caller in the game; 0: none.
static uint32_t owner_of(const Profile *profile, uint32_t node, bool is_by_line) {
  for (const ProfileNode *at = &profile->nodes[node]; node > 0;
       at = &profile->nodes[node]) {
    bool is_owner = is_by_line ? profile->frames[at->frame].is_own : at->parent == 0;
    if (is_owner) return node;
    node = at->parent;
  }
  return 0;
}

static int compare_places(const void *a, const void *b) {
  const Sum *one = a, *other = b;
  if (one->source != other->source) return one->source < other->source ? -1 : 1;
  if (one->line != other->line) return one->line < other->line ? -1 : 1;
  if (one->line > 0 || one->name == other->name) return 0;
  return one->name < other->name ? -1 : 1;
}

static int compare_totals(const void *a, const void *b) {
  const Sum *one = a, *other = b;
  if (one->total != other->total) return one->total > other->total ? -1 : 1;
  return compare_places(a, b);
}

// Returns the sums by handler, or by line, the largest first. The caller frees them.
static Sum *find_sums(const Profile *profile, bool is_by_line, uint32_t *count) {
  Sum *sums = mem_alloc(profile->node_count * sizeof *sums);
  uint32_t all = 0, kept = 0;
  for (uint32_t i = 1; i < profile->node_count; i++) {
    uint32_t node = owner_of(profile, i, is_by_line);
    const ProfileAmounts *amounts = &profile->nodes[i].amounts;
    uint64_t total = total_of(amounts);
    const ProfileFrame *frame = &profile->frames[profile->nodes[node].frame];
    if (node > 0 && total > 0)
      sums[all++] = (Sum){frame->source, frame->line, frame->name, total, *amounts};
  }
  qsort(sums, all, sizeof *sums, compare_places);
  for (uint32_t i = 0; i < all; i++) {
    if (kept == 0 || compare_places(&sums[kept - 1], &sums[i]) != 0) {
      sums[kept++] = sums[i];
      continue;
    }
    sums[kept - 1].total += sums[i].total;
    for (int part = 0; part < PROFILE_PARTS; part++)
      sums[kept - 1].amounts.parts[part] += sums[i].amounts.parts[part];
  }
  qsort(sums, kept, sizeof *sums, compare_totals);
  *count = kept;
  return sums;
}

static void put_text(const Profile *profile, Buf *json, const char *key,
                     uint32_t number) {
  buf_printf(json, "\"%s\":", key);
  json_put_text(json, text_from(profile->sources[number]));
}

static void put_amounts(Buf *json, const ProfileAmounts *amounts) {
  for (int i = 0; i < PROFILE_PARTS; i++)
    buf_printf(json, ",\"%s\":%llu", PARTS[i], (unsigned long long)amounts->parts[i]);
}

static void put_sums(const Profile *profile, Buf *json, bool is_by_line) {
  uint32_t count;
  Sum *sums = find_sums(profile, is_by_line, &count);
  buf_printf(json, "\"%s\":[", is_by_line ? "lines" : "handlers");
  for (uint32_t i = 0; i < count && i < LISTED; i++) {
    const Sum *sum = &sums[i];
    buf_printf(json, "%s{\"total\":%llu", i > 0 ? "," : "",
               (unsigned long long)sum->total);
    put_amounts(json, &sum->amounts);
    buf_u8(json, ',');
    put_text(profile, json, "name", sum->name);
    if (is_by_line) {
      buf_u8(json, ',');
      put_text(profile, json, "file", sum->source);
      buf_printf(json, ",\"line\":%u", sum->line);
    }
    buf_u8(json, '}');
  }
  buf_u8(json, ']');
  mem_free(sums);
}

// --- The file for speedscope ---

static void put_frame(const Profile *profile, Buf *json, const ProfileFrame *frame) {
  Buf name = {0};
  const char *source = profile->sources[frame->source];
  buf_printf(&name, "%s", profile->sources[frame->name]);
  if (frame->line > 0)
    buf_printf(&name, "%s%s:%u", name.size > 0 ? " " : "", source, frame->line);
  buf_printf(json, "{\"name\":");
  json_put_text(json, (Text){(const char *)name.data, (uint32_t)name.size});
  if (frame->line > 0) {
    buf_u8(json, ',');
    put_text(profile, json, "file", frame->source);
    buf_printf(json, ",\"line\":%u", frame->line);
  }
  buf_u8(json, '}');
  buf_deinit(&name);
}

// Appends the frames of a stack, the outermost first, and the part as the innermost.
static void put_stack(const Profile *profile, Buf *json, uint32_t node, int part) {
  uint32_t frames[PROFILE_DEPTH_MAX + 1], depth = 0;
  for (; node > 0; node = profile->nodes[node].parent)
    frames[depth++] = profile->nodes[node].frame - 1;
  buf_u8(json, '[');
  for (; depth > 0; depth--)
    buf_printf(json, "%u%s", frames[depth - 1], depth > 1 ? "," : "");
  if (part != PROFILE_LUA) buf_printf(json, ",%u", profile->frame_count - 2 + part);
  buf_u8(json, ']');
}

// Appends all stacks; or their amounts, in units of the file.
static void put_stacks(const Profile *profile, Buf *json, bool is_amounts) {
  uint64_t unit = profile->is_memory ? 1 : PROFILE_EVERY_US;
  bool is_first = true;
  for (uint32_t i = 1; i < profile->node_count; i++) {
    for (int part = 0; part < PROFILE_PARTS; part++) {
      uint64_t amount = profile->nodes[i].amounts.parts[part];
      if (amount == 0) continue;
      if (!is_first) buf_u8(json, ',');
      is_first = false;
      if (is_amounts) {
        amount *= unit;
        buf_printf(json, "%llu", (unsigned long long)amount);
        continue;
      }
      put_stack(profile, json, i, part);
    }
  }
}

static void put_file(const Profile *profile, Buf *json, uint64_t total) {
  if (!profile->is_memory) total *= PROFILE_EVERY_US;
  buf_printf(json,
             "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
             "\"exporter\":\"perigee\",\"shared\":{\"frames\":[");
  for (uint32_t i = 1; i < profile->frame_count; i++) {
    put_frame(profile, json, &profile->frames[i]);
    buf_u8(json, ',');
  }
  for (int part = PROFILE_C; part < PROFILE_PARTS; part++)
    buf_printf(json, "%s{\"name\":\"(%s)\"}", part > PROFILE_C ? "," : "", PARTS[part]);
  buf_printf(json,
             "]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\","
             "\"startValue\":0,\"endValue\":%llu,\"samples\":[",
             profile->is_memory ? "memory of Lua" : "time of Lua",
             profile->is_memory ? "bytes" : "microseconds", (unsigned long long)total);
  put_stacks(profile, json, false);
  buf_printf(json, "],\"weights\":[");
  put_stacks(profile, json, true);
  buf_printf(json, "]}]}");
}

void profile_put(const Profile *profile, uint64_t now_us, Buf *json) {
  ProfileAmounts all = {0};
  for (uint32_t i = 1; i < profile->node_count; i++)
    for (int part = 0; part < PROFILE_PARTS; part++)
      all.parts[part] += profile->nodes[i].amounts.parts[part];
  uint64_t end_us = now_us < profile->end_us ? now_us : profile->end_us;
  buf_printf(json,
             "{\"unit\":\"%s\",\"seconds\":%.3f,\"running\":%s,\"every_us\":%d,"
             "\"total\":%llu",
             profile->is_memory ? "bytes" : "samples",
             (double)(end_us - profile->started_us) / 1e6,
             now_us < profile->end_us ? "true" : "false", PROFILE_EVERY_US,
             (unsigned long long)total_of(&all));
  put_amounts(json, &all);
  buf_u8(json, ',');
  put_sums(profile, json, false);
  buf_u8(json, ',');
  put_sums(profile, json, true);
  buf_printf(json, ",\"file\":");
  put_file(profile, json, total_of(&all));
  buf_u8(json, '}');
}
