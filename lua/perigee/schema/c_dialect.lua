--- The statements of generated C, which call the functions of c_head. The code writes and reads each value in
--- place; the bits of values pass through the state, `w` or `r`.

local c_dialect = {}


--- Returns a text as a C string literal, in ASCII and without trigraphs.
---@param text string
---@return string
function c_dialect.quote(text)
  return '"' .. text:gsub('[%c"\\?\127-\255]', function(char)
    return char:find '["\\?]' and "\\" .. char or ("\\%03o"):format(char:byte())
  end) .. '"'
end


--- Returns a number as a C double.
---@param value number
---@return string
function c_dialect.number(value)
  local text = ("%.17g"):format(value)
  return text:find "[.e]" and text or text .. ".0"
end

-- Returns a function that writes a test. The test ends the generated function with an error. In `text`, `%p`
-- means the path, which has a %zu for each index, and `%e` means the expected value. The error ends with
-- `got`, if given.
local function refuse(condition, text, got)
  return function(self, leaf)
    local message = text:gsub("%%([pe])", { p = leaf.path, e = self:value(leaf, "expected") })
    local values = { c_dialect.quote(message), unpack(self.indexes) }
    values[#values + 1] = got and self:fill(got, leaf)
    self:add(("if (%s) {\nreturn perigee_fail(%s->fault, %s);\n}"):format(self:fill(condition, leaf),
      self.steps.state, table.concat(values, ", ")))
  end
end

local function refuse_value(condition, form, got)
  return refuse(condition, "%p: expected %e" .. (form and ", got " .. form or ""), got)
end

local NEED = refuse("!perigee_has(r, @bytes)", "the bytes end at %p")
local LOOP = "for (size_t @k = 0; @k < @count; @k++) {"
local NOT = "%p is not %e"
local MEMORY = "%p takes more memory than there is"
local PUT_INT = "perigee_put_int(w, (uint64_t)@x, @bytes);"
local GET_INT = "@x = (@class)perigee_get_int(r, @bytes);"
local OVER = "@x > UINT64_C(@greatest)"
local OUTSIDE = "@x < INT64_C(@least) || @x > INT64_C(@greatest)"
local CHECK_UNSIGNED = refuse_value(OVER, "%llu", "(unsigned long long)@x")
local CHECK_SIGNED = refuse_value(OUTSIDE, "%lld", "(signed long long)@x")
local CHECK_SIZE = refuse("@n > @most || !perigee_has(r, (size_t)@n)", NOT)

local function put_float(name)
  return {
    refuse_value("!perigee_is_" .. name .. "(@x)", "%g", "(double)@x"),
    "perigee_put_" .. name .. "(w, @x);",
  }
end

local function get_float(name)
  return { NEED, "@x = perigee_get_" .. name .. "(r);", refuse("!perigee_is_" .. name .. "(@x)", NOT) }
end

local function copy(class)
  return {
    "@x.size = (size_t)@n;\n@x.data = (const " .. class .. " *)perigee_copy(r, (size_t)@n);",
    refuse("@x.data == NULL", MEMORY),
  }
end

-- Returns the C expression for a member of a struct. `value` is the struct, or `(*name)` for the target of a
-- pointer.
local function member(value, name)
  local pointer = value:match "^%(%*(%w+)%)$"
  return pointer and pointer .. "->" .. name or value .. "." .. name
end

local function field(self, shape, i)
  local of = self.tables:fields_of(shape.type)[i]
  shape.fields[i].shape.present = of.has and member(shape.x, of.has)
  return member(shape.x, of.name)
end

c_dialect.write = {
  state = "w",
  field = field,
  put_bits = "perigee_put_bits(w, @value, @bits);",
  end_bits = "perigee_end_bits(w);",
  check = {
    enum = refuse_value("!perigee_is_below((size_t)@x, @words)", "%d", "(int)@x"),
    steps = refuse_value("!(@x >= @minimum && @x <= @maximum)", "%g", "@x"),
  },
  bits = {
    bool = "@x ? 1u : 0u", optional = "@present ? 1u : 0u", enum = "(uint64_t)@x",
    steps = "(uint64_t)(perigee_round(@x @scale) - INT64_C(@lowest))",
  },
  u64 = { CHECK_UNSIGNED, PUT_INT },
  i64 = { CHECK_SIGNED, PUT_INT },
  f32 = put_float "f32",
  f64 = put_float "f64",
  uvarint = { CHECK_UNSIGNED, "perigee_put_uvarint(w, @x);" },
  varint = { CHECK_SIGNED, "perigee_put_varint(w, @x);" },
  string = { refuse_value "!perigee_is_text(@x, @most)", "perigee_put_sized(w, @x.data, @x.size);" },
  bytes = {
    refuse_value "@x.size > @most || (@x.data == NULL && @x.size > 0)",
    "perigee_put_sized(w, @x.data, @x.size);",
  },
  optional = "if (@present) {",
  list = {
    refuse_value "@x.count > @most || (@x.items == NULL && @x.count > 0)",
    "perigee_put_uvarint(w, @x.count);\nfor (size_t @k = 0; @k < @x.count; @k++) {",
  },
  array = LOOP,
  element = "@e",
}

c_dialect.read = {
  state = "r",
  field = field,
  need_bits = refuse("!perigee_has(r, @run)", "the bytes end at %p"),
  refuse_over = refuse("@n > UINT64_C(@most)", NOT),
  refuse_rest = refuse("!perigee_no_bits(r)", NOT),
  mark = "@present = @n != 0;",
  value = {
    bool = "@n != 0", enum = "(@class)@n", steps = "(double)((int64_t)@n + INT64_C(@lowest)) @unscale",
  },
  u64 = { NEED, GET_INT, refuse(OVER, NOT) },
  i64 = { NEED, GET_INT, refuse(OUTSIDE, NOT) },
  f32 = get_float "f32",
  f64 = get_float "f64",
  load_varint = {
    "uint64_t @n;",
    refuse("!perigee_has(r, 1)", "the bytes end at %p"),
    refuse("!perigee_get_uvarint(r, &@n)", NOT),
  },
  uvarint = "@x = @n;",
  varint = "@x = perigee_unzigzag(@n);",
  string = { CHECK_SIZE, refuse("!perigee_is_utf8(r->data + r->at, (size_t)@n)", NOT), copy "char" },
  bytes = { CHECK_SIZE, copy "uint8_t" },
  optional = "if (@present) {",
  list = {
    CHECK_SIZE,
    "@item *@t = (@item *)perigee_take(r->memory, (size_t)@n, sizeof(@item), PERIGEE_ALIGNED);",
    refuse("@t == NULL && (size_t)@n > 0", MEMORY),
    "for (size_t @k = 0; @k < (size_t)@n; @k++) {",
  },
  array = LOOP,
  element = "@e",
  after = { list = "@x.items = @t;\n@x.count = (size_t)@n;" },
  finish = refuse("r->at != r->size", "%p: there are bytes behind the end of the message"),
}

for _, name in ipairs { "u8", "i8", "u16", "i16", "u32", "i32" } do
  c_dialect.write[name], c_dialect.read[name] = PUT_INT, { NEED, GET_INT }
end


function c_dialect.read.take_bits(self, leaf)
  if leaf.bits == 1 and leaf.type.kind ~= "enum" and leaf.type.kind ~= "steps" then
    leaf.n = "perigee_get_bits(r, 1)"
  else
    self:emit("uint64_t @n = perigee_get_bits(r, @bits);", leaf)
  end
end

c_dialect.derived = {
  k = function(self) return self:fresh "i" end,
  class = function(self, leaf) return self.tables:name(leaf.type) end,
  item = function(self, leaf) return self.tables:name(leaf.type.of) end,
  words = function(_, leaf) return #leaf.type.values end,
  e = function(_, leaf)
    local is_list = leaf.type.kind == "list"
    local items = is_list and (leaf.t or leaf.x .. ".items") or leaf.x
    return ("%s[%s]%s"):format(items, leaf.k, is_list and leaf.type.of.kind == "array" and ".items" or "")
  end,
}

c_dialect.is_indented = true
c_dialect.has_loops = true -- writes a loop for each array, too
c_dialect.names_scopes = true -- in errors about all bits of a scope
c_dialect.index = "[%zu]"
c_dialect.done = "}"
c_dialect.set = "@x = @value;"

return c_dialect
