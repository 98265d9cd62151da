-- Fighters, both people and bots: they appear, move, are hit and come back. A fighter is plain data in
-- room.state, so that it outlives every change of this code.
local perigee = require "perigee"
local map = require "arena.map"
local rules = require "arena.rules"
local tell = require "arena.tell"
local world = require "arena.world"

local fighters = {}

local COLORS = 12 -- number of colours that pages have
local STALE = 1.5 -- seconds without an input after which all keys count as released
-- Seconds; after a longer pause of the server, a fighter moves no farther than in this time.
local CATCH_UP = 0.25

function fighters.find(room, id)
  for _, fighter in ipairs(room.state.fighters) do
    if fighter.id == id then return fighter end
  end
end

function fighters.people(room)
  local count = 0
  for _, fighter in ipairs(room.state.fighters) do
    if not fighter.is_bot then count = count + 1 end
  end
  return count
end

-- --- Coming and going ---

local function is_taken(room, key, value)
  for _, fighter in ipairs(room.state.fighters) do
    if fighter[key] == value then return true end
  end
  return false
end

-- Returns "ann", or "ann 2" and so on if the name is taken.
local function free_name(room, name)
  local free, count = name, 1
  while is_taken(room, "name", free) do
    count = count + 1
    free = name .. " " .. count
  end
  return free
end

local function free_color(room)
  for color = 1, COLORS do
    if not is_taken(room, "color", color) then return color end
  end
  return math.random(COLORS)
end

-- Returns the distance to the nearest living fighter.
local function loneliness(room, place)
  local nearest = math.huge
  for _, other in ipairs(room.state.fighters) do
    if not other.is_dead then nearest = math.min(nearest, world.distance(other, place)) end
  end
  return nearest
end

local function spawn_place(room)
  local best, best_far
  for _, spawn in ipairs(map.spawns) do
    local place = { x = spawn[1], y = spawn[2] }
    -- Adds a random number. Otherwise all could predict where the next fighter appears.
    local far = math.min(loneliness(room, place), 600) + math.random() * 250
    if not best or far > best_far then best, best_far = place, far end
  end
  return best
end

function fighters.spawn(room, fighter)
  local now, place = perigee.now(), spawn_place(room)
  fighter.is_dead = true -- so that its old place does not count
  fighter.x, fighter.y, fighter.vx, fighter.vy = place.x, place.y, 0, 0
  fighter.moved_at, fighter.is_dead, fighter.health = now, false, rules.health
  fighter.safe_until = now + rules.safe_after_spawn
  fighter.rapid_until, fighter.triple_until = 0, 0
  fighter.streak = 0
  tell.spawned(room, fighter)
end

function fighters.add(room, id, name, bot)
  local now = perigee.now()
  local fighter = {
    id = id, name = free_name(room, name), color = free_color(room), is_bot = bot ~= nil, bot = bot,
    x = 0, y = 0, vx = 0, vy = 0, aim = 0, health = rules.health, is_dead = true, is_away = false,
    move_x = 0, move_y = 0, is_firing = false, input = 0, input_at = now, moved_at = now,
    fire_at = now, dash_at = now, safe_until = 0, rapid_until = 0, triple_until = 0,
    score = 0, deaths = 0, streak = 0, back_at = now,
  }
  table.insert(room.state.fighters, fighter)
  tell.joined(room, fighter)
  fighters.spawn(room, fighter)
  return fighter
end

function fighters.remove(room, id)
  for index, fighter in ipairs(room.state.fighters) do
    if fighter.id == id then
      table.remove(room.state.fighters, index)
      return tell.left(room, fighter)
    end
  end
end

-- --- Moving ---

function fighters.rest(fighter)
  fighter.move_x, fighter.move_y, fighter.is_firing = 0, 0, false
end

-- Moves a fighter to its present place. A page sends which keys are down and never its place. The server's
-- clock decides how far a fighter moves, so nobody can be faster than the rules.
function fighters.advance(fighter)
  local now = perigee.now()
  local dt = math.min(now - fighter.moved_at, CATCH_UP)
  fighter.moved_at = now
  if fighter.is_dead or dt <= 0 then return end
  local speed = fighter.is_bot and rules.speed * rules.bot_speed or rules.speed
  world.move(fighter, fighter.move_x, fighter.move_y, speed, dt)
end

local function dash(fighter, now)
  local length = math.sqrt(fighter.move_x ^ 2 + fighter.move_y ^ 2)
  if length == 0 or now < fighter.dash_at then return end
  fighter.dash_at = now + rules.dash_every
  fighter.vx = fighter.move_x / length * rules.dash_speed
  fighter.vy = fighter.move_y / length * rules.dash_speed
end

-- Applies an input, which comes from arena/input.lua or from a bot, to a fighter.
function fighters.steer(fighter, input)
  local now = perigee.now()
  fighters.advance(fighter)
  fighter.input, fighter.input_at = input.n, now
  fighter.move_x, fighter.move_y, fighter.aim = input.x, input.y, input.aim
  fighter.is_firing = input.fire
  if input.dash and not fighter.is_dead then dash(fighter, now) end
end

-- --- Damage and respawn ---

local function die(room, fighter, by)
  fighter.is_dead, fighter.health = true, 0
  fighter.back_at = perigee.now() + rules.respawn_after
  fighter.deaths = fighter.deaths + 1
  by.score, by.streak = by.score + 1, by.streak + 1
  if not by.is_dead then by.health = math.min(rules.health, by.health + rules.health_for_a_kill) end
  tell.kill(room, by, fighter)
end

function fighters.can_be_hit(fighter)
  return not fighter.is_dead and not fighter.is_away and perigee.now() >= fighter.safe_until
end

function fighters.hurt(room, fighter, damage, by)
  fighter.health = fighter.health - damage
  if fighter.health <= 0 then die(room, fighter, by) end
end

function fighters.tick(room)
  local now = perigee.now()
  for _, fighter in ipairs(room.state.fighters) do
    if not fighter.is_bot and now > fighter.input_at + STALE then fighters.rest(fighter) end
    fighters.advance(fighter)
    if fighter.is_dead and now >= fighter.back_at and not fighter.is_away then
      fighters.spawn(room, fighter)
    end
  end
end

return fighters
