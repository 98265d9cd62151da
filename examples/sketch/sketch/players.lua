-- The players of a table: seats, which wait for those who come back; the host; votes.
local perigee = require "perigee"
local rules = require "sketch.rules"

local players = {}

function players.find(room, field, value)
  for _, player in ipairs(room.state.players) do
    if player[field] == value then return player end
  end
end

-- The player that a peer is; nil for those who watch.
function players.of(room, peer)
  return players.find(room, "peer", peer)
end

-- Whether a player who may come back has this token.
function players.owned_by(room, token)
  return token ~= "" and players.find(room, "token", token) ~= nil
end

-- The players who are here and, with a field, those of them who have that value in it.
function players.here(room, field, value)
  local list = {}
  for _, player in ipairs(room.state.players) do
    if player.is_here and (not field or player[field] == value) then table.insert(list, player) end
  end
  return list
end

-- People, and no bots.
function players.people(room)
  return players.here(room, "is_bot", false)
end

-- The player has left or lost the connection, and may come back.
function players.set_away(room, player)
  player.is_here, player.away_since = false, perigee.now()
  room:after(rules.wait, "check")
end

-- Whether a player is here, or has not been away for long.
function players.is_awaited(player)
  return player.is_here or perigee.now() - player.away_since < rules.wait
end

-- "ann", and "ann 2" for another one, because commands name players.
local function free_name(room, name)
  local free, number = name, 1
  while players.find(room, "name", free) do
    number = number + 1
    free = name .. " " .. number
  end
  return free
end

-- The host is a person. If that one leaves, the next in the order of joining is host.
function players.elect(room)
  local state = room.state
  local host = players.find(room, "id", state.host)
  if host and host.peer then return end
  local heir = players.people(room)[1]
  state.host = heir and heir.id
  return heir
end

-- Gives back the seat of a player whose token the peer has. A second page takes it from the first.
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

-- Notes that `by` wants `player` to go. Returns the votes, and whether most people here want it.
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
