-- A hundred rooms that tick; five of them misbehave from the second second on.
local perigee = require "perigee"

local RATE, AFTER = 20, 1
local good, bad = { tick_rate = RATE }, { tick_rate = RATE }
local game = { rooms = { good = good, bad = bad }, on_message = {} }
local errors, started = {}, nil

local function fail() error "again" end
local function recurse() return 1 + recurse() end

local offences = {
  pcall = function() while true do pcall(fail) end end,
  sort = function() table.sort({ 3, 2, 1 }, function() while true do end end) end,
  allocate = function() local t = {} while #t >= 0 do t[#t + 1] = { #t } end end,
  recurse = function() while true do pcall(recurse) end end,
  find = function() string.find(("a"):rep(1e5), ".-.-.-.-b$") end,
}

function game.on_start()
  started = perigee.now()
  for i = 1, 95 do perigee.rooms.create("good:" .. i) end
  for name in pairs(offences) do perigee.rooms.create("bad:" .. name) end
end

function good.on_tick(room)
  local sum = 0
  for i = 1, 100 do sum = sum + i end
  room.state.sum = sum
  room:broadcast("tick", sum)
end

function bad.on_tick(room)
  if perigee.now() - started > AFTER then
    offences[room.name:match ":(.*)"]()
  end
end

function bad.on_error(room, report)
  local key = ("%s at %s:%d"):format(room.name, report.file:match "[^/]*$", report.line or 0)
  errors[key] = (errors[key] or 0) + 1
end

function game.on_message.errors()
  return errors
end

return game
