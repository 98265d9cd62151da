--- Whole numbers by chance, the same for the same seed everywhere.
local random = {}


--- A function that returns another number from 1 to `most` each time.
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
