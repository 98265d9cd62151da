--- The environment variables that games may read: those whose names begin with GAME_. All others, such as
--- the operator's own secrets, stay hidden from scripts.

local core = require "perigee.core"
local fault = require "perigee.fault"

local env = {}

local NAME = "^GAME_[%w_]+$"


--- Returns an environment variable of the server's process, or nil when it is not set. Raises an error at
--- the script's line when games may not read it.
---@param name string begins with GAME_
---@return string?
function env.get(name)
  fault.check("the name of an environment variable", name, "string")
  if not name:find(NAME) then
    fault.raise("%q cannot be read: games read environment variables whose names begin with GAME_, such as "
      .. 'perigee.env "GAME_SECRET"', name)
  end
  return core.env(name)
end

return env
