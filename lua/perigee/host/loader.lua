--- Loads one version of a game: its main file and the modules that it requires, in a separate environment.
--- The version becomes live only when reload.lua makes it live.

local bots = require("perigee.host.bots").api
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local handlers = require "perigee.host.handlers"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local modules = require "perigee.host.modules"
local sandbox = require "perigee.guard.sandbox"
local sorted_keys = require "perigee.util.sorted_keys"

local to_text = core.is_simulated and require("perigee.host.order").tostring or tostring

local loader = {}

local EXTENSION = "%.lua$"
local SCHEMA = "schema.perigee"
local HASH_DIGITS = 7 -- digits of a hash that are shown
local LINES_MAX = 1000 -- most printed lines that wait for the version's hash
local OUTSIDE = { ["perigee.client"] = true, ["perigee.connect"] = true }

--- One load of a game.
---@class perigee.Version
---@field number integer 1 for the first
---@field main string path of game.lua, as the user gave it
---@field root string folder of the game with its slash, or ""
---@field hash string hash of its files' names and texts; "" before its run
---@field files string[] paths in the order of loading, including missing ones
---@field texts table<string, string> texts of the existing files, by path
---@field signatures table<string, string> state of a file when it was read (core.file_signature), by path
---@field environment table globals of its code
---@field require fun(name: string): any
---@field modules table<string, any> results of its modules, by name
---@field table table result of the main file
---@field game table<string, function|table> its handlers
---@field fallback table<string, function> its handlers for rooms of undeclared kinds
---@field kinds table<string, table> handlers of room kinds
---@field kind_tables table<string, table> the game's tables for room kinds
---@field settings table<string, table> settings of room kinds, such as capacity
---@field config table
---@field warnings string[]
---@field api table result of `require "perigee"`
---@field schema perigee.schema.Schema? schema in schema.perigee beside the main file
---@field protocol perigee.schema.Schema? its schema, whose hash includes the game's declarations
---@field declared table<string, string> the declarations; see api/protocol.lua
---@field parses "load"|"ahead"|"now" time at which its files are parsed, see core.parse
---@field has_unparsed boolean? its load required a file that was not parsed ahead

-- Reads a file once for each version. Takes the file's signature before it reads the text, so that a change
-- during the read is noticed.
local function read(version, path)
  local text, problem = version.texts[path], version.problems[path]
  if not version.signatures[path] then
    version.files[#version.files + 1] = path
    version.signatures[path] = core.file_signature(path)
    text, problem = core.read_file(path)
    problem = not text and path .. ": " .. problem or nil
    version.texts[path], version.problems[path] = text, problem
  end
  return text, problem
end

-- Stores the traceback where an error is first raised, because `require` raises the error again and so loses
-- its traceback.
local function note_trace(problem)
  local attempt = live.attempt
  if not attempt.trace or not rawequal(attempt.problem, problem) then
    attempt.problem, attempt.trace = problem, core.traceback()
  end
  return problem
end

-- Runs a file and returns its result. Errors contain the file's name and line.
local function run(version, path, text)
  local chunk, problem = core.parse(path, text, version.environment, version.parses)
  if chunk then
    return chunk()
  elseif not problem then
    version.has_unparsed = true
    problem = path .. ": parsing this file takes longer than a handler has time; "
      .. "require it at the top of a file"
  end
  error(problem, 0)
end

-- Returns the path and the text of a module's file; or nil and the searched paths.
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
    fault.raise("there is no module %q: no file %s%s", name, text,
      modules.hint(version.root, name, core.list, core.nearest))
  end
  version.loading[name] = true
  local ok, value = xpcall(run, note_trace, version, path, text)
  version.loading[name] = nil
  if not ok then
    error(value, 0)
  elseif type(value) == "table" then
    version.file_of[value] = path
  end
  return value == nil and true or value
end

-- Returns the function `require` of one version.
local function make_require(version)
  return function(name)
    fault.check("a module's name", name, "string")
    if name == "perigee" then
      return version.api
    elseif name == "perigee.fixed" then -- clients require it by this name, too
      return version.api.fixed
    elseif OUTSIDE[name] or name:find "^perigee%.client%." then
      fault.raise("%s is for programs outside the server; a game has its peers already", name)
    elseif name:find "^perigee%." then
      fault.raise("%s belongs to the host; games use require \"perigee\"", name)
    elseif version.loading[name] then
      fault.raise("%s requires itself, perhaps by way of another module", name)
    end
    local value = version.modules[name]
    if value == nil then
      value = sandbox.library(name) or require_file(version, name)
      version.modules[name] = value
    end
    return value
  end
end

-- Logs a line that a version printed. Lines wait until all files of the version are known, because each log
-- line shows the version's hash.
local function log(version, text)
  local waiting = version.lines
  if waiting and #waiting < LINES_MAX then
    waiting[#waiting + 1] = text
  else
    live.log(core.levels.info, text, version.number)
  end
end

-- Returns the function `print` of one version.
local function make_print(version)
  return function(...)
    local words = {}
    for i = 1, select("#", ...) do
      words[i] = to_text((select(i, ...)))
    end
    log(version, (table.concat(words, "\t"):gsub("%z", "\\0")))
  end
end


--- Returns a version that has not been run yet.
---@param game string folder or file, as the user gave it
---@param number integer
---@param api table result of `require "perigee"` for this version
---@return perigee.Version
function loader.new(game, number, api)
  local main = game:find(EXTENSION) and game or game:gsub("/+$", "") .. "/game.lua"
  local version = {
    number = number, main = main, root = main:match "^.*/" or "", api = api, hash = "",
    files = {}, texts = {}, problems = {}, signatures = {}, lines = {},
    modules = {}, loading = {}, file_of = {}, parses = "load",
    kinds = {}, kind_tables = {}, settings = {}, warnings = {},
  }
  version.require = make_require(version)
  version.environment = sandbox.environment {
    print = make_print(version),
    require = version.require,
  }
  live.know(version)
  return version
end

-- Returns a hash that is independent of the place of the game's folder.
local function hash_of(version)
  local parts = {}
  for _, path in ipairs(sorted_keys(version.texts)) do
    parts[#parts + 1] = path:sub(#version.root + 1)
    parts[#parts + 1] = version.texts[path]
  end
  return core.hash(parts):sub(1, HASH_DIGITS)
end

-- Returns whether the live version has this schema, with its encoders.
local function is_live_schema(text)
  local before = live.version
  return before ~= nil and before.texts[before.root .. SCHEMA] == text
end

local function load_schema(version)
  local path = version.root .. SCHEMA
  local text = read(version, path)
  if text and is_live_schema(text) then
    version.schema = live.version.schema
  elseif text then
    version.schema = live_schema.parse(text, path)
  end
end

local function load_main(version)
  local text, problem = read(version, version.main)
  if not text then
    error(problem, 0)
  end
  local ok, value = xpcall(run, note_trace, version, version.main, text)
  if not ok then
    error(value, 0)
  end
  version.table = value
  if type(version.table) ~= "table" then
    error(("%s: a game returns its table of handlers; this file returned %s%s"):format(version.main,
      fault.kind(version.table), value == nil and "; does it end with `return game`?" or ""), 0)
  end
  version.file_of[version.table] = version.main
  handlers.read(version)
  bots.load(version)
  load_schema(version)
end


-- Finishes a load. Nothing may depend on this function, because it is never called if the top level yields.
local function end_load(version)
  live.loading, version.parses = nil, "now"
  version.hash = hash_of(version)
  live.set_hash(version.number, version.hash)
  local lines = version.lines
  version.lines = nil
  for _, line in ipairs(version.has_unparsed and {} or lines) do -- if unparsed, a second load logs the lines
    live.log(core.levels.info, line, version.number)
  end
end


--- Runs a version's top level and reads its result.
---@param version perigee.Version
---@return boolean ok
---@return any problem
function loader.run(version)
  live.loading, live.attempt = version.number, { files = version.files, texts = version.texts }
  local ok, problem = pcall(load_main, version)
  end_load(version)
  return ok, problem
end


--- The result of a check.
---@class perigee.Checked
---@field files string[] paths, including missing ones
---@field signatures table<string, string> results of core.file_signature, by path
---@field problem string? the errors, one a line


--- Reads the output of `perigee check --for-reload`: one line for each file, with its signature; then an
--- empty line and the errors. If the check itself failed, logs its output and returns nil.
---@param output string
---@return perigee.Checked?
function loader.read_check(output)
  local head, errors = output:match "^(.-\n)\n(.-)%s*$"
  if not head then
    live.log(core.levels.warn, "a reload could not check the game: " .. output)
    return nil
  end
  local found = { files = {}, signatures = {}, problem = errors ~= "" and errors or nil }
  for signature, path in head:gmatch "([^\t\n]*)\t([^\n]+)\n" do
    found.files[#found.files + 1] = path
    found.signatures[path] = signature
  end
  return found
end


--- Returns the first file that has changed since a version or a check has read it, or is being written now.
---@param source perigee.Version|perigee.Checked
---@return string? path
function loader.find_changing(source)
  for _, path in ipairs(source.files) do
    if core.file_signature(path) ~= source.signatures[path] or core.file_is_being_written(path) then
      return path
    end
  end
end


--- Returns the current contents of files.
---@param paths string[]
---@return table<string, string> texts of the existing files, by path
function loader.read_all(paths)
  local texts = {}
  for _, path in ipairs(paths) do
    texts[path] = core.read_file(path)
  end
  return texts
end


--- Returns whether the contents of files are the same as when a version read them.
---@param attempt table its files and texts
---@param texts table<string, string> the present contents
---@return boolean
function loader.is_same(attempt, texts)
  for _, path in ipairs(attempt.files) do
    if texts[path] ~= attempt.texts[path] then
      return false
    end
  end
  return true
end


--- Makes another thread parse code files.
---@param texts table<string, string> by path
---@return boolean is_parsed false: the reload continues after the parsing
function loader.parse_ahead(texts)
  local code = {}
  for path, text in next, texts do
    code[path] = path:find(EXTENSION) and text or nil
  end
  return core.parse_ahead(code)
end


--- Makes the next part of the encoders of the schema among the files, before the new version is loaded.
---@param texts table<string, string> by path
---@return boolean is_done false: the reload continues with the next part
function loader.prepare_schema(texts)
  local path = live.version.root .. SCHEMA
  local text = texts[path]
  return not text or is_live_schema(text) or live_schema.prepare(text, path)
end

return loader
