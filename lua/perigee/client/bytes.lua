--- Values to bytes and back, in the types of docs/protocol.md (constants.lua lists them).
--- A Reader never raises: reading past the end makes it `failed` and gives zeros from then on, so
--- a whole packet is read first and checked once.

local bytes = {}


--- A little-endian unsigned integer of `size` bytes. `value` is a whole number below 2^53.
---@param value integer
---@param size integer
---@return string
function bytes.integer(value, size)
  local out = {}
  for i = 1, size do
    out[i] = string.char(value % 256)
    value = math.floor(value / 256)
  end
  return table.concat(out)
end


--- A text preceded by its length in `size` bytes.
---@param text string
---@param size integer
---@return string
function bytes.counted(text, size)
  assert(#text < 256 ^ size, "text too long for its length field")
  return bytes.integer(#text, size) .. text
end


local function raw(size)
  return function(value)
    assert(#value == size, "wrong number of raw bytes")
    return value
  end
end


local WRITE = {
  u16 = function(value) return bytes.integer(value, 2) end,
  u32 = function(value) return bytes.integer(value, 4) end,
  u64 = function(value) return bytes.integer(value, 8) end,
  str8 = function(value) return bytes.counted(value, 1) end,
  str16 = function(value) return bytes.counted(value, 2) end,
  raw8 = raw(8),
  raw16 = raw(16),
  rest = function(value) return value end,
}


--- Writes `values` as `layout` (constants.lua) has them.
---@param layout table
---@param values table
---@return string
function bytes.write(layout, values)
  local out = {}
  for i, field in ipairs(layout) do out[i] = WRITE[field[2]](values[field[1]]) end
  return table.concat(out)
end


---@class perigee.client.Reader
---@field failed boolean something was missing or not as it must be
local Reader = {}
Reader.__index = Reader


---@param data string
---@return perigee.client.Reader
function bytes.reader(data)
  return setmetatable({ failed = false, _data = data, _at = 1 }, Reader)
end


--- Whether all was there. More may follow, of a later version.
---@return boolean
function Reader:is_complete()
  return not self.failed
end


---@param size integer
---@return string
function Reader:raw(size)
  local at = self._at
  if self.failed or at + size - 1 > #self._data then
    self.failed = true
    return ""
  end
  self._at = at + size
  return self._data:sub(at, at + size - 1)
end


---@param size integer
---@return integer
function Reader:integer(size)
  local data, value = self:raw(size), 0
  for i = #data, 1, -1 do value = value * 256 + data:byte(i) end
  return value
end


---@return boolean
function Reader:flag()
  return self:integer(1) == 1
end


---@return string
function Reader:rest()
  return self:raw(#self._data - self._at + 1)
end


---@param layout table
---@return table[]
function Reader:list(layout)
  local items = {}
  for i = 1, self:integer(2) do
    if self.failed then break end
    items[i] = self:fields(layout)
  end
  return items
end


local READ = {
  u16 = function(reader) return reader:integer(2) end,
  u32 = function(reader) return reader:integer(4) end,
  u64 = function(reader) return reader:integer(8) end,
  flag = Reader.flag,
  str8 = function(reader) return reader:raw(reader:integer(1)) end,
  str16 = function(reader) return reader:raw(reader:integer(2)) end,
  raw8 = function(reader) return reader:raw(8) end,
  raw16 = function(reader) return reader:raw(16) end,
  raw32 = function(reader) return reader:raw(32) end,
  rest = Reader.rest,
  list = function(reader, field) return reader:list(field.of) end,
}


--- Reads the fields of `layout` (constants.lua) into a table.
---@param layout table
---@return table
function Reader:fields(layout)
  local values = {}
  for _, field in ipairs(layout) do
    if not field.with_code or field.with_code == values.code then
      values[field[1]] = READ[field[2]](self, field)
    end
  end
  return values
end


return bytes
