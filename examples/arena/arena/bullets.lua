-- Shots. The server alone decides about hits; pages only draw them.
local perigee = require "perigee"
local fighters = require "arena.fighters"
local rules = require "arena.rules"
local tell = require "arena.tell"
local world = require "arena.world"

local bullets = {}

local LATE = 0.06 -- seconds; a shot that was due between two ticks does not delay the next one

local function shoot(room, fighter, angle)
  local state = room.state
  state.bullet_id = state.bullet_id % 1e6 + 1
  local bullet = {
    id = state.bullet_id, owner = fighter.id, x = fighter.x, y = fighter.y, angle = angle, at = perigee.now(),
    speed = rules.bullet_speed, left = rules.bullet_seconds, damage = rules.damage,
  }
  table.insert(state.bullets, bullet)
  tell.shot(room, bullet)
end

-- Shoots if the fighter wants to and may. Only the server's clock counts, so a page cannot shoot more often.
function bullets.fire(room, fighter)
  local now = perigee.now()
  if not fighter.is_firing or fighter.is_dead or fighter.is_away or now < fighter.fire_at then return end
  local every = rules.fire_every * (now < fighter.rapid_until and rules.rapid_factor or 1)
  fighter.fire_at = math.max(fighter.fire_at, now - math.min(LATE, every)) + every
  fighter.safe_until = 0
  shoot(room, fighter, fighter.aim)
  if now < fighter.triple_until then
    shoot(room, fighter, fighter.aim - rules.triple_spread)
    shoot(room, fighter, fighter.aim + rules.triple_spread)
  end
end

-- Returns the first fighter on the way of a bullet, and how far along the way it is.
local function first_hit(room, bullet, dx, dy, way)
  local victim
  for _, fighter in ipairs(room.state.fighters) do
    if fighter.id ~= bullet.owner and fighters.can_be_hit(fighter) then
      local hit = world.way_to_circle(bullet.x, bullet.y, dx, dy, fighter, rules.radius + rules.bullet_radius)
      if hit and hit < way then victim, way = fighter, hit end
    end
  end
  return victim, way
end

-- Moves a bullet to its present place. Returns whether it flies on.
local function fly(room, bullet, now)
  local dt = math.min(now - bullet.at, bullet.left)
  bullet.at, bullet.left = now, bullet.left - dt
  local dx = math.cos(bullet.angle) * bullet.speed * dt
  local dy = math.sin(bullet.angle) * bullet.speed * dt
  local free = world.free_way(bullet.x, bullet.y, dx, dy, 0)
  local victim, way = first_hit(room, bullet, dx, dy, free)
  bullet.x, bullet.y = bullet.x + dx * way, bullet.y + dy * way
  if victim then
    tell.hit(room, bullet, victim)
    -- If the shooter has left meanwhile, the bullet hurts nobody.
    local owner = fighters.find(room, bullet.owner)
    if owner then fighters.hurt(room, victim, bullet.damage, owner) end
  end
  return not victim and free == 1 and bullet.left > 0
end

function bullets.tick(room)
  local now = perigee.now()
  for _, fighter in ipairs(room.state.fighters) do bullets.fire(room, fighter) end
  local flying = {}
  for _, bullet in ipairs(room.state.bullets) do
    if fly(room, bullet, now) then flying[#flying + 1] = bullet end
  end
  room.state.bullets = flying
end

return bullets
