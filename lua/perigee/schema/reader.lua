--- Parses the text of a schema to declarations, by the grammar in docs/schema.md. If no rule of the grammar
--- matches, a pattern raises an error, which names the expected words and the actual word.

local fault = require "perigee.schema.fault"
local lpeg = require "lpeg"

local C, Carg, Cb, Cc, Cf, Cg = lpeg.C, lpeg.Carg, lpeg.Cb, lpeg.Cc, lpeg.Cf, lpeg.Cg
local Cmt, Cp, Ct, P, R, S = lpeg.Cmt, lpeg.Cp, lpeg.Ct, lpeg.P, lpeg.R, lpeg.S

local TEXT_MAX = 256 * 1024 -- bytes of a schema
local NAME_MAX = 255 -- bytes of a message's name; the limit for all messages
local WORD_MAX = 64 -- bytes of other names
local SHOWN_MAX = 40 -- bytes of a word that an error shows

-- Words ----------------------------------------------------------------------------------------

local blank = (S " \t\r\n" + P "--" * (1 - S "\r\n") ^ 0) ^ 0
local letter = R("az", "AZ") + "_"
local word = letter * (letter + R "09") ^ 0
local digits = R "09" ^ 1
local number = P "-" ^ -1 * digits * (P "." * digits) ^ -1 * -letter
local quoted = P '"' * C((1 - S '"\r\n') ^ 0) * P '"'
local token = Cc "name" * C(word) + Cc "number" * C(number) + Cc "text" * quoted
  + Cc "mark" * C(P "->" + ".." + S "{}[]():=,?")

-- One character of UTF-8, without overlong forms, halves of surrogates, and code points above U+10FFFF.
local tail = R "\128\191"
local char = R "\0\127" + R "\194\223" * tail
  + (P "\224" * R "\160\191" + R("\225\236", "\238\239") * tail + P "\237" * R "\128\159") * tail
  + (P "\240" * R "\144\191" + R "\241\243" * tail + P "\244" * R "\128\143") * tail * tail
local utf8 = char ^ 0 * -1

local function fail_at_char(source, at)
  local found = source.text:match("^[\194-\244][\128-\191]+", at) or source.text:sub(at, at)
  local hint = source.text:find("^//", at) and "; comments begin with --"
    or found == "#" and "; comments begin with --"
    or found == ";" and "; a comma or nothing stands between fields"
    or found == "<" and "; a list of u8 is u8[]"
    or found == '"' and "; the text does not end in its line" or ""
  local is_shown = utf8:match(found) and not found:find "%c"
  fault.raise(source, at, "`%s` does not belong here%s", is_shown and found or "?", hint)
end

-- Returns the word at a position in the form for errors, its kind and its text.
local function find(source, at)
  if at > #source.text then
    return "the end of the file", "end"
  end
  local kind, text = token:match(source.text, at)
  if not kind then
    fail_at_char(source, at)
  end
  local shown = #text > SHOWN_MAX and text:sub(1, SHOWN_MAX) .. "..." or text
  return (kind == "text" and '"%s"' or "`%s`"):format(shown), kind, text
end

-- Patterns that raise errors -------------------------------------------------------------------


-- Raises an error at the next word. In `what`, %s is the name of the declaration.
local function expected(what, hint)
  local name = what:find("%s", 1, true) and Cb "name" or Cc ""
  return Cmt(Carg(1) * name, function(_, at, source, owner)
    local found = find(source, at)
    fault.raise(source, at, "expected %s, found %s%s", what:format(owner), found, hint or "")
  end)
end

-- Matches the pattern, and raises an error if `problem` returns one for its text and position. The function
-- returns no values, because lpeg keeps the values of match-time captures on Lua's stack.
local function checked(pattern, problem)
  return C(Cmt(Carg(1) * Cp() * pattern, function(_, _, source, at, text)
    local message = problem(text)
    if message then
      fault.raise(source, at, "%s", message)
    end
    return true
  end))
end

local function mark(text, what)
  local pattern = P(text) * blank
  return what and pattern + expected(("`%s` %s"):format(text, what)) or pattern
end

local function keyword(text)
  return P(text) * -(letter + R "09") * blank
end

local name = Cg(Cp(), "at") * Cg(checked(C(word), function(text)
  return #text > WORD_MAX and ("a name of more than %d bytes"):format(WORD_MAX)
end), "name") * blank

local function numeral(what)
  return number / tonumber * blank + expected(what)
end

local function whole(what, least, most)
  return checked(C(number), function(text)
    local value = tonumber(text)
    return (value % 1 ~= 0 or value < least or value > most)
      and ("%s is a whole number from %d to %d"):format(what, least, most)
  end) / tonumber * blank + expected(what)
end

local function kind(text)
  return Cg(Cc(text), "kind")
end

-- Types ----------------------------------------------------------------------------------------

-- Types with arguments: `string(32)`, `f32(-1..1, 0.01)`.
local arguments = mark "(" * Cg(Cp(), "arguments_at") * Cg(numeral "a number", "first")
  * (mark ".." * Cg(numeral "the greatest value", "last") * mark(",", "between the range and the step")
    * Cg(numeral "the step", "step") * mark(")", "after the step") + mark(")", "after the number"))

local suffix = Ct(Cg(Cp(), "at") * (kind "optional" * mark "?" + mark "[" * (kind "list" * mark "]"
  + kind "list" * mark ".." * Cg(whole("the most elements", 1, 65535), "most")
    * mark("]", "after the most elements")
  + kind "array" * Cg(whole("the number of elements", 1, 65535), "count")
    * mark("]", "after the number of elements"))))

-- Raises an error for `optional u8`, which must be `u8?`.
local prefix = Cmt(Carg(1) * Cb "name" * Cp() * C(word), function(_, _, source, before, at, of)
  if before == "optional" then
    fault.raise(source, at, "an optional %s is %s?", of, of)
  end
  return false
end) + true

local function type_of(what)
  local named = Ct(kind "named" * (name + expected(what)) * prefix * arguments ^ -1)
  return #P "[" * expected(what, "; a list of u8 is u8[]")
    + #P "{" * expected(what, "; fields in braces stand directly behind a message or its `->`, and "
      .. "elsewhere in a struct")
    + Cf(named * suffix ^ 0, function(of, outer)
      outer.of = of
      return outer
    end)
end

local field = Ct(name * mark(":", "between the name and the type of %s")
  * Cg(type_of "the type of %s", "type")) * mark "," ^ -1
local fields = Ct(kind "record" * Cg(Cp(), "at") * mark("{", "before the fields of %s")
  * Cg(Ct(field ^ 0), "fields") * (mark "}" + expected "the name of a field, or `}`"))

-- Declarations ---------------------------------------------------------------------------------

local function unquote(text)
  return text:match '^"(.*)"$' or text
end

local message_name = Cg(Cp(), "at") * Cg(checked(C(word) + quoted, function(text)
  return (text == "" or #text > NAME_MAX or text:find "[%c\\]" or not utf8:match(text))
    and ("a message's name is 1 to %d bytes of UTF-8 without control characters and `\\`"):format(NAME_MAX)
end) / unquote, "name") * blank

local message = keyword "message" * Ct(Cg(Cc "message", "what")
  * (message_name + expected "the name of a message")
  * (mark "=" * Cg(Cp(), "number_at") * Cg(whole("the number of a message", 1, 65535), "number")) ^ -1
  * (#P "{" * Cg(fields, "value") + mark ":" * Cg(type_of "the type of %s", "value")) ^ -1
  * (mark "->" * Cg(#P "{" * fields + type_of "the type of the answer", "answer")) ^ -1)

local struct = keyword "struct" * Ct(Cg(Cc "struct", "what") * (name + expected "the name of a struct")
  * Cg(fields, "type"))

local enum = keyword "enum" * Ct(Cg(Cc "enum", "what") * (name + expected "the name of an enum")
  * mark("{", "before the values of %s") * Cg(Ct((Ct(name) * mark "," ^ -1) ^ 0), "values")
  * (mark "}" + expected "a value of %s, or `}`"))

local KEYWORDS = { "message", "struct", "enum" }

local undeclared = Cmt(Carg(1), function(_, at, source)
  local found, what, text = find(source, at)
  fault.raise(source, at, "expected message, struct or enum, found %s%s", found,
    what == "name" and fault.hint(text, KEYWORDS) or "")
end)

local schema = blank * Ct((message + struct + enum) ^ 0) * (P(-1) + undeclared)

local reader = {}


--- Returns the declarations in a text, in their order. Raises an error if the text is wrong.
---@param source { text: string, path: string }
---@return table[]
function reader.read(source)
  if #source.text > TEXT_MAX then
    error(("%s: a schema of more than %d bytes"):format(source.path, TEXT_MAX), 0)
  end
  return schema:match(source.text, 1, source)
end

return reader
