--- The loop on which all clients of the process wait. It also runs timers and watches one descriptor for a
--- tool. While the loop does not run, a call that waits runs it. While the loop runs, a call that waits
--- yields its coroutine, so that one process can have any number of clients.

local core = require "perigee.client.dependency" "perigee.client.core"
local checked = require "perigee.client.options"
local new_timers = require("perigee.client.timers").new

local loop = { now = core.now }

local set, timers = core.loop(), new_timers()
local clients, count = {}, 0 -- the open clients, by the keys that `set` gives them; their number
local watched, descriptor -- function and descriptor of `loop.watch`
local is_running = false
local filled = 0 -- number of futures filled so far

--- Errors of coroutines. The function that runs the loop raises them again.
local failures = {}


-- Coroutines ------------------------------------------------------------------------------------

local function resume(co, ...)
  local ok, problem = coroutine.resume(co, ...)
  if ok then return end
  if type(problem) == "string" then problem = debug.traceback(co, problem) end
  if not is_running then error(problem, 0) end
  failures[#failures + 1] = problem
end


local resting = {} -- coroutines of `enter` without work; they save garbage, because handlers are many

local function work(fn, ...)
  fn(...)
  resting[#resting + 1] = coroutine.running()
  return work(coroutine.yield())
end


--- Runs `fn` in a separate coroutine until it first waits.
---@param fn function
function loop.enter(fn, ...)
  resume(table.remove(resting) or coroutine.create(work), fn, ...)
end


local function due_in(seconds)
  return loop.now() + (seconds > 0 and seconds or 0) -- not math.max, which may return NaN
end


--- Calls `fn` on the loop after `seconds`; returns a function that cancels the call.
---@param seconds number
---@param fn function
---@return fun()
function loop.after(seconds, fn)
  local item = timers:add(due_in(seconds), fn)
  return function() timers:cancel(item) end
end


--- Runs `fn` in a coroutine, from the loop's next iteration on.
---@param fn function
function loop.spawn(fn, ...)
  local arguments, last = { ... }, select("#", ...)
  loop.after(0, function() resume(coroutine.create(fn), unpack(arguments, 1, last)) end)
end


-- Calls all items that are due. New items that these calls add stay for the next run.
local function run_due(now)
  local item, last = timers:next(), timers.added
  while item and item.due <= now and item.order <= last do
    timers:call()
    item = timers:next()
  end
end


-- The loop --------------------------------------------------------------------------------------

--- Adds a client to the loop until `remove`. The client has the fields `_core` and `_drain`.
---@param client table
function loop.add(client)
  clients[set:add(client._core)], count = client, count + 1
end


---@param client table
function loop.remove(client)
  local key = set:remove(client._core)
  if key then clients[key], count = nil, count - 1 end
end


--- Calls `fn()` in each iteration, and begins an iteration when the descriptor `fd` can be read. Only one
--- descriptor can be watched. `fn` returns the seconds until its next call, or nil to wait for the descriptor
--- alone.
---@param fd integer
---@param fn fun(): number?
function loop.watch(fd, fn)
  watched, descriptor = fn, fd
end


local function is_idle()
  return count == 0 and not watched and not timers:next()
end


local function iterate(limit)
  local before = filled
  run_due(loop.now())
  limit = math.min(limit, watched and watched() or math.huge)
  -- The iteration must not wait if a result may have arrived or an error must be raised.
  if filled > before or #failures > 0 then limit = 0 end
  local item = timers:next()
  if item then limit = math.min(limit, math.max(item.due - loop.now(), 0)) end
  for _, key in ipairs(set:wait(limit < math.huge and limit or nil, descriptor)) do
    if clients[key] then clients[key]:_drain() end
  end
  run_due(loop.now())
end


-- Runs one iteration of at most `limit` seconds, then raises the errors of coroutines.
local function run_once(limit)
  is_running = true
  local ok, problem = pcall(iterate, limit)
  is_running = false
  if not ok then error(problem, 0) end
  if #failures > 0 then error(table.remove(failures, 1), 0) end
end


--- Does all due work without waiting.
function loop.update()
  if not is_running then run_once(0) end
end


-- Runs the loop until the future has its results, or nothing is left to wait for.
local function drive(future)
  if is_running then
    error("this call waits, and the loop runs already: wrap the code in client.spawn", 0)
  end
  while not future.is_filled and not is_idle() do run_once(math.huge) end
end


-- Waiting ---------------------------------------------------------------------------------------

---@class perigee.client.Future
---@field is_filled? boolean nil: not yet

--- Returns a future: `loop.fill` sets its results, `loop.wait` waits for them and returns them.
---@return perigee.client.Future
function loop.future()
  return {}
end


--- Sets the results of a future and resumes the coroutines that wait for it. Later calls for this future do
--- nothing.
---@param future perigee.client.Future
function loop.fill(future, ...)
  if future.is_filled then return end
  filled = filled + 1
  future.is_filled, future.count = true, select("#", ...)
  if future.count > 0 then future.results = { ... } end
  for i = 1, #future do resume(future[i]) end
end


--- Returns whether the caller may wait: the loop does not run, or the caller is in a coroutine.
---@return boolean
function loop.can_wait()
  return not is_running or coroutine.running() ~= nil
end


--- Returns whether the loop is running. A running loop sends output in its next iteration.
---@return boolean
function loop.is_running()
  return is_running
end


local function time_out(future)
  loop.fill(future, nil, "timeout")
end


--- Waits for the results of a future and returns them. Returns nil, "timeout" if they do not arrive within
--- `seconds` (nil: no limit), and nil, "closed" if nothing is left to wait for.
---@param future perigee.client.Future
---@param seconds? number
function loop.wait(future, seconds)
  if not future.is_filled then
    local timer = seconds and timers:add(due_in(seconds), time_out, future)
    local ok, problem = true, nil
    if is_running and coroutine.running() then
      future[#future + 1] = coroutine.running()
      coroutine.yield()
    else
      ok, problem = pcall(drive, future)
      future.is_filled = true -- also after an error, because later results must not fill the future
    end
    if timer then timers:cancel(timer) end
    if not ok then error(problem, 0) end
  end
  return unpack(future.results or { nil, "closed" }, 1, future.count or 2)
end


--- Waits for `seconds`, while the loop runs.
---@param seconds number
function loop.sleep(seconds)
  checked.seconds("client.sleep", seconds)
  loop.wait(loop.future(), seconds)
end


--- Runs `fn` in a coroutine, and runs the loop until `fn` returns. Returns the results of `fn`. Without `fn`,
--- runs the loop until no work is left. Raises the error of any coroutine.
---@param fn? function
function loop.run(fn, ...)
  local future = loop.future()
  if not fn then
    drive(future)
    return
  end
  loop.spawn(function(...) loop.fill(future, fn(...)) end, ...)
  return loop.wait(future)
end


return loop
