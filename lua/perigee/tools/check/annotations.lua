--- Reads the API from the annotations for editors (lua/perigee/meta): classes with their fields and methods,
--- and types. A type that this check does not track is nil.

local sorted_keys = require "perigee.util.sorted_keys"
local tool = require "perigee.tool"

local META = "perigee/meta/"
local FILES = {
  "perigee", "rooms", "bots", "sending", "commands", "services", "store", "leaderboards", "accounts",
  "figures", "game", "lockstep", "mcp", "world",
}

local annotations = {}

--- A type of the annotations. Each type has one object.
---@class perigee.check.Type
---@field kind "class"|"list"|"map"|"function"|"union"|"alias"|"string"
---@field class? perigee.check.Class
---@field element? perigee.check.Type type of the elements of lists and maps
---@field parameters? { type: perigee.check.Type? }[] parameters of functions
---@field is_variadic? boolean whether a function accepts any number of values of any types
---@field returns? (perigee.check.Type|false)[] types of the results of functions
---@field parts? (perigee.check.Type|false)[] types of which a union consists
---@field name? string name of aliases

--- A class of the annotations.
---@class perigee.check.Class
---@field name string such as "perigee.Peer"
---@field base? string name of the class whose fields and functions it has, too
---@field word string last part of the name, such as "peer"
---@field shown string name in messages, such as "a peer" or "perigee.rooms"
---@field is_library boolean whether the class is the library or a part of it
---@field fields table<string, string> texts of the fields' types
---@field functions table<string, table> methods and functions: parameters, returns, is_method
---@field call? string text of the type of its objects as functions
---@field is_open boolean whether objects may have fields of any name

-- Files --------------------------------------------------------------------------------------


local function new_class(self, name)
  local class = { name = name, fields = {}, functions = {}, is_open = false, is_library = false }
  class.word = name:match "[^.]+$":gsub("(%l)(%u)", "%1 %2"):lower():gsub("^mcp", "MCP")
  class.shown = (class.word:find "^[aeiouM]" and "an " or "a ") .. class.word
  class.type = { kind = "class", class = class }
  self.classes[name] = class
  return class
end

local function read_tag(self, block, tag, rest)
  if tag == "class" then
    block.class = new_class(self, rest:match "^[%w_.]+")
    block.class.base = rest:match "^[%w_.]+:%s*([%w_.]+)"
  elseif tag == "field" and block.class then
    local name, written = rest:match "^([%w_]+)%??%s+(.*)$"
    block.class.is_open = block.class.is_open or not name
    if name then
      block.class.fields[name] = written
    end
  elseif tag == "overload" and block.class then
    block.class.call = rest
  elseif tag == "alias" then
    local name, written = rest:match "^([%w_.]+)%s*(.*)$"
    self.aliases[name] = written
  elseif tag == "param" then
    local written = rest:match "^[%w_.]+%??%s+(.*)$"
    block.parameters[#block.parameters + 1] = { written = written }
  elseif tag == "return" then
    block.returns[#block.returns + 1] = rest
  end
end

local function read_declaration(class_of, block, line)
  local owner, sign, name = line:match "^function ([%w_]+)([.:])([%w_]+)%("
  local class = class_of[owner or line:match "^local ([%w_]+) = {}$"]
  if owner and class then
    class.functions[name] = {
      parameters = block.parameters, returns = block.returns, is_method = sign == ":",
    }
  elseif block.class and not owner then
    class_of[line:match "^local ([%w_]+)" or ""] = block.class
  end
end

local function read_file(self, text)
  local class_of, block = {}, { parameters = {}, returns = {} }
  for line in text:gmatch "([^\n]*)\n" do
    local tag, rest = line:match "^%-%-%-@(%a+)%s*(.*)$"
    if tag then
      read_tag(self, block, tag, rest)
    elseif not line:find "^%-%-%-" then
      read_declaration(class_of, block, line)
      block = { parameters = {}, returns = {} }
    end
  end
end

local function inherit(self)
  for _, class in next, self.classes do
    local base = self.classes[class.base]
    for _, kind in ipairs { "fields", "functions" } do
      for name, item in next, base and base[kind] or {} do
        class[kind][name] = class[kind][name] or item
      end
    end
  end
end

-- Types --------------------------------------------------------------------------------------


local Reader = {}
Reader.__index = Reader

function Reader:accept(pattern)
  local stop = select(2, self.text:find("^%s*" .. pattern, self.at))
  if stop then
    self.at = stop + 1
    return true
  end
end

function Reader:match(pattern)
  local word, stop = self.text:match("^%s*(" .. pattern .. ")()", self.at)
  self.at = stop or self.at
  return word
end

-- Returns the object of the type whose text begins at `first`. Types with the same text have the same object.
function Reader:known(first, make)
  local written = self.text:sub(first, self.at - 1):gsub("%s", "")
  local types = self.api.types
  types[written] = types[written] or make()
  return types[written]
end

function Reader:fun(first)
  local parameters, returns, is_variadic = {}, {}, false
  while not self:accept "%)" do
    local name = self:match "[%w_.]+"
    is_variadic = is_variadic or name == "..."
    self:accept "%??:"
    parameters[#parameters + 1] = { type = self:union() }
    self:accept ","
  end
  if self:accept ":" then
    repeat
      returns[#returns + 1] = self:union() or false
    until not self:accept ","
  end
  return self:known(first, function()
    return { kind = "function", parameters = parameters, returns = returns, is_variadic = is_variadic }
  end)
end

function Reader:named(name)
  local api = self.api
  if api.classes[name] then
    return api.classes[name].type
  elseif api.aliases[name] == "string" then
    api.types[name] = api.types[name] or { kind = "alias", name = name }
    return api.types[name]
  elseif api.aliases[name] then
    return annotations.type(api, api.aliases[name])
  elseif name == "string" then
    api.types.string = api.types.string or { kind = "string" }
    return api.types.string
  end
end

function Reader:primary()
  local first = self.at
  if self:accept "%(" then
    local inner = self:union()
    self:accept "%)"
    return inner
  elseif self:accept "async fun%(" or self:accept "fun%(" then
    return self:fun(first)
  elseif self:accept "table<" then
    self:union()
    self:accept ","
    local element = self:union()
    self:accept ">"
    return element and self:known(first, function() return { kind = "map", element = element } end)
  elseif self:match '"[^"]*"' or self:match "%b{}" then
    return nil
  end
  local name = self:match "[%a_][%w_.]*"
  return name and self:named(name), name == "nil"
end

function Reader:postfix()
  local first = self.at
  local result, is_nil = self:primary()
  while true do
    if self:accept "%[%]" then
      local element = result
      result = element and self:known(first, function() return { kind = "list", element = element } end)
    elseif not self:accept "%?" then
      return result, is_nil
    end
  end
end

function Reader:union()
  local first, parts = self.at, {}
  repeat
    local part, is_nil = self:postfix()
    if not is_nil then
      parts[#parts + 1] = part or false
    end
  until not self:accept "|"
  if #parts <= 1 then
    return parts[1] or nil
  end
  return self:known(first, function() return { kind = "union", parts = parts } end)
end


--- Returns the type at the beginning of a text; nil for a type that this check does not track.
---@param api table
---@param written string
---@return perigee.check.Type?
function annotations.type(api, written)
  return (setmetatable({ api = api, text = written, at = 1 }, Reader):union())
end


-- Names --------------------------------------------------------------------------------------


-- Sets the names, for messages, of the library and of classes that are fields of the library.
local function name_library(self)
  local library = self.classes.perigee
  library.shown, library.is_library = "perigee", true
  for name, written in pairs(library.fields) do
    local type = annotations.type(self, written)
    if type and type.kind == "class" then
      type.class.shown, type.class.is_library = "perigee." .. name, true
    end
  end
end


--- Reads the annotations.
---@return table api classes by name
function annotations.read()
  local self = { classes = {}, aliases = {}, types = {} }
  local texts = tool.bundled(META)
  for _, name in ipairs(FILES) do
    read_file(self, texts[META .. name .. ".lua"])
  end
  inherit(self)
  name_library(self)
  return self
end


--- Returns the type of the field `name` of a class, and the function `name` of the class; each may be nil.
---@param api table
---@param class perigee.check.Class
---@param name string
---@return perigee.check.Type? type
---@return table? fn
function annotations.field(api, class, name)
  local written = class.fields[name]
  return written and annotations.type(api, written), class.functions[name]
end


--- Returns all names of a class's fields and functions, sorted.
---@param class perigee.check.Class
---@return string[]
function annotations.names(class)
  return sorted_keys(class.fields, class.functions)
end

return annotations
