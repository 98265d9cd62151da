--- Loads one version of a game: its main file and what that requires, in an environment of their
--- own. Nothing of it is live until reload.lua says so.

local core = require "perigee.core"
local fault = require "perigee.fault"
local handlers = require "perigee.handlers"
local live = require "perigee.live"
local sandbox = require "perigee.sandbox"

local load = load

local loader = {}

local EXTENSION = "%.lua$"
local OUTSIDE = { ["perigee.client"] = true, ["perigee.connect"] = true }

--- One load of a game.
---@class perigee.Version
---@field number integer 1 for the first
---@field main string path of game.lua as the user knows it
---@field root string folder of the game with its slash, or ""
---@field files string[] paths, in the order of loading, with those that were looked for in vain
---@field texts table<string, string> by path
---@field table table what the main file returned
---@field game table<string, function|table> its handlers
---@field fallback table<string, function> its handlers for rooms of kinds it does not name
---@field kinds table<string, table> handlers of room kinds
---@field kind_tables table<string, table> what the game gave for room kinds
---@field settings table<string, table> capacity and the like, of room kinds
---@field config table
---@field warnings string[]
---@field api table what `require "perigee"` gave it

local function note_file(version, path)
  if not version.texts[path] then
    version.files[#version.files + 1] = path
    version.texts[path] = ""
  end
end

local function read(version, path)
  note_file(version, path)
  local text, problem = core.read_file(path)
  version.texts[path] = text or ""
  return text, problem and path .. ": " .. problem
end

-- What the file returns. Errors carry its name and line.
local function run(version, path, text)
  if text:byte(1) == 27 then
    error(path .. ": this is bytecode; games are loaded from source", 0)
  end
  local chunk, problem = load(text, "@" .. path, "t", version.environment)
  if not chunk then
    error(problem, 0)
  end
  return chunk()
end

-- The game's file for a module name, or the paths where it was looked for.
local function find(version, name)
  local stem = version.root .. name:gsub("%.", "/")
  local tried = {}
  for _, ending in ipairs { ".lua", "/init.lua" } do
    local path = stem .. ending
    local text = read(version, path)
    if text then
      return path, text
    end
    tried[#tried + 1] = path
  end
  return nil, table.concat(tried, " or ")
end

local function require_file(version, name)
  if not name:find "^[%w_-]+[%w_.-]*$" or name:find "%.%." then
    fault.raise("%q is no module's name; it is like \"rooms.duel\" for rooms/duel.lua", name)
  end
  local path, text = find(version, name)
  if not path then
    fault.raise("there is no module %q: no file %s", name, text)
  end
  version.loading[name] = true
  local ok, value = pcall(run, version, path, text)
  version.loading[name] = nil
  if not ok then
    error(value, 0)
  elseif type(value) == "table" then
    version.file_of[value] = path
  end
  return value == nil and true or value
end

-- The function `require` of one version.
local function make_require(version)
  return function(name)
    fault.check("a module's name", name, "string")
    if name == "perigee" then
      return version.api
    elseif OUTSIDE[name] or name:find "^perigee%.client%." then
      fault.raise("%s is for programs outside the server; a game has its peers already", name)
    elseif name:find "^perigee%." then
      fault.raise("%s belongs to the host; games use require \"perigee\"", name)
    elseif version.loading[name] then
      fault.raise("%s requires itself, perhaps by way of another module", name)
    end
    local value = version.modules[name]
    if value == nil then
      value = require_file(version, name)
      version.modules[name] = value
    end
    return value
  end
end

-- The function `print` of one version, whose number its lines carry.
local function make_print(version)
  return function(...)
    local words = {}
    for i = 1, select("#", ...) do
      words[i] = tostring((select(i, ...)))
    end
    core.log(core.levels.info, (table.concat(words, "\t"):gsub("%z", "\\0")), version.number)
  end
end


--- A version that has not been run yet.
---@param game string folder or file, as the user gave it
---@param number integer
---@param api table what `require "perigee"` is to give it
---@return perigee.Version
function loader.new(game, number, api)
  local main = game:find(EXTENSION) and game or game:gsub("/+$", "") .. "/game.lua"
  local version = {
    number = number, main = main, root = main:match "^.*/" or "", api = api,
    files = {}, texts = {}, modules = {}, loading = {}, file_of = {},
    kinds = {}, kind_tables = {}, settings = {}, warnings = {},
  }
  version.environment = sandbox.environment {
    print = make_print(version),
    require = make_require(version),
  }
  return version
end

local function load_main(version)
  local text, problem = read(version, version.main)
  if not text then
    error(problem, 0)
  end
  version.table = run(version, version.main, text)
  if type(version.table) ~= "table" then
    error(("%s: a game returns its table of handlers; this file returned %s"):format(
      version.main, fault.kind(version.table)), 0)
  end
  version.file_of[version.table] = version.main
  handlers.read(version)
end


--- Runs a version's top level and reads what it returned.
---@param version perigee.Version
---@return boolean ok
---@return any problem
function loader.run(version)
  live.loading, live.attempt = version.number, version
  local ok, problem = pcall(load_main, version)
  live.loading = nil
  return ok, problem
end

return loader
