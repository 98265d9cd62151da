--- Builds the syntax tree of a Lua file that is known to parse. Names are resolved: the field `variable` of a
--- name is its local, or nil for a global.
---
--- Nodes have a `tag` and a `line`. Expressions: name (name, variable), string (value), nil, value (numbers,
--- true, false), vararg, function (parameters, body), index (object, key or name), call (object, arguments),
--- method (object, name, arguments), table (items of key or name, and value), binary (operator, left, right),
--- unary (operand), first (inner: the expression in parentheses). Statements: local (variables, values),
--- assign (targets, values), do (body), loop (condition, body), if (conditions, bodies), for (variables,
--- values, body; is_numeric), return (values), run (call).

local tokens = require "perigee.tools.check.tokens"

local parser = {}

--- A local of a file.
---@class perigee.check.Variable
---@field name string

local Parser = {}
Parser.__index = Parser

-- Tokens -------------------------------------------------------------------------------------


function Parser:is(kind)
  return self.list[self.at].type == kind
end

function Parser:take()
  local token = self.list[self.at]
  self.at = self.at + 1
  return token
end

-- If the next token has this type, advances past it and returns it.
function Parser:accept(kind)
  if self:is(kind) then
    return self:take()
  end
end

function Parser:expect(kind)
  local token = self:take()
  if token.type ~= kind then
    error(("line %d: %s instead of %s"):format(token.line, token.type, kind), 0)
  end
  return token
end

function Parser:node(tag)
  return { tag = tag, line = self.list[self.at].line }
end

-- Scopes -------------------------------------------------------------------------------------


function Parser:open()
  self.scope = { outer = self.scope, variables = {} }
end

function Parser:close()
  self.scope = self.scope.outer
end

function Parser:declare(name)
  local variable = { name = name }
  self.scope.variables[name] = variable
  return variable
end

function Parser:find(name)
  local scope = self.scope
  while scope do
    if scope.variables[name] then
      return scope.variables[name]
    end
    scope = scope.outer
  end
end

-- Expressions --------------------------------------------------------------------------------


local BINARY = {
  ["or"] = { 1, 1 }, ["and"] = { 2, 2 },
  ["<"] = { 3, 3 }, [">"] = { 3, 3 }, ["<="] = { 3, 3 }, [">="] = { 3, 3 }, ["~="] = { 3, 3 },
  ["=="] = { 3, 3 },
  [".."] = { 5, 4 }, ["+"] = { 6, 6 }, ["-"] = { 6, 6 }, ["*"] = { 7, 7 }, ["/"] = { 7, 7 }, ["%"] = { 7, 7 },
  ["^"] = { 10, 9 },
}
local UNARY, UNARY_LEVEL = { ["not"] = true, ["-"] = true, ["#"] = true }, 8

function Parser:list_of(read)
  local list = { read(self) }
  while self:accept "," do
    list[#list + 1] = read(self)
  end
  return list
end

function Parser:expressions()
  return self:list_of(self.expression)
end

function Parser:name()
  return self:expect("name").value
end

function Parser:function_body(node, self_name)
  self:open()
  node.tag, node.parameters = "function", {}
  if self_name then
    node.parameters[1] = self:declare "self"
  end
  self:expect "("
  while not self:accept ")" do
    if not self:accept "..." then
      node.parameters[#node.parameters + 1] = self:declare(self:name())
    end
    self:accept ","
  end
  node.body = self:block()
  self:expect "end"
  self:close()
  return node
end

function Parser:table_item()
  local item = { line = self.list[self.at].line }
  if self:accept "[" then
    item.key = self:expression()
    self:expect "]"
    self:expect "="
  elseif self:is "name" and self.list[self.at + 1].type == "=" then
    item.name = self:name()
    self:take()
  end
  if item.key and item.key.tag == "string" then
    item.name, item.key = item.key.value, nil
  end
  item.value = self:expression()
  return item
end

function Parser:table()
  local node = self:node "table"
  node.items = {}
  self:expect "{"
  while not self:accept "}" do
    node.items[#node.items + 1] = self:table_item()
    if not self:accept "," then
      self:accept ";"
    end
  end
  return node
end

function Parser:arguments()
  if self:is "string" then
    return { self:simple() }
  elseif self:is "{" then
    return { self:table() }
  end
  self:expect "("
  local list = self:is ")" and {} or self:expressions()
  self:expect ")"
  return list
end

function Parser:named(name)
  local node = self:node "name"
  node.name, node.variable = name, self:find(name)
  return node
end

function Parser:primary()
  local node = self:node "first"
  if self:accept "(" then
    node.inner = self:expression()
    self:expect ")"
    return node
  end
  local line = node.line
  node = self:named(self:name())
  node.line = line
  return node
end

-- Parses `object.name` and `object[key]`.
function Parser:index(object)
  local node = self:node "index"
  node.object = object
  if self:accept "." then
    node.line, node.name = self.list[self.at].line, self:name()
    return node
  end
  self:expect "["
  node.key = self:expression()
  self:expect "]"
  if node.key.tag == "string" then
    node.name, node.key = node.key.value, nil
  end
  return node
end

function Parser:suffixed()
  local node = self:primary()
  while true do
    if self:is "." or self:is "[" then
      node = self:index(node)
    elseif self:is ":" then
      self:take()
      local call = self:node "method"
      call.object, call.name, call.arguments = node, self:name(), self:arguments()
      node = call
    elseif self:is "(" or self:is "string" or self:is "{" then
      local call = self:node "call"
      call.line, call.object, call.arguments = node.line, node, self:arguments()
      node = call
    else
      return node
    end
  end
end

local SIMPLE = {
  ["nil"] = "nil", ["true"] = "value", ["false"] = "value", number = "value", string = "string",
  ["..."] = "vararg",
}

function Parser:simple()
  local token = self.list[self.at]
  if SIMPLE[token.type] then
    local node = self:node(SIMPLE[token.type])
    node.value = token.value
    self:take()
    return node
  elseif token.type == "{" then
    return self:table()
  elseif token.type == "function" then
    local node = self:node "function"
    self:take()
    return self:function_body(node)
  end
  return self:suffixed()
end

function Parser:expression(level)
  local node
  if UNARY[self.list[self.at].type] then
    node = self:node "unary"
    self:take()
    node.operand = self:expression(UNARY_LEVEL)
  else
    node = self:simple()
  end
  local levels = BINARY[self.list[self.at].type]
  while levels and levels[1] > (level or 0) do
    local binary = self:node "binary"
    binary.operator, binary.left = self:take().type, node
    binary.right = self:expression(levels[2])
    node, levels = binary, BINARY[self.list[self.at].type]
  end
  return node
end

-- Statements ---------------------------------------------------------------------------------


local STATEMENTS = {}

function Parser:scoped_block()
  self:open()
  local body = self:block()
  self:close()
  return body
end

STATEMENTS["do"] = function(self, node)
  node.body = self:scoped_block()
  self:expect "end"
end

STATEMENTS["while"] = function(self, node)
  node.tag, node.condition = "loop", self:expression()
  self:expect "do"
  node.body = self:scoped_block()
  self:expect "end"
end

-- Parses `repeat`, whose condition can use the locals of the body.
STATEMENTS["repeat"] = function(self, node)
  node.tag = "loop"
  self:open()
  node.body = self:block()
  self:expect "until"
  node.condition = self:expression()
  self:close()
end

STATEMENTS["if"] = function(self, node)
  node.conditions, node.bodies = {}, {}
  repeat
    node.conditions[#node.conditions + 1] = self:expression()
    self:expect "then"
    node.bodies[#node.bodies + 1] = self:scoped_block()
  until not self:accept "elseif"
  if self:accept "else" then
    node.bodies[#node.bodies + 1] = self:scoped_block()
  end
  self:expect "end"
end

STATEMENTS["for"] = function(self, node)
  local names = self:list_of(self.name)
  node.is_numeric = self:take().type == "="
  node.values = self:expressions()
  self:expect "do"
  self:open()
  node.variables = {}
  for i, name in ipairs(names) do
    node.variables[i] = self:declare(name)
  end
  node.body = self:block()
  self:close()
  self:expect "end"
end

-- Parses `function a.b.c:d()` as an assignment to `a.b.c.d`.
STATEMENTS["function"] = function(self, node)
  local target, has_self = self:named(self:name()), false
  while self:is "." do
    target = self:index(target)
  end
  if self:accept ":" then
    local method = self:node "index"
    method.object, method.name = target, self:name()
    target, has_self = method, true
  end
  node.tag, node.targets = "assign", { target }
  node.values = { self:function_body({ line = node.line }, has_self) }
end

STATEMENTS["local"] = function(self, node)
  if self:accept "function" then
    node.variables = { self:declare(self:name()) }
    node.values = { self:function_body { line = node.line } }
    return
  end
  local names = self:list_of(self.name)
  node.values = self:accept "=" and self:expressions() or {}
  node.variables = {}
  for i, name in ipairs(names) do
    node.variables[i] = self:declare(name)
  end
end

STATEMENTS["return"] = function(self, node)
  local is_empty = self:is "end" or self:is "else" or self:is "elseif" or self:is "until" or self:is ";"
    or self:is "end of file"
  node.values = is_empty and {} or self:expressions()
end

STATEMENTS["break"] = function() end

STATEMENTS["::"] = function(self)
  self:name()
  self:expect "::"
end

function Parser:plain_statement(node)
  local target = self:suffixed()
  if not self:is "=" and not self:is "," then
    node.tag, node.call = "run", target
    return node
  end
  node.tag, node.targets = "assign", { target }
  while self:accept "," do
    node.targets[#node.targets + 1] = self:suffixed()
  end
  self:expect "="
  node.values = self:expressions()
  return node
end

function Parser:statement()
  local token = self.list[self.at]
  local node = self:node(token.type)
  local read = STATEMENTS[token.type]
  if read then
    self:take()
    read(self, node)
    return node
  elseif token.value == "goto" and token.type == "name" and self.list[self.at + 1].type == "name" then
    self:take()
    self:take()
    return node
  end
  return self:plain_statement(node)
end

local ENDS = { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true, ["end of file"] = true }

function Parser:block()
  local body = {}
  while true do
    while self:accept ";" do end
    if ENDS[self.list[self.at].type] then
      return body
    end
    body[#body + 1] = self:statement()
  end
end


---@param text string
---@return table[] statements
function parser.read(text)
  local self = setmetatable({ list = tokens.read(text), at = 1 }, Parser)
  self:open()
  local body = self:block()
  self:expect "end of file"
  return body
end

return parser
