--- Walks the statements of a file for flow.lua: a function for each tag of a node (parser.lua).

local types = require "perigee.tools.check.types"

local NIL, UNKNOWN = types.NIL, types.UNKNOWN
local is_collection, put = types.is_collection, types.put

local walk = {}

-- Returns the type of the value that the i-th of several targets gets.
local function type_at(values, found, i)
  if i < #values or i == #values and found[i] then
    return found[i]
  end
  local last = values[#values]
  if not last then
    return NIL
  end
  local results = (last.tag == "call" or last.tag == "method") and last.results
  return results and results[i - #values + 1] or UNKNOWN
end

local function evaluate_all(self, values)
  local found = {}
  for i, value in ipairs(values) do
    found[i] = self:evaluate(value)
  end
  return found
end

walk["local"] = function(self, node)
  local found = evaluate_all(self, node.values)
  for i, variable in ipairs(node.variables) do
    self:hold(variable, type_at(node.values, found, i))
  end
end

local function assign(self, target, type)
  if target.tag == "name" then
    if target.variable then
      self:hold(target.variable, type)
    else
      self:lose(type)
    end
    return
  end
  local object = self:evaluate(target.object)
  if target.key then
    self:value(target.key)
  end
  if object.kind == "table" then
    self:set_field(object.node, target.name, type)
    return
  end
  self:use(type)
  if object.kind == "class" and target.name then
    self.rules:write(self, object.class, target)
  elseif target.object.variable and object.element and object.element ~= type and type ~= NIL then
    put(self:variable(target.object.variable), UNKNOWN)
  end
end

function walk.assign(self, node)
  local found = evaluate_all(self, node.values)
  for i, target in ipairs(node.targets) do
    assign(self, target, type_at(node.values, found, i))
  end
end

walk["do"] = function(self, node)
  self:walk(node.body)
end

function walk.loop(self, node)
  self:value(node.condition)
  self:walk(node.body)
end

walk["if"] = function(self, node)
  for _, condition in ipairs(node.conditions) do
    self:value(condition)
  end
  for _, body in ipairs(node.bodies) do
    self:walk(body)
  end
end

-- Returns the types of the variables of `for ... in`, in order.
local function iterated(self, node)
  local source = node.values[1]
  local type = self:value(source)
  local is_pairs = source.tag == "call" and source.object.tag == "name" and not source.object.variable
    and (source.object.name == "pairs" or source.object.name == "ipairs")
  if is_pairs and source.arguments[1] then
    local list = self:evaluate(source.arguments[1])
    return { UNKNOWN, is_collection(list) and list.element or UNKNOWN }
  elseif type.kind == "function" then
    return type.returns
  end
  return {}
end

walk["for"] = function(self, node)
  local found = not node.is_numeric and iterated(self, node) or {}
  for i = node.is_numeric and 1 or 2, #node.values do
    self:value(node.values[i])
  end
  for i, variable in ipairs(node.variables) do
    put(self:variable(variable), found[i] or UNKNOWN)
  end
  self:walk(node.body)
end

walk["return"] = function(self, node)
  local owner = self.fn or self.file
  for i, value in ipairs(node.values) do
    local type = self:value(value, not self.fn and i == 1 and self.file.wanted or nil)
    if i == 1 then
      put(self:slot(owner, "result"), type)
    end
    if self.fn and type.kind == "table" then
      self:open(type.node)
    end
  end
end

function walk.run(self, node)
  self:evaluate(node.call)
end

return walk
