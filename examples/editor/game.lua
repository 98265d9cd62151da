-- A tool beside the game: whoever has the editor paints tiles over a channel, and all see them at
-- once. Packets are bytes of the game's own; nothing of it is in the players' way.
local perigee = require "perigee"

local game = { on_message = {} }

local PAINT, MAP = 1, 2 -- types of packets
local WIDTH, HEIGHT = 16, 8

perigee.state.map = perigee.state.map or ("."):rep(WIDTH * HEIGHT)

local editor = assert(perigee.channel "editor")

-- PAINT: x, y and a tile, a byte each. MAP: a question for all of it.
editor:on_packet(function(peer, type, bytes)
  if type == MAP then
    return perigee.state.map
  end
  local x, y, tile = bytes:byte(1, 3)
  if type ~= PAINT or not tile or x >= WIDTH or y >= HEIGHT then
    return "refused"
  end
  local map, at = perigee.state.map, y * WIDTH + x
  perigee.state.map = map:sub(1, at) .. string.char(tile) .. map:sub(at + 2)
  editor:send(perigee.to.all_except(peer), PAINT, bytes, { priority = "low", key = x .. ":" .. y })
  return "painted"
end)

-- Clients ask for the channel's number; it is the same as long as the server runs.
function game.on_message.editor()
  return editor.id
end

return game
