--- The beginning of matches: asks the script about what the matcher has found, makes the room, and reserves
--- the seats. Players who were added to a match that has begun get seats at once.

local core = require "perigee.core"
local cycles = require "perigee.matchmaking.cycles"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local fill = require "perigee.matchmaking.fill"
local queues = require "perigee.matchmaking.queues"
local rooms = require "perigee.api.rooms"
local seats = require "perigee.matchmaking.seats"

local starts = {
  objects_of = nil, ---@type fun(tickets: perigee.QueueTicket[]): perigee.Ticket[] for on_match
}

local ran = core.ran() -- as in host/init.lua
local last_id = 0

-- Calls on_match of the queue. Returns the options of the room; false: the tickets may not meet.
local function judge(queue, tickets)
  local handler = queue.rules.on_match
  if not handler then
    return {}
  end
  ran[1] = handler
  local answer = handler(starts.objects_of(tickets))
  if answer == nil or answer == true then
    return {}
  elseif answer ~= false and type(answer) ~= "table" then
    fault.raise("on_match of the matchmaker %s returns false, or a table of options for the room, not %s",
      queue.name, fault.kind(answer))
  end
  return answer
end

-- Returns a new match with its room; or nil, a sentence and a code.
local function make_room(queue, answer, found)
  local name
  repeat
    last_id = last_id + 1
    name = ("%s:%s%d"):format(queue.rules.room, queue.name, last_id)
  until not core.room_find(name, true)
  local match, options = seats.new_match(last_id, queue, found), {}
  for key, value in next, answer do
    options[key] = value
  end
  options.match = seats.describe(match)
  local room, problem, code = rooms.api.create(name, options, { permanent = false })
  if not room then
    return nil, problem, code
  end
  seats.set_room(match, room.id)
  return match
end

-- Returns the tickets that have not been cancelled, and whether these are all.
local function without_cancelled(tickets)
  local whole = {}
  for _, ticket in ipairs(tickets) do
    if not ticket.is_cancelled then
      whole[#whole + 1] = ticket
    end
  end
  return whole, #whole == #tickets
end

-- Makes the room of a match. If that is impossible, its tickets wait again.
local function start(queue, rules, found)
  local answer = judge(queue, found.tickets)
  local tickets, is_whole = without_cancelled(found.tickets)
  local match, problem, code
  if answer and is_whole and queue.rules == rules and queues.find(queue.name) == queue then
    match, problem, code = make_room(queue, answer, found)
  end
  if match then
    seats.bring(match, tickets)
    return
  end
  queues.put_back(tickets, answer == false)
  if problem then
    errors.log(core.levels.warn, ("the matchmaker %s cannot make a room: %s"):format(queue.name, problem),
      nil, nil, "matchmaker " .. queue.name)
    if code == "ServerFull" then
      cycles.wait_for_rooms(queue)
    end
  end
end


-- Takes what the matcher has found: makes the room of a new match, or adds players to one that has begun.
function cycles.on_match(queue, found)
  local tickets = found.tickets
  if not found.open then
    for _, ticket in ipairs(tickets) do
      ticket.match = found -- until the room exists
    end
    cycles.begin(0, "matchmaker " .. queue.name .. ".on_match", start, function()
      queues.put_back(without_cancelled(tickets), true)
    end, queue, queue.rules, found)
  elseif fill.is_open(found.open.match) then
    seats.add(found.open.match, tickets, found.teams)
    seats.bring(found.open.match, tickets)
  else -- the script has locked or deleted the room
    queues.put_back(tickets, false)
  end
end

return starts
