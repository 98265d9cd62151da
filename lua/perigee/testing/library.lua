--- The library that `require "perigee"` returns in specs, and in modules of a game that specs require. It has
--- no server. Functions that only compute work as usual. Declarations do nothing. All other functions raise
--- an error that names the cause.

local annotations = require "perigee.tools.check.annotations"
local commands = require "perigee.api.commands"
local env = require "perigee.api.env"
local failure = require "perigee.testing.failure"
local fixed = require "perigee.fixed"
local tool = require "perigee.tool"

local classes = annotations.read().classes


local function declare() end


-- A table of the library. The functions in `own` work without a server. All other names are parts of the
-- library, or functions that raise an error only when called, so that a module may keep them in locals.
local function part(class, separator, own)
  local path = class.shown
  return setmetatable(own, {
    __index = function(_, name)
      local inner = classes[(class.fields[name] or ""):match "^perigee%.%a+" or ""]
      if inner then
        return part(inner, ".", {})
      elseif not class.fields[name] and not class.functions[name] then
        local meant = type(name) == "string" and tool.nearest(name, annotations.names(class))
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

-- Returns a function that declares an object, whose methods need a server.
local function declares(class_name)
  return function(name) return part(classes[class_name], ":", { name = name }) end
end

local store = part(classes["perigee.Store"], ".", {})
local collection = declares "perigee.Collection"
getmetatable(store).__call = function(_, name) return collection(name) end

return part(classes.perigee, ".", {
  state = {},
  commands = commands(tool.nearest),
  env = env(os.getenv),
  fixed = fixed,
  store = store, leaderboard = declares "perigee.Leaderboard", protocol = declare,
  rooms = part(classes["perigee.Rooms"], ".", {}),
  to = part(classes["perigee.To"], ".", { all = {} }),
  mcp = part(classes["perigee.Mcp"], ".", { tool = declare, resource = declare, prompt = declare }),
  world = part(classes["perigee.World"], ":", { component = declare, system = declare }),
})
