--- The seats of matches: makes the room of a match, keeps a place in it for each player, and brings the
--- players there. A match begins when all have come. If a player does not come in time, the match ends, and
--- the others are in the queue again. A match that has begun may get more players from the queue (`fill`).

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local joins = require "perigee.host.joins"
local live = require "perigee.host.live"
local matcher = require "perigee.matchmaking.matcher"
local queues = require "perigee.matchmaking.queues"
local registry = require "perigee.host.registry"
local rooms = require "perigee.api.rooms"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

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

local seats = {
  objects_of = nil, ---@type fun(tickets: perigee.QueueTicket[]): perigee.Ticket[] for on_match
}

local of_room = {} ---@type table<integer, perigee.SeatedMatch>
local last_id = 0

-- Runs a function of the host as a task that survives reloads. `on_failure` is called if it fails.
local function begin(label, fn, on_failure, ...)
  local task = { fn = fn, label = label, args = { n = select("#", ...), ... }, is_host = true,
    on_failure = on_failure }
  timers.begin(task, 0)
  task.owned = false
end

-- The players ----------------------------------------------------------------------------------

local function describe(match)
  local players = {}
  for _, ticket in ipairs(match.tickets) do
    for _, player in ipairs(ticket.players) do
      players[#players + 1] = { id = player.peer, name = core.peer_name(player.peer), team = ticket.team,
        role = player.role }
    end
  end
  return { id = match.id, queue = match.queue.name, players = players }
end

local function add_seats(match, tickets, teams)
  for i, ticket in ipairs(tickets) do
    ticket.team, ticket.match = teams[i], match
    match.tickets[#match.tickets + 1] = ticket
    for _, player in ipairs(ticket.players) do
      match.seats[player.peer] = { ticket = ticket, player = player, is_taken = false }
      match.missing = match.missing + 1
    end
  end
end

local function notify_matched(match, tickets)
  local described = describe(match)
  for _, ticket in ipairs(tickets) do
    for _, player in ipairs(ticket.players) do
      queues.notify(player.peer, "matchmaker.matched", {
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

-- The end of a match that has not begun --------------------------------------------------------

-- Removes the players of a ticket from the room.
local function send_away(match, ticket)
  for _, player in ipairs(ticket.players) do
    if core.room_has(match.room, player.peer) then
      core.leave(player.peer, match.room, core.codes.ConnectionClosed, "a player of the match did not come")
    end
  end
end

local function end_match(match, lost)
  local others = {}
  for _, ticket in ipairs(match.tickets) do
    if ticket ~= lost then
      others[#others + 1] = ticket
    end
  end
  for _, ticket in ipairs({ unpack(match.tickets) }) do
    send_away(match, ticket)
    drop_ticket(match, ticket)
  end
  of_room[match.room] = nil
  if core.room_name(match.room) then
    core.room_delete(match.room)
  end
  queues.put_back(others, false)
end

-- Ends the seats of a ticket one of whose players has not come, and of a match that cannot begin without it.
local function miss(match, seat, reason)
  local ticket = seat.ticket
  if ticket.match ~= match then
    return
  end
  queues.punish(seat.player.key, match.queue.rules.penalty)
  queues.finish(ticket, reason)
  if match.has_begun then
    send_away(match, ticket)
    drop_ticket(match, ticket)
    seats.offer(match)
  else
    end_match(match, ticket)
  end
end

-- Coming ---------------------------------------------------------------------------------------

local function call_start(match)
  local room = rawget(registry.rooms, match.room)
  local handler = room and live.of_room[match.room].on_match_start
  ran[1] = handler
  if handler then
    handler(room, describe(match))
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
    queues.forget(seat.ticket)
  elseif match.missing == 0 then
    match.has_begun = true
    for _, ticket in ipairs(match.tickets) do
      queues.forget(ticket)
    end
    begin(match.queue.rules.room .. ".on_match_start", call_start, nil, match)
  end
  seats.offer(match)
end

-- Brings a player to its seat, as soon as it is connected.
local function bring(match, seat)
  local peer, due = seat.player.peer, core.now() + SEAT_SECONDS
  local options = { match = match.id, team = seat.ticket.team, role = seat.player.role }
  while seat.ticket.match == match and core.now() < due do
    if core.peer_connected(peer) then
      local ok, reason, code = joins.wait(peer, match.room, options)
      if seat.ticket.match ~= match then
        return
      elseif ok or code == "AlreadyInRoom" then
        if core.room_has(match.room, peer) then
          return sit(match, seat)
        end
        return miss(match, seat, "left")
      elseif code ~= "ConnectionClosed" then
        return miss(match, seat, reason)
      end
    end
    tasks.sleep(LOOK)
  end
  miss(match, seat, "did not come in time")
end

local function bring_all(match, tickets)
  for _, ticket in ipairs(tickets) do
    for _, player in ipairs(ticket.players) do
      local seat = match.seats[player.peer]
      begin("matchmaker " .. match.queue.name, bring, function()
        miss(match, seat, "the server failed")
      end, match, seat)
    end
  end
end

-- The beginning of a match ---------------------------------------------------------------------

-- Calls on_match of the queue. Returns the options of the room; false: the tickets may not meet.
local function judge(queue, tickets)
  local handler = queue.rules.on_match
  if not handler then
    return {}
  end
  ran[1] = handler
  local answer = handler(seats.objects_of(tickets))
  if answer == nil or answer == true then
    return {}
  elseif answer == false or type(answer) == "table" then
    return answer
  end
  fault.raise("on_match of the matchmaker %s returns false, or a table of options for the room, not %s",
    queue.name, fault.kind(answer))
end

-- Returns a new match with its room; or nil and a sentence.
local function make_room(queue, options, tickets, teams)
  local name
  repeat
    last_id = last_id + 1
    name = ("%s:%s%d"):format(queue.rules.room, queue.name, last_id)
  until not core.room_find(name)
  local match = { id = last_id, queue = queue, tickets = {}, seats = {}, missing = 0, has_begun = false }
  add_seats(match, tickets, teams)
  options.match = describe(match)
  local room, problem = rooms.api.create(name, options, { permanent = false })
  if not room then
    return nil, problem
  end
  match.room = room.id
  of_room[match.room] = match
  return match
end

-- Returns the tickets whose players all exist, and whether these are all tickets. Forgets the others.
local function without_broken(tickets)
  local whole = {}
  for _, ticket in ipairs(tickets) do
    if ticket.is_broken then
      queues.finish(ticket, "a player is gone")
    else
      whole[#whole + 1] = ticket
    end
  end
  return whole, #whole == #tickets
end

-- Begins a match: asks the script, makes the room and brings the players.
local function start(queue, found)
  local options = judge(queue, found.tickets)
  local tickets, is_whole = without_broken(found.tickets)
  local match, problem
  if options and is_whole then
    match, problem = make_room(queue, options, tickets, found.teams)
  end
  if not match then
    for _, ticket in ipairs(tickets) do
      ticket.match = nil
    end
    queues.put_back(tickets, options == false)
    if problem then
      errors.log(core.levels.warn, ("the matchmaker %s cannot make a room: %s"):format(queue.name, problem),
        nil, nil, "matchmaker " .. queue.name)
    end
    return
  end
  notify_matched(match, tickets)
  bring_all(match, tickets)
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

-- Returns whether a match that has begun takes more players.
local function is_open(match)
  local queue, count = match.queue, 0
  if not queue.rules.fill or not match.has_begun or not match.tickets[1]
    or queues.find(queue.name) ~= queue then
    return false
  end
  for _ in next, match.seats do
    count = count + 1
  end
  local settings = core.room_settings(match.room)
  if not settings or settings.locked or count >= queue.rules.max then
    return false
  end
  for _, ticket in ipairs(match.tickets) do
    if not suits(ticket) then
      return false
    end
  end
  return true
end


-- Takes what the matcher has found: makes the room of a new match, or adds players to one that has begun.
function queues.on_match(queue, found)
  local tickets = found.tickets
  if found.open then
    local match = found.open.match
    if not is_open(match) then -- the script has locked the room
      queues.put_back(tickets, false)
      return
    end
    add_seats(match, tickets, found.teams)
    notify_matched(match, tickets)
    bring_all(match, tickets)
    return
  end
  for _, ticket in ipairs(tickets) do
    ticket.match = found -- until the room exists
  end
  begin("matchmaker " .. queue.name .. ".on_match", start, function()
    local whole = without_broken(tickets)
    for _, ticket in ipairs(whole) do
      ticket.match = nil
    end
    queues.put_back(whole, true)
  end, queue, found)
end

-- A match that has begun -----------------------------------------------------------------------


--- Offers the free places of a match that has begun, if its queue fills matches.
---@param match perigee.SeatedMatch
function seats.offer(match)
  local queue = match.queue
  queue.matcher:set_open(match.id, is_open(match) and {
    id = match.id, match = match, tickets = match.tickets, due = 0,
    same = matcher.same_key(queue.rules, match.tickets[1].values),
  } or nil)
  queues.schedule(queue)
end


--- Offers the matches of a queue whose rooms were unlocked, and all of them in a new version. Locked ones are
--- no longer offered.
---@param queue perigee.Queue
function queues.review(queue)
  for _, match in next, of_room do
    if match.queue == queue and (queue.matcher.open[match.id] ~= nil) ~= is_open(match) then
      seats.offer(match)
    end
  end
end


--- Returns whether a peer may join a room: seats are for those who have them.
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


--- Handles that a peer has left a room.
---@param peer integer
---@param room integer
function seats.leave(peer, room)
  local match = of_room[room]
  local seat = match and match.seats[peer]
  if not seat or not seat.is_taken then
    return
  elseif not match.has_begun then
    miss(match, seat, "left")
    core.commit()
    return
  end
  local ticket = seat.ticket
  match.seats[peer] = nil
  queues.forget_player(ticket, peer)
  for i, player in ipairs(ticket.players) do
    if player == seat.player then
      table.remove(ticket.players, i)
      break
    end
  end
  if #ticket.players == 0 then
    drop_ticket(match, ticket)
  end
  if core.room_count(room) == 0 and not (live.version.settings[match.queue.rules.room] or {}).auto_delete then
    core.room_delete(room)
    core.commit()
  end
  seats.offer(match)
end


--- Handles the end of a room.
---@param room integer
function seats.forget_room(room)
  local match = of_room[room]
  if not match then
    return
  end
  of_room[room] = nil
  match.queue.matcher:set_open(match.id, nil)
  local waiting = {} -- tickets whose players were not all there
  for _, ticket in ipairs({ unpack(match.tickets) }) do
    if queues.ticket_of(ticket.players[1].peer) == ticket then
      drop_ticket(match, ticket)
      waiting[#waiting + 1] = ticket
    end
  end
  queues.put_back(waiting, not match.has_begun)
  core.commit()
end


--- Handles the end of a peer: its ticket ends, or the match that it has not reached yet.
---@param peer integer
function seats.forget_peer(peer)
  local ticket = queues.ticket_of(peer)
  if not ticket then
    return
  end
  local match = ticket.match
  if not match then
    queues.cancel(ticket, "a player is gone")
  elseif match.seats then
    miss(match, match.seats[peer], "a player is gone")
  else
    ticket.is_broken = true
  end
  core.commit()
end

return seats
