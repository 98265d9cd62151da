-- A thousand durable rooms of 10 KB, which all change each second.
local perigee = require "perigee"

local ROOMS, UNITS = 1000, 125
local world = { durable = true }
local game = { rooms = { world = world } }

function world.on_create(room)
  local units = {}
  for i = 1, UNITS do
    units[i] = { name = "unit " .. i, x = i * 1.5, y = -i / 3, health = 100, items = { "sword", i } }
  end
  room.state = { units = units, turn = 0 }
end

function game.on_start()
  for i = 1, ROOMS do
    local name = "world:" .. i
    if not perigee.rooms.get(name) then perigee.rooms.create(name) end
  end
  perigee.every(1, function()
    for _, room in ipairs(perigee.rooms.all()) do room.state.turn = room.state.turn + 1 end
  end)
end

return game
