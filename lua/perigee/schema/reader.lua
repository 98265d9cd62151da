--- Parses the text of a schema to declarations, by the grammar in docs/schema.md. lpeg finds the words. This
--- file checks their order, so that errors can name the expected word.

local fault = require "perigee.schema.fault"
local lpeg = require "lpeg"

local C, Cc, Cp, Ct, P, R, S = lpeg.C, lpeg.Cc, lpeg.Cp, lpeg.Ct, lpeg.P, lpeg.R, lpeg.S

local TEXT_MAX = 256 * 1024 -- bytes
local NAME_MAX = 255 -- bytes of a message's name, as for all messages
local WORD_MAX = 64 -- bytes of other names
local SHOWN_MAX = 40 -- bytes of a word in an error

local blank = S " \t\r\n" + P "--" * (1 - S "\r\n") ^ 0
local digits = R "09" ^ 1
local word = (R("az", "AZ") + "_") * (R("az", "AZ", "09") + "_") ^ 0
local number = P "-" ^ -1 * digits * (P "." * digits) ^ -1 * -(R("az", "AZ", "09") + "_")
local quoted = P '"' * C((1 - S '"\r\n') ^ 0) * P '"'
local mark = P "->" + P ".." + S "{}[]():=,?"

-- Excludes overlong forms, halves of surrogates, and code points above U+10FFFF.
local tail = R "\128\191"
local letter = R "\0\127" + R "\194\223" * tail
  + (P "\224" * R "\160\191" + R("\225\236", "\238\239") * tail + P "\237" * R "\128\159") * tail
  + (P "\240" * R "\144\191" + R "\241\243" * tail + P "\244" * R "\128\143") * tail * tail
local utf8 = letter ^ 0 * -1

local function token(kind, pattern)
  return Ct(Cp() * Cc(kind) * pattern)
end

local one = token("name", C(word)) + token("number", C(number)) + token("text", quoted)
  + token("mark", C(mark))
local tokens = Ct((blank ^ 1 + one) ^ 0) * Cp()

local Reader = {}
Reader.__index = Reader

local function shown(found)
  if found[2] == "end" then
    return "the end of the file"
  end
  local text = #found[3] > SHOWN_MAX and found[3]:sub(1, SHOWN_MAX) .. "..." or found[3]
  return found[2] == "text" and '"' .. text .. '"' or "`" .. text .. "`"
end

function Reader:fail(found, message, ...)
  fault.raise(self.source, found[1], message, ...)
end

function Reader:peek(value)
  local found = self.tokens[self.at]
  return found[2] ~= "text" and found[3] == value
end

function Reader:take()
  local found = self.tokens[self.at]
  self.at = self.at + 1
  return found
end

function Reader:accept(value)
  return self:peek(value) and self:take() or nil
end

function Reader:expect(value, after)
  local found = self.tokens[self.at]
  if not self:peek(value) then
    self:fail(found, "expected `%s` %s, found %s", value, after, shown(found))
  end
  return self:take()
end

function Reader:expect_kind(kind, what)
  local found = self:take()
  if found[2] ~= kind then
    self:fail(found, "expected %s, found %s", what, shown(found))
  end
  return found
end

function Reader:name(what)
  local found = self:expect_kind("name", what)
  if #found[3] > WORD_MAX then
    self:fail(found, "a name of more than %d bytes", WORD_MAX)
  end
  return found[3], found[1]
end

function Reader:number(what)
  local found = self:expect_kind("number", what)
  return tonumber(found[3]), found[1]
end

function Reader:whole(what, least, most)
  local value, at = self:number(what)
  if value % 1 ~= 0 or value < least or value > most then
    fault.raise(self.source, at, "%s is a whole number from %d to %d", what, least, most)
  end
  return value, at
end

-- Types --------------------------------------------------------------------------------------

-- Reads the arguments in parentheses, as in `string(32)` or `f32(-1..1, 0.01)`.
local function read_arguments(reader, node)
  reader:expect("(", "here")
  node.arguments_at = reader.tokens[reader.at][1]
  node.first = reader:number "a number"
  if reader:accept ".." then
    node.last = reader:number "the greatest value"
    reader:expect(",", "between the range and the step")
    node.step = reader:number "the step"
  end
  reader:expect(")", "after " .. (node.step and "the step" or "the number"))
end

local function read_suffix(reader, node)
  local at = reader:take()[1]
  if reader:accept "]" then
    return { kind = "list", of = node, at = at }
  elseif reader:accept ".." then
    local most = reader:whole("the most elements", 1, 65535)
    reader:expect("]", "after the most elements")
    return { kind = "list", of = node, most = most, at = at }
  end
  local count = reader:whole("the number of elements", 1, 65535)
  reader:expect("]", "after the number of elements")
  return { kind = "array", of = node, count = count, at = at }
end

local function read_type(reader, what)
  if reader:peek "[" then
    reader:fail(reader.tokens[reader.at], "expected %s, found `[`; a list of u8 is u8[]", what)
  elseif reader:peek "{" then
    reader:fail(reader.tokens[reader.at], "expected %s, found `{`; fields in braces stand directly behind a "
      .. "message or its `->`, and elsewhere in a struct", what)
  end
  local name, at = reader:name(what)
  if name == "optional" and reader.tokens[reader.at][2] == "name" then
    reader:fail(reader.tokens[reader.at], "an optional %s is %s?", reader.tokens[reader.at][3],
      reader.tokens[reader.at][3])
  end
  local node = { kind = "named", name = name, at = at }
  if reader:peek "(" then
    read_arguments(reader, node)
  end
  while reader:peek "[" or reader:peek "?" do
    if reader:peek "[" then
      node = read_suffix(reader, node)
    else
      node = { kind = "optional", of = node, at = reader:take()[1] }
    end
  end
  return node
end

local function read_fields(reader, of)
  local at = reader:expect("{", "before the fields of " .. of)[1]
  local fields = {}
  while not reader:accept "}" do
    local name, place = reader:name("the name of a field, or `}`")
    reader:expect(":", ("between the name and the type of %s"):format(name))
    fields[#fields + 1] = { name = name, at = place, type = read_type(reader, "the type of " .. name) }
    reader:accept ","
  end
  return { kind = "record", fields = fields, at = at }
end

-- Declarations -------------------------------------------------------------------------------

local function read_message_name(reader)
  local found = reader:take()
  if found[2] ~= "text" and found[2] ~= "name" then
    reader:fail(found, "expected the name of a message, found %s", shown(found))
  elseif found[3] == "" or #found[3] > NAME_MAX or found[3]:find "[%c\\]" or not utf8:match(found[3]) then
    reader:fail(found, "a message's name is 1 to %d bytes of UTF-8 without control characters and `\\`",
      NAME_MAX)
  end
  return found[3], found[1]
end

local DECLARE = {}

function DECLARE.message(reader)
  local name, at = read_message_name(reader)
  local message = { what = "message", name = name, at = at }
  if reader:accept "=" then
    message.number, message.number_at = reader:whole("the number of a message", 1, 65535)
  end
  if reader:peek "{" then
    message.value = read_fields(reader, name)
  elseif reader:accept ":" then
    message.value = read_type(reader, "the type of " .. name)
  end
  if reader:accept "->" then
    message.answer = reader:peek "{" and read_fields(reader, "the answer")
      or read_type(reader, "the type of the answer")
  end
  return message
end


function DECLARE.struct(reader)
  local name, at = reader:name "the name of a struct"
  return { what = "struct", name = name, at = at, type = read_fields(reader, name) }
end


function DECLARE.enum(reader)
  local name, at = reader:name "the name of an enum"
  reader:expect("{", "before the values of " .. name)
  local values = {}
  while not reader:accept "}" do
    local value, place = reader:name("a value of " .. name .. ", or `}`")
    values[#values + 1] = { name = value, at = place }
    reader:accept ","
  end
  return { what = "enum", name = name, at = at, values = values }
end

local function scan(source)
  local list, stop = tokens:match(source.text)
  if stop <= #source.text then
    local char = source.text:match("^[\194-\244][\128-\191]+", stop) or source.text:sub(stop, stop)
    local hint = source.text:find("^//", stop) and "; comments begin with --"
      or source.text:find("^#", stop) and "; comments begin with --"
      or char == ";" and "; a comma or nothing stands between fields"
      or char == "<" and "; a list of u8 is u8[]"
      or char == '"' and "; the text does not end in its line" or ""
    local is_shown = utf8:match(char) and not char:find "%c"
    fault.raise(source, stop, "`%s` does not belong here%s", is_shown and char or "?", hint)
  end
  list[#list + 1] = { #source.text + 1, "end" }
  return list
end

local reader = {}


--- Returns the declarations in a text, in their order. Raises an error if the text is wrong.
---@param source { text: string, path: string }
---@return table[]
function reader.read(source)
  if #source.text > TEXT_MAX then
    error(("%s: a schema of more than %d bytes"):format(source.path, TEXT_MAX), 0)
  end
  local self = setmetatable({ source = source, tokens = scan(source), at = 1 }, Reader)
  local declarations = {}
  while self.tokens[self.at][2] ~= "end" do
    local found = self:take()
    local declare = found[2] == "name" and DECLARE[found[3]]
    if not declare then
      self:fail(found, "expected message, struct or enum, found %s%s", shown(found),
        found[2] == "name" and fault.hint(found[3], { "message", "struct", "enum" }) or "")
    end
    declarations[#declarations + 1] = declare(self)
  end
  return declarations
end

return reader
