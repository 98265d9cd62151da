--- Finds errors in the use of the API, in all lines of the files that a game runs; see rules.lua. Reports
--- only errors that are certain.

local flow = require "perigee.tools.check.flow"
local rules = require "perigee.tools.check.rules"

local api = {}

-- Calls fn(node) for each node of a syntax tree that flow.lua has not visited.
local function each_node(tree, fn)
  local waiting = { tree }
  while #waiting > 0 do
    local part = table.remove(waiting)
    if part.tag then
      fn(part)
    end
    for key, value in pairs(part) do
      waiting[#waiting + 1] = type(value) == "table" and key ~= "variable" and value or nil
    end
  end
end

-- Returns the names of fields that the game sets anywhere.
local function assigned_names(trees)
  local names = {}
  for _, tree in pairs(trees) do
    each_node(tree, function(node)
      for _, target in ipairs(node.tag == "assign" and node.targets or {}) do
        if target.tag == "index" and target.name then
          names[target.name] = true
        end
      end
    end)
  end
  return names
end


--- Returns the names that a game may set with rawset. If the game uses rawset, these names are all strings in
--- its files; otherwise none.
---@param trees table<string, table[]> by path, see parser.lua
---@return table<string, true>
function api.raw_names(trees)
  local texts, has_rawset = {}, false
  for _, tree in pairs(trees) do
    each_node(tree, function(node)
      if node.tag == "string" then
        texts[node.value] = true
      end
      has_rawset = has_rawset or node.tag == "name" and node.name == "rawset"
    end)
  end
  return has_rawset and texts or {}
end


--- Returns the findings about files that a game runs: { path, line, kind, message }.
---@param trees table<string, table[]> by path, see parser.lua
---@param main string path of the main file
---@param modules table<string, string> path of each module, by its name
---@param raw_names table<string, true> result of api.raw_names
---@return table[]
function api.check(trees, main, modules, raw_names)
  local files, by_path = {}, {}
  for path, tree in pairs(trees) do
    by_path[path] = { path = path, body = tree }
    table.insert(files, path == main and 1 or #files + 1, by_path[path])
  end
  if not by_path[main] then
    return {}
  end
  local found = rules.new(assigned_names(trees), raw_names)
  flow.run(files, function(name)
    return by_path[modules[name]]
  end, found)
  return found.found
end

return api
