// Interrupts a script at any instruction, compiled or not. Private to src/script.
//
// A tick (a signal after some processor time of the thread) is when somebody looks at the
// clock; an interrupt is a debug hook, which Lua lets signal handlers set. Compiled code does
// not look for hooks, but it does look for LuaJIT's profiler, once in each line. So the
// profiler is started with a timer that never fires, and an interrupt raises the profiler's
// signal: compiled code then returns to the interpreter, which finds the hook. LuaJIT does not
// document this use; lua/perigee/guard/self_test.lua tests it at each start.
//
// A signal is unsafe for LuaJIT in one short moment: while LuaJIT exchanges its table of
// instructions, a signal leaves that table as it was before the signal. Setting the hook once
// more repairs this; nothing repairs it after the profiler's signal. So the latter is raised
// only where no Lua code is interpreted: in compiled code, in the state's allocator, and after
// several milliseconds in which the hook was not called, because then compiled code runs that
// spends its time in LuaJIT's C functions.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/// Called in a signal handler, every few milliseconds of processor time of a thread that has
/// called interrupt_open. `place` is where the signal came, for interrupt_signal.
typedef void InterruptTick(const void *place);

/// Makes a state's code interruptible; `tick` is the same for all states of the process.
/// Call it when all libraries that scripts reach are loaded. Returns false when compiled code
/// of this state cannot be interrupted, because another state has the process's one profiler:
/// the caller then has to switch the state's JIT off.
bool interrupt_open(lua_State *L, InterruptTick *tick);

/// Ends the ticks of the thread with its last state. For the thread that has opened the state.
void interrupt_close(lua_State *L);

/// Requests one more tick, `us` microseconds of real time from now; not 0. Replaces the
/// last such request. For signal handlers.
void interrupt_tick_in(uint64_t us);

/// Calls `hook` with the running coroutine before the next instruction of Lua code, and before
/// each later one until interrupt_end: some loops are back in compiled code, which does not
/// look again, after one. `L` is the main state. For C functions that a script has called, and
/// for the state's allocator.
void interrupt_raise(lua_State *L, lua_Hook hook);

/// The same for signal handlers; `place` is the third argument of one. Returns false when
/// the interrupt may not arrive: another tick follows soon, and the next allocation should
/// call interrupt_raise.
bool interrupt_signal(lua_State *L, lua_Hook hook, const void *place);

/// For hooks: reports that this one has been called.
void interrupt_seen(void);

/// Ends an interrupt.
void interrupt_end(lua_State *L);
