--- Finds the API types of a game's values. They begin as arguments of handlers and results of API functions,
--- and reach other places through locals, local functions, functions that timers call by name, loops and
--- modules.
---
--- A type must be certain. A local has a type if all its assignments have that type. Passes over the files
--- repeat until a pass learns nothing new. In one more pass, rules.lua gets each use of a value.

local annotations = require "perigee.tools.check.annotations"
local brains = require "perigee.tools.check.brains"
local by_name = require "perigee.tools.check.by_name"
local types = require "perigee.tools.check.types"
local walk = require "perigee.tools.check.walk"

local NIL, UNKNOWN = types.NIL, types.UNKNOWN
local is_collection, join, part, put = types.is_collection, types.join, types.part, types.put

local PASSES_MAX = 12

-- Functions of Lua that do not change their arguments.
local READERS = {}
for name in ("ipairs next pairs print rawequal rawget select tostring type unpack"):gmatch "%S+" do
  READERS[name] = true
end

local Flow = {}
Flow.__index = Flow

-- Types --------------------------------------------------------------------------------------


function Flow:type(written)
  return annotations.type(self.api, written) or UNKNOWN
end

local function is_function(type)
  return type.kind == "function"
end

local function is_table(type)
  return type.kind == "class" or type.kind == "map"
end

-- Learning types -----------------------------------------------------------------------------


-- Variables, fields and results are slots. The type of a slot is the common type of all values that the
-- previous pass put into it.
function Flow:slot(owner, key)
  local slot = owner[key]
  if not slot then
    slot = { type = UNKNOWN, next = NIL }
    owner[key] = slot
    self.slots[#self.slots + 1] = slot
  end
  return slot
end

function Flow:variable(variable)
  return self:slot(variable, "slot")
end

-- Ends a pass. Returns whether the pass has learned anything new.
function Flow:settle()
  local is_new = self.is_new
  for _, slot in ipairs(self.slots) do
    local type = slot.next ~= NIL and slot.next or UNKNOWN
    is_new = is_new or type ~= slot.type
    slot.type, slot.next = type, NIL
  end
  self.is_new = false
  return is_new
end

-- Functions ----------------------------------------------------------------------------------


-- Stores the types of the arguments in a call of a game's function. `rest` is the type of all further
-- arguments: NIL or UNKNOWN.
function Flow:bind(fn, arguments, rest)
  for i, parameter in ipairs(fn.parameters) do
    put(self:variable(parameter), arguments[i] or rest)
  end
end

-- Marks a table to which unknown code may add fields.
function Flow:open(node)
  node.opened_in = self.number
end


--- Returns whether a table may have unknown fields.
---@param node table
---@return boolean
function Flow:is_open(node)
  return node.opened_in ~= nil and node.opened_in >= self.number - 1
end

-- Assigns a value to a local. If the local also has other values, the uses of this value are unknown.
function Flow:hold(variable, type)
  local slot = self:variable(variable)
  put(slot, type)
  if slot.type ~= type then
    self:lose(type)
  end
end

-- Marks a value as lost: its further uses are unknown.
function Flow:lose(type)
  if type.kind == "code" then
    self:bind(type.node, {}, UNKNOWN)
  elseif type.kind == "table" then
    self:open(type.node)
  end
end

-- Stores the use of a value in a place that expects the type `wanted` (nil: any type).
function Flow:use(type, wanted)
  if type.kind == "code" then
    local signature = part(wanted, is_function)
    type.node.is_handler = signature ~= nil
    local arguments = {}
    for i, parameter in ipairs(signature and signature.parameters or {}) do
      arguments[i] = parameter.type or UNKNOWN
    end
    self:bind(type.node, arguments, signature and not signature.is_variadic and NIL or UNKNOWN)
  elseif type.kind == "table" then
    local shape = part(wanted, is_table)
    if shape and not type.node.wanted then
      type.node.wanted, self.is_new = shape, true
    end
  end
end

function Flow:walk_function(node)
  local outer = self.fn
  self.fn = node
  self:walk(node.body)
  self.fn = outer
end

-- Tables -------------------------------------------------------------------------------------


-- Returns the type that the API expects of a field.
function Flow:wanted_of(node, name)
  local wanted = node.wanted
  if wanted and wanted.kind == "map" then
    return wanted.element
  elseif wanted then
    return (annotations.field(self.api, wanted.class, name))
  end
end

function Flow:set_field(node, name, type)
  if name then
    put(self:slot(node.fields, name), type)
    local wanted = self:wanted_of(node, name)
    if wanted or not by_name.is_bound(self, node, type) then
      self:use(type, wanted)
    end
  else
    self:open(node)
    self:use(type)
  end
end

-- Calls --------------------------------------------------------------------------------------


-- Evaluates the arguments of an unknown function, and marks them as lost.
function Flow:hand_out(list)
  for _, argument in ipairs(list) do
    local type = self:value(argument)
    if type.kind == "table" then
      self:open(type.node)
    elseif is_collection(type) and argument.variable then
      put(self:variable(argument.variable), UNKNOWN)
    end
  end
  return UNKNOWN
end

-- Visits a call of an API function. Returns the type of its first result.
function Flow:call_api(node, parameters, returns, name)
  self.rules:call(self, node, name)
  local given, named = {}, nil -- types of the arguments; which of them is the name of a function
  for i, argument in ipairs(node.arguments) do
    local parameter = parameters[i]
    local wanted = parameter and (parameter.type or parameter.written and self:type(parameter.written))
    given[i] = self:value(argument, wanted)
    named = named or by_name.is_name(wanted) and i
    self.rules:argument(self, argument, wanted, name)
  end
  if named then
    by_name.bind(self, node.arguments, given, named, name)
  end
  node.results = {}
  for i, result in ipairs(returns) do
    node.results[i] = type(result) == "string" and self:type(result) or result or UNKNOWN
  end
  return node.results[1] or UNKNOWN
end

function Flow:call_own(node, fn, self_type)
  local given, last = { self_type }, node.arguments[#node.arguments]
  for _, argument in ipairs(node.arguments) do
    local type = self:value(argument)
    given[#given + 1] = type
    if type.kind == "table" then
      self:open(type.node)
    end
  end
  local is_many = last and (last.tag == "call" or last.tag == "method" or last.tag == "vararg")
  self:bind(fn, given, is_many and UNKNOWN or NIL)
  return self:slot(fn, "result").type
end

local GLOBALS = {}

function GLOBALS.require(self, node)
  local name = node.arguments[1] and node.arguments[1].value
  if name == "perigee" then
    return self.api.classes.perigee.type
  end
  local file = type(name) == "string" and self.find(name)
  return file and self:slot(file, "result").type or UNKNOWN
end

-- Handles pcall, in which calls may fail on purpose.
function GLOBALS.pcall(self, node)
  self.tried = self.tried + 1
  self:hand_out(node.arguments)
  self.tried = self.tried - 1
  return UNKNOWN
end

GLOBALS.xpcall = GLOBALS.pcall

function GLOBALS.assert(self, node)
  local type = node.arguments[1] and self:value(node.arguments[1]) or UNKNOWN
  for i = 2, #node.arguments do
    self:value(node.arguments[i])
  end
  return type
end

function Flow:call_global(node, name)
  if GLOBALS[name] then
    return GLOBALS[name](self, node)
  elseif READERS[name] then
    for _, argument in ipairs(node.arguments) do
      self:value(argument)
    end
    return UNKNOWN
  end
  return self:hand_out(node.arguments)
end

function Flow:call_known(node, type, name)
  if type.kind == "api" then
    return self:call_api(node, type.fn.parameters, type.fn.returns, type.name)
  elseif type.kind == "function" then
    return self:call_api(node, type.parameters, type.returns, name)
  elseif type.kind == "code" then
    return self:call_own(node, type.node)
  elseif type.kind == "class" and type.class.call then
    return self:call_known(node, annotations.type(self.api, type.class.call), type.class.shown)
  end
  return self:hand_out(node.arguments)
end

-- Expressions --------------------------------------------------------------------------------


local EVALUATE = {}

EVALUATE["nil"] = function() return NIL end

function EVALUATE.name(self, node)
  return node.variable and self:variable(node.variable).type or UNKNOWN
end

EVALUATE["function"] = function(self, node)
  self:walk_function(node)
  node.type = node.type or { kind = "code", node = node }
  return node.type
end

EVALUATE.table = function(self, node)
  node.type = node.type or { kind = "table", node = node }
  node.fields = node.fields or {}
  for _, item in ipairs(node.items) do
    if item.key then
      self:value(item.key)
      self:set_field(node, nil, self:evaluate(item.value))
    elseif item.name then
      self:set_field(node, item.name, self:evaluate(item.value))
    else
      self:value(item.value)
    end
  end
  return node.type
end

function EVALUATE.first(self, node)
  return self:evaluate(node.inner)
end

function EVALUATE.unary(self, node)
  self:value(node.operand)
  return UNKNOWN
end

-- Handles left operands in a loop, not by recursion, because long chains of operators nest there.
function EVALUATE.binary(self, node)
  local chain = {}
  while node.tag == "binary" do
    chain[#chain + 1], node = node, node.left
  end
  local type = self:value(node)
  for i = #chain, 1, -1 do
    local right = self:value(chain[i].right)
    if chain[i].operator == "or" then
      type = join(type, right)
    else
      type = chain[i].operator == "and" and right or UNKNOWN
    end
  end
  return type
end

-- Returns the type of an API function that is used as a value.
local function api_type(class, name, fn)
  fn.type = fn.type or {
    kind = "api", fn = fn, name = (class.is_library and class.shown .. "." or class.word .. ":") .. name,
  }
  return fn.type
end

function Flow:field_of(class, name)
  local type, fn = annotations.field(self.api, class, name)
  return fn and not fn.is_method and api_type(class, name, fn) or type or UNKNOWN
end

function EVALUATE.index(self, node)
  local object = self:evaluate(node.object)
  if node.key then
    self:value(node.key)
  end
  if object.kind == "class" and node.name then
    self.rules:field(self, object.class, node)
    return self:field_of(object.class, node.name)
  elseif object.kind == "table" and node.name then
    return self:slot(object.node.fields, node.name).type
  elseif object.kind == "table" then
    self:open(object.node) -- the key may name any function, whose arguments are then unknown
  elseif is_collection(object) and node.key then
    return object.element
  end
  return UNKNOWN
end

function EVALUATE.call(self, node)
  local object = node.object
  if object.tag == "name" and not object.variable then
    return self:call_global(node, object.name)
  end
  return self:call_known(node, self:evaluate(object), object.name)
end

function EVALUATE.method(self, node)
  local object = self:evaluate(node.object)
  if object.kind == "class" then
    local type, fn = annotations.field(self.api, object.class, node.name)
    if fn then
      return fn.is_method and self:call_known(node, api_type(object.class, node.name, fn))
        or self:hand_out(node.arguments)
    end
    self.rules:method(self, object.class, node)
    return self:call_known(node, type or UNKNOWN)
  elseif object.kind == "table" then
    local field = self:slot(object.node.fields, node.name).type
    return field.kind == "code" and self:call_own(node, field.node, object) or self:hand_out(node.arguments)
  end
  return self:hand_out(node.arguments)
end

-- Returns the type of an expression.
function Flow:evaluate(node)
  local evaluate = EVALUATE[node.tag]
  return evaluate and evaluate(self, node) or UNKNOWN
end

-- Returns the type of an expression whose value is used as `wanted`.
function Flow:value(node, wanted)
  local type = self:evaluate(node)
  self:use(type, wanted)
  return type
end

-- Files --------------------------------------------------------------------------------------


function Flow:walk(body)
  for _, statement in ipairs(body) do
    local step = walk[statement.tag]
    if step then
      step(self, statement)
    end
  end
end

function Flow:pass(rules)
  self.rules, self.tried, self.number = rules, 0, self.number + 1
  for _, file in ipairs(self.files) do
    self.file = file
    self:walk(file.body)
  end
  return self:settle()
end

-- Rules that report nothing, for all passes but the last one.
local SILENT = setmetatable({}, { __index = function() return function() end end })

local flow = {}


--- Walks the files of a game.
---@param files { path: string, body: table[] }[] files, the main file first
---@param find fun(module: string): table? returns the file of a module
---@param rules table perigee.check.rules, which get each use of a value
function flow.run(files, find, rules)
  local api = annotations.read()
  local self = setmetatable({ api = api, files = files, find = find, slots = {}, number = 0 }, Flow)
  files[1].wanted = api.classes["perigee.Game"].type
  for _, file in ipairs(files) do
    for _, brain in ipairs(brains.find(file.body)) do
      local module = find(brain.name) or {}
      module.wanted = api.classes["perigee.Brain"].type
    end
  end
  for _ = 1, PASSES_MAX do
    if not self:pass(SILENT) then
      self:pass(rules)
      return
    end
  end
end

return flow
