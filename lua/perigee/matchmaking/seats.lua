--- The seats of matches: keeps a place in the room of a match for each player, and brings the players there.
--- A match begins when all have come. If a player does not come in time, the match ends, and the others are
--- in the queue again. A match that has begun may get more players from the queue (fill.lua).

local core = require "perigee.core"
local cycles = require "perigee.matchmaking.cycles"
local fill = require "perigee.matchmaking.fill"
local joins = require "perigee.host.joins"
local live = require "perigee.host.live"
local queues = require "perigee.matchmaking.queues"
local registry = require "perigee.host.registry"
local tasks = require "perigee.host.tasks"
local tickets = require "perigee.matchmaking.tickets"

local SEAT_SECONDS = 15 -- time that a player has to take its seat
local LOOK = 0.25 -- seconds between two looks whether a suspended player is back

local ran = core.ran() -- as in host/init.lua

--- A match with its room.
---@class perigee.SeatedMatch
---@field id integer
---@field queue perigee.Queue
---@field room integer
---@field tickets perigee.QueueTicket[] with the number of their team in `team`
---@field seats table<integer, perigee.Seat> by peer
---@field missing integer seats that have not been taken yet
---@field has_begun boolean

---@class perigee.Seat
---@field ticket perigee.QueueTicket
---@field player perigee.MatchPlayer
---@field is_taken boolean

local seats = {}

local of_room = {} ---@type table<integer, perigee.SeatedMatch>

-- The players ----------------------------------------------------------------------------------


--- Returns a match as scripts and clients see it.
---@param match perigee.SeatedMatch
---@return table
function seats.describe(match)
  local players = {}
  for _, ticket in ipairs(match.tickets) do
    for _, player in ipairs(ticket.players) do
      players[#players + 1] = { id = player.peer, name = core.peer_name(player.peer), team = ticket.team,
        role = player.role }
    end
  end
  return { id = match.id, queue = match.queue.name, players = players }
end


--- Gives tickets seats in a match. None of their players has come yet.
---@param match perigee.SeatedMatch
---@param list perigee.QueueTicket[]
---@param teams integer[] number of the team of each ticket
function seats.add(match, list, teams)
  for i, ticket in ipairs(list) do
    ticket.team, ticket.match = teams[i], match
    match.tickets[#match.tickets + 1] = ticket
    for _, player in ipairs(ticket.players) do
      match.seats[player.peer] = { ticket = ticket, player = player, is_taken = false }
      match.missing = match.missing + 1
    end
  end
end


--- Returns a match without a room, which has seats for the players that the matcher has found.
---@param id integer
---@param queue perigee.Queue
---@param found perigee.FoundMatch
---@return perigee.SeatedMatch
function seats.new_match(id, queue, found)
  local match = { id = id, queue = queue, room = 0, tickets = {}, seats = {}, missing = 0, has_begun = false }
  seats.add(match, found.tickets, found.teams)
  return match
end


--- Sets the room of a match.
---@param match perigee.SeatedMatch
---@param room integer
function seats.set_room(match, room)
  match.room = room
  of_room[room] = match
end

local function notify_matched(match, list)
  local described = seats.describe(match)
  for _, ticket in ipairs(list) do
    ticket.knows_match = true
    for _, player in ipairs(ticket.players) do
      tickets.notify(player.peer, "matchmaker.matched", {
        queue = match.queue.name, ticket = ticket.id, room = core.room_name(match.room), team = ticket.team,
        role = player.role, players = described.players, seconds = SEAT_SECONDS,
      })
    end
  end
end

-- Forgets a ticket and its seats.
local function drop_ticket(match, ticket)
  for i, other in ipairs(match.tickets) do
    if other == ticket then
      table.remove(match.tickets, i)
      break
    end
  end
  for _, player in ipairs(ticket.players) do
    local seat = match.seats[player.peer]
    if seat and seat.ticket == ticket then
      match.missing = match.missing - (seat.is_taken and 0 or 1)
      match.seats[player.peer] = nil
    end
  end
  ticket.match = nil
end

-- Matches and tickets that end ------------------------------------------------------------------

-- Takes a ticket out of a match, and its players out of the room.
local function send_away(match, ticket, why)
  for _, player in ipairs(ticket.players) do
    if core.room_has(match.room, player.peer) then
      core.leave(player.peer, match.room, core.codes.ConnectionClosed, why)
    end
  end
  drop_ticket(match, ticket)
end

-- Ends a match that cannot begin without a ticket.
local function end_match(match, lost)
  local others = {}
  for _, ticket in ipairs({ unpack(match.tickets) }) do
    others[#others + 1] = ticket ~= lost and ticket or nil
    send_away(match, ticket, "a player of the match did not come")
  end
  of_room[match.room] = nil
  core.room_delete(match.room)
  queues.put_back(others, false)
end

-- Ends the ticket of a player who has not come, and a match that cannot begin without it. The player may not
-- enter a queue for `penalty` seconds.
local function miss(match, seat, reason, penalty)
  local ticket = seat.ticket
  if ticket.match ~= match then
    return
  end
  tickets.punish(seat.player.key, penalty)
  tickets.finish(ticket, reason)
  if match.has_begun then
    send_away(match, ticket, "a player of its ticket did not come")
    fill.offer(match)
  else
    end_match(match, ticket)
  end
end

-- Handles that nobody can join the room of a match any more, because the script has deleted it, or because
-- its on_create has failed. The tickets that have not come wait again.
local function abandon(match)
  of_room[match.room] = match.has_begun and match or nil
  match.queue.matcher:set_open(match.id, nil)
  local waiting = {}
  for _, ticket in ipairs({ unpack(match.tickets) }) do
    if tickets.of(ticket.players[1].peer) == ticket then
      waiting[#waiting + 1] = ticket
      send_away(match, ticket, "the room of the match was deleted")
    end
  end
  queues.put_back(waiting, not match.has_begun)
end

-- Coming ---------------------------------------------------------------------------------------

local function call_start(match)
  local room = rawget(registry.rooms, match.room)
  local handler = room and live.of_room[match.room].on_match_start
  ran[1] = handler
  if handler then
    handler(room, seats.describe(match))
  end
end

-- Handles that a player has its seat.
local function sit(match, seat)
  seat.is_taken = true
  match.missing = match.missing - 1
  for _, player in ipairs(seat.ticket.players) do
    if match.seats[player.peer] and not match.seats[player.peer].is_taken then
      return
    end
  end
  if match.has_begun then
    tickets.forget(seat.ticket)
  elseif match.missing == 0 then
    match.has_begun = true
    for _, ticket in ipairs(match.tickets) do
      tickets.forget(ticket)
    end
    cycles.begin(0, match.queue.rules.room .. ".on_match_start", call_start, nil, match)
  end
  fill.offer(match)
end

-- Joins a player to the room of its match; returns whether the outcome is certain.
local function take_seat(match, seat, options)
  local peer, penalty = seat.player.peer, match.queue.rules.penalty
  local ok, reason, code = joins.wait(peer, match.room, options)
  if seat.ticket.match ~= match then
    return true
  elseif core.room_has(match.room, peer) then
    sit(match, seat)
  elseif ok or code == "AlreadyInRoom" then
    miss(match, seat, "left", penalty)
  elseif not fill.has_room(match) then
    abandon(match)
  elseif code == "ConnectionClosed" or code == "ConnectionReset" then
    return false
  else
    miss(match, seat, reason, code == "Rejected" and penalty or 0)
  end
  return true
end

-- Brings a player to its seat, as soon as it is connected.
local function bring(match, seat)
  local peer, due = seat.player.peer, core.now() + SEAT_SECONDS
  local options = { match = match.id, team = seat.ticket.team, role = seat.player.role }
  while seat.ticket.match == match and core.now() < due do
    if not fill.has_room(match) then
      return abandon(match)
    elseif core.peer_connected(peer) and take_seat(match, seat, options) then
      return
    end
    tasks.sleep(LOOK)
  end
  miss(match, seat, "did not come in time", match.queue.rules.penalty)
end

-- Notifies the players of tickets of their match, and brings them to their seats.
local function bring_all(match, list)
  for i = #list, 1, -1 do
    if list[i].match ~= match then -- the room has failed meanwhile
      table.remove(list, i)
    end
  end
  notify_matched(match, list)
  for _, ticket in ipairs(list) do
    for _, player in ipairs(ticket.players) do
      local seat = match.seats[player.peer]
      cycles.begin(0, "matchmaker " .. match.queue.name, bring, function()
        miss(match, seat, "the server failed", 0)
      end, match, seat)
    end
  end
end


--- Brings the players of tickets to their seats. on_create of a new room runs first, and may fail.
---@param match perigee.SeatedMatch
---@param list perigee.QueueTicket[]
function seats.bring(match, list)
  cycles.begin(0, "matchmaker " .. match.queue.name, bring_all, function()
    abandon(match)
  end, match, list)
end

-- A match that has begun -----------------------------------------------------------------------


-- Offers the matches of a queue whose rooms were unlocked, and all of them in a new version. No longer offers
-- those that were locked or deleted.
function cycles.review(queue)
  local list = {}
  for _, match in next, of_room do
    list[#list + 1] = match.queue == queue and match or nil
  end
  for i, match in ipairs(list) do
    local is_offered = queue.matcher.open[match.id] ~= nil
    if of_room[match.room] == match and is_offered ~= fill.is_open(match) then
      fill.offer(match)
    end
    cycles.pause_after(i)
  end
end


--- Returns whether a peer may join a room. A peer without a seat may join the room of a match only after the
--- match has begun, and only if it leaves enough places for players that may still come.
---@param peer integer
---@param room integer
---@return boolean
function seats.may_join(peer, room)
  local match = of_room[room]
  if not match or match.seats[peer] then
    return true
  elseif not match.has_begun then
    return false
  end
  local settings = core.room_settings(room)
  return match.missing == 0 or not settings.capacity
    or (core.room_count(room)) + match.missing < settings.capacity
end


-- Gives up the seat of a player who has left a match that has begun. Notifies it: if its connection was lost
-- meanwhile, it knows neither that it has joined the room nor that it has left.
local function vacate(match, seat)
  local ticket, peer = seat.ticket, seat.player.peer
  match.seats[peer] = nil
  tickets.forget_player(ticket, seat.player)
  tickets.notify(peer, "matchmaker.ended", {
    queue = match.queue.name, ticket = ticket.id, room = core.room_name(match.room),
  })
  for i, player in ipairs(ticket.players) do
    if player == seat.player then
      table.remove(ticket.players, i)
      break
    end
  end
  if #ticket.players == 0 then
    drop_ticket(match, ticket)
  end
  fill.offer(match)
end


--- Handles that a peer has left a room.
---@param peer integer
---@param room integer
function seats.leave(peer, room)
  local match = of_room[room]
  if not match then
    return
  end
  local seat = match.seats[peer]
  if seat and seat.is_taken and not match.has_begun then
    miss(match, seat, "left", match.queue.rules.penalty)
  elseif seat and seat.is_taken then
    vacate(match, seat)
  end
  if match.has_begun and core.room_count(room) == 0 then
    local settings = live.version.settings[core.room_name(room):match "^[^:]*"]
    if not settings or not settings.auto_delete then
      core.room_delete(room)
    end
  end
  core.commit()
end


--- Handles the end of a room.
---@param room integer
function seats.forget_room(room)
  local match = of_room[room]
  if not match then
    return
  end
  abandon(match)
  of_room[room] = nil
  core.commit()
end


--- Handles the end of a peer: its ticket ends, or the match that it has not reached yet.
---@param peer integer
function seats.forget_peer(peer)
  local ticket = tickets.of(peer)
  if not ticket then
    return
  end
  local match = ticket.match
  if match and match.seats then
    miss(match, match.seats[peer], "a player is gone", match.queue.rules.penalty)
  else
    queues.cancel(ticket, "a player is gone")
  end
  core.commit()
end

return seats
