-- The members of a table: joining, leaving and coming back, the host, and votes against players.
local perigee = require "perigee"
local players = require "sketch.players"
local rules = require "sketch.rules"
local tell = require "sketch.tell"
local turns = require "sketch.turns"

local members = {}

local function elect(room)
  local heir = players.elect(room)
  if heir then tell.news(room, "%s is the host.", heir.name) end
end

-- Gives a peer a seat: a free one, or that of a bot.
local function sit(room, peer)
  local bots = players.here(room, "is_bot", true)
  if #room.state.players >= rules.seats and #bots > 0 and not peer.is_bot then
    local bot = bots[#bots]
    players.remove(room, bot)
    room:kick(bot.peer, "people come first")
  end
  local player = players.seat(room, peer)
  if not player then return false end
  -- Makes the player draw in this round, too.
  if not player.is_bot then table.insert(room.state.queue, player.id) end
  tell.news(room, "%s plays.", player.name)
  return true
end

function members.join(room, peer, options)
  local state = room.state
  if state.banned[peer.token] then error(perigee.fault("VotedOut", { table = state.title })) end
  local back = players.seat_again(room, peer)
  if back then
    tell.news(room, "%s is back.", back.name)
  elseif options.role == "spectator" then
    state.watchers[peer.id] = peer
    tell.news(room, "%s watches.", peer.name)
  elseif not sit(room, peer) then
    return false, "all seats are taken, but you may watch"
  end
  elect(room)
  tell.all(room, peer)
  tell.table(room)
end

-- Gives a watcher who wants to play a seat.
function members.play(room, peer)
  if players.of(room, peer) then return end
  if not sit(room, peer) then error(perigee.fault "NoSeatFree") end
  room.state.watchers[peer.id] = nil
  elect(room)
  tell.you(room, peer)
  tell.table(room)
end

-- Elects a host and checks the turn, after a player has left for good or has been away for long.
function members.check(room)
  elect(room)
  turns.check(room)
end

local function remove(room, player)
  players.remove(room, player)
  members.check(room)
end

-- Handles a leave. Keeps the seat of a player for some time; removes a bot at once.
function members.leave(room, peer)
  room.state.watchers[peer.id] = nil
  local player = players.of(room, peer)
  if not player then return tell.table(room) end
  tell.news(room, "%s has left.", player.name)
  if player.is_bot then return remove(room, player) end
  player.peer, player.timer = nil, room:after(rules.keep_seat, "free_seat", player.id)
  players.set_away(room, player)
  tell.table(room)
end

function members.free_seat(room, id)
  remove(room, players.find(room, "id", id))
end

-- Removes a player who leaves for good, so that its seat is free at once. A page that is only closed does not
-- call this.
function members.quit(room, peer)
  local player = players.of(room, peer)
  peer:leave(room)
  if not player then return end
  tell.news(room, "%s has left.", player.name)
  remove(room, player)
end

-- Marks a player as away, because its connection is lost while its session waits.
function members.suspend(room, peer)
  local player = players.of(room, peer)
  if not player then return end
  players.set_away(room, player)
  tell.table(room)
end

function members.resume(room, peer)
  local player = players.of(room, peer)
  if player then player.is_here = true end
  tell.all(room, peer)
  tell.table(room)
end

function members.vote(room, peer, player)
  local by, people = players.of(room, peer), #players.people(room)
  if not by or by == player then return end
  local votes, is_enough = players.vote(room, by, player)
  tell.news(room, "%s votes for %s to go (%d of %d).", by.name, player.name, votes, people)
  if not is_enough then return tell.table(room) end
  tell.news(room, "%s is voted out.", player.name)
  if player.token ~= "" then room.state.banned[player.token] = true end
  if player.peer then room:kick(player.peer, "voted out") end
  remove(room, player)
end

function members.need_host(room, peer)
  local player = players.of(room, peer)
  if not player or player.id ~= room.state.host then error(perigee.fault "HostOnly") end
end

-- Adds a bot, which guesses and does not draw. A bot in a full room makes way for people.
function members.add_bot(room, peer)
  members.need_host(room, peer)
  if #room.state.players >= rules.seats then error(perigee.fault "NoSeatFree") end
  local bot, problem, code = room:bot { name = "Robo", brain = "brains.guesser", fill = true }
  if not bot then error(perigee.fault(code, problem)) end
end

function members.lock(room, peer, is_locked)
  members.need_host(room, peer)
  room:set { locked = is_locked }
  tell.table(room)
end

return members
