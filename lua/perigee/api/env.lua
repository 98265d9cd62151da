--- The environment variables that games may read.

local core = require "perigee.core"
local env_reader = require "perigee.api.env_reader"

return { get = env_reader(core.env) }
