-- Bots: fighters that keep the arena alive while few people play. A bot sees only what a player could see,
-- has a time of reaction, misses, and acts through the same input as players.
local perigee = require "perigee"
local fighters = require "arena.fighters"
local map = require "arena.map"
local rules = require "arena.rules"
local world = require "arena.world"

local bots = {}

local NAMES = { "Biscuit", "Nova", "Pixel", "Moss", "Tango", "Rook", "Fig", "Comet", "Dot", "Waffle", "Zip" }

local TURN = 7 -- radians a second that a bot can turn
local NEAR, FAR = 170, 300 -- the distance that a bot keeps to its enemy
local FEELER = 60 -- how far ahead a bot looks for walls
local DODGE = 120 -- a bot dashes away from a bullet that is nearer

-- --- Joining and leaving ---

local function free_name(room)
  local first = math.random(#NAMES)
  for i = 0, #NAMES - 1 do
    local name = NAMES[(first + i - 1) % #NAMES + 1]
    local is_free = true
    for _, fighter in ipairs(room.state.fighters) do is_free = is_free and fighter.name ~= name end
    if is_free then return name end
  end
  return "Bot"
end

-- Adds a bot with a negative id, because peer ids are positive.
local function add(room)
  room.state.bot_id = room.state.bot_id - 1
  return fighters.add(room, room.state.bot_id, free_name(room), {
    skill = 0.2 + math.random() * 0.6, think_at = 0, side = 1, side_until = 0, error = 0, burst_until = 0,
  })
end

local function weakest(room)
  local worst
  for _, fighter in ipairs(room.state.fighters) do
    if fighter.is_bot and (not worst or fighter.score < worst.score) then worst = fighter end
  end
  return worst
end

-- Adds or removes bots until the arena is as full as the rules want it.
function bots.fill(room)
  local people = fighters.people(room)
  local wanted = math.max(0, rules.fill_to - people)
  local there = #room.state.fighters - people
  for _ = there + 1, wanted do add(room) end
  for _ = wanted + 1, there do fighters.remove(room, weakest(room).id) end
end

-- --- Choosing an enemy and a goal ---

local function nearest_enemy(room, fighter)
  local best, best_distance
  for _, other in ipairs(room.state.fighters) do
    if other ~= fighter and fighters.can_be_hit(other) then
      local distance = world.distance(fighter, other)
      if (not best or distance < best_distance) and world.sees(fighter, other) then
        best, best_distance = other, distance
      end
    end
  end
  return best
end

-- Returns the nearest power-up that is useful to the bot and not too far away.
local function wanted_item(room, fighter)
  local best, best_distance = nil, fighter.health < 50 and 900 or 350
  for _, item in ipairs(room.state.items) do
    local distance = world.distance(fighter, item)
    local is_useful = item.kind and (item.kind ~= "heal" or fighter.health < 70)
    if is_useful and distance < best_distance then best, best_distance = item, distance end
  end
  return best
end

-- Returns the point to walk to next: `goal`, or if walls hide it, the visible point with the shortest way to
-- it.
local function next_point(fighter, goal)
  if world.sees(fighter, goal, rules.radius) then return goal end
  local best, best_way
  for _, path in ipairs(map.paths) do
    local point = { x = path[1], y = path[2] }
    local near = world.distance(fighter, point)
    local way = near + world.distance(point, goal)
    if near > 40 and (not best or way < best_way) and world.sees(fighter, point, rules.radius) then
      best, best_way = point, way
    end
  end
  return best or goal
end

-- Decides what the bot wants until the next decision. Happens only a few times a second.
local function think(room, fighter, now)
  local bot = fighter.bot
  bot.think_at = now + 0.25 + math.random() * 0.3
  local enemy = nearest_enemy(room, fighter)
  local id = enemy and enemy.id
  if id ~= bot.enemy then bot.enemy, bot.react_at = id, now + 0.5 - 0.35 * bot.skill end
  bot.error = (math.random() - 0.5) * (0.5 - 0.34 * bot.skill)
  local item = wanted_item(room, fighter)
  if item then
    bot.goal = { x = item.x, y = item.y }
  elseif not bot.goal or world.distance(fighter, bot.goal) < 60 or math.random() < 0.05 then
    local path = map.paths[math.random(#map.paths)]
    bot.goal = { x = path[1], y = path[2] }
  end
  bot.point = next_point(fighter, bot.goal)
  bot.is_hungry = item ~= nil and fighter.health < 50
end

-- --- Input ---

local function direction(from, to)
  local distance = world.distance(from, to)
  if distance < 1 then return 1, 0 end
  return (to.x - from.x) / distance, (to.y - from.y) / distance
end

local function turned(x, y, angle)
  local cos, sin = math.cos(angle), math.sin(angle)
  return x * cos - y * sin, x * sin + y * cos
end

-- Returns the direction that is nearest to the wanted one and does not lead into a wall at once.
local function around_walls(fighter, x, y)
  for _, angle in ipairs { 0, 0.7, -0.7, 1.5, -1.5, 2.4, -2.4 } do
    local side_x, side_y = turned(x, y, angle * fighter.bot.side)
    if world.free_way(fighter.x, fighter.y, side_x * FEELER, side_y * FEELER, rules.radius - 1) == 1 then
      return side_x, side_y
    end
  end
  return x, y
end

-- Goes nearer or farther, and always to one side or the other.
local function circle(fighter, enemy)
  local bot, x, y = fighter.bot, direction(fighter, enemy)
  local distance = world.distance(fighter, enemy)
  local nearer = distance > FAR and 1 or distance < NEAR and -1 or 0
  local move_x, move_y = x * nearer - y * bot.side, y * nearer + x * bot.side
  local length = math.sqrt(move_x * move_x + move_y * move_y)
  return move_x / length, move_y / length
end

-- Returns whether the bot should dash away from a bullet.
local function is_in_danger(room, fighter)
  for _, bullet in ipairs(room.state.bullets) do
    local distance = bullet.owner ~= fighter.id and world.distance(bullet, fighter)
    if distance and distance < DODGE then
      local x, y = direction(bullet, fighter)
      if x * math.cos(bullet.angle) + y * math.sin(bullet.angle) > 0.95 then return true end
    end
  end
  return false
end

local function turn_towards(angle, wanted, most)
  local by = (wanted - angle + math.pi) % (2 * math.pi) - math.pi
  return (angle + math.max(-most, math.min(most, by))) % (2 * math.pi), math.abs(by)
end

-- Returns the angle to the place where a bullet would hit the enemy.
local function aim_at(fighter, enemy)
  local seconds = world.distance(fighter, enemy) / math.max(1, rules.bullet_speed) * fighter.bot.skill
  return math.atan2(enemy.y + enemy.vy * seconds - fighter.y, enemy.x + enemy.vx * seconds - fighter.x)
    + fighter.bot.error
end

-- Fires in bursts: for a while, and then not for a while.
local function wants_to_fire(bot, now)
  if now > bot.burst_until + 0.35 then bot.burst_until = now + 0.4 + math.random() * 0.5 end
  return now < bot.burst_until and now > (bot.react_at or now)
end

local function fight(room, fighter, enemy, now, dt)
  local bot = fighter.bot
  local x, y = circle(fighter, enemy)
  if bot.is_hungry then x, y = direction(fighter, bot.point) end
  local aim, off = turn_towards(fighter.aim, aim_at(fighter, enemy), TURN * dt)
  local fire = off < 0.3 and wants_to_fire(bot, now)
  local dash = is_in_danger(room, fighter) and math.random() < 0.15 * bot.skill
  return x, y, aim, fire, dash
end

local function wander(fighter, dt)
  local x, y = direction(fighter, fighter.bot.point)
  local aim = turn_towards(fighter.aim, math.atan2(y, x), TURN * 0.6 * dt)
  return x, y, aim, false, false
end

local function keys(room, fighter, now, dt)
  local bot = fighter.bot
  if now > bot.side_until then
    bot.side, bot.side_until = math.random() < 0.5 and -1 or 1, now + 0.6 + math.random()
  end
  if now >= bot.think_at then think(room, fighter, now) end
  local enemy = bot.enemy and fighters.find(room, bot.enemy)
  if enemy and fighters.can_be_hit(enemy) and world.sees(fighter, enemy) then
    return fight(room, fighter, enemy, now, dt)
  end
  return wander(fighter, dt)
end

function bots.tick(room, dt)
  local now = perigee.now()
  bots.fill(room)
  for _, fighter in ipairs(room.state.fighters) do
    if fighter.is_bot and not fighter.is_dead then
      local x, y, aim, fire, dash = keys(room, fighter, now, dt)
      x, y = around_walls(fighter, x, y)
      fighters.steer(fighter, { n = 0, x = x, y = y, aim = aim, fire = fire, dash = dash })
    end
  end
end

return bots
