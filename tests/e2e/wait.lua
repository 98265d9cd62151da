--- Drives the event loop until something is so, with a deadline. Nothing in these tests sleeps:
--- they wait for what they expect, and the deadline is only there to fail.
local uv = require "luv"

local wait = {}

--- Seconds before a wait fails; far above anything a healthy server needs.
wait.DEADLINE = tonumber(os.getenv "PERIGEE_TEST_DEADLINE") or 15

-- Things outside the loop (files, /proc) are looked at this often.
local LOOK_AGAIN_MS = 10
local heartbeat = uv.new_timer()


--- Runs the loop until `check()` gives something true, and returns that; nil after the deadline.
---@param check fun(): any
---@param seconds? number
---@return any
function wait.until_true(check, seconds)
  local value = check()
  if value then return value end
  uv.update_time()
  local deadline = uv.now() + (seconds or wait.DEADLINE) * 1000
  repeat
    heartbeat:start(LOOK_AGAIN_MS, LOOK_AGAIN_MS, function() end)
    uv.run "once"
    value = check()
  until value or uv.now() >= deadline
  heartbeat:stop()
  return value
end


--- The same, but a deadline that passes is an error: for what a test has to see.
---@param check fun(): any
---@param seconds? number
---@return any
function wait.for_true(check, seconds)
  local value = wait.until_true(check, seconds)
  if not value then error("what was waited for does not come", 2) end
  return value
end


--- Lets the loop turn for a while: only for "and nothing happens meanwhile", where no event can
--- be waited for.
---@param seconds number
function wait.pass(seconds)
  wait.until_true(function() return false end, seconds)
end


--- Lets handles that were closed finish. A handle that is still closing when Lua ends would make
--- luv crash, so whatever closes handles at the end of a test calls this.
function wait.until_closed()
  uv.run "nowait"
end


return wait
