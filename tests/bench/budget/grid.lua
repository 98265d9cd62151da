-- Searches a path through a grid of 64 by 64, breadth first.
local SIZE = 64
local STEPS = { { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } }

local function is_wall(x, y)
  return x < 1 or y < 1 or x > SIZE or y > SIZE or (x * 7 + y * 13) % 11 == 0
end

local function distance(x0, y0, x1, y1)
  local seen, queue, first = { [y0 * 100 + x0] = 0 }, { { x0, y0 } }, 1
  while queue[first] do
    local x, y = queue[first][1], queue[first][2]
    first = first + 1
    local so_far = seen[y * 100 + x]
    if x == x1 and y == y1 then
      return so_far
    end
    for _, step in ipairs(STEPS) do
      local next_x, next_y = x + step[1], y + step[2]
      local key = next_y * 100 + next_x
      if not seen[key] and not is_wall(next_x, next_y) then
        seen[key] = so_far + 1
        queue[#queue + 1] = { next_x, next_y }
      end
    end
  end
end

return function()
  local sum = 0
  for i = 1, 30 do
    sum = sum + (distance(2, 2, 60, 30 + i) or 0)
  end
  return sum
end
