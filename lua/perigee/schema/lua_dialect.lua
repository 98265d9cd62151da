--- The statements of generated Lua, as LuaJIT compiles them best: no closures, no calls but of
--- functions that it knows, stores through pointers. A `bad(place, value, ...)` raises; a decoder
--- returns false and what is wrong.

local dialect = {
  open = "do",
  close = "end",
  none = "nil",
  advance = "at = at + @1",

  -- Encoding. `p` is the buffer, of `cap` bytes.
  reserve = "if at + @1 > cap then p, cap = grow(at, @1) end",
  begin_bits = "do local w",
  begin_word = "w = @1",
  fill_word = "w = bor(w, @1)",
  store_word = "cast(i32, p + at + @1)[0] = w",

  check_bool = "if type(@1) ~= 'boolean' then bad(@1, @2) end",
  index_of = "local @1 = INDEXES[@2][@3]",
  check_index = "if not @1 then bad(@3, @2) end",
  check_range = "if type(@1) ~= 'number' or not (@1 >= @2 and @1 <= @3) then bad(@1, @4) end",
  to_steps = "local @1 = floor(@2 @3 @4 + 0.5) + @5",
  check_whole = "if type(@1) ~= 'number' or not (@1 >= @2 and @1 <= @3 and floor(@1) == @1) "
    .. "then bad(@1, @4) end",
  check_float = {
    [4] = "if type(@1) ~= 'number' or not (@1 >= -F32_MAX and @1 <= F32_MAX) then bad(@1, @2) end",
    [8] = "if type(@1) ~= 'number' or @1 - @1 ~= 0 then bad(@1, @2) end",
  },
  check_record = "if type(@1) ~= 'table' then bad(@1, @2) end",
  check_list = "if type(@1) ~= 'table' or #@1 ~= @2 then bad(@1, @3) end",
  if_present = "if @1 ~= nil then",
  zigzag = "if @1 >= 0 then @1 = 2 * @1 else @1 = -2 * @1 - 1 end",
  store_varint = "if @1 < 128 then p[at] = @1; at = at + 1 else at = put_varint(p, at, @1) end",
  store_string = "if type(@x) ~= 'string' or #@x > @most or not is_utf8(@x) then bad(@x, @place) end\n"
    .. "if at + #@x + @room > cap then p, cap = grow(at, #@x + @room) end\n"
    .. "if #@x < 128 then p[at] = #@x; at = at + 1 else at = put_varint(p, at, #@x) end\n"
    .. "copy(p + at, @x, #@x); at = at + #@x",
  list_size = "if type(@x) ~= 'table' then bad(@x, @place) end\nlocal @n = #@x\n"
    .. "if @n > @most or @n == 0 and next(@x) ~= nil then bad(@x, @place) end",
  each = "for @1 = 1, @2 do",
  element = "local @1 = rawget(@2, @3)",
  store_int = {
    u8 = "p[@1] = @2", i8 = "cast(i8, p + @1)[0] = @2",
    u16 = "cast(u16, p + @1)[0] = @2", i16 = "cast(i16, p + @1)[0] = @2",
    u32 = "cast(u32, p + @1)[0] = @2", i32 = "cast(i32, p + @1)[0] = @2",
    u64 = "put_long(p + @1, @2)", i64 = "put_long(p + @1, @2)",
  },
  store_float = { [4] = "cast(f32, p + @1)[0] = @2", [8] = "cast(f64, p + @1)[0] = @2" },

  -- Decoding. `p` is the body, of `size` bytes.
  refuse_short = "if at + @1 > size then return short(@2) end",
  refuse_over = "if @1 > @2 then return wrong(@3) end",
  refuse_count = "if @1 > @2 or @1 > size - at then return wrong(@3) end",
  refuse_rest = "if rshift(w, @1) ~= 0 then return wrong(@2) end",
  is_one = "@1 ~= 0",
  keep_bits = "local @1 = rshift(w, @2)",
  load_long = "local @1 = cast(i32, p + at + @2)[0] * 4294967296 + cast(u32, p + at + @3)[0]",
  check_long = {
    u = "if not (@1 >= 0 and @1 <= 9007199254740991) then return wrong(@2) end",
    i = "if not (@1 >= -9007199254740991 and @1 <= 9007199254740991) then return wrong(@2) end",
  },
  load_int = {
    u8 = "p[@1]", i8 = "cast(i8, p + @1)[0]",
    u16 = "cast(u16, p + @1)[0]", i16 = "cast(i16, p + @1)[0]",
    u32 = "cast(u32, p + @1)[0]", i32 = "cast(i32, p + @1)[0]",
  },
  -- Looked at before they are numbers: LuaJIT keeps other types in NaNs, and would take one that a
  -- stranger has made for a value of such a type, with an address of the stranger's choice.
  load_float = {
    [4] = "if band(cast(i32, p + @2)[0], 0x7f800000) == 0x7f800000 then return wrong(@3) end\n"
      .. "local @1 = cast(f32, p + @2)[0]",
    [8] = "if band(cast(i32, p + @2 + 4)[0], 0x7ff00000) == 0x7ff00000 then return wrong(@3) end\n"
      .. "local @1 = cast(f64, p + @2)[0]",
  },
  load_varint = "if at >= size then return short(@place) end\nlocal @x = p[at]\n"
    .. "if @x < 128 then at = at + 1 else @x, at = get_varint(p, at, size)\n"
    .. "if not @x then return wrong(@place) end end",
  load_string = "if @x > @most or @x > size - at then return wrong(@place) end\n"
    .. "local @x = sub(body, at + 1, at + @x)\nat = at + #@x\n"
    .. "if not is_utf8(@x) then return wrong(@place) end",
  load_bytes = "if @x > @most or @x > size - at then return wrong(@place) end\n"
    .. "local @x = sub(body, at + 1, at + @x)\nat = at + #@x",
  new_list = "local @1 = new_list(@2, 0)",
  new_value = "local @1 = @2",
}

dialect.store_bytes = dialect.store_string:gsub(" or not is_utf8%(@x%)", "")


function dialect.index(name)
  return name
end


function dialect.shift_left(value, shift)
  return shift == 0 and ("tobit(%s)"):format(value) or ("lshift(%s, %d)"):format(value, shift)
end


function dialect.shift_right(value, shift)
  return ("rshift(%s, %d)"):format(value, shift)
end


function dialect.bit_of(value)
  return ("%s and 1 or 0"):format(value)
end


function dialect.presence_of(value)
  return ("%s ~= nil and 1 or 0"):format(value)
end


function dialect.field(name, of, key)
  return (type(key) == "number" and "local %s = rawget(%s, %d)" or "local %s = rawget(%s, %q)")
    :format(name, of, key)
end


function dialect.load_word(at, size)
  if size == 4 then
    return ("w = cast(i32, p + at + %d)[0]"):format(at)
  end
  local bytes = {}
  for i = 0, size - 1 do
    bytes[i + 1] = ("p[at + %d]%s"):format(at + i, i > 0 and " * " .. 256 ^ i or "")
  end
  return "w = " .. table.concat(bytes, " + ")
end

-- The low bits of a number that has more: of a signed one, where they are all 32.
local function low_bits(value, bits)
  return bits == 32 and ("%s %% 4294967296"):format(value) or ("band(%s, %d)"):format(value, 2 ^ bits - 1)
end


function dialect.take_bits(name, shift, bits)
  return ("local %s = %s"):format(name, low_bits(shift == 0 and "w" or ("rshift(w, %d)"):format(shift), bits))
end


function dialect.add_bits(name, shift, bits)
  return ("%s = %s"):format(name, low_bits(("bor(%s, lshift(w, %d))"):format(name, shift), bits))
end


function dialect.value_of(enum, value)
  return ("ENUMS[%d][%s + 1]"):format(enum, value)
end


function dialect.mark(_, value, set)
  return set(value .. " ~= 0 or nil")
end


function dialect.if_marked(_, value)
  return ("if %s then"):format(value)
end

-- A key as it is written behind its table.
local function at_key(target, key)
  return type(key) == "number" and ("%s[%d]"):format(target, key) or ("%s[%q]"):format(target, key)
end


--- The constructor of a record, with room for all its fields.
function dialect.template(shape)
  local fields = {}
  for i, field in ipairs(shape.fields) do
    local inner = field.shape
    local value = inner.fields and dialect.template(inner)
      or inner.type.kind == "optional" and "nil" or "0"
    fields[i] = shape.is_list and value or ("[%q] = %s"):format(field.key, value)
  end
  return "{ " .. table.concat(fields, ", ") .. " }"
end


function dialect.part(name, target, key)
  return ("local %s = %s"):format(name, at_key(target, key))
end


function dialect.get_part(target, key)
  return at_key(target, key)
end


function dialect.set_part(target, key, value)
  return ("%s = %s"):format(at_key(target, key), value)
end


function dialect.set_element(list, index, value)
  return ("%s[%s] = %s"):format(list, index, value)
end


function dialect.set(name, value)
  return ("%s = %s"):format(name, value)
end


function dialect.unzigzag(value)
  return ("(%s %% 2 == 0 and %s / 2 or -(%s + 1) / 2)"):format(value, value, value)
end


function dialect.finish(value)
  return ("if at ~= size then return more() end\ndo return true, %s end"):format(value)
end

return dialect
