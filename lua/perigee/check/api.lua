--- Uses of the API that cannot be right, in the files that a game runs, on whatever line: see rules.lua.

local flow = require "perigee.check.flow"
local parser = require "perigee.check.parser"
local rules = require "perigee.check.rules"

local api = {}

-- Calls fn(node) for each node of a syntax tree, or part of one.
local function each_node(part, fn)
  if part.tag then
    fn(part)
  end
  for key, value in pairs(part) do
    if type(value) == "table" and key ~= "variable" then
      each_node(value, fn)
    end
  end
end

-- Names of fields that the game sets; and all its texts where it uses rawset, as it may set fields of these
-- names.
local function collect_names(files)
  local assigned, texts, has_rawset = {}, {}, false
  for _, file in ipairs(files) do
    each_node(file.body, function(node)
      if node.tag == "assign" then
        for _, target in ipairs(node.targets) do
          assigned[target.name or ""] = target.tag == "index" or assigned[target.name or ""] or nil
        end
      elseif node.tag == "string" then
        texts[node.value] = true
      elseif node.tag == "name" and node.name == "rawset" then
        has_rawset = true
      end
    end)
  end
  return assigned, has_rawset and texts or {}
end


--- Findings about files that a game runs: { path, line, kind, message }.
---@param texts table<string, string> by path
---@param main string the path of the main file
---@param modules table<string, string> paths by name
---@return table[]
function api.check(texts, main, modules)
  local files, by_path = {}, {}
  for path, text in pairs(texts) do
    by_path[path] = { path = path, body = parser.read(text) }
    table.insert(files, path == main and 1 or #files + 1, by_path[path])
  end
  if not by_path[main] then
    return {}
  end
  local found = rules.new(collect_names(files))
  flow.run(files, function(name)
    return by_path[modules[name]]
  end, found)
  return found.found
end

return api
