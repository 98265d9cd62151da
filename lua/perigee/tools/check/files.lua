--- Finds errors in a game's files without running the files: syntax errors, and unknown globals, modules and
--- functions of the library. A load finds these errors only in the lines that it runs.

local allowed = require "perigee.guard.allowed"
local api = require "perigee.tools.check.api"
local brains = require "perigee.tools.check.brains"
local modules = require "perigee.host.modules"
local parser = require "perigee.tools.check.parser"
local source = require "perigee.tools.check.source"
local tool = require "perigee.tool"

local DEPTH_MAX = 12 -- depth of nested folders; limited because links may form cycles
local FILES_MAX = 5000

local files = {}


--- Returns the main file of a game.
---@param game string a folder with a game.lua, or a .lua file
---@return string path
function files.main(game)
  if game:find "%.lua$" then
    return game
  end
  return (game:gsub("/+$", "") .. "/game.lua")
end


---@param path string
---@param texts? table<string, string> texts that replace files on the disk, by path
---@return string? text
function files.read(path, texts)
  if texts and texts[path] then
    return texts[path]
  end
  local file = tool.kind(path) == "file" and io.open(path, "rb")
  if not file then
    return nil
  end
  local text = file:read "*a"
  file:close()
  return text
end


-- Compiles a file. Returns nil and a finding if the file does not parse.
local function compile(path, text, kind, remark)
  local fn, problem = tool.parse(path, text)
  if fn then
    return fn
  end
  problem = problem:sub(1, #path + 2) == path .. ": " and problem:sub(#path + 3) or problem
  local line, message = problem:match ":(%d+): (.*)$"
  return nil, {
    path = path, line = tonumber(line), kind = kind, message = (message or problem) .. (remark or ""),
  }
end

-- Files of the game -----------------------------------------------------------------------


-- Returns the current text of a file, and a signature that changes when the file is written.
local function read_used(game, path)
  game.signatures[path] = game.signatures[path] or tool.signature(path)
  return files.read(path, game.given)
end

local function find_module(game, name)
  local stem = game.root .. name:gsub("%.", "/")
  for _, ending in ipairs { ".lua", "/init.lua" } do
    local text = read_used(game, stem .. ending)
    if text then
      return stem .. ending, text
    end
  end
  stem = stem:gsub("^%./", "")
  return nil, ("%s.lua or %s/init.lua"):format(stem, stem)
end

local function add_missing(found, root, path, module, tried)
  found[#found + 1] = {
    path = path, line = module.line, kind = "error",
    message = ("there is no module %q: no file %s%s"):format(module.name, tried,
      modules.hint(root, module.name, tool.list, tool.nearest)),
  }
end

local visit

local function visit_modules(game, path, used_modules, found)
  for _, module in ipairs(used_modules) do
    local is_ours = module.name ~= "perigee" and not module.name:find "^perigee%."
      and not allowed.modules[module.name]
      and module.name:find "^[%w_-]+[%w_.-]*$" and not module.name:find "%.%."
    if is_ours then
      local module_path, text = find_module(game, module.name)
      if module_path then
        game.modules[module.name] = module_path
        visit(game, module_path, text, found)
      else
        add_missing(found, game.root, path, module, text)
      end
    end
  end
end

-- Visits a file that the game runs, and the files that it requires by name.
function visit(game, path, text, found)
  if game.used[path] ~= nil then
    return
  end
  local fn, problem = compile(path, text, "error")
  game.used[path] = fn and source.read(fn) or false
  found[#found + 1] = problem
  if fn then
    game.trees[path] = parser.read(text)
    visit_modules(game, path, game.used[path].modules, found)
    visit_modules(game, path, brains.find(game.trees[path]), found)
  end
end

-- Globals ------------------------------------------------------------------------------------


local function known_globals()
  local known = { _G = true, print = true, require = true }
  for _, name in ipairs(allowed.base) do
    known[name] = true
  end
  for library, names in pairs(allowed.libraries) do
    known[library] = true
    for _, name in ipairs(names) do
      known[library .. "." .. name] = true
    end
  end
  return known
end

-- Returns the nearest global; or, if `prefix` names a library, its nearest field.
local function nearest(name, known, prefix)
  local words = {}
  for word in pairs(known) do
    if (word:match "^[^.]+%." or "") == prefix then
      words[#words + 1] = word:sub(#prefix + 1)
    end
  end
  table.sort(words)
  return tool.nearest(name:sub(#prefix + 1), words)
end

local function explain(name, known)
  if allowed.reasons[name] then
    return " (" .. allowed.reasons[name] .. ")"
  end
  local prefix = name:match "^[^.]+%." or ""
  local meant = nearest(name, known, prefix)
  return meant and "; did you mean " .. prefix .. meant .. "?" or ""
end

-- Adds one finding for each unknown name in a file, at the first line that uses the name.
local function add_globals(found, path, uses, is_known, describe)
  local first = {}
  for _, use in ipairs(uses) do
    local known = first[use.name]
    if not is_known(use.name) and (not known or use.line < known) then
      first[use.name] = use.line
    end
  end
  for name, line in pairs(first) do
    found[#found + 1] = { path = path, line = line, kind = "error", message = describe(name) }
  end
end

local function check_file(found, path, used, known, of_game)
  local is_written = {}
  for _, write in ipairs(used.writes) do
    is_written[write.name] = true
  end
  add_globals(found, path, used.writes, function(name)
    return known[name] or of_game[name]
  end, function(name)
    return ("%s is not declared; write `%s`"):format(name,
      name:find "^on_" and "function game." .. name or "local " .. name)
  end)
  add_globals(found, path, used.reads, function(name)
    return known[name] or of_game[name] or is_written[name]
  end, function(name)
    return ("there is no global %s%s"):format(name, explain(name, known))
  end)
  add_globals(found, path, used.calls, function(name)
    local library = name:match "^[^.]+"
    return known[name] or used.asked[name] or not allowed.libraries[library] or of_game[library]
  end, function(name)
    return ("there is no %s%s"):format(name, explain(name, known))
  end)
end

local function check_globals(game, found)
  local known, of_game = known_globals(), game.raw_names
  for path, used in pairs(game.used) do
    if used then
      check_file(found, path, used, known, of_game)
    end
  end
end

-- Unused files -----------------------------------------------------------------------------


local function walk(folder, depth, paths)
  local names = depth <= DEPTH_MAX and tool.list(folder) or {}
  table.sort(names)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if not name:find "^%." and #paths < FILES_MAX then
      local kind = tool.kind(path)
      if kind == "folder" then
        walk(path, depth + 1, paths)
      elseif kind == "file" and name:find "%.lua$" then
        paths[#paths + 1] = path
      end
    end
  end
  return paths
end

local function check_others(game, folder, found)
  local total = 0
  for _, path in ipairs(walk(folder, 1, {})) do
    total = total + 1
    if game.used[path] == nil then
      local text = (files.read(path, game.given) or ""):gsub("^#[^\n]*", "")
      local _, problem = compile(path, text, "warning", " (the game does not load this file)")
      found[#found + 1] = problem
    end
  end
  return total
end


--- Returns the findings about the files that a game runs: { path, line, kind, message }. Also returns the
--- game, whose `signatures` are by path and include missing files.
---@param path string a folder with a game.lua, or a .lua file
---@param given? table<string, string> see files.read
---@return table[] findings
---@return table game
function files.check_used(path, given)
  local main = files.main(path)
  local game = {
    root = main:match "^.*/" or "",
    given = given,
    used = {}, -- path -> result of source.read; false for a file that does not parse
    trees = {}, -- path -> syntax tree (parser.lua) of a file that parses
    modules = {}, -- name -> path
    signatures = {}, -- path -> signature
  }
  local found = {}
  visit(game, main, read_used(game, main) or "", found)
  game.raw_names = api.raw_names(game.trees) -- names of globals that the game may declare with rawset
  for _, finding in ipairs(api.check(game.trees, main, game.modules, game.raw_names)) do
    found[#found + 1] = finding
  end
  check_globals(game, found)
  return found, game
end


--- Returns the findings about all files of a game, and the number of files.
---@param path string a folder with a game.lua, or a .lua file
---@param given? table<string, string> see files.read
---@return table[] findings
---@return integer count
function files.check(path, given)
  local found, game = files.check_used(path, given)
  local main, total = files.main(path), 0
  if main ~= path then
    total = check_others(game, main:match "^(.*)/", found)
  else
    for _ in pairs(game.used) do
      total = total + 1
    end
  end
  return found, total
end

return files
