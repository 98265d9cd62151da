// Collects the samples in a tree of calls.
#include "script/profile.h"

#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "script/guard/deadline.h"

enum {
  PENDING_MAX = 256,  // samples of one call; further amounts are added to the last one
  EVERY_MIN = 4 << 10,  // bytes
  EVERY_MAX = 4 << 20,
  SOON_US = 1000,  // samples of memory that come sooner become rarer
  LATE_US = 4000,  // samples of memory that come later become more frequent
};

// The head of a sample in `pending`; the numbers of `depth` frames follow, the
// innermost first.
typedef struct Sample {
  ProfileAmounts amounts;
  uint32_t depth;
} Sample;

static Profile *shared;

void profile_share(Profile *profile) { shared = profile; }

Profile *profile_shared(void) { return shared; }

// --- Creating ---

// Returns the number of a text.
static uint32_t number_of(Profile *profile, const char *text) {
  size_t size = strlen(text);
  uint32_t number = names_find(&profile->source_numbers, text, size);
  if (number > 0 || size == 0) return number;
  if (profile->source_count == profile->source_capacity)
    profile->source_capacity = array_grow(&profile->sources, profile->source_capacity,
                                          sizeof *profile->sources, 64);
  number = profile->source_count++;
  profile->sources[number] = mem_strdup(text);
  names_set(&profile->source_numbers, text, size, number);
  return number;
}

// Adds an item that nothing refers to, because names have no number 0.
static void begin_lists(Profile *profile) {
  profile->source_capacity = array_grow(&profile->sources, 0, sizeof(char *), 64);
  profile->frame_capacity = array_grow(&profile->frames, 0, sizeof(ProfileFrame), 64);
  profile->node_capacity = array_grow(&profile->nodes, 0, sizeof(ProfileNode), 64);
  profile->sources[0] = mem_strdup("");
  profile->frames[0] = (ProfileFrame){0};
  profile->nodes[0] = (ProfileNode){0};
  profile->source_count = profile->frame_count = profile->node_count = 1;
}

// Returns a random number below `end`.
static uint64_t random_below(Profile *profile, uint64_t end) {
  profile->random ^= profile->random << 13;
  profile->random ^= profile->random >> 7;
  profile->random ^= profile->random << 17;
  return profile->random % end;
}

// Moves the mark at which the next sample is due to a random place in the next `every`
// bytes of allocations.
static void move_mark(Profile *profile) {
  uint64_t place = random_below(profile, profile->every);
  profile->bytes = profile->rest + place + 1;
  profile->rest = profile->every - place - 1;
}

Profile *profile_new(bool is_memory, uint64_t now_us, uint64_t end_us) {
  Profile *profile = mem_zalloc(sizeof *profile);
  profile->is_memory = is_memory;
  profile->started_us = profile->sampled_us = now_us;
  profile->end_us = end_us;
  profile->random = now_us | 1;
  profile->every = EVERY_MIN;
  move_mark(profile);
  names_init(&profile->source_numbers);
  names_init(&profile->frame_numbers);
  names_init(&profile->node_numbers);
  begin_lists(profile);
  return profile;
}

void profile_free(Profile *profile) {
  if (profile == NULL) return;
  names_deinit(&profile->source_numbers);
  names_deinit(&profile->frame_numbers);
  names_deinit(&profile->node_numbers);
  for (uint32_t i = 0; i < profile->source_count; i++) mem_free(profile->sources[i]);
  mem_free(profile->sources);
  mem_free(profile->frames);
  mem_free(profile->nodes);
  buf_deinit(&profile->pending);
  mem_free(profile);
}

// --- Requesting ---

bool profile_request(Profile *profile, int state, uint64_t now_us) {
  enum { INTERPRETED = -1, IN_C = -2, COLLECTING = -3 };
  ProfilePart part = state >= INTERPRETED  ? PROFILE_LUA
                     : state == IN_C       ? PROFILE_C
                     : state == COLLECTING ? PROFILE_COLLECTOR
                                           : PROFILE_COMPILER;
  if (profile->is_memory || now_us >= profile->end_us) return false;
  profile->due.parts[part]++;
  return profile->is_due = true;
}

// The first tick comes as soon as that of a timer that has never stopped.
uint64_t profile_begin_call(Profile *profile, uint64_t now_us) {
  bool is_over = profile->is_memory || now_us >= profile->end_us;
  return is_over ? 0 : 1 + random_below(profile, PROFILE_EVERY_US);
}

// Each mark counts for `every` bytes, so the sums are right on average, whatever the
// sizes of the blocks.
bool profile_allocate(Profile *profile, size_t bytes) {
  if (!profile->is_memory) return false;
  uint64_t marks = bytes / profile->every, left = bytes % profile->every;
  bool is_at_mark = profile->bytes <= left;
  if (!is_at_mark) profile->bytes -= left;
  if (marks == 0 && !is_at_mark) return false;
  uint64_t now_us = deadline_clock_us();
  if (now_us >= profile->end_us) return false;
  profile->due.parts[PROFILE_LUA] += (marks + is_at_mark) * profile->every;
  if (is_at_mark) {
    profile->rest -=
        left - profile->bytes < profile->rest ? left - profile->bytes : profile->rest;
    uint64_t since_us = now_us - profile->sampled_us;
    if (since_us < SOON_US && profile->every < EVERY_MAX) profile->every *= 2;
    if (since_us > LATE_US && profile->every > EVERY_MIN) profile->every /= 2;
    profile->sampled_us = now_us;
    move_mark(profile);
  }
  return profile->is_due = true;
}

// --- Taking ---

static uint32_t add_frame(Profile *profile, const ProfileFrame *frame) {
  if (profile->frame_count == profile->frame_capacity)
    profile->frame_capacity = array_grow(&profile->frames, profile->frame_capacity,
                                         sizeof *profile->frames, 64);
  profile->frames[profile->frame_count] = *frame;
  return profile->frame_count++;
}

// Returns the number of a function's line; 0 for a C function without a name.
static uint32_t frame_of(Profile *profile, lua_State *L, lua_Debug *at) {
  static const char HOST[] = "@lua/perigee/";  // begins the names of the host's files
  struct {
    uint32_t source, defined, line, name;
  } key = {0};
  lua_getinfo(L, "Sl", at);
  bool is_c = at->what[0] == 'C';
  if (is_c) {  // the name of a C function is that of its call
    lua_getinfo(L, "n", at);
    if (at->name == NULL) return 0;
    key.name = number_of(profile, at->name);
  } else {
    key.source = number_of(profile, at->source[0] == '@' ? at->source + 1 : at->source);
    key.defined = (uint32_t)at->linedefined;
    key.line = at->currentline > 0 ? (uint32_t)at->currentline : 0;
  }
  uint32_t number = names_find(&profile->frame_numbers, (const char *)&key, sizeof key);
  if (number > 0) return number;
  if (!is_c) lua_getinfo(L, "n", at);
  ProfileFrame frame = {.source = key.source,
                        .line = key.line,
                        .name = number_of(profile, at->name ? at->name : ""),
                        .is_own = !is_c && at->source[0] == '@' &&
                                  strncmp(at->source, HOST, sizeof HOST - 1) != 0};
  number = add_frame(profile, &frame);
  names_set(&profile->frame_numbers, (const char *)&key, sizeof key, number);
  return number;
}

// Writes the frames of a stack, the innermost first. Leaves out the host's functions
// that have called the game's.
static uint32_t read_stack(Profile *profile, lua_State *L,
                           uint32_t frames[PROFILE_DEPTH_MAX]) {
  uint32_t depth = 0, own = 0;
  lua_Debug at;
  for (int level = 0; level < PROFILE_DEPTH_MAX && lua_getstack(L, level, &at);
       level++) {
    uint32_t frame = frame_of(profile, L, &at);
    if (frame == 0) continue;
    frames[depth++] = frame;
    if (profile->frames[frame].is_own) own = depth;
  }
  return own > 0 ? own : depth;
}

static void add_amounts(ProfileAmounts *to, const ProfileAmounts *amounts) {
  for (int i = 0; i < PROFILE_PARTS; i++) to->parts[i] += amounts->parts[i];
}

static ProfileAmounts take_due(Profile *profile) {
  ProfileAmounts amounts = profile->due;
  profile->is_due = false;
  profile->due = (ProfileAmounts){0};
  return amounts;
}

void profile_take(Profile *profile, lua_State *L) {
  uint32_t frames[PROFILE_DEPTH_MAX];
  if (!profile->is_due || profile->pending_count == PENDING_MAX) return;
  Sample sample = {.amounts = take_due(profile),
                   .depth = read_stack(profile, L, frames)};
  profile->pending_count++;
  buf_append(&profile->pending, &sample, sizeof sample);
  buf_append(&profile->pending, frames, sample.depth * sizeof *frames);
}

// --- The tree ---

// Returns the node of a frame below another node; that node itself if the tree is full.
static uint32_t node_of(Profile *profile, uint32_t parent, uint32_t frame) {
  uint32_t key[] = {parent, frame};
  uint32_t number = names_find(&profile->node_numbers, (const char *)key, sizeof key);
  if (number > 0) return number;
  if (profile->node_count == PROFILE_NODES_MAX) return parent;
  if (profile->node_count == profile->node_capacity)
    profile->node_capacity =
        array_grow(&profile->nodes, profile->node_capacity, sizeof *profile->nodes, 64);
  number = profile->node_count++;
  profile->nodes[number] = (ProfileNode){.parent = parent, .frame = frame};
  names_set(&profile->node_numbers, (const char *)key, sizeof key, number);
  return number;
}

static uint32_t handler_node(Profile *profile, const char *name) {
  uint32_t text = number_of(profile, name);
  uint32_t frame =
      names_find(&profile->frame_numbers, (const char *)&text, sizeof text);
  if (frame == 0) {
    frame = add_frame(profile, &(ProfileFrame){.name = text});
    names_set(&profile->frame_numbers, (const char *)&text, sizeof text, frame);
  }
  return node_of(profile, 0, frame);
}

void profile_end_call(Profile *profile, const char *name) {
  bool has_rest = profile->is_due && !profile->is_memory;
  if (profile->pending_count == 0 && !has_rest) return;
  uint32_t handler = handler_node(profile, name);
  if (has_rest) {
    ProfileAmounts rest = take_due(profile);
    add_amounts(&profile->nodes[handler].amounts, &rest);
  }
  const uint8_t *at = profile->pending.data;
  for (; profile->pending_count > 0; profile->pending_count--) {
    Sample sample;
    memcpy(&sample, at, sizeof sample);
    at += sizeof sample;
    uint32_t node = handler, frame;
    for (uint32_t i = sample.depth; i > 0; i--) {
      memcpy(&frame, at + (i - 1) * sizeof frame, sizeof frame);
      node = node_of(profile, node, frame);
    }
    add_amounts(&profile->nodes[node].amounts, &sample.amounts);
    at += sample.depth * sizeof frame;
  }
  profile->pending.size = 0;
}
