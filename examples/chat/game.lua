-- Chat: people with names talk in rooms, and `!shout` reaches the people in all rooms. Shows handlers that
-- decide (who may join, how a broadcast changes), and commands.
local perigee = require "perigee"

local game = {
  -- Players in nc may be silent for longer than the default allows.
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

local commands = perigee.commands {
  "help -- shows this list",
  "who -- lists the members of the room",
  "roll [sides:int] -- rolls a die for the room",
  "shout <words:text> -- tells everyone, in whatever room",
}

function commands.on.help(peer)
  peer:send("help", commands:usage())
end

function commands.on.who(peer, _, room)
  local names = {}
  for i, other in ipairs(room:peers()) do names[i] = other.name end
  peer:send("here", table.concat(names, ", "))
end

function commands.on.roll(peer, given, room)
  local sides = math.min(math.max(given.sides or 6, 2), 1000)
  room:broadcast("rolled", ("%s rolls %d of %d"):format(peer.name, math.random(sides), sides))
end

function commands.on.shout(peer, given)
  perigee.send(perigee.to.all, "shout", peer.name .. ": " .. given.words)
end

-- Gets each line that is sent to a room; false drops the line.
function game.on_broadcast(room, peer, line)
  if line:sub(1, 1) ~= "!" then return end
  local ok, problem = commands:run(peer, line:sub(2), room)
  if not ok then peer:send("notice", problem) end
  return false
end

game.on_message = {}

-- Does the same for a message, which needs no room: /send shout "dinner is ready"
function game.on_message.shout(peer, words)
  if type(words) == "string" then commands.on.shout(peer, { words = words }) end
end

return game
