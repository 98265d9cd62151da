-- Draws the match: the whole arena, as large as the window allows.
local picture = {}

local FIGHTERS = {
  { 0.25, 0.82, 0.91 }, { 1, 0.36, 0.42 }, { 1, 0.89, 0.37 }, { 0.55, 0.89, 0.35 }, { 0.71, 0.55, 1 },
  { 1, 0.64, 0.29 }, { 1, 0.49, 0.71 }, { 0.36, 0.62, 1 }, { 0.24, 0.86, 0.59 }, { 0.88, 0.55, 0.96 },
}
local RADIUS, BARREL = 20, 30

-- Returns the scale, and the place of the arena's corner in the window.
local function frame(map)
  local width, height = love.graphics.getDimensions()
  local scale = math.min(width / map.width, height / map.height)
  return scale, (width - scale * map.width) / 2, (height - scale * map.height) / 2
end

-- Converts a place in the window to one in the arena.
function picture.to_arena(match, x, y)
  if not match.map then return 0, 0 end
  local scale, left, top = frame(match.map)
  return (x - left) / scale, (y - top) / scale
end

local function draw_fighter(fighter, is_me)
  local color = FIGHTERS[((fighter.color or 1) - 1) % #FIGHTERS + 1]
  local x, y = fighter.shown_x, fighter.shown_y
  love.graphics.setColor(0.87, 0.9, 0.96)
  love.graphics.setLineWidth(9)
  love.graphics.line(x, y, x + math.cos(fighter.aim) * BARREL, y + math.sin(fighter.aim) * BARREL)
  love.graphics.setColor(color[1], color[2], color[3], fighter.safe and 0.5 or 1)
  love.graphics.circle("fill", x, y, RADIUS)
  if is_me then
    love.graphics.setLineWidth(3)
    love.graphics.setColor(1, 1, 1)
    love.graphics.circle("line", x, y, RADIUS + 4)
  end
  love.graphics.setColor(0.42, 0.92, 0.56)
  love.graphics.rectangle("fill", x - RADIUS, y - RADIUS - 14, 2 * RADIUS * fighter.health / 100, 5)
  love.graphics.setColor(1, 1, 1)
  local label = ("%s  %d"):format(fighter.name, fighter.score or 0)
  love.graphics.printf(label, x - 100, y + RADIUS + 6, 200, "center")
end

local function draw_arena(match)
  local map = match.map
  love.graphics.setColor(0.14, 0.17, 0.27)
  love.graphics.rectangle("fill", 0, 0, map.width, map.height)
  love.graphics.setColor(0.35, 0.4, 0.6)
  for _, wall in ipairs(map.walls) do love.graphics.rectangle("fill", unpack(wall)) end
  love.graphics.setColor(1, 1, 1)
  for _, bullet in pairs(match.bullets) do love.graphics.circle("fill", bullet.x, bullet.y, 5) end
  for id, fighter in pairs(match.fighters) do
    if fighter.shown_x and not fighter.dead then draw_fighter(fighter, id == match.you) end
  end
end

-- Draws the match. `note` is a text over the picture, or nil.
function picture.draw(match, note)
  love.graphics.clear(0.04, 0.05, 0.08)
  if match.map then
    local scale, left, top = frame(match.map)
    love.graphics.push()
    love.graphics.translate(left, top)
    love.graphics.scale(scale)
    draw_arena(match)
    love.graphics.pop()
  end
  if not note then return end
  love.graphics.setColor(1, 0.55, 0.5)
  love.graphics.print(note, 12, 12)
end

return picture
