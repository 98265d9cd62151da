--- Measures the garbage that a function makes.

local WARM_UP, ROUNDS = 200, 1000 -- calls that let the JIT compile everything, and calls that are measured

local garbage = {}


--- Returns the KB that ROUNDS calls of a function make. The JIT itself may make some of them.
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
