--- What the writers of encoders and decoders in C (c_encoder, c_decoder) have in common: statements and
--- their indentation, the paths that faults name, and which bits and bytes there are.

local layout = require "perigee.schema.layout"

local Code = {}
Code.__index = Code

local c_code = {}


--- Writes one function.
---@param types table as c_types makes them
---@param state string what the function has its state in: "r" or "w"
---@return table
function c_code.new(types, state)
  return setmetatable({
    types = types, state = state, lines = {}, indent = "  ", count = 0, indexes = {},
  }, Code)
end


--- A text as C has it: in ASCII, and without what could be a trigraph.
---@param text string
---@return string
function c_code.quote(text)
  return '"' .. text:gsub('[%c"\\?\127-\255]', function(char)
    return char:find '["\\?]' and "\\" .. char or ("\\%03o"):format(char:byte())
  end) .. '"'
end


--- A number as C has it, a double.
---@param value number
---@return string
function c_code.double(value)
  local text = ("%.17g"):format(value)
  return text:find "[.e]" and text or text .. ".0"
end


function Code:text()
  return table.concat(self.lines, "\n")
end


function Code:emit(format, ...)
  self.lines[#self.lines + 1] = self.indent .. (select("#", ...) > 0 and format:format(...) or format)
end


function Code:open(...)
  self:emit(...)
  self.indent = self.indent .. "  "
end


function Code:close()
  self.indent = self.indent:sub(3)
  self:emit "}"
end


function Code:fresh(letter)
  self.count = self.count + 1
  return letter .. self.count
end


--- A loop; `body` gets the name of its index.
function Code:each(count, body)
  local index = self:fresh "i"
  self:open("for (size_t %s = 0; %s < %s; %s++) {", index, index, count, index)
  self.indexes[#self.indexes + 1] = index
  body(index)
  table.remove(self.indexes)
  self:close()
end


--- Ends the function where a condition holds: `text` is what is wrong, `%p` in it the path, which has a %zu
--- for each index; what else is to be printed follows.
function Code:refuse(condition, path, text, ...)
  local message = text:gsub("%%p", function() return path end)
  local values = { c_code.quote(message) }
  for _, index in ipairs(self.indexes) do
    values[#values + 1] = index
  end
  for _, value in ipairs { ... } do
    values[#values + 1] = value
  end
  self:emit("if (%s) {", condition)
  self:emit("  return perigee_fail(%s->fault, %s);", self.state, table.concat(values, ", "))
  self:emit "}"
end


-- The member of a value, which may be what a pointer points to.
local function member(value, name)
  local pointer = value:match "^%(%*(%w+)%)$"
  return pointer and pointer .. "->" .. name or value .. "." .. name
end


--- Calls `visit` for each field of a record that `x` is, with what a writer is called with.
function Code:each_field(of, x, path, visit)
  for i, field in ipairs(self.types:fields_of(of)) do
    visit(self, field.type, member(x, field.name), path .. "." .. of.fields[i].name,
      field.has and member(x, field.has))
  end
end


--- How many bits a type has in the bit part of the scope that it is in.
---@param of table
---@return integer
function c_code.bits(of)
  if of.kind == "record" then
    local count = 0
    for _, field in ipairs(of.fields) do
      count = count + c_code.bits(field.type)
    end
    return count
  elseif of.kind == "array" then
    return layout.is_bits(of) and of.count * c_code.bits(of.of) or 0
  end
  return (of.kind == "bool" or of.kind == "optional") and 1 or of.bits or 0
end

local function varint_size(most)
  local size = 1
  while most >= 128 do
    size, most = size + 1, math.floor(most / 128)
  end
  return size
end

-- The most bytes of a type in the byte part.
local function bytes(of)
  local kind, total = of.kind, 0
  if kind == "record" then
    for _, field in ipairs(of.fields) do
      total = total + bytes(field.type)
    end
    return total
  elseif kind == "optional" then
    return c_code.size(of.of)
  elseif kind == "array" then
    return layout.is_bits(of) and 0 or of.count * c_code.size(of.of)
  elseif kind == "varint" then
    return 8
  end
  return kind == "list" and varint_size(of.most) + of.most * c_code.size(of.of)
    or of.most and varint_size(of.most) + of.most or of.bytes or 0
end


--- The most bytes of a scope.
---@param of table
---@return integer
function c_code.size(of)
  return math.ceil(c_code.bits(of) / 8) + bytes(of)
end

return c_code
