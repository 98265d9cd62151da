--- Runs the event loop until a condition holds, with a deadline. Tests do not sleep: they wait for an event,
--- and only a failure reaches the deadline.
local uv = require "luv"

local wait = {}

--- Seconds before a wait fails; far above anything a healthy server needs.
wait.DEADLINE = tonumber(os.getenv "PERIGEE_TEST_DEADLINE") or 15

--- The factor by which this build may need more time and memory than one without sanitizers.
wait.SLOWNESS = wait.DEADLINE / 15

-- Milliseconds between two looks at things outside the loop (files, /proc, clients of perigee.client).
local LOOK_AGAIN_MS = 10
local heartbeat = uv.new_timer()

-- The waits of tasks, by their coroutines: { number, patience, check, deadline }.
local tasks, started = {}, 0


local function step(task, ...)
  local ok, err = coroutine.resume(task, ...)
  if coroutine.status(task) == "dead" then tasks[task] = nil end
  if not ok then error(debug.traceback(task, err), 0) end
end


-- Resumes the tasks whose condition holds, and those that have waited too long.
local function step_tasks()
  local ready = {}
  for task, waits in pairs(tasks) do
    local value = waits.check()
    if value or uv.now() >= waits.deadline then ready[#ready + 1] = { task, value, waits.number } end
  end
  table.sort(ready, function(a, b) return a[3] < b[3] end)
  for _, item in ipairs(ready) do step(item[1], item[2]) end
end


--- Runs a function beside others as a task. When it waits, everything else goes on. Tasks run while the test
--- itself waits.
---@param fn fun()
---@param patience? number seconds after which its waits fail; a wait may name another time
function wait.start_task(fn, patience)
  started = started + 1
  tasks[coroutine.create(fn)] = {
    number = started, patience = patience or wait.DEADLINE, check = function() return true end, deadline = 0,
  }
end


--- Forgets all tasks, wherever they wait.
function wait.drop_tasks()
  tasks = {}
end


--- Runs the loop until `check()` returns a true value, and returns that; nil after the deadline.
---@param check fun(): any
---@param seconds? number
---@return any
function wait.until_true(check, seconds)
  local value = check()
  if value then return value end
  uv.update_time()
  local task = tasks[coroutine.running() or 0]
  if task then
    task.check, task.deadline = check, uv.now() + (seconds or task.patience) * 1000
    return coroutine.yield()
  end
  local deadline = uv.now() + (seconds or wait.DEADLINE) * 1000
  repeat
    heartbeat:start(LOOK_AGAIN_MS, LOOK_AGAIN_MS, function() end)
    uv.run "once"
    local client = package.loaded["perigee.client"]
    if client then client.update() end
    step_tasks()
    value = check()
  until value or uv.now() >= deadline
  heartbeat:stop()
  return value
end


--- Does the same as `until_true`, but raises an error at the deadline.
---@param check fun(): any
---@param seconds? number
---@return any
function wait.for_true(check, seconds)
  local value = wait.until_true(check, seconds)
  if not value then error("what was waited for does not come", 2) end
  return value
end


--- Runs the loop for a while. Only for "and nothing happens meanwhile", because then no event can be waited
--- for.
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
