--- The types of a schema in C: structs for records, messages and lists, and enums. Each type is declared when
--- it is first needed, after its inner types.

local layout = require "perigee.schema.layout"

local Types = {}
Types.__index = Types

local c_types = {}


---@param names table result of c_names.new
---@return table
function c_types.new(names)
  return setmetatable({
    names = names, parts = {}, -- parts of the text
    declared = {}, -- record or enum -> name of its type
    lists = {}, -- names of the structs of lists, and of arrays that are elements of a list
    fields = {}, -- record -> { { name, has, type } }
    words = {}, -- constants of enums
  }, Types)
end


--- Returns all declarations so far.
function Types:text()
  return table.concat(self.parts, "\n")
end


function Types:emit(format, ...)
  self.parts[#self.parts + 1] = format:format(...)
end

local function int_name(of)
  return ("%s%d_t"):format(of.signed and "int" or "uint", (of.bytes or 8) * 8)
end

-- Returns the name of a type in C, and the word for this type in the names of lists.
local PLAIN = {
  bool = function() return "bool", "Bool" end,
  float = function(of) return of.bytes == 4 and "float" or "double", of.bytes == 4 and "F32" or "F64" end,
  int = function(of) return int_name(of), (of.signed and "I" or "U") .. of.bytes * 8 end,
  string = function() return "PerigeeText", "Text" end,
  bytes = function() return "PerigeeBytes", "Bytes" end,
}
PLAIN.varint = function(of) return int_name(of), of.signed and "I64" or "U64" end
PLAIN.steps = function() return "double", "F64" end

local function declare_enum(self, of)
  local name, words, texts = self.names:type(of.name), {}, {}
  for i, value in ipairs(of.values) do
    words[i], texts[i] = self.names:constant(of.name .. "_" .. value), ('"%s"'):format(value)
  end
  self:emit("typedef enum %s {\n  %s\n} %s;\n", name, table.concat(words, ",\n  "), name)
  self:emit([[
/// Returns the word of a value; "" for a number that is not a value of the enum.
static inline const char *%s(%s value) {
  static const char *const words[] = {%s};
  return perigee_is_below((size_t)value, %d) ? words[(size_t)value] : "";
}
]], self.names:fn(of.name .. "_name"), name, table.concat(texts, ", "), #texts)
  self.words[of] = words
  return name
end

-- Whether the name of a C type describes the type's values.
local IS_PLAIN = { bool = true, float = true, record = true, enum = true }

local function remark(of)
  local inner = of.kind == "optional" and of.of or of
  local is_plain = IS_PLAIN[inner.kind] or inner.kind == "int" and inner.bytes < 8 or inner.kind == "array"
  return is_plain and "" or "  // " .. layout.expected(inner)
end

-- Adds the members of a struct for a field, each as a line of C.
local function add_members(self, lines, field)
  if field.has then
    lines[#lines + 1] = ("  bool %s;"):format(field.has)
  end
  local inner = field.type.kind == "optional" and field.type.of or field.type
  lines[#lines + 1] = ("  %s;%s"):format(self:member(inner, field.name), remark(field.type))
end


--- Returns the members for the fields of a record: { name, has, type }. An optional field has the member
--- `has`.
function Types:fields_of(record)
  if not self.fields[record] then
    local fields, member = {}, self.names:members()
    for i, field in ipairs(record.fields) do
      fields[i] = { name = member(field.name), type = field.type }
    end
    for i, field in ipairs(record.fields) do
      fields[i].has = field.type.kind == "optional" and member("has_" .. field.name) or nil
    end
    self.fields[record] = fields
  end
  return self.fields[record]
end

local function emit_struct(self, name, fields)
  local lines = {}
  for _, field in ipairs(fields) do
    add_members(self, lines, field)
  end
  self:emit("typedef struct %s {\n%s\n} %s;\n", name, table.concat(lines, "\n"), name)
end


--- Declares a type and returns its name. An array that is an element of a list has no name in C, so this
--- function declares a struct around the array and returns the struct's name.
---@param of table
---@return string
function Types:name(of)
  local plain = PLAIN[of.kind]
  if plain then
    return (plain(of))
  elseif of.kind == "list" or of.kind == "array" then
    return self:element(of)
  elseif not self.declared[of] and of.kind == "enum" then
    self.declared[of] = declare_enum(self, of)
  elseif not self.declared[of] then
    self:declare_record(of, self.names:type(of.name))
  end
  return self.declared[of]
end


function Types:declare_record(of, name)
  self.declared[of] = name
  emit_struct(self, name, self:fields_of(of))
end

-- Returns the word for the elements of a list, which is a part of the list's name.
local function word_of(self, of)
  if of.kind == "list" then
    return word_of(self, of.of) .. "List"
  elseif of.kind == "array" then
    return ("%sArray%d"):format(word_of(self, of.of), of.count)
  end
  local plain = PLAIN[of.kind]
  return plain and select(2, plain(of)) or self:name(of):sub(#self.names.types + 1)
end

-- Returns a key that is equal for types with the same C type.
local function key_of(self, of)
  if of.kind == "list" then
    return key_of(self, of.of) .. "[]"
  end
  return of.kind == "array" and ("%s[%d]"):format(key_of(self, of.of), of.count) or self:name(of)
end


--- Returns the struct { items, count } of a list, or the struct { items } of an array that is an element of a
--- list.
function Types:element(of)
  local key = key_of(self, of)
  if not self.lists[key] then
    local items = of.kind == "list" and ("const %s *items;\n  size_t count"):format(self:name(of.of))
      or self:member(of, "items")
    local name = self.names:type(word_of(self, of))
    self:emit("typedef struct %s {\n  %s;\n} %s;\n", name, items, name)
    self.lists[key] = name
  end
  return self.lists[key]
end


--- Returns the declaration of a member with this type, which may be an array.
function Types:member(of, name)
  if of.kind == "array" then
    return self:member(of.of, ("%s[%d]"):format(name, of.count))
  end
  return self:name(of) .. " " .. name
end


--- Declares the type of a value or an answer, and returns it.
---@param of table
---@param name string? name for the type; nil: the type is a struct with a name
---@return string
function Types:value(of, name)
  if of.kind ~= "record" then
    local has = of.kind == "optional" and "has_value" or nil
    emit_struct(self, name, { { name = "value", has = has, type = of } })
    return name
  elseif name then
    self:declare_record(of, name)
  end
  return name or self:name(of)
end


return c_types
