-- The players of a table: seats, which are kept for players who come back; the host; votes.
local perigee = require "perigee"
local rules = require "sketch.rules"

local players = {}

function players.find(room, field, value)
  for _, player in ipairs(room.state.players) do
    if player[field] == value then return player end
  end
end

-- Returns the player of a peer; nil for watchers.
function players.of(room, peer)
  return players.find(room, "peer", peer)
end

-- Returns whether a seat belongs to this token.
function players.owned_by(room, token)
  return token ~= "" and players.find(room, "token", token) ~= nil
end

-- Returns the players who are present; with `field`, only those with that value in the field.
function players.here(room, field, value)
  local list = {}
  for _, player in ipairs(room.state.players) do
    if player.is_here and (not field or player[field] == value) then table.insert(list, player) end
  end
  return list
end

-- Returns the people who are present, without bots.
function players.people(room)
  return players.here(room, "is_bot", false)
end

-- Returns the number of people who have a seat, present or not.
function players.count_people(room)
  local count = 0
  for _, player in ipairs(room.state.players) do count = count + (player.is_bot and 0 or 1) end
  return count
end

-- Marks a player as absent, because it left or lost its connection. It may come back.
function players.set_away(room, player)
  player.is_here, player.away_since = false, perigee.now()
  room:after(rules.wait, "check")
end

-- Returns whether a player is present, or has not been away for long.
function players.is_awaited(player)
  return player.is_here or perigee.now() - player.away_since < rules.wait
end

-- Returns "ann", or "ann 2" if the name is taken, because commands name players.
local function free_name(room, name)
  local free, number = name, 1
  while players.find(room, "name", free) do
    number = number + 1
    free = name .. " " .. number
  end
  return free
end

-- Makes the person who joined next the host, if the host stays away. Bots never become host. Returns the new
-- host, or nil.
function players.elect(room)
  local state = room.state
  local host = players.find(room, "id", state.host)
  if host and players.is_awaited(host) then return end
  local heir = players.people(room)[1]
  state.host = heir and heir.id
  return heir
end

-- Gives a peer the seat of the player with its token. A second page takes the seat from the first.
function players.seat_again(room, peer)
  local player = peer.token ~= "" and players.find(room, "token", peer.token)
  if not player then return nil end
  local other = player.peer
  player.peer, player.is_here = peer, true
  if player.timer then player.timer:cancel() end
  player.timer = nil
  if other and other ~= peer then room:kick(other, "you have joined again") end
  return player
end

-- Gives a peer a new seat; nil if none is free.
function players.seat(room, peer)
  local state = room.state
  if #state.players >= rules.seats then return nil end
  state.last_id = state.last_id + 1
  local player = {
    id = state.last_id, name = free_name(room, peer.name), token = peer.token,
    peer = peer, is_bot = peer.is_bot, is_here = true, score = 0, gained = 0, votes = {},
  }
  table.insert(state.players, player)
  return player
end

function players.remove(room, player)
  if player.timer then player.timer:cancel() end
  for i, other in ipairs(room.state.players) do
    other.votes[player.id] = nil
    if other == player then table.remove(room.state.players, i) end
  end
end

-- Records that `by` wants `player` to leave. Returns the votes, and whether most of the present people agree.
function players.vote(room, by, player)
  player.votes[by.id] = true
  local votes = 0
  for _, person in ipairs(players.people(room)) do
    if player.votes[person.id] then votes = votes + 1 end
  end
  return votes, votes > #players.people(room) / 2
end

function players.peers(list)
  local peers = {}
  for i, player in ipairs(list) do peers[i] = player.peer end
  return perigee.to.group(peers)
end

return players
