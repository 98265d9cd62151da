--- How calls wait: in a coroutine of `spawn` they yield until the client is looked after again; anywhere
--- else they look after it themselves.

local library = require "perigee.client.native.library"

local TURN_MS = 50 -- that a call which blocks looks away

local spawned = setmetatable({}, { __mode = "k" }) -- coroutines -> what they wait for, or true
local failure -- what a coroutine raised

local tasks = {}


--- Seconds on a clock that never goes back.
---@return number
function tasks.now()
  return tonumber(library.perigee_clock_us()) / 1e6
end


local function resume(co, ...)
  local ok, problem = coroutine.resume(co, ...)
  if ok then return end
  failure = failure or (type(problem) == "string" and debug.traceback(co, problem) or problem)
end


--- Raises what a coroutine has raised.
function tasks.raise()
  local problem = failure
  failure = nil
  if problem then error(problem, 0) end
end


--- A place for results that are waited for.
---@return table
function tasks.slot()
  return { is_filled = false }
end


--- Fills a slot, once; the coroutine that waits goes on at once.
---@param slot table
function tasks.fill(slot, ...)
  if slot.is_filled then return end
  slot.is_filled, slot.count, slot.results = true, select("#", ...), { ... }
  if slot.waiting then resume(slot.waiting) end
end


--- Waits until a slot is filled, and returns what with; nil, "timeout" after `seconds`.
---@param client table that is looked after meanwhile
---@param slot table
---@param seconds? number
function tasks.wait(client, slot, seconds)
  local co = coroutine.running()
  local deadline = seconds and tasks.now() + seconds
  if not slot.is_filled and co and spawned[co] then
    slot.waiting, slot.deadline = co, deadline
    spawned[co] = slot
    coroutine.yield()
    spawned[co] = true
  end
  while not slot.is_filled do
    local left_ms = deadline and (deadline - tasks.now()) * 1000 or TURN_MS
    if left_ms <= 0 then
      tasks.fill(slot, nil, "timeout")
    else
      library.perigee_poll(client._handle, math.min(TURN_MS, left_ms))
      client:update()
    end
    tasks.raise()
  end
  return unpack(slot.results, 1, slot.count)
end


--- Runs `fn` in a coroutine, up to where it first waits.
---@param fn function
function tasks.spawn(fn, ...)
  local co = coroutine.create(fn)
  spawned[co] = true
  resume(co, ...)
  tasks.raise()
end


--- Ends the waits that have lasted long enough.
function tasks.update()
  local late, now = {}, tasks.now()
  for _, slot in pairs(spawned) do
    if slot ~= true and slot.deadline and now >= slot.deadline then late[#late + 1] = slot end
  end
  for _, slot in ipairs(late) do tasks.fill(slot, nil, "timeout") end
  tasks.raise()
end


return tasks
