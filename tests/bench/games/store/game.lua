-- The work that scripts/bench store measures: writes, reads and waits of handlers, and the ticks of a room.
local perigee = require "perigee"

local TASKS = 100 -- handlers that wait at the same time
local GROUP = 200 -- writes of a commit
local PLAYERS, DOCUMENTS = 10000, 1000000
local STEP = 611953 -- a prime: `million` is read in an order without neighbours
local ENTITIES = 20000

local players, million = perigee.store "players", perigee.store "million"
local arena = { auto_create = true, tick_rate = 100 }
local game = { config = { accounts = true }, rooms = { arena = arena }, on_message = {} }
local writer

local function id_of(number)
  return "p" .. number
end

-- Calls fn(i) for each i up to `count`, in many handlers at a time, and waits until all have ended.
local function in_tasks(count, fn)
  local running = TASKS
  for task = 1, TASKS do
    perigee.spawn(function()
      for i = task, count, TASKS do fn(i) end
      running = running - 1
    end)
  end
  while running > 0 do perigee.sleep(0.002) end
  return true
end

local function put(number)
  players:put(id_of(number * 7919 % PLAYERS), { coins = number, name = "ada" })
end

function game.on_message.fill(_, first)
  for i = first, first + 19999 do
    million:put(id_of(i), { coins = i, name = "ada" })
    if i % 1000 == 0 then perigee.store.commit() end
  end
  return perigee.store.commit()
end

function game.on_message.puts(_, count)
  for first = 1, count, GROUP do
    for i = first, first + GROUP - 1 do put(i) end
    perigee.store.commit()
  end
  return true
end

function game.on_message.sleeps(_, count)
  return in_tasks(count, function() perigee.sleep(0) end)
end

function game.on_message.gets(_, count)
  return in_tasks(count, function(i) return players:get(id_of(i % 1000)) end)
end

function game.on_message.cold_gets(_, range)
  return in_tasks(range.count, function(i)
    if not million:get(id_of((range.first + i) * STEP % DOCUMENTS)) then error "a document is missing" end
  end)
end

-- Begins or ends 10,000 writes a second: a timer fires a thousand times a second, with ten writes each time.
function game.on_message.write(_, is_on)
  local count = 0
  if writer then writer:cancel() end
  writer = is_on and perigee.every(0.001, function()
    for _ = 1, 10 do
      count = count + 1
      put(count)
    end
  end)
  return true
end

-- Deletes the room when its only member leaves, because its ticks and entities would add to other figures.
function arena.on_leave(room)
  room:delete()
end

function arena.on_create(room)
  local entities = {}
  for i = 1, ENTITIES do entities[i] = { x = i, y = -i, vx = 1, vy = 2 } end
  room.state.entities = entities
end

function arena.on_tick(room)
  local entities = room.state.entities
  for i = 1, ENTITIES do
    local entity = entities[i]
    entity.x, entity.y = entity.x + entity.vx * 0.01, entity.y + entity.vy * 0.01
  end
  room:broadcast("tick", entities[1].x)
end

function game.on_message.tick_ms()
  for _, cost in ipairs(perigee.stats().slowest) do
    if cost.handler == "arena.on_tick" then return cost.total / cost.calls * 1000 end
  end
end

return game
