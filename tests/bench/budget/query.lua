-- A room of 300 units: finds neighbours, and the weakest unit of a team.
local units = {}
for i = 1, 300 do
  units[i] = { id = i, x = i * 37 % 101, y = i * 53 % 97, team = i % 3, health = i * 7 % 100 }
end

local function nearest(unit)
  local best, least = nil, math.huge
  for _, other in ipairs(units) do
    if other ~= unit and other.team ~= unit.team then
      local dx, dy = other.x - unit.x, other.y - unit.y
      local square = dx * dx + dy * dy
      if square < least then
        best, least = other, square
      end
    end
  end
  return best
end

local function weakest(team)
  local found
  for _, unit in ipairs(units) do
    if unit.team == team and (not found or unit.health < found.health) then
      found = unit
    end
  end
  return found
end

return function()
  local sum = 0
  for _ = 1, 50 do
    for _, unit in ipairs(units) do
      sum = sum + nearest(unit).id
    end
    for team = 0, 2 do
      sum = sum + weakest(team).id
    end
  end
  return sum
end
