--- How much garbage a function makes.

local WARM_UP, ROUNDS = 200, 1000 -- calls: until the JIT has made what it wants to, and then

local garbage = {}


--- KB that so many calls make. Some are the JIT's own.
---@param fn function
---@return number
function garbage.of(fn)
  for _ = 1, WARM_UP do fn() end
  collectgarbage()
  collectgarbage "stop"
  local before = collectgarbage "count"
  for _ = 1, ROUNDS do fn() end
  local made = collectgarbage "count" - before
  collectgarbage "restart"
  return made
end

return garbage
