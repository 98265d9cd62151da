--- perigee.env: the environment variables that games may read, whose names begin with GAME_. All others, such
--- as the operator's own secrets, stay hidden from scripts.

local describe = require "perigee.util.describe"

local NAME = "^GAME_[%w_]+$"


--- Returns the function that games call as `perigee.env`. That function returns the value of a variable, or
--- nil if the variable is not set. It raises an error at the script's line if games may not read the
--- variable.
---@param read fun(name: string): string?
---@return fun(name: string): string?
return function(read)
  return function(name)
    if type(name) == "string" and name:find(NAME) then
      return read(name)
    end
    error(("%s%s cannot be read: games read environment variables whose names begin with GAME_, such as "
      .. 'perigee.env "GAME_SECRET"'):format(describe.where(),
      type(name) == "string" and ("%q"):format(name) or describe.kind(name)), 0)
  end
end
