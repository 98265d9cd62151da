--- The statements of generated Lua, in the form that LuaJIT compiles best: without closures, with calls of
--- known functions alone, and with stores through pointers. In an encoder, `bad(value, place, ...)` raises an
--- error. In a decoder, it returns false and the error.

local words = require "perigee.schema.words"

local CHECK_WHOLE = "if type(@x) ~= 'number' or not (@x >= @least and @x <= @greatest and floor(@x) == @x) "
  .. "then bad(@x, @place) end\n"
local CHECK_ARRAY = "if type(@x) ~= 'table' or #@x ~= @count then bad(@x, @place) end"
local STORE_VARINT = "if @x < 128 then p[at] = @x; at = at + 1 else at = put_varint(p, at, @x) end"
local STORE_SIZED = "if at + #@x + @space > cap then p, cap = grow(at, #@x + @space) end\n"
  .. "if #@x < 128 then p[at] = #@x; at = at + 1 else at = put_varint(p, at, #@x) end\n"
  .. "copy(p + at, @x, #@x); at = at + #@x"
local LOAD_SIZED = "if @n > @most or @n > size - at then return wrong(@place) end\n"
  .. "local @n = sub(body, at + 1, at + @n)\nat = at + #@n\n"

-- `p` is the buffer, which has `cap` bytes; `at` is the position of the next byte.
local write = {
  reserve = "if at + @need > cap then p, cap = grow(at, @need) end",
  begin_bits = "do local w",
  begin_word = "w = @value",
  fill_word = "w = bor(w, @value)",
  store_word = "cast(i32, p + at + @offset)[0] = w",
  put_bits = words.put,
  end_bits = { words.finish, "end" },

  check = {
    bool = "if type(@x) ~= 'boolean' then bad(@x, @place) end",
    enum = "local @n = INDEXES[@enum][@x]\nif not @n then bad(@x, @place) end",
    steps = "if type(@x) ~= 'number' or not (@x >= @minimum and @x <= @maximum) then bad(@x, @place) end\n"
      .. "local @n = floor(@x @scale + 0.5) + @raise",
    record = "if type(@x) ~= 'table' then bad(@x, @place) end",
    array = CHECK_ARRAY,
  },
  bits = { bool = "@x and 1 or 0", optional = "@x ~= nil and 1 or 0", enum = "@n", steps = "@n" },

  f32 = "if type(@x) ~= 'number' or not (@x >= -F32_MAX and @x <= F32_MAX) then bad(@x, @place) end\n"
    .. "cast(f32, p + @here)[0] = @x",
  f64 = "if type(@x) ~= 'number' or @x - @x ~= 0 then bad(@x, @place) end\ncast(f64, p + @here)[0] = @x",
  u64 = CHECK_WHOLE .. "put_long(p + @here, @x)",
  i64 = CHECK_WHOLE .. "put_long(p + @here, @x)",
  uvarint = CHECK_WHOLE .. STORE_VARINT,
  varint = CHECK_WHOLE .. "if @x >= 0 then @x = 2 * @x else @x = -2 * @x - 1 end\n" .. STORE_VARINT,
  string = "if type(@x) ~= 'string' or #@x > @most or not is_utf8(@x) then bad(@x, @place) end\n"
    .. STORE_SIZED,
  bytes = "if type(@x) ~= 'string' or #@x > @most then bad(@x, @place) end\n" .. STORE_SIZED,
  optional = "if @x ~= nil then",
  list = "if type(@x) ~= 'table' then bad(@x, @place) end\nlocal @n = #@x\n"
    .. "if @n > @most or @n == 0 and next(@x) ~= nil then bad(@x, @place) end\n"
    .. STORE_VARINT:gsub("@x", "@n") .. "\nfor @k = 1, @n do\nlocal @e = rawget(@x, @k)",
  array = CHECK_ARRAY .. "\nfor @k = 1, @count do\nlocal @e = rawget(@x, @k)",
  element = "@e",
}

-- `p` is the body, which has `size` bytes; `at` is the position of the next byte.
local read = {
  new = "local @x = @value",
  none = "nil",
  need = "if at + @run > size then return short(@place) end",
  begin_bits = "do local w",
  keep_bits = "local @n = rshift(w, @shift)",
  take_bits = words.take,
  end_bits = "end",

  mark = "@x = @n ~= 0 or nil",
  refuse_over = "if @n > @most then return wrong(@place) end",
  refuse_rest = "if rshift(w, @count) ~= 0 then return wrong(@place) end",
  value = { bool = "@n ~= 0", enum = "ENUMS[@enum][@n + 1]", steps = "(@n + @lowest) @unscale" },

  -- Checks the bits of a float before they become a number, because LuaJIT represents other types as NaNs.
  -- Without this check, LuaJIT would treat an attacker's NaN as a value of another type, with an address that
  -- the attacker has chosen.
  f32 = "if band(cast(i32, p + @here)[0], 0x7f800000) == 0x7f800000 then return wrong(@place) end\n"
    .. "local @n = cast(f32, p + @here)[0]\n@x = @n",
  f64 = "if band(cast(i32, p + @here + 4)[0], 0x7ff00000) == 0x7ff00000 then return wrong(@place) end\n"
    .. "local @n = cast(f64, p + @here)[0]\n@x = @n",
  load_varint = "if at >= size then return short(@place) end\nlocal @n = p[at]\n"
    .. "if @n < 128 then at = at + 1 else @n, at = get_varint(p, at, size)\n"
    .. "if not @n then return wrong(@place) end end",
  uvarint = "@x = @n",
  varint = "@x = (@n % 2 == 0 and @n / 2 or -(@n + 1) / 2)",
  string = LOAD_SIZED .. "if not is_utf8(@n) then return wrong(@place) end\n@x = @n",
  bytes = LOAD_SIZED .. "@x = @n",
  optional = "if @x then",
  list = "if @n > @most or @n > size - at then return wrong(@place) end\n"
    .. "local @t = new_list(@n, 0)\nfor @k = 1, @n do",
  array = "if at + @count > size then return short(@place) end\n"
    .. "local @t = new_list(@count, 0)\nfor @k = 1, @count do",
  element = "@t[@k]",
  after = { list = "@x = @t", array = "@x = @t" },
  finish = "if at ~= size then return more() end\ndo return true, @value end",
}
read.need_bits = read.need

for name, place in pairs {
  u8 = "p[@here]", i8 = "cast(i8, p + @here)[0]",
  u16 = "cast(u16, p + @here)[0]", i16 = "cast(i16, p + @here)[0]",
  u32 = "cast(u32, p + @here)[0]", i32 = "cast(i32, p + @here)[0]",
} do
  write[name], read[name] = CHECK_WHOLE .. place .. " = @x", "@x = " .. place
end

for name, least in pairs { u64 = "0", i64 = "-9007199254740991" } do
  read[name] = "local @n = cast(i32, p + at + @upper)[0] * 4294967296 + cast(u32, p + at + @offset)[0]\n"
    .. "if not (@n >= " .. least .. " and @n <= 9007199254740991) then return wrong(@place) end\n@x = @n"
end


function write.shift_left(value, shift)
  return shift == 0 and ("tobit(%s)"):format(value) or ("lshift(%s, %d)"):format(value, shift)
end


function write.shift_right(value, shift)
  return ("rshift(%s, %d)"):format(value, shift)
end

local function key_of(shape, i)
  return ((type(shape.fields[i].key) == "number" and "%d" or "%q"):format(shape.fields[i].key))
end


function write.field(self, shape, i)
  local inner = self:fresh "x"
  self:add(("local %s = rawget(%s, %s)"):format(inner, shape.x, key_of(shape, i)))
  return inner
end


function read.field(self, shape, i)
  local place = ("%s[%s]"):format(shape.x, key_of(shape, i))
  if not shape.fields[i].shape.fields then
    return place
  end
  local inner = self:fresh "t"
  self:add(("local %s = %s"):format(inner, place))
  return inner
end


function read.load_word(at, size)
  if size == 4 then
    return ("w = cast(i32, p + at + %d)[0]"):format(at)
  end
  local bytes = {}
  for i = 0, size - 1 do
    bytes[i + 1] = ("p[at + %d]%s"):format(at + i, i > 0 and " * " .. 256 ^ i or "")
  end
  return "w = " .. table.concat(bytes, " + ")
end

-- Returns the low bits of a longer number; if all 32 bits are wanted, as a signed number.
local function low_bits(value, bits)
  return bits == 32 and ("%s %% 4294967296"):format(value) or ("band(%s, %d)"):format(value, 2 ^ bits - 1)
end


function read.low_bits(name, shift, bits)
  return ("local %s = %s"):format(name, low_bits(shift == 0 and "w" or ("rshift(w, %d)"):format(shift), bits))
end


function read.add_bits(name, shift, bits)
  return ("%s = %s"):format(name, low_bits(("bor(%s, lshift(w, %d))"):format(name, shift), bits))
end


--- Returns the constructor of a record with room for all its fields.
function read.template(shape)
  local fields = {}
  for i, field in ipairs(shape.fields) do
    local inner = field.shape
    local value = inner.fields and read.template(inner) or inner.type.kind == "optional" and "nil" or "0"
    fields[i] = shape.type.count and value or ("[%q] = %s"):format(field.key, value)
  end
  return "{ " .. table.concat(fields, ", ") .. " }"
end

return {
  write = write, read = read,
  first = 1, -- first index of a list in errors
  index = "[%d]",
  open = "do", close = "end", -- before and after a field
  done = "end", -- end of a loop and of a condition
  advance = "at = at + @offset",
  set = "@x = @value",
  number = function(value) return ("%.17g"):format(value) end,
  derived = {},
}
