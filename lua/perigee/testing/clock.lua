--- Virtual time, timed events, and waiting tasks. Nothing uses the real clock. Time is in milliseconds and
--- moves only while a task or the spec waits.
---
--- If a call outside a coroutine waits, it moves time from one due event to the next until its result exists.
--- If a task (a coroutine that `spawn` started) waits, it yields to that call. So any number of tasks can run
--- at the same time.

local failure = require "perigee.testing.failure"
local timers = require "perigee.client.timers"

local ROUNDS_MAX = 20000 -- limit of rounds in one instant; without a limit, time might never advance
local HUGE = math.huge

---@class perigee.testing.Clock
---@field now integer milliseconds since the server's start
local Clock = {}
Clock.__index = Clock

local clock = {}


--- Returns a clock. `turn(now)` makes the server do its due work; `due()` returns the time of the server's
--- next work. `random`, if given, decides the order of events with the same time.
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
    _timers = timers.new(),
    _tasks = {}, -- coroutine -> task
    _task_count = 0,
    _failures = {},
    _rounds = 0, -- rounds in the current instant
  }, Clock)
end


-- Timed events -----------------------------------------------------------------------------------

--- Calls `fn(argument)` at a time. Returns an entry for `cancel`.
---@param at integer milliseconds
---@param fn fun(argument: any)
---@param argument any
---@return table entry
function Clock:at(at, fn, argument)
  return self._timers:add(at, fn, argument, self._random and self._random:fraction())
end


--- Cancels an entry that `at` returned.
---@param entry table
function Clock:cancel(entry)
  self._timers:cancel(entry)
end


-- Counts a round in the current instant; raises an error after too many rounds.
local function count_round(self)
  self._rounds = self._rounds + 1
  if self._rounds <= ROUNDS_MAX then return end
  failure.raise("time stands still at %.3f s: game, clients and tasks go on without end, and nothing "
    .. "takes any time", self.now / 1000)
end


local function run_due(self)
  local entry, last = self._timers:next(), self._timers.added
  while entry and entry.due <= self.now do
    -- counts only entries that were added meanwhile, because each may add another without end
    if (entry.number or entry.order) > last then count_round(self) end
    self._timers:call()
    entry = self._timers:next()
  end
end


--- If an event is due at `limit` or before, moves time to that event, runs it, and returns true. Otherwise
--- moves time to `limit` and returns false.
---@param limit integer
---@return boolean
function Clock:step(limit)
  local entry, at = self._timers:next(), self._due() or HUGE
  if entry and entry.due < at then at = entry.due end
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

---@class perigee.testing.Future
---@field is_filled boolean

--- Returns a future for a result that a task waits for.
---@return perigee.testing.Future
function clock.future()
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


--- Sets the results of a future and resumes the task that waits for it. Later calls for this future do
--- nothing.
---@param future perigee.testing.Future
function Clock:fill(future, ...)
  if future.is_filled then return end
  future.is_filled = true
  future.count, future.results = select("#", ...), { ... }
  if future.entry then self:cancel(future.entry) end
  if future.task then resume(self, future.task) end
end


local function time_out(argument)
  argument.clock:fill(argument.future, nil, "timeout")
end


local function wake(task)
  resume(task.clock, task)
end


--- Waits for the results of a future and returns them. Returns nil, "timeout" if they do not arrive in time.
---@param future perigee.testing.Future
---@param milliseconds number
function Clock:wait(future, milliseconds)
  local limit = self.now + milliseconds
  local co = coroutine.running()
  local task = co and self._tasks[co]
  if task and not future.is_filled then
    future.task = task
    if limit < HUGE then
      future.entry = self:at(limit, time_out, { clock = self, future = future })
    end
    coroutine.yield()
  elseif not task then
    self._rounds = 0
    while not future.is_filled and self:step(limit) do end
  end
  if not future.is_filled then
    future.is_filled = true -- later results must not fill the future
    return nil, "timeout"
  end
  return unpack(future.results, 1, future.count)
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


--- Starts a task: runs `fn(...)` in a coroutine until it first waits.
---@param fn function
---@return perigee.testing.Future ended future of the results of `fn`
function Clock:spawn(fn, ...)
  local ended = clock.future()
  local co = coroutine.create(function(...) self:fill(ended, fn(...)) end)
  local task = { co = co, clock = self }
  self._tasks[co] = task
  self._task_count = self._task_count + 1
  resume(self, task, ...)
  return ended
end


--- Removes the oldest error of a task from the list of unreported errors and returns it, or nil.
---@return any problem
function Clock:take_failure()
  return table.remove(self._failures, 1)
end


--- Returns the number of tasks that have not ended.
---@return integer
function Clock:count_tasks()
  return self._task_count
end


return clock
