-- Power-ups: fighters that walk over them take them, and they come back as another kind.
local perigee = require "perigee"
local map = require "arena.map"
local rules = require "arena.rules"
local tell = require "arena.tell"
local world = require "arena.world"

local items = {}

-- The effect of each kind on the fighter that takes it. Returns false if the fighter cannot use it now.
local effects = {}

function effects.heal(fighter)
  if fighter.health >= rules.health then return false end
  fighter.health = math.min(rules.health, fighter.health + rules.heal)
end

function effects.rapid(fighter, now) fighter.rapid_until = now + rules.power_seconds end

function effects.triple(fighter, now) fighter.triple_until = now + rules.power_seconds end

-- Returns the items of a new match. They have no kind until they appear.
function items.new()
  local list = {}
  for i, place in ipairs(map.items) do
    list[i] = { x = place[1], y = place[2], at = perigee.now() + 2 + i }
  end
  return list
end

-- Adapts the items after a reload, because the map may have other places, or more or fewer of them.
function items.upgrade(room)
  local old = room.state.items
  room.state.items = items.new()
  for i, item in ipairs(room.state.items) do
    if old[i] then item.kind, item.at = old[i].kind, old[i].at end
    if item.kind and not effects[item.kind] then item.kind = nil end
  end
end

local function try_take(room, index, item, now)
  for _, fighter in ipairs(room.state.fighters) do
    if not fighter.is_dead and world.distance(fighter, item) < rules.radius + rules.item_radius
      and effects[item.kind](fighter, now) ~= false then
      tell.item(room, index, fighter)
      item.kind, item.at = nil, now + rules.item_every
      return
    end
  end
end

function items.tick(room)
  local now = perigee.now()
  for index, item in ipairs(room.state.items) do
    if item.kind then
      try_take(room, index, item, now)
    elseif now >= item.at then
      item.kind = rules.item_kinds[math.random(#rules.item_kinds)]
      tell.item(room, index)
    end
  end
end

return items
