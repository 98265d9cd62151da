--- Matches that have begun and lack players: offers their places to the queue.

local core = require "perigee.core"
local cycles = require "perigee.matchmaking.cycles"
local matcher = require "perigee.matchmaking.matcher"
local queues = require "perigee.matchmaking.queues"

local fill = {}


--- Returns whether players can join the room of a match. A room that the script has deleted still exists
--- while it has members.
---@param match perigee.SeatedMatch
---@return boolean
function fill.has_room(match)
  local name = core.room_name(match.room)
  return name ~= nil and core.room_find(name, true) == match.room
end

-- Returns whether the rules of the live version have a place for a ticket of a match that has begun. Its
-- players keep their roles.
local function suits(ticket)
  local found = ticket.queue.rules
  if not queues.adapt(ticket) or ticket.team > found.teams then
    return false
  end
  for _, player in ipairs(ticket.players) do
    if found.roles and player.role then
      player.roles = { [player.role] = true }
    end
  end
  return true
end

-- Returns whether the room is unlocked and has a free place, besides the reserved ones.
local function has_place(match)
  local settings, seats = core.room_settings(match.room), 0
  for _ in next, match.seats do
    seats = seats + 1
  end
  return not settings.locked and seats < match.queue.rules.max
    and (not settings.capacity or core.room_count(match.room) + match.missing < settings.capacity)
end


--- Returns whether a match takes more players.
---@param match perigee.SeatedMatch
---@return boolean
function fill.is_open(match)
  local queue = match.queue
  if not queue.rules.fill or not match.has_begun or not match.tickets[1]
    or queues.find(queue.name) ~= queue or not fill.has_room(match) or not has_place(match) then
    return false
  end
  for _, ticket in ipairs(match.tickets) do
    if not suits(ticket) then
      return false
    end
  end
  return true
end


local function keys_of_seated(match)
  local seated = {}
  for _, seat in next, match.seats do
    seated[seat.player.key] = true
  end
  return seated
end


--- Offers the free places of a match to the queue; withdraws the offer if the match takes no more players.
---@param match perigee.SeatedMatch
function fill.offer(match)
  local queue = match.queue
  queue.matcher:set_open(match.id, fill.is_open(match) and {
    id = match.id, match = match, tickets = match.tickets, seated = keys_of_seated(match), due = 0,
    same = matcher.same_key(queue.rules, match.tickets[1].values),
  } or nil)
  cycles.schedule(queue)
end

return fill
