// A profile of scripts: by handler, function and line, the time that they take, or the
// bytes that they allocate. Ticks (guard/deadline.c) or the allocator (host.c) request
// samples; a hook, or a C function that works for long, takes them. When a call ends,
// its samples get the name of its handler. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/names.h"

typedef enum ProfilePart {
  PROFILE_LUA,
  PROFILE_C,          // C functions, such as table.sort
  PROFILE_COLLECTOR,  // LuaJIT's garbage collector
  PROFILE_COMPILER,   // LuaJIT's compiler
  PROFILE_PARTS
} ProfilePart;

enum {
  // Time between two samples. Not a whole number of milliseconds, because many handlers
  // begin at one.
  PROFILE_EVERY_US = 1003,
  PROFILE_SECONDS_MAX = 600,
  PROFILE_DEPTH_MAX = 64,     // innermost frames of a sample
  PROFILE_NODES_MAX = 65536,  // samples of further stacks count for their callers
};

typedef struct ProfileAmounts {
  uint64_t parts[PROFILE_PARTS];  // samples, or bytes
} ProfileAmounts;

typedef struct ProfileFrame {
  uint32_t source;  // number in `sources`
  uint32_t name;    // number in `sources` of the function's or handler's name; 0: none
  uint32_t line;    // 0: a handler or a C function
  bool is_own;      // whether the code belongs to the game, and not to the host
} ProfileFrame;

typedef struct ProfileNode {
  uint32_t parent;  // number of the caller's node; 0: a handler
  uint32_t frame;
  ProfileAmounts amounts;  // without those of callees
} ProfileNode;

typedef struct Profile {
  bool is_memory;
  uint64_t started_us, end_us;  // real time
  ProfileAmounts due;           // requested and not taken; signal handlers add to it
  volatile bool is_due;
  uint64_t bytes;       // bytes until the next sample of memory
  uint64_t rest;        // bytes from there to the end of this part of `every` bytes
  uint64_t every;       // mean number of bytes between two samples of memory
  uint64_t sampled_us;  // time of the last sample of memory
  uint64_t random;
  Names source_numbers, frame_numbers, node_numbers;
  char **sources;  // texts by number; number 0 is ""; owned
  ProfileFrame *frames;
  ProfileNode *nodes;  // number 0 is the root
  uint32_t source_count, source_capacity, frame_count, frame_capacity, node_count,
      node_capacity;
  Buf pending;  // samples of the running call
  uint32_t pending_count;
} Profile;

/// Creates a profile that ends at `end_us`.
Profile *profile_new(bool is_memory, uint64_t now_us, uint64_t end_us);
void profile_free(Profile *profile);

/// The profile of all scripts that this process starts from now on, for `perigee
/// profile test`; NULL: none. Not owned.
void profile_share(Profile *profile);
Profile *profile_shared(void);

/// Requests a sample of time. `state`: LuaJIT's state, as in guard/collector.h. Signal
/// handlers may call this function. Returns whether to interrupt the script.
bool profile_request(Profile *profile, int state, uint64_t now_us);

/// Counts an allocation. Returns whether a sample is due, so that the script must be
/// interrupted.
bool profile_allocate(Profile *profile, size_t bytes);

/// Begins a call after which ticks begin. Returns the time to the first one, or 0 if the
/// profile needs none.
uint64_t profile_begin_call(Profile *profile, uint64_t now_us);

/// Takes the requested sample with the stack of the coroutine `L`.
void profile_take(Profile *profile, lua_State *L);

/// Ends a call: its samples belong to the handler `name`. Samples that were requested
/// and not taken have no line.
void profile_end_call(Profile *profile, const char *name);

/// Appends the profile as JSON: sums by handler and by line, and a file for speedscope.
void profile_put(const Profile *profile, uint64_t now_us, Buf *json);
