--- The canonical form of a schema: one line for each message, in the order of their numbers. Structs and
--- enums are expanded. The form contains no comments and no names of structs, and does not depend on the
--- order of declarations. Therefore schemas with the same form encode messages in the same way. The hash of
--- the form is the protocol hash.

local bit = require "bit"
local sorted_keys = require "perigee.util.sorted_keys"
local types = require "perigee.schema.types"

local canonical = {}

local write

local WRITE = {}

function WRITE.bool() return "bool" end


local function of_name(type) return type.name end

WRITE.int, WRITE.varint, WRITE.float = of_name, of_name, of_name

function WRITE.steps(type)
  return ("steps(%.0f..%.0f%s%d)"):format(type.low, type.high, type.per and "/" or "*", type.per or type.by)
end


local function of_size(type) return ("%s(%d)"):format(type.kind, type.most) end

WRITE.string, WRITE.bytes = of_size, of_size

function WRITE.enum(type) return "enum{" .. table.concat(type.values, ",") .. "}" end


function WRITE.optional(type) return write(type.of) .. "?" end


function WRITE.array(type) return ("%s[%d]"):format(write(type.of), type.count) end


function WRITE.list(type) return ("%s[..%d]"):format(write(type.of), type.most) end


function WRITE.record(type)
  local fields = {}
  for i, field in ipairs(type.fields) do
    fields[i] = field.name .. ":" .. write(field.type)
  end
  return "{" .. table.concat(fields, ",") .. "}"
end


function write(type)
  return WRITE[type.kind](type)
end


--- Returns the line of one message, without its end of line.
---@param message table
---@return string
function canonical.line(message)
  return ('%d "%s"%s%s'):format(message.number, message.name,
    message.value and " " .. write(message.value) or "",
    message.answer and " -> " .. write(message.answer) or "")
end


--- Returns the canonical form: each line ends with LF.
---@param messages table[] sorted by number
---@param lines table<string, string> by name
---@return string
function canonical.text(messages, lines)
  local parts = {}
  for i, message in ipairs(messages) do
    parts[i] = lines[message.name] .. "\n"
  end
  return table.concat(parts)
end


--- Returns the canonical form of the values that a game declares with perigee.protocol: one line for each
--- name, sorted.
---@param declared table<string, string> JSON texts by name
---@return string
function canonical.declared(declared)
  local parts = {}
  for i, name in ipairs(sorted_keys(declared)) do
    parts[i] = ('protocol "%s" %s\n'):format(name, declared[name])
  end
  return table.concat(parts)
end


--- Returns the protocol hash of a canonical form: 16 hexadecimal digits that are not all 0.
---@param text string
---@return string
function canonical.hash(text)
  local digits = bit.tohex(types.hash(text), 16)
  return digits == "0000000000000000" and "0000000000000001" or digits
end

local function number_in(line)
  return line:match "^%d+"
end

local function by_number(lines)
  local names = {}
  for name, line in pairs(lines) do
    names[number_in(line)] = name
  end
  return names
end


--- Returns the reason why programs with the lines of one schema do not understand programs with the lines of
--- another schema; nil if they understand each other.
---@param before table<string, string> by name
---@param after table<string, string>
---@param needed table<string, string> lines that must also be in `after`
---@return string?
function canonical.conflict(before, after, needed)
  local numbers = by_number(after)
  for _, name in ipairs(sorted_keys(before)) do
    local old, new = before[name], after[name]
    local number = number_in(old)
    local other = numbers[number]
    if not new and needed[name] then
      return ("message %s is gone"):format(name)
    elseif not new and other then
      return ("%s was the number of message %s and is that of %s"):format(number, name, other)
    elseif new and number ~= number_in(new) then
      return ("message %s had the number %s and has %s"):format(name, number, number_in(new))
    elseif new and old ~= new then
      return ("message %s was %s and is %s"):format(name, old, new)
    end
  end
end

return canonical
