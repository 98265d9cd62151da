--- Drives the event loop until something is so, with a deadline. Nothing in these tests sleeps:
--- they wait for what they expect, and the deadline is only there to fail.
local uv = require "luv"

local wait = {}

--- Seconds before a wait fails; far above anything a healthy server needs.
wait.DEADLINE = tonumber(os.getenv "PERIGEE_TEST_DEADLINE") or 15

--- How much more time and memory this build may take than one without sanitizers.
wait.SLOWNESS = wait.DEADLINE / 15

-- Things outside the loop (files, /proc, clients of perigee.client) are looked at this often.
local LOOK_AGAIN_MS = 10
local heartbeat = uv.new_timer()

-- The waits of tasks, by their coroutines: { number, patience, check, deadline }.
local tasks, started = {}, 0


local function step(task, ...)
  local ok, err = coroutine.resume(task, ...)
  if coroutine.status(task) == "dead" then tasks[task] = nil end
  if not ok then error(debug.traceback(task, err), 0) end
end


-- Lets those tasks go on that have what they wait for, or waited too long.
local function step_tasks()
  local ready = {}
  for task, waits in pairs(tasks) do
    local value = waits.check()
    if value or uv.now() >= waits.deadline then ready[#ready + 1] = { task, value, waits.number } end
  end
  table.sort(ready, function(a, b) return a[3] < b[3] end)
  for _, item in ipairs(ready) do step(item[1], item[2]) end
end


--- Runs a function beside others: while it waits, here, everything else goes on. It runs whenever
--- somebody waits who is no task.
---@param fn fun()
---@param patience? number seconds before a wait of it fails that says nothing else
function wait.start_task(fn, patience)
  started = started + 1
  tasks[coroutine.create(fn)] = {
    number = started, patience = patience or wait.DEADLINE, check = function() return true end, deadline = 0,
  }
end


--- Forgets all tasks, wherever they are.
function wait.drop_tasks()
  tasks = {}
end


--- Runs the loop until `check()` gives something true, and returns that; nil after the deadline.
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
