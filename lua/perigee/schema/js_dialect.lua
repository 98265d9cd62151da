--- The statements of generated JavaScript. They correspond to those of lua_dialect, but lists begin at 0. `b`
--- is the array that is written or read; `v` is a view of this array.

local words = require "perigee.schema.words"

local CHECK_WHOLE = "if (!Number.isInteger(@x) || @x < @least || @x > @greatest) bad(@x, @place);\n"
local CHECK_ARRAY = "if (!Array.isArray(@x) || @x.length !== @count) bad(@x, @place);"
local EACH = "\nfor (let @k = 0; @k < %s; @k++) {"

local write = {
  reserve = "if (at + @need > b.length) grow(at, @need);",
  begin_bits = "{ let w;",
  begin_word = "w = @value;",
  fill_word = "w |= @value;",
  store_word = "v.setInt32(at + @offset, w, true);",
  put_bits = words.put,
  end_bits = { words.finish, "}" },

  check = {
    bool = 'if (typeof @x !== "boolean") bad(@x, @place);',
    enum = "const @n = INDEXES[@enum].get(@x);\nif (@n === undefined) bad(@x, @place);",
    steps = 'if (typeof @x !== "number" || !(@x >= @minimum && @x <= @maximum)) bad(@x, @place);\n'
      .. "const @n = Math.floor(@x @scale + 0.5) + @raise;",
    record = 'if (typeof @x !== "object" || @x === null) bad(@x, @place);\n'
      .. "for (const @k in @x) if (!RECORDS[@record].has(@k)) unknown(@record, @k, @place);",
    array = CHECK_ARRAY,
  },
  bits = {
    bool = "(@x ? 1 : 0)", optional = "(@x !== undefined && @x !== null ? 1 : 0)", enum = "@n", steps = "@n",
  },

  f32 = 'if (typeof @x !== "number" || !(Math.abs(@x) <= F32_MAX)) bad(@x, @place);\n'
    .. "v.setFloat32(@here, @x, true);",
  f64 = "if (!Number.isFinite(@x)) bad(@x, @place);\nv.setFloat64(@here, @x, true);",
  u64 = CHECK_WHOLE .. "putLong(@here, @x);",
  i64 = CHECK_WHOLE .. "putLong(@here, @x);",
  uvarint = CHECK_WHOLE .. "at = putVarint(at, @x);",
  varint = CHECK_WHOLE .. "@x = @x >= 0 ? 2 * @x : -2 * @x - 1;\nat = putVarint(at, @x);",
  string = 'if (typeof @x !== "string") bad(@x, @place);\n'
    .. "const @x_ = encoder.encode(@x);\nif (@x_.length > @most) bad(@x, @place);\n"
    .. "at = putBytes(at, @x_, @space);",
  bytes = "if (!(@x instanceof Uint8Array) || @x.length > @most) bad(@x, @place);\n"
    .. "at = putBytes(at, @x, @space);",
  optional = "if (@x !== undefined && @x !== null) {",
  list = "if (!Array.isArray(@x) || @x.length > @most) bad(@x, @place);\nconst @n = @x.length;\n"
    .. "at = putVarint(at, @n);" .. EACH:format "@n" .. "\nlet @e = @x[@k];",
  array = CHECK_ARRAY .. EACH:format "@count" .. "\nlet @e = @x[@k];",
  element = "@e",
}

local read = {
  new = "let @x = @value;",
  none = "undefined",
  need = "if (at + @run > size) short(@place);",
  begin_bits = "{ let w;",
  keep_bits = "let @n = w >>> @shift;",
  take_bits = words.take,
  end_bits = "}",

  mark = "var @m = @n !== 0;", -- a separate variable, because the object lacks absent fields
  refuse_over = "if (@n > @most) wrong(@place);",
  refuse_rest = "if (w >>> @count !== 0) wrong(@place);",
  value = { bool = "@n !== 0", enum = "ENUMS[@enum][@n]", steps = "(@n + @lowest) @unscale" },

  load_varint = "if (at >= size) short(@place);\nlet @n = getVarint(b, at, size);\n"
    .. "if (@n < 0) wrong(@place);\nat = after;",
  uvarint = "@x = @n;",
  varint = "@x = (@n % 2 === 0 ? @n / 2 : -(@n + 1) / 2);",
  string = "if (@n > @most || @n > size - at) wrong(@place);\n"
    .. "const @n_ = b.subarray(at, at + @n);\nat += @n_.length;\n"
    .. "try { @n = decoder.decode(@n_); } catch { wrong(@place); }\n@x = @n;",
  bytes = "if (@n > @most || @n > size - at) wrong(@place);\n"
    .. "@n = new Uint8Array(b.subarray(at, at + @n));\nat += @n.length;\n@x = @n;",
  optional = "if (@m) {",
  list = "if (@n > @most || @n > size - at) wrong(@place);\nconst @t = [];" .. EACH:format "@n",
  array = "if (at + @count > size) short(@place);\nconst @t = [];" .. EACH:format "@count",
  element = "@t[@k]",
  after = { list = "@x = @t;", array = "@x = @t;" },
  finish = "if (at !== size) more();\nreturn @value;",
}
read.need_bits = read.need

for name, method in pairs {
  u8 = "Uint8", i8 = "Int8", u16 = "Uint16", i16 = "Int16", u32 = "Uint32", i32 = "Int32",
} do
  write[name] = CHECK_WHOLE .. "v.set" .. method .. "(@here, @x, true);"
  read[name] = "@x = v.get" .. method .. "(@here, true);"
end

for name, method in pairs { f32 = "Float32", f64 = "Float64" } do
  read[name] = "const @n = v.get" .. method .. "(@here, true);\n"
    .. "if (!Number.isFinite(@n)) wrong(@place);\n@x = @n;"
end

for name, test in pairs {
  u64 = "!(@n >= 0 && @n <= Number.MAX_SAFE_INTEGER)", i64 = "!Number.isSafeInteger(@n)",
} do
  read[name] = "const @n = v.getInt32(at + @upper, true) * 4294967296 + v.getUint32(at + @offset, true);\n"
    .. "if (" .. test .. ") wrong(@place);\n@x = @n;"
end


function write.shift_left(value, shift)
  return shift == 0 and value or ("(%s) << %d"):format(value, shift)
end


function write.shift_right(value, shift)
  return ("(%s) >>> %d"):format(value, shift)
end

-- Names of the fields that every JavaScript object inherits.
local INHERITED = {}
for name in ("constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf "
  .. "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__"):gmatch "%S+" do
  INHERITED[name] = true
end

local function place_of(shape, i)
  local key = shape.fields[i].key
  return type(key) == "number" and ("%s[%d]"):format(shape.x, key - 1) or ("%s.%s"):format(shape.x, key)
end


function write.field(self, shape, i)
  local inner, key, place = self:fresh "x", shape.fields[i].key, place_of(shape, i)
  if INHERITED[key] then
    place = ("Object.hasOwn(%s, %q) ? %s : undefined"):format(shape.x, key, place)
  end
  self:add(("let %s = %s;"):format(inner, place))
  return inner
end


function read.field(self, shape, i)
  local place = place_of(shape, i)
  if not shape.fields[i].shape.fields then
    return place
  end
  local inner = self:fresh "t"
  self:add(("const %s = %s;"):format(inner, place))
  return inner
end


function read.load_word(at, size)
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


function read.low_bits(name, shift, bits)
  return ("const %s = %s;"):format(name, low_bits(("w >>> %d"):format(shift), bits))
end


function read.add_bits(name, shift, bits)
  return ("%s = %s;"):format(name, low_bits(("%s | w << %d"):format(name, shift), bits))
end


function read.template(shape)
  local fields = {}
  for _, field in ipairs(shape.fields) do
    local inner = field.shape
    if inner.fields or inner.type.kind ~= "optional" then
      local value = inner.fields and read.template(inner) or "0"
      fields[#fields + 1] = shape.type.count and value or ("%s: %s"):format(field.key, value)
    end
  end
  return (shape.type.count and "[%s]" or "{ %s }"):format(table.concat(fields, ", "))
end

return {
  write = write, read = read,
  first = 0,
  index = "[%d]",
  open = "{", close = "}",
  done = "}",
  advance = "at += @offset;",
  set = "@x = @value;",
  number = function(value) return ("%.17g"):format(value) end,
  derived = {},
}
