--- A game's schema: the contents of its messages, and their encoding. docs/schema.md describes the language
--- and the encoding.

local canonical = require "perigee.schema.canonical"
local codec = require "perigee.schema.codec"
local names = require "perigee.schema.names"
local reader = require "perigee.schema.reader"
local types = require "perigee.schema.types"

local schema = {}

--- One message. Encoders and decoders are made when they are first needed.
---@class perigee.schema.Message
---@field name string
---@field number integer
---@field value table? type of its value, see schema/types.lua; nil: no value
---@field answer table? type of the answer's value; nil: answers are JSON
---@field encode fun(value: any): string returns the bytes; raises an error for a wrong value
---@field decode fun(body: string): boolean, any returns true and the value, or false and an error
---@field encode_answer fun(value: any): string
---@field decode_answer fun(body: string): boolean, any
local Message = {}

function Message.__index(self, key)
  if key:find "^encode" or key:find "^decode" then
    schema.make(self)
  end
  return rawget(self, key)
end


--- Makes the encoders and decoders of a message. This takes some milliseconds for a large message.
---@param message perigee.schema.Message
function schema.make(message)
  setmetatable(message, nil)
  message.encode, message.decode = codec.make(message.value, message.name)
  message.encode_answer, message.decode_answer = codec.make(message.answer, "the answer to " .. message.name)
end


--- A schema.
---@class perigee.schema.Schema
---@field hash string 16 hexadecimal digits: the protocol hash
---@field text string its canonical form
---@field messages perigee.schema.Message[] by number, ascending
---@field by_name table<string, perigee.schema.Message>
---@field by_number table<integer, perigee.schema.Message>
---@field lines table<string, string> lines of the canonical form, by the name of the message
---@field declared string lines of the canonical form for the game's declarations, which are not messages
---@field writer table? cached parts of its JavaScript; see schema/to_js.lua


--- Reads a schema. Raises errors as "path:line:column: message", with the line and a caret.
---@param text string
---@param path string for errors
---@return perigee.schema.Schema
function schema.parse(text, path)
  local source = { text = text, path = path }
  local result = { messages = {}, by_name = {}, by_number = {}, lines = {}, declared = "" }
  for i, message in ipairs(types.resolve(source, reader.read(source))) do
    local made = setmetatable({
      name = message.name, number = message.number, value = message.value, answer = message.answer,
    }, Message)
    result.messages[i], result.by_name[made.name], result.by_number[made.number] = made, made, made
    result.lines[made.name] = canonical.line(made)
  end
  result.text = canonical.text(result.messages, result.lines)
  result.hash = canonical.hash(result.text)
  return result
end


--- Returns a schema whose hash also includes the game's declarations (perigee.protocol).
---@param found perigee.schema.Schema?
---@param declared table<string, string> JSON texts by name
---@return perigee.schema.Schema? nil: no schema and no declarations
function schema.declare(found, declared)
  if not next(declared) then
    return found
  end
  local result = {} -- a copy, because versions of a game with the same text share one schema
  for key, value in pairs(found or schema.parse("", "schema")) do
    result[key] = value
  end
  result.declared = canonical.declared(declared)
  result.text = result.text .. result.declared
  result.hash = canonical.hash(result.text)
  return result
end


--- Raises an error if a value that can be encoded has an unknown field, because that field would not be sent.
---@param message perigee.schema.Message
---@param value any
---@param is_answer boolean?
function schema.check_names(message, value, is_answer)
  local of, path = message.value, message.name
  if is_answer then
    of, path = message.answer, "the answer to " .. path
  end
  local problem = of and names.check(of, value, path)
  if problem then
    codec.raise(problem)
  end
end


--- Returns why clients with one schema and a server with another schema do not understand each other; nil if
--- they understand each other. Each schema may lack some messages of the other.
---@param before { lines: table<string, string>, declared: string } schema of the clients
---@param after { lines: table<string, string>, declared: string } schema of the server
---@param needed { lines: table<string, string> }? messages of the clients that the server must have
---@return string?
function schema.conflict(before, after, needed)
  if before.declared ~= after.declared then
    return "the declared protocol has changed"
  end
  return canonical.conflict(before.lines, after.lines, needed and needed.lines or {})
end

return schema
