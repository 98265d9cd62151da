--- Finds the modules that play bots in a file: `room:bot { brain = "brains.chaser" }`.

local brains = {}

local function add(node, found)
  local options = node.tag == "method" and node.name == "bot" and node.arguments[1]
  for _, item in ipairs(options and options.items or {}) do
    if item.name == "brain" and item.value.tag == "string" then
      found[#found + 1] = { name = item.value.value, line = item.value.line }
    end
  end
end

local function visit(node, seen, found)
  if seen[node] then
    return
  end
  seen[node] = true
  add(node, found)
  for _, part in pairs(node) do
    if type(part) == "table" then
      visit(part, seen, found)
    end
  end
end


--- Returns the modules that play bots, in the order of their lines.
---@param tree table see parser.lua
---@return { name: string, line: integer }[]
function brains.find(tree)
  local found = {}
  visit(tree, {}, found)
  table.sort(found, function(a, b)
    return a.line < b.line
  end)
  return found
end

return brains
