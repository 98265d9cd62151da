--- Virtual time: what is to happen when, and who waits for what. Nothing here is the real clock's.
--- Time is in milliseconds and moves only while somebody waits.
---
--- Whoever waits outside a coroutine drives: time is moved from one due thing to the next until
--- what it waits for is there. A task (a coroutine started by `spawn`) that waits yields to whoever
--- drives, so any number of them play at the same time.

local failure = require "perigee.testing.failure"

local ROUNDS_MAX = 20000 -- in one instant and one wait; more, and time would never go on
local HUGE = math.huge

---@class perigee.testing.Clock
---@field now integer milliseconds since the server's start
local Clock = {}
Clock.__index = Clock

local clock = {}


--- `turn(now)` has the server do what is due; `due()` says when the next of that is. `random`, if
--- given, decides what comes first of things that are due at the same time.
---@param turn fun(now: integer)
---@param due fun(): integer?
---@param random? perigee.testing.Random
---@return perigee.testing.Clock
function clock.new(turn, due, random)
  return setmetatable({
    now = 0,
    _turn = turn,
    _due = due,
    _random = random,
    _heap = {}, -- entries, the next one first
    _count = 0,
    _made = 0, -- entries so far
    _tasks = {}, -- coroutine -> task
    _task_count = 0,
    _failures = {},
    _rounds = 0, -- in this instant
  }, Clock)
end


-- What is due -----------------------------------------------------------------------------------

local function is_before(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.order < b.order
end


local function push(self, entry)
  local heap = self._heap
  local at = self._count + 1
  self._count = at
  while at > 1 do
    local parent = (at - at % 2) / 2
    if not is_before(entry, heap[parent]) then break end
    heap[at], at = heap[parent], parent
  end
  heap[at] = entry
end


local function pop(self)
  local heap, count = self._heap, self._count
  local first, last = heap[1], heap[count]
  heap[count] = nil
  count = count - 1
  self._count = count
  local at = 1
  while 2 * at <= count do
    local child = 2 * at
    if child < count and is_before(heap[child + 1], heap[child]) then child = child + 1 end
    if not is_before(heap[child], last) then break end
    heap[at], at = heap[child], child
  end
  if count > 0 then heap[at] = last end
  return first
end


--- Calls `fn(argument)` at a time. The entry that is returned can be called off.
---@param at integer milliseconds
---@param fn fun(argument: any)
---@param argument any
---@return table entry
function Clock:at(at, fn, argument)
  local made = self._made + 1
  self._made = made
  local order = self._random and self._random:fraction() or made
  local entry = { at = at, order = order, made = made, fn = fn, argument = argument }
  push(self, entry)
  return entry
end


--- Calls off what `at` returned.
---@param entry table
function Clock.cancel(_, entry)
  entry.fn = nil
end


-- One more thing happens in this instant; too many, and it is the last.
local function count_round(self)
  self._rounds = self._rounds + 1
  if self._rounds <= ROUNDS_MAX then return end
  failure.raise("time stands still at %.3f s: game, clients and tasks go on without end, and nothing "
    .. "takes any time", self.now / 1000)
end


local function run_due(self)
  local heap = self._heap
  local first_new = self._made -- what was there before is bounded; what follows from it need not be
  while self._count > 0 and heap[1].at <= self.now do
    local entry = pop(self)
    if entry.made > first_new then count_round(self) end
    if entry.fn then entry.fn(entry.argument) end
  end
end


--- Moves time to the next due thing, not beyond `limit`, and does it. Returns whether there was
--- one; without one it is `limit` now.
---@param limit integer
---@return boolean
function Clock:step(limit)
  local at, due = HUGE, self._due()
  if self._count > 0 then at = self._heap[1].at end
  if due and due < at then at = due end
  if at < self.now then at = self.now end
  if at == HUGE and limit == HUGE then
    failure.raise "this waits for ever: nothing is left that could happen"
  end
  local is_there = at <= limit
  if not is_there then at = limit end
  if at > self.now then self._rounds = 0 end
  count_round(self)
  self.now = at
  run_due(self)
  self._turn(at)
  if #self._failures > 0 then error(self:take_failure(), 0) end
  return is_there
end


-- Waiting ---------------------------------------------------------------------------------------

---@class perigee.testing.Slot
---@field is_filled boolean

--- A place for results that are waited for.
---@return perigee.testing.Slot
function clock.slot()
  return { is_filled = false }
end


local function resume(self, task, ...)
  local ok, problem = coroutine.resume(task.co, ...)
  if coroutine.status(task.co) ~= "dead" then return end
  self._tasks[task.co] = nil
  self._task_count = self._task_count - 1
  if not ok then
    if type(problem) == "string" then problem = debug.traceback(task.co, problem) end
    self._failures[#self._failures + 1] = problem
  end
end


--- Fills a slot, once; who waits goes on.
---@param slot perigee.testing.Slot
function Clock:fill(slot, ...)
  if slot.is_filled then return end
  slot.is_filled = true
  slot.count, slot.results = select("#", ...), { ... }
  if slot.entry then self:cancel(slot.entry) end
  if slot.task then resume(self, slot.task) end
end


local function time_out(argument)
  argument.clock:fill(argument.slot, nil, "timeout")
end


local function wake(task)
  resume(task.clock, task)
end


--- Waits until the slot is filled and returns what it was filled with; nil, "timeout" when it is
--- not in time.
---@param slot perigee.testing.Slot
---@param milliseconds number
function Clock:wait(slot, milliseconds)
  local limit = self.now + milliseconds
  local co = coroutine.running()
  local task = co and self._tasks[co]
  if task and not slot.is_filled then
    slot.task = task
    if limit < HUGE then
      slot.entry = self:at(limit, time_out, { clock = self, slot = slot })
    end
    coroutine.yield()
  elseif not task then
    self._rounds = 0
    while not slot.is_filled and self:step(limit) do end
  end
  if not slot.is_filled then
    slot.is_filled = true -- nothing may fall into it any more
    return nil, "timeout"
  end
  return unpack(slot.results, 1, slot.count)
end


--- Lets time pass.
---@param milliseconds number
function Clock:sleep(milliseconds)
  local limit = self.now + milliseconds
  local co = coroutine.running()
  local task = co and self._tasks[co]
  if task then
    self:at(limit, wake, task)
    return coroutine.yield()
  end
  self._rounds = 0
  while self:step(limit) do end
end


--- Starts a task: `fn(...)` in a coroutine, up to where it first waits.
---@param fn function
---@return perigee.testing.Slot ended filled with what it returns
function Clock:spawn(fn, ...)
  local ended = clock.slot()
  local co = coroutine.create(function(...) self:fill(ended, fn(...)) end)
  local task = { co = co, clock = self }
  self._tasks[co] = task
  self._task_count = self._task_count + 1
  resume(self, task, ...)
  return ended
end


--- The error of a task that nobody has seen yet.
---@return any problem
function Clock:take_failure()
  return table.remove(self._failures, 1)
end


--- How many tasks have not ended.
---@return integer
function Clock:count_tasks()
  return self._task_count
end


return clock
