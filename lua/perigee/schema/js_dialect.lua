--- The statements of generated JavaScript: the encoders' and decoders' of lua_dialect, one by one, with
--- lists that begin at 0. `b` is what is written to or read, `v` a view of it.

local function repeat_for(table_of, template)
  local made = {}
  for key, name in pairs(table_of) do
    made[key] = (template:gsub("#", name))
  end
  return made
end

local INTS = {
  u8 = "Uint8", i8 = "Int8", u16 = "Uint16", i16 = "Int16", u32 = "Uint32", i32 = "Int32",
}
local FLOATS = { [4] = "Float32", [8] = "Float64" }

local dialect = {
  first = 0, -- index of a list's first element, as errors name it
  open = "{",
  close = "}",
  none = "undefined",
  advance = "at += @1;",

  -- Encoding.
  reserve = "if (at + @1 > b.length) grow(at, @1);",
  begin_bits = "{ let w;",
  begin_word = "w = @1;",
  fill_word = "w |= @1;",
  store_word = "v.setInt32(at + @1, w, true);",

  check_bool = 'if (typeof @1 !== "boolean") bad(@1, @2);',
  index_of = "const @1 = INDEXES[@2].get(@3);",
  check_index = "if (@1 === undefined) bad(@3, @2);",
  check_range = 'if (typeof @1 !== "number" || !(@1 >= @2 && @1 <= @3)) bad(@1, @4);',
  to_steps = "const @1 = Math.floor(@2 @3 @4 + 0.5) + @5;",
  check_whole = "if (!Number.isInteger(@1) || @1 < @2 || @1 > @3) bad(@1, @4);",
  check_float = {
    [4] = 'if (typeof @1 !== "number" || !(Math.abs(@1) <= F32_MAX)) bad(@1, @2);',
    [8] = "if (!Number.isFinite(@1)) bad(@1, @2);",
  },
  check_record = 'if (typeof @1 !== "object" || @1 === null) bad(@1, @2);',
  check_names = "for (const @1 in @2) if (!RECORDS[@3].has(@1)) unknown(@3, @1, @4);",
  check_list = "if (!Array.isArray(@1) || @1.length !== @2) bad(@1, @3);",
  if_present = "if (@1 !== undefined && @1 !== null) {",
  zigzag = "@1 = @1 >= 0 ? 2 * @1 : -2 * @1 - 1;",
  store_varint = "at = putVarint(at, @1);",
  store_string = 'if (typeof @x !== "string") bad(@x, @place);\n'
    .. "const @x_ = encoder.encode(@x);\nif (@x_.length > @most) bad(@x, @place);\n"
    .. "at = putBytes(at, @x_, @room);",
  store_bytes = "if (!(@x instanceof Uint8Array) || @x.length > @most) bad(@x, @place);\n"
    .. "at = putBytes(at, @x, @room);",
  list_size = "if (!Array.isArray(@x) || @x.length > @most) bad(@x, @place);\nconst @n = @x.length;",
  each = "for (let @1 = 0; @1 < @2; @1++) {",
  element = "let @1 = @2[@3];",
  store_int = repeat_for(INTS, "v.set#(@1, @2, true);"),
  store_float = repeat_for(FLOATS, "v.set#(@1, @2, true);"),

  -- Decoding.
  refuse_short = "if (at + @1 > size) short(@2);",
  refuse_over = "if (@1 > @2) wrong(@3);",
  refuse_count = "if (@1 > @2 || @1 > size - at) wrong(@3);",
  refuse_rest = "if (w >>> @1 !== 0) wrong(@2);",
  is_one = "@1 !== 0",
  keep_bits = "let @1 = w >>> @2;",
  load_long = "const @1 = v.getInt32(at + @2, true) * 4294967296 + v.getUint32(at + @3, true);",
  check_long = {
    u = "if (!(@1 >= 0 && @1 <= Number.MAX_SAFE_INTEGER)) wrong(@2);",
    i = "if (!Number.isSafeInteger(@1)) wrong(@2);",
  },
  load_int = repeat_for(INTS, "v.get#(@1, true)"),
  load_float = repeat_for(FLOATS, "const @1 = v.get#(@2, true);\nif (!Number.isFinite(@1)) wrong(@3);"),
  load_varint = "if (at >= size) short(@place);\nlet @x = getVarint(b, at, size);\n"
    .. "if (@x < 0) wrong(@place);\nat = after;",
  load_string = "if (@x > @most || @x > size - at) wrong(@place);\n"
    .. "const @x_ = b.subarray(at, at + @x);\nat += @x_.length;\n"
    .. "try { @x = decoder.decode(@x_); } catch { wrong(@place); }",
  load_bytes = "if (@x > @most || @x > size - at) wrong(@place);\n"
    .. "@x = new Uint8Array(b.subarray(at, at + @x));\nat += @x.length;",
  new_list = "const @1 = [];",
  new_value = "let @1 = @2;",
}

dialect.store_int.u64, dialect.store_int.i64 = "putLong(@1, @2);", "putLong(@1, @2);"


function dialect.index(name)
  return name
end


function dialect.shift_left(value, shift)
  return shift == 0 and value or ("(%s) << %d"):format(value, shift)
end


function dialect.shift_right(value, shift)
  return ("(%s) >>> %d"):format(value, shift)
end


function dialect.bit_of(value)
  return ("(%s ? 1 : 0)"):format(value)
end


function dialect.presence_of(value)
  return ("(%s !== undefined && %s !== null ? 1 : 0)"):format(value, value)
end

-- What objects have that have no such field.
local INHERITED = {}
for name in ("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf "
  .. "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__"):gmatch "%S+" do
  INHERITED[name] = true
end

-- A key as it is written behind its object.
local function at_key(target, key)
  return type(key) == "number" and ("%s[%d]"):format(target, key - 1) or ("%s.%s"):format(target, key)
end


function dialect.field(name, of, key)
  if INHERITED[key] then
    return ("let %s = Object.hasOwn(%s, %q) ? %s.%s : undefined;"):format(name, of, key, of, key)
  end
  return ("let %s = %s;"):format(name, at_key(of, key))
end


function dialect.load_word(at, size)
  if size == 4 then
    return ("w = v.getInt32(at + %d, true);"):format(at)
  end
  local bytes = {}
  for i = 0, size - 1 do
    bytes[i + 1] = ("b[at + %d]%s"):format(at + i, i > 0 and " << " .. 8 * i or "")
  end
  return "w = " .. table.concat(bytes, " | ") .. ";"
end

local function low_bits(value, bits)
  return bits == 32 and ("(%s) >>> 0"):format(value) or ("(%s) & %d"):format(value, 2 ^ bits - 1)
end


function dialect.take_bits(name, shift, bits)
  return ("const %s = %s;"):format(name, low_bits(("w >>> %d"):format(shift), bits))
end


function dialect.add_bits(name, shift, bits)
  return ("%s = %s;"):format(name, low_bits(("%s | w << %d"):format(name, shift), bits))
end


function dialect.value_of(enum, value)
  return ("ENUMS[%d][%s]"):format(enum, value)
end

-- A field that is not there is not in the object at all, so where it is is noted beside it.
function dialect.mark(name, value)
  return ("var %s = %s !== 0;"):format(name, value)
end


function dialect.if_marked(name)
  return ("if (%s) {"):format(name)
end


function dialect.template(shape)
  local fields = {}
  for _, field in ipairs(shape.fields) do
    local inner = field.shape
    if inner.fields or inner.type.kind ~= "optional" then
      local value = inner.fields and dialect.template(inner) or "0"
      fields[#fields + 1] = shape.is_list and value or ("%s: %s"):format(field.key, value)
    end
  end
  local list = table.concat(fields, ", ")
  return shape.is_list and "[" .. list .. "]" or "{ " .. list .. " }"
end


function dialect.part(name, target, key)
  return ("const %s = %s;"):format(name, at_key(target, key))
end


function dialect.get_part(target, key)
  return at_key(target, key)
end


function dialect.set_part(target, key, value)
  return ("%s = %s;"):format(at_key(target, key), value)
end


function dialect.set_element(list, index, value)
  return ("%s[%s] = %s;"):format(list, index, value)
end


function dialect.set(name, value)
  return ("%s = %s;"):format(name, value)
end


function dialect.unzigzag(value)
  return ("(%s %% 2 === 0 ? %s / 2 : -(%s + 1) / 2)"):format(value, value, value)
end


function dialect.finish(value)
  return ("if (at !== size) more();\nreturn %s;"):format(value)
end

return dialect
