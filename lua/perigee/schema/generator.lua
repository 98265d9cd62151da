--- What the writers of encoders and decoders (encoder.lua, decoder.lua) have in common. They write straight
--- code, one statement after the other, with a loop for each list and nothing that depends on the
--- type left to be looked up. What the statements look like is a dialect's (lua_dialect, js_dialect);
--- the order, the places and the checks are decided once for all languages.

local Generator = {}
Generator.__index = Generator

local generator = {}


--- What generated code needs beside itself, filled while it is written.
---@class perigee.schema.Tables
---@field places { path: string, expected: string }[] that errors name
---@field enums string[][] lists of words
---@field records string[][] lists of names of fields
---@field numbers table<table, integer> of what is in the lists already

---@return perigee.schema.Tables
function generator.tables()
  return { places = {}, enums = {}, records = {}, numbers = {} }
end


--- Writes one function.
---@param dialect table
---@param tables perigee.schema.Tables
---@return table
function generator.new(dialect, tables)
  return setmetatable({
    dialect = dialect, lines = {}, count = 0, offset = 0, indexes = {}, tables = tables,
  }, Generator)
end


-- Adds a statement: `@1`, `@2` in its template stand for what follows.
function Generator:emit(template, ...)
  local values = { ... }
  self.lines[#self.lines + 1] = template:gsub("@(%d)", function(digit)
    return tostring(values[tonumber(digit)])
  end)
end


function Generator:text()
  return table.concat(self.lines, "\n")
end


function Generator:fresh(letter)
  self.count = self.count + 1
  return letter .. self.count
end


-- The number of a place that errors name, and the indexes of the elements it is in.
function Generator:place(path, expected)
  local places = self.tables.places
  places[#places + 1] = { path = path, expected = expected }
  return #places .. (#self.indexes > 0 and ", " .. table.concat(self.indexes, ", ") or "")
end

-- The number of what a type has in one of the tables, where it is once.
local function number_in(self, list, of, make)
  local numbers = self.tables.numbers
  if not numbers[of] then
    list[#list + 1] = make(of)
    numbers[of] = #list
  end
  return numbers[of]
end


function Generator:enum(of)
  return number_in(self, self.tables.enums, of, function() return of.values end)
end


function Generator:record(of)
  return number_in(self, self.tables.records, of, function()
    local names = {}
    for i, field in ipairs(of.fields) do
      names[i] = field.name
    end
    return names
  end)
end


function Generator:settle()
  if self.offset > 0 then
    self:emit(self.dialect.advance, self.offset)
    self.offset = 0
  end
end


function Generator:here()
  return self.offset == 0 and "at" or "at + " .. self.offset
end


--- Whether a shape has leaves in the bits, or in the bytes.
function generator.has(shape, part)
  if not shape.fields then
    return part == "bits" and shape.bits ~= nil or part == "bytes" and (shape.type.of or not shape.bits)
  elseif shape[part] == nil then
    shape[part] = false
    for _, field in ipairs(shape.fields) do
      shape[part] = shape[part] or generator.has(field.shape, part)
    end
  end
  return shape[part]
end


--- How many bytes a number takes; nil for what has no fixed size.
function generator.fixed_size(leaf)
  local kind = leaf.type.kind
  return (kind == "int" or kind == "float") and leaf.type.bytes or nil
end

return generator
