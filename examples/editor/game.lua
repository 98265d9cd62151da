-- A tool beside the game: people with the editor paint tiles over a channel, and all of them see the change
-- at once. The game chooses the bytes of the packets, and other players get none of them.
local perigee = require "perigee"

local game = { on_message = {} }

local PAINT, MAP = 1, 2 -- types of packets
local WIDTH, HEIGHT = 16, 8

perigee.state.map = perigee.state.map or ("."):rep(WIDTH * HEIGHT)

local editor = assert(perigee.channel "editor")

-- Handles PAINT (x, y and a tile, a byte each) and MAP (a request for the whole map).
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

-- Returns the channel's number to a client. The number does not change while the server runs.
function game.on_message.editor()
  return editor.id
end

return game
