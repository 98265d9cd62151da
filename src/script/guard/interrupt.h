// Interrupts a script at any instruction, compiled or not. Private to src/script.
//
// A tick is a signal after some processor time of the thread; its handler checks the
// clock. An interrupt is a debug hook, which Lua allows signal handlers to set.
// Compiled code does not check hooks, but it checks LuaJIT's profiler in each line.
// Therefore the profiler runs with a timer that never fires, and an interrupt raises
// the profiler's signal. Compiled code then returns to the interpreter, which calls the
// hook. LuaJIT does not document this use, so each process tests it at its start
// (lua/perigee/guard/self_test.lua).
//
// During one short moment, while LuaJIT exchanges its table of instructions, a signal
// has no effect. A hook can be set again, but nothing repeats the effect of the
// profiler's signal. Therefore the profiler's signal is raised only where no Lua code
// is being interpreted: in compiled code, and in C functions and the allocator. It is
// also raised if the hook was not called for several milliseconds, because then
// compiled code spends its time in LuaJIT's C functions.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/// A signal handler calls this function every few milliseconds of processor time, in
/// each thread that has called interrupt_open. `place` is the place of the signal, for
/// interrupt_signal. `is_sample`: whether interrupt_sample_every has requested the tick.
typedef void InterruptTick(const void *place, bool is_sample);

/// Makes a state's code interruptible. `tick` must be the same for all states of the
/// process. Must be called after all libraries of scripts are loaded. Returns false if
/// compiled code of this state cannot be interrupted, because another state has the
/// process's only profiler. The caller must then switch the state's JIT off.
bool interrupt_open(lua_State *L, InterruptTick *tick);

/// Closes a state, on the thread that has opened it. The ticks of a thread end with its
/// last state.
void interrupt_close(lua_State *L);

/// Requests one tick after `us` > 0 microseconds of real time; replaces the last
/// request. Signal handlers may call this function.
void interrupt_tick_in(uint64_t us);

/// Requests ticks for samples of this thread: the first after `first_us` > 0
/// microseconds of real time, further ones every `us`; `first_us` 0: none. Signal
/// handlers may call this function. The thread must have called interrupt_open.
void interrupt_sample_every(uint64_t first_us, uint64_t us);

/// Makes Lua call `hook` with the running coroutine before each instruction until
/// interrupt_end. One call would not be enough, because some loops then return to
/// compiled code that does not check again. `L` is the main state. The allocator, and C
/// functions that a script has called, may call this function.
void interrupt_raise(lua_State *L, lua_Hook hook);

/// Works like interrupt_raise, but in a signal handler. `place` is the third argument
/// of the signal handler. Returns false if the interrupt may have no effect. In that
/// case, another tick follows soon, and the next allocation should call
/// interrupt_raise.
bool interrupt_signal(lua_State *L, lua_Hook hook, const void *place);

/// Works like interrupt_signal, but without another tick. `in_compiled`: whether
/// compiled code is running, although the place of the signal may be in a C function
/// that this code has called.
void interrupt_sample(lua_State *L, lua_Hook hook, const void *place, bool in_compiled);

/// Reports that the hook was called. The hook must call this function.
void interrupt_seen(void);

/// Ends an interrupt.
void interrupt_end(lua_State *L);
