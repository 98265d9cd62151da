--- Returns the processor time of this thread in seconds, because the machine may have other things to do.
--- os.clock has steps of milliseconds once the profiler runs.
local ffi = require "ffi"

ffi.cdef [[
typedef struct { long seconds, nanoseconds; } bench_time;
int clock_gettime(int clock, bench_time *time);
]]

local CLOCK_THREAD_CPUTIME_ID = 3
local time = ffi.new "bench_time"

return function()
  ffi.C.clock_gettime(CLOCK_THREAD_CPUTIME_ID, time)
  return tonumber(time.seconds) + tonumber(time.nanoseconds) / 1e9
end
