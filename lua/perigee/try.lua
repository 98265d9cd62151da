--- Whether the game would load with another text in one of its files: it is loaded as a reload would
--- load it, beside the version that runs, and nothing of that holds.

local core = require "perigee.core"
local live = require "perigee.live"
local loader = require "perigee.loader"
local mcp_registry = require "perigee.mcp.registry"
local registry = require "perigee.registry"
local state = require "perigee.state"
local undo = require "perigee.undo"
local world = require("perigee.world").host

local try = {}

local function bring_back(attempt)
  live.loading, live.attempt = nil, attempt
end

--- The top level of a version may reach into what is live: the states of rooms and peers, and the
--- world. When the running handler fails, they are what they are now.
function try.remember_states()
  for _, objects in ipairs { registry.rooms, registry.peers, { { state = world.copy() } } } do
    for _, object in next, objects do
      undo.push(state.bring_back, state.remember(object))
    end
  end
end

-- Whether a path leads to what could be a file of the game.
local function is_inside(name)
  return name ~= "" and not name:find "[%z\\]" and not ("/" .. name .. "/"):find("//", 1, true)
    and not ("/" .. name .. "/"):find "/%.%.?/"
end


--- Loads a version that has not been run with this text in one of its files.
---@param version perigee.Version
---@param name string of the file, within the game's folder
---@param text string
---@param check fun(version: perigee.Version) raises what is wrong with one that has been run
---@return string? problem
---@return string[] warnings
function try.file(version, name, text, check)
  if not is_inside(name) then
    return "the path is that of a file within the game's folder, such as game.lua", {}
  end
  undo.push(bring_back, live.attempt)
  try.remember_states()
  local path = version.root .. name
  version.parses = "now"
  version.files[1], version.stamps[path], version.texts[path] = path, "", text
  local ok, problem = loader.run(version)
  if ok then
    ok, problem = pcall(check, version)
  end
  if ok then
    core.config_end(false)
  end
  undo.run()
  core.forget()
  mcp_registry.forget(version.number)
  return not ok and tostring(problem) or nil, version.warnings
end

return try
