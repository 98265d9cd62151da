-- Movement among walls, and lines of sight. public/world.js does the same in JavaScript, so that a page can
-- move its own fighter before the server has answered. If you change one of them, change both.
local map = require "arena.map"
local rules = require "arena.rules"

local world = {}

local floor, min, max, sqrt, exp = math.floor, math.min, math.max, math.sqrt, math.exp

local STEP = 1 / 60 -- no step is longer than a wall is thick

local function clamp(value, low, high) return max(low, min(high, value)) end

-- Moves a body out of a wall that has just been moved onto it, to the nearest side.
local function leave_wall(body, wall, radius)
  local left, right = body.x - wall[1], wall[1] + wall[3] - body.x
  local above, below = body.y - wall[2], wall[2] + wall[4] - body.y
  local near = min(left, right, above, below)
  if near == left then body.x = wall[1] - radius
  elseif near == right then body.x = wall[1] + wall[3] + radius
  elseif near == above then body.y = wall[2] - radius
  else body.y = wall[2] + wall[4] + radius end
end

local function push_out(body, wall, radius)
  local x = clamp(body.x, wall[1], wall[1] + wall[3])
  local y = clamp(body.y, wall[2], wall[2] + wall[4])
  local dx, dy = body.x - x, body.y - y
  local square = dx * dx + dy * dy
  if square >= radius * radius then return end
  if square == 0 then return leave_wall(body, wall, radius) end
  local distance = sqrt(square)
  body.x, body.y = x + dx / distance * radius, y + dy / distance * radius
end

local function step(body, move_x, move_y, dt)
  -- The velocity approaches the wanted one. With this formula, the length of the steps does not change the
  -- way, so the server and the page agree.
  local kept = exp(-rules.grip * dt)
  local eased = (1 - kept) / rules.grip
  local slip_x, slip_y = body.vx - move_x, body.vy - move_y
  body.x = body.x + move_x * dt + slip_x * eased
  body.y = body.y + move_y * dt + slip_y * eased
  body.vx, body.vy = move_x + slip_x * kept, move_y + slip_y * kept
  for _, wall in ipairs(map.walls) do push_out(body, wall, rules.radius) end
  body.x = clamp(body.x, rules.radius, map.width - rules.radius)
  body.y = clamp(body.y, rules.radius, map.height - rules.radius)
end

-- Moves a body (x, y, vx, vy) for `dt` seconds towards a direction of length 0 to 1.
function world.move(body, move_x, move_y, speed, dt)
  while dt > 0 do
    step(body, move_x * speed, move_y * speed, min(dt, STEP))
    dt = dt - STEP
  end
end

-- Returns the share (0 to 1) of the way from (x, y) by (dx, dy) that is free of a box, which is enlarged by
-- `radius`.
local function way_to_box(x, y, dx, dy, wall, radius)
  local enter, leave = 0, 1
  for axis = 1, 2 do
    local from, by = axis == 1 and x or y, axis == 1 and dx or dy
    local low, high = wall[axis] - radius - from, wall[axis] + wall[axis + 2] + radius - from
    if by == 0 then
      if low >= 0 or high <= 0 then return 1 end
    else
      local a, b = low / by, high / by
      enter, leave = max(enter, min(a, b)), min(leave, max(a, b))
    end
  end
  return enter < leave and enter or 1
end

-- Does the same for all walls and the edge of the arena: 1 if nothing is in the way.
function world.free_way(x, y, dx, dy, radius)
  local free = 1
  for _, wall in ipairs(map.walls) do free = min(free, way_to_box(x, y, dx, dy, wall, radius)) end
  if dx ~= 0 then free = min(free, ((dx > 0 and map.width - radius or radius) - x) / dx) end
  if dy ~= 0 then free = min(free, ((dy > 0 and map.height - radius or radius) - y) / dy) end
  return max(0, free)
end

-- Returns whether one can see the other, or whether a body of that radius could go there straight.
function world.sees(from, to, radius)
  return world.free_way(from.x, from.y, to.x - from.x, to.y - from.y, radius or 1) == 1
end

-- Returns the share (0 to 1) of the way from (x, y) by (dx, dy) before it touches a circle; nil if it does
-- not.
function world.way_to_circle(x, y, dx, dy, circle, radius)
  local fx, fy = x - circle.x, y - circle.y
  local c = fx * fx + fy * fy - radius * radius
  if c <= 0 then return 0 end
  local a, b = dx * dx + dy * dy, fx * dx + fy * dy
  local root = b * b - a * c
  if a == 0 or b >= 0 or root < 0 then return nil end
  local way = (-b - sqrt(root)) / a
  return way <= 1 and way or nil
end

function world.distance(a, b)
  local dx, dy = a.x - b.x, a.y - b.y
  return sqrt(dx * dx + dy * dy)
end

-- Rounds a number for a message: tenths are finer than a pixel.
function world.round(value) return floor(value * 10 + 0.5) / 10 end

return world
