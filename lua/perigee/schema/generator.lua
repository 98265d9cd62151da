--- Writes encoders and decoders in any language. This file, encoder.lua and decoder.lua decide the order, the
--- positions and the checks. A dialect (lua_dialect, js_dialect, c_dialect) has the statements. The generated
--- code is one statement after the other, with a loop for each list, and never looks up the type.
--- docs/protocol.md, section 18, describes the bytes; layout.lua computes their places.
---
--- The templates of a dialect are in its tables `write` and `read`, by step and by kind of type. A template
--- is a text, a function, or a list of templates; it is nil if the language needs no statement. In a text,
--- `@x` means a value of the leaf that is written or read (see DERIVED). A function gets the generator and
--- the leaf.

local layout = require "perigee.schema.layout"

-- Not compiled, because each message takes other paths through this code. Compiling it would take longer than
-- running it.
jit.off(true, true)

local Generator = {}
Generator.__index = Generator

local generator = {}


--- Tables that the generated code needs. They are filled while the code is written.
---@class perigee.schema.Tables
---@field places { path: string, expected: string }[] places that errors name
---@field enums string[][] lists of words
---@field records string[][] lists of names of fields
---@field numbers table<table, integer> indexes of the items that the lists contain

---@return perigee.schema.Tables
function generator.tables()
  return { places = {}, enums = {}, records = {}, numbers = {} }
end

-- Returns the index of a type's item in one of the tables. A table contains each item only once.
local function number_in(self, list, of, items)
  local numbers = self.tables.numbers
  if not numbers[of] then
    list[#list + 1] = items
    numbers[of] = #list
  end
  return numbers[of]
end

-- Values in templates, for keys that neither the leaf nor its type has as fields. Keys of one letter are new,
-- unique names; each is created when a template first uses it.
local DERIVED = {
  expected = function(_, leaf) return leaf.type and layout.expected(leaf.type) end,
  least = function(_, leaf) return (layout.limits(leaf.type)) end,
  greatest = function(_, leaf) return select(2, layout.limits(leaf.type)) end,
  here = function(self) return self.offset == 0 and "at" or "at + " .. self.offset end,
  offset = function(self) return self.offset end,
  space = function(_, leaf) return leaf.room + 12 end, -- bytes for a varint and the values after it
  e = function(self) return self:fresh "x" end, -- name of an element
  upper = function(self) return self.offset + 4 end, -- position of the upper half of a number of 8 bytes
  minimum = function(self, leaf) return self.dialect.number(leaf.type.min) end,
  maximum = function(self, leaf) return self.dialect.number(leaf.type.max) end,
  lowest = function(_, leaf) return ("%.0f"):format(leaf.type.low) end,
  raise = function(_, leaf) return ("%.0f"):format(-leaf.type.low) end,
  scale = function(self, leaf) -- converts a value to steps
    local type = leaf.type
    return (type.per and "* " or "/ ") .. self.dialect.number(type.per or type.by)
  end,
  unscale = function(self, leaf)
    local type = leaf.type
    return (type.per and "/ " or "* ") .. self.dialect.number(type.per or type.by)
  end,
  enum = function(self, leaf) return number_in(self, self.tables.enums, leaf.type, leaf.type.values) end,
}

-- Returns the number of the place that errors name, and the indexes of the enclosing elements.
function DERIVED.place(self, leaf)
  local places = self.tables.places
  places[#places + 1] = { path = leaf.path, expected = self:value(leaf, "expected") }
  return table.concat({ #places, unpack(self.indexes) }, ", ")
end


function DERIVED.record(self, leaf)
  local names = {}
  for i, field in ipairs(leaf.type.fields) do
    names[i] = field.name
  end
  return number_in(self, self.tables.records, leaf.type, names)
end


function Generator:value(leaf, key)
  local value = leaf[key] or leaf.type and leaf.type[key]
  if not value then
    local derive = self.dialect.derived[key] or DERIVED[key]
    value = derive and derive(self, leaf) or self:fresh(key)
    leaf[key] = #key == 1 and value or leaf[key]
  end
  return value
end


function Generator:fresh(letter)
  self.count = self.count + 1
  return letter .. self.count
end


-- Splits a template into a list: a text, a key, a text and so on.
local pieces_of = setmetatable({}, {
  __index = function(self, template)
    local pieces, last = {}, 1
    for first, key, stop in template:gmatch "()@(%l+)()" do
      pieces[#pieces + 1], pieces[#pieces + 2], last = template:sub(last, first - 1), key, stop
    end
    pieces[#pieces + 1] = template:sub(last)
    self[template] = pieces
    return pieces
  end,
})


--- Returns the text of a template, filled with the values of a leaf.
function Generator:fill(template, leaf)
  local pieces, place = pieces_of[template], nil -- all uses in a template share one `place`
  local texts = { pieces[1] }
  for i = 2, #pieces, 2 do
    local key = pieces[i]
    if key == "place" then
      place = place or self:value(leaf, key)
    end
    texts[i], texts[i + 1] = key == "place" and place or self:value(leaf, key), pieces[i + 1]
  end
  return table.concat(texts)
end


--- Adds a text. In languages with indented lines, braces determine the indentation.
function Generator:add(text)
  local lines = self.lines
  if not self.dialect.is_indented then
    lines[#lines + 1] = text
    return
  end
  for line in text:gmatch "[^\n]+" do
    if line:find "^}" then
      self.indent = self.indent:sub(3)
    end
    lines[#lines + 1] = self.indent .. line
    if line:find "{$" then
      self.indent = self.indent .. "  "
    end
  end
end


--- Adds the statements of a template. `expected` replaces the description of the type in errors.
function Generator:emit(template, leaf, expected)
  if leaf then
    leaf.expected = expected
  end
  if type(template) == "string" then
    self:add(self:fill(template, leaf))
  elseif type(template) == "function" then
    template(self, leaf)
  else
    for _, part in ipairs(template or {}) do
      self:emit(part, leaf, expected)
    end
  end
end


-- Advances the position past numbers of fixed size that have been written or read.
function Generator:advance()
  if self.offset > 0 then
    self:emit(self.dialect.advance, { offset = self.offset })
    self.offset = 0
  end
end


--- Visits the leaves of a shape in one part of the scope, "bits" or "bytes".
function Generator:visit(shape, x, part)
  if not shape.has[part] then
    return
  end
  shape.x = x
  if not shape.fields then
    return self[part](self, shape)
  end
  if part == "bits" or not shape.has.bits then
    self:emit(self.steps.check and self.steps.check[shape.type.kind], shape)
  end
  for i, field in ipairs(shape.fields) do
    if field.shape.has[part] then
      self:emit(self.dialect.open)
      self:visit(field.shape, self.steps.field(self, shape, i), part)
      self:emit(self.dialect.close)
    end
  end
end


--- Writes a loop over the elements of a leaf. A template begins the loop.
function Generator:loop(leaf)
  self:emit(self.steps[leaf.type.kind], leaf)
  local element = self:fill(self.steps.element, leaf)
  self.indexes[#self.indexes + 1] = leaf.k
  if leaf.element then
    self:visit(leaf.element, element, "bits")
  else
    self:scope(leaf.inner, element)
  end
  table.remove(self.indexes)
  self:emit(self.dialect.done)
end


--- Returns a class of generators for encoders or decoders. The caller adds the methods `scope(scope, x)`,
--- `bits(leaf)` and `bytes(leaf)`; the last two write the parts of a leaf.
---@param direction string "write" or "read", the direction of the dialect's templates
---@return table class
function generator.class(direction)
  local class = setmetatable({ direction = direction }, { __index = Generator })
  class.__index = class
  return class
end


---@param class table
---@param dialect table
---@param tables perigee.schema.Tables, for C the types (see c_types)
---@return table
function generator.new(class, dialect, tables)
  return setmetatable({
    dialect = dialect, steps = dialect[class.direction], tables = tables,
    lines = {}, indent = "  ", count = 0, -- number of names so far
    offset = 0, -- bytes from `at` to the next byte
    indexes = {}, -- indexes of the elements that contain the leaf
  }, class)
end

return generator
