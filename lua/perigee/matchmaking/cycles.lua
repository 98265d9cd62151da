--- The cycles of queues: makes matches of the tickets that wait, ends those that have waited too long, and
--- reports positions. A cycle ends with its share of work, and the next one continues there.

local core = require "perigee.core"
local journal = require "perigee.host.journal"
local matcher = require "perigee.matchmaking.matcher"
local sorted_keys = require "perigee.util.sorted_keys"
local tasks = require "perigee.host.tasks"
local tickets = require "perigee.matchmaking.tickets"
local timers = require "perigee.host.timers"

local CYCLE = 0.2 -- seconds between two cycles
local FULL = 1 -- seconds until the next match, when the server has too many rooms
local REPORT_EVERY = 5 -- seconds between two reports of a ticket's position
local STEPS = 100 -- tickets or matches that are looked at between two pauses
local WAITS = 20 -- matched tickets whose waiting times make the estimate

---@class perigee.Queue
---@field name string
---@field rules perigee.QueueRules
---@field matcher table
---@field timer table? entry of the next cycle
---@field is_running boolean a cycle is running
---@field full_until number time at which rooms can be made again
---@field waits number[] waiting times of the last matched tickets, in seconds
---@field reported number time of the last report of positions
---@field matches integer matches made so far

local cycles = {
  on_match = nil, ---@type fun(queue: perigee.Queue, match: perigee.FoundMatch) starts.lua takes a match
  review = nil, ---@type fun(queue: perigee.Queue) seats.lua offers the matches that lack players
  publish = nil, ---@type fun() queues.lua gives the figures of all queues to the core
}


--- Returns a queue that has no rules yet.
---@param name string
---@return perigee.Queue
function cycles.new_queue(name)
  return { name = name, waits = {}, reported = 0, matches = 0, is_running = false, full_until = 0 }
end


--- Runs a function of the host as a task that survives reloads. If it fails, `on_failure` is called.
---@param delay number seconds
---@param label string
---@param fn function
---@param on_failure function?
---@param ... any arguments for `fn`
---@return table entry of the task
function cycles.begin(delay, label, fn, on_failure, ...)
  local task = { fn = fn, label = label, args = { n = select("#", ...), ... }, is_host = true }
  task.on_failure = on_failure and function()
    on_failure()
    core.commit() -- otherwise its commands end with those of the task
  end
  timers.begin(task, delay)
  task.owned = false
  return task
end


--- Returns the mean waiting time of the last matched tickets, in whole seconds.
---@param queue perigee.Queue
---@return integer?
function cycles.estimate(queue)
  local sum = 0
  for _, wait in ipairs(queue.waits) do
    sum = sum + wait
  end
  return #queue.waits > 0 and math.floor(sum / #queue.waits + 0.5) or nil
end


--- Notifies the players of a ticket that they wait.
---@param ticket perigee.QueueTicket
---@param position integer
function cycles.notify_queued(ticket, position)
  local queue = ticket.queue
  ticket.reported = position
  tickets.notify_all(ticket, "queued", {
    queue = queue.name, ticket = ticket.id, position = position, estimate = cycles.estimate(queue),
  })
end


--- Lets other tasks run after every STEPS steps.
---@param step integer
function cycles.pause_after(step)
  if step % STEPS == 0 then
    tasks.sleep(0)
  end
end


--- Makes no more matches for a moment, because the server has too many rooms.
---@param queue perigee.Queue
function cycles.wait_for_rooms(queue)
  queue.full_until = core.now() + FULL
end

-- A cycle --------------------------------------------------------------------------------------

-- Ends the tickets that have waited too long. The list is sorted by age.
local function end_old(queue, now)
  local limit, old = queue.rules.timeout, {}
  for _, ticket in ipairs(queue.matcher.order) do
    if now - ticket.entered < limit then
      break
    end
    old[#old + 1] = ticket
  end
  for i, ticket in ipairs(old) do
    if queue.matcher:remove(ticket.id) then
      tickets.forget(ticket)
      tickets.notify_all(ticket, "timeout", { queue = queue.name, ticket = ticket.id })
    end
    cycles.pause_after(i)
  end
end

local function report_positions(queue, now)
  if now - queue.reported < REPORT_EVERY then
    return
  end
  queue.reported = now
  local position, moved, places = 0, {}, {}
  for _, ticket in ipairs(queue.matcher.order) do
    if not ticket.is_gone then
      position = position + 1
      if ticket.reported ~= position then
        moved[#moved + 1], places[#places + 1] = ticket, position
      end
    end
  end
  for i, ticket in ipairs(moved) do
    if not ticket.is_gone then
      cycles.notify_queued(ticket, places[i])
    end
    cycles.pause_after(i)
  end
end

local function note_waits(queue, match, now)
  for _, ticket in ipairs(match.tickets) do
    local waits = queue.waits
    waits[#waits + 1] = now - ticket.entered
    if #waits > WAITS then
      table.remove(waits, 1)
    end
  end
end

local function make_matches(queue)
  local left, is_complete = matcher.CYCLE_WORK, false
  while left > 0 and not is_complete and core.now() >= queue.full_until do
    local now = core.now()
    local found
    found, is_complete = queue.matcher:run(now, matcher.SLICE_WORK)
    left = left - matcher.SLICE_WORK
    for _, match in ipairs(found) do
      note_waits(queue, match, now)
      queue.matches = queue.matches + 1
      cycles.on_match(queue, match)
    end
    if not is_complete then
      tasks.sleep(0)
    end
  end
end

local function run(queue)
  queue.timer, queue.is_running = nil, true
  cycles.review(queue)
  make_matches(queue)
  end_old(queue, core.now())
  report_positions(queue, core.now())
  cycles.publish()
  queue.is_running = false
  cycles.schedule(queue)
end


--- Begins a cycle in a moment, if tickets wait and no cycle is due.
---@param queue perigee.Queue
function cycles.schedule(queue)
  if queue.timer or queue.is_running or queue.matcher.count == 0 then
    return
  end
  journal.set(queue, "timer", cycles.begin(CYCLE, "matchmaker " .. queue.name, run, function()
    queue.timer, queue.is_running = nil, false
    cycles.schedule(queue)
  end, queue))
end


--- Gives the figures of queues to the core, for `perigee queues` and the control API. A cycle follows each
--- change of a queue, and does this.
---@param stats table<string, table> by name
function cycles.set_figures(stats)
  local list = {}
  for i, name in ipairs(sorted_keys(stats)) do
    local queue = stats[name]
    list[i] = ('{"name":"%s","tickets":%d,"players":%d,"matches":%d,"wait":%s}'):format(name, queue.tickets,
      queue.players, queue.matches, queue.wait or "null")
  end
  core.set_queues(('{"count":%d,"queues":[%s]}'):format(#list, table.concat(list, ",")))
end

return cycles
