-- Targets: the four ways to choose the receivers of a message: one peer, all, all but one, a group. All peers
-- join the room `lobby`, in which the game finds peers by name.
local perigee = require "perigee"

-- People in nc may be silent for long.
local game = { config = { text_port = 4000, idle_timeout = 24 * 60 * 60 } }

function game.on_start()
  perigee.rooms.create "lobby"
end

function game.on_connect(peer)
  peer:join "lobby"
end

-- Allows everybody to choose a name at any time, with /name. Names only serve to find one another here.
function game.on_rename() end

-- Returns the members of the lobby that have one of these names.
local function named(names)
  local wanted, found = {}, {}
  for _, name in ipairs(names) do wanted[name] = true end
  for _, peer in ipairs(perigee.rooms.get("lobby"):peers()) do
    if wanted[peer.name] then found[#found + 1] = peer end
  end
  return found
end

game.on_message = {}

-- Sends a text to one peer: /send one {"to": "bob", "text": "psst"}
function game.on_message.one(peer, value)
  local other = named({ value.to })[1]
  if not other then return peer:send("nobody", value.to) end
  perigee.send(perigee.to.one(other), "note", { from = peer.name, text = value.text })
end

-- Sends a text to all peers: /send all "hello"
function game.on_message.all(peer, text)
  perigee.send(perigee.to.all, "note", { from = peer.name, text = text })
end

-- Sends a text to all other peers: /send others "hello"
function game.on_message.others(peer, text)
  perigee.send(perigee.to.all_except(peer), "note", { from = peer.name, text = text })
end

-- Sends a text to a group of peers: /send group {"to": ["ann", "bob"], "text": "hello"}
function game.on_message.group(peer, value)
  perigee.send(perigee.to.group(named(value.to)), "note", { from = peer.name, text = value.text })
end

return game
