--- What specs, and the modules of a game that they require, get from `require "perigee"`. There is no server
--- behind it, so what only computes works, declarations are accepted, and all else is an error that says so.

local api = require "perigee.check.api"
local env_reader = require "perigee.env_reader"
local failure = require "perigee.testing.failure"
local fixed = require "perigee.fixed"
local sorted_keys = require "perigee.sorted_keys"
local tool = require "perigee.tool"

local WORLD = "perigee/meta/world.lua"


local function declare() end


local function world_names()
  local names = {}
  for name in tool.bundled(WORLD)[WORLD]:gmatch "\nfunction World:([%w_]+)%(" do names[name] = true end
  return names
end


-- A table of the library. `own` works without a server; the other names are functions that raise an error
-- when they are called, so that a module may keep them in locals.
local function part(path, separator, names, own)
  return setmetatable(own, {
    __index = function(_, name)
      if not names[name] then
        local meant = type(name) == "string" and tool.nearest(name, sorted_keys(names))
        failure.misuse("%s has no %s%s", path, tostring(name),
          meant and ("; did you mean %s?"):format(meant) or "")
      end
      return function()
        failure.misuse("%s%s%s needs a server: testing.server() starts one with the game", path, separator,
          name)
      end
    end,
  })
end


local names = api.names()
local library = part("perigee", ".", names.perigee, {
  state = {},
  env = env_reader(os.getenv),
  fixed = fixed,
  rooms = part("perigee.rooms", ".", names.rooms, {}),
  to = part("perigee.to", ".", names.to, { all = {} }),
  mcp = part("perigee.mcp", ".", names.mcp, { tool = declare, resource = declare, prompt = declare }),
  world = part("perigee.world", ":", world_names(), { component = declare, system = declare }),
})


return library
