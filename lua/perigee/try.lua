--- Whether the game would load with another text in one of its files: it is loaded as a reload would
--- load it, beside the version that runs, and nothing of that holds.

local core = require "perigee.core"
local live = require "perigee.live"
local loader = require "perigee.loader"
local mcp_registry = require "perigee.mcp.registry"
local undo = require "perigee.undo"

local try = {}

local function bring_back(attempt)
  live.loading, live.attempt = nil, attempt
end


--- Loads a version that has not been run with this text in one of its files.
---@param version perigee.Version
---@param name string of the file, within the game's folder
---@param text string
---@param check fun(version: perigee.Version) raises what is wrong with one that has been run
---@return string? problem
---@return string[] warnings
function try.file(version, name, text, check)
  undo.push(bring_back, live.attempt)
  local path = version.root .. name
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
