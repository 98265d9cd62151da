-- Chat: people with names talk in rooms, and `!shout` reaches everyone in all of them.
-- Shows handlers that decide: who may join, and what a broadcast becomes.
local perigee = require "perigee"

local game = {
  -- People in nc think longer than games do.
  config = { text_port = 4000, idle_timeout = 24 * 60 * 60 },
}

function game.on_start()
  perigee.rooms.create "lobby"
  perigee.rooms.create "vip"
end

function game.on_join(room, peer)
  if room.name == "vip" and peer.name:sub(1, 3) ~= "vip" then
    return false, "this room is for names that begin with vip"
  end
end

local function shout(peer, words)
  perigee.send(perigee.to.all, "shout", peer.name .. ": " .. words)
end

-- Any line said in a room comes by here; false keeps it from being relayed.
function game.on_broadcast(_, peer, line)
  local words = line:match "^!shout%s+(.+)"
  if words then
    shout(peer, words)
    return false
  end
end

game.on_message = {}

-- The same as a message, which needs no room: /send shout "dinner is ready"
function game.on_message.shout(peer, words)
  if type(words) == "string" then shout(peer, words) end
end

return game
