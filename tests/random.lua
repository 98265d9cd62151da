--- Random whole numbers. A seed gives the same ones on each machine.
local random = {}


--- Returns a function that returns a random number from 1 to `most`.
---@param seed integer from 1
---@return fun(most: integer): integer
function random.from(seed)
  local state = seed
  return function(most)
    state = (state * 16807) % 2147483647
    return state % most + 1
  end
end

return random
