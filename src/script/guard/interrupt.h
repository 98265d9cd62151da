// Makes a script stop in the middle of whatever it does, compiled or not: a tick of the
// thread's processor time to notice by, and an alarm that reaches running Lua code.
// Private to src/script.
//
// The alarm is a debug hook, which Lua lets signal handlers set. The JIT's code does not
// look for hooks, but for LuaJIT's profiler it does, once in each line: so the profiler is
// started with a timer that never fires, and its signal is raised together with the alarm.
// Compiled code then goes back to the interpreter, which finds the hook. That the profiler
// may be used so is not documented; lua/perigee/guard/self_test.lua sees at each start that it
// is so.
//
// LuaJIT is safe from signals but for a moment: one that comes while it exchanges its
// table of instructions leaves that table as it was before the signal. With a hook alone,
// setting it again mends that. With the profiler's signal nothing would, so that one is
// raised only where this cannot be: in compiled code, by the state's allocator, and where
// the hook has not been called for some milliseconds. Then no Lua code is interpreted:
// what runs is compiled code that spends its time in C functions of LuaJIT's.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

/// Told of a tick: a few milliseconds of processor time of the thread that called
/// alarm_open first have passed. Runs in a signal handler; `place` is where the signal
/// came, for alarm_signal.
typedef void AlarmTick(const void *place);

/// Watches a state's code; `tick` is the same for all states of the process. To be called
/// when all libraries that scripts reach are loaded. False when compiled code of this
/// state would not hear alarms, as another state has the one profiler that there is: then
/// its JIT has to be off.
bool alarm_open(lua_State *L, AlarmTick *tick);

/// The last to close ends the ticks.
void alarm_close(lua_State *L);

/// Has a tick come after `us` microseconds of real time, too, not 0, instead of the last
/// one that was asked for so. For signal handlers.
void alarm_tick_in(uint64_t us);

/// Has `hook` called with the state's running coroutine before the next instruction of
/// Lua code, and before each one after that until alarm_rest: some loops are back in
/// compiled code, which does not look again, after one. `L` is the state's main one. For C
/// functions that a script has called, and for the state's allocator.
void alarm_raise(lua_State *L, lua_Hook hook);

/// The same for signal handlers; `place` is the third argument of one. False when it may
/// not have been heard: there is another tick in a moment, and the next allocation would
/// be a good time for alarm_raise.
bool alarm_signal(lua_State *L, lua_Hook hook, const void *place);

/// For hooks: this one has been called.
void alarm_heard(void);

/// For hooks, in code that is let go on: there is no need to be called for each of its
/// instructions, which takes many times as long as they do.
void alarm_ease(lua_State *L, lua_Hook hook);

/// Ends an alarm.
void alarm_rest(lua_State *L);
