--- The schema of the live version: its messages, their encoders, and the clients that understand them.

local codec = require "perigee.schema.codec"
local core = require "perigee.core"
local json_values = require "perigee.schema.json_values"
local schema = require "perigee.schema"
local to_js = require "perigee.schema.to_js"

local KNOWN_MAX = 16 -- most schemas that clients may use at a time
local SLICE = 0.004 -- seconds after which a call of live_schema.prepare ends

local live_schema = {
  invalid = 0, -- number of messages from peers that did not fit the schema
}

local current -- perigee.schema.Schema of the live version; nil: no schema
local by_name, by_number = {}, {}
local is_careful -- whether unknown fields are errors
local known = {} -- schemas that clients may use, the live one first: { hash, lines, declared }

-- The schema whose encoders are being made: { text, found = the schema, writer = writer of its JavaScript
-- module, made = number of its messages that have encoders }.
local making

local function begin_making(text, path)
  making = { text = text, found = schema.parse(text, path), writer = to_js.writer(), made = 0 }
end

-- Makes encoders, message by message, until the clock reaches `time`. Returns whether all exist.
local function make_until(time)
  local messages = making.found.messages
  while making.made < #messages and core.read_clock() < time do
    local message = messages[making.made + 1]
    schema.make(message)
    to_js.add(making.writer, message)
    making.made = making.made + 1
  end
  return making.made == #messages
end


--- Does a part of the work of live_schema.parse beforehand, so that a large schema does not block the loop.
--- Call it with the same text until it returns true.
---@param text string
---@param path string
---@return boolean is_done false: call it again
function live_schema.prepare(text, path)
  local time = core.read_clock() + SLICE
  if (not making or making.text ~= text) and not pcall(begin_making, text, path) then
    return true -- live_schema.parse raises the error
  end
  return make_until(time)
end


--- Returns the schema in a file's text, with all encoders, so that no handler has to make them. If the text
--- is wrong, raises an error with the place.
---@param text string
---@param path string
---@return perigee.schema.Schema
function live_schema.parse(text, path)
  if not making or making.text ~= text then
    begin_making(text, path)
  end
  make_until(math.huge)
  local found = making.found
  found.writer = making.writer
  making = nil
  return found
end


local NONE = { lines = {}, declared = "" }

-- Returns why the connected clients do not understand a schema; nil if they do. Clients of a version that was
-- rolled back may know a schema other than the live one.
local function find_conflict(new)
  for _, old in ipairs(known) do
    local problem = schema.conflict(old, new or NONE, current)
    if problem and core.knows_schema(old.hash) then
      return problem
    end
  end
end


--- Returns why a version with this schema cannot go live while connected clients know another schema; nil if
--- it can.
---@param new perigee.schema.Schema?
---@param config table configuration of that version
---@return string?
function live_schema.conflict(new, config)
  local problem = new ~= current and find_conflict(new)
  if problem and not (core.limits().may_break_schema or config.schema_change == "reconnect") then
    return problem .. '; clients that are here know the old one (schema_change = "reconnect" has them '
      .. "connect again)"
  end
end

-- Keeps the schemas that are compatible with the new schema. If there are too many, first drops schemas that
-- no client uses.
local function remember(new)
  local before = known
  known = { new and { hash = new.hash, lines = new.lines, declared = new.declared } }
  for _, is_known in ipairs { true, false } do
    for _, old in ipairs(new and before or {}) do
      if #known < KNOWN_MAX and old.hash ~= new.hash and core.knows_schema(old.hash) == is_known
        and not schema.conflict(old, new) then
        known[#known + 1] = old
      end
    end
  end
end


--- Starts to use a schema. Disconnects the clients that know an incompatible schema.
---@param new perigee.schema.Schema?
function live_schema.take(new)
  is_careful = core.is_simulated or core.limits().is_watched
  if new == current then
    return
  end
  remember(new)
  current = new
  by_name, by_number = new and new.by_name or {}, new and new.by_number or {}
  local hashes = {}
  for i, one in ipairs(known) do
    hashes[i] = one.hash
  end
  core.set_schema(hashes, new and to_js.finish(new.writer or to_js.writer(), new) or "")
end


--- Returns the canonical text of the live schema and of the game's declarations; nil if the game has neither.
---@return string?
function live_schema.text()
  return current and current.text
end


--- Returns the number and the bytes of a message; nothing if the schema does not name the message. Raises an
--- error at the script's line for a wrong value. During development, fields that the schema does not name are
--- errors as well.
---@param name string
---@param value any
---@return integer? number
---@return string? packed
function live_schema.encode(name, value)
  local message = by_name[name]
  if message then
    local packed = message.encode(value)
    if is_careful then
      schema.check_names(message, value)
    end
    return message.number, packed
  end
end


--- Encodes the answer to a request, as live_schema.encode encodes a message.
---@param name string
---@param value any
---@return integer? number
---@return string? packed
function live_schema.encode_answer(name, value)
  local message = by_name[name]
  if message and message.answer then
    local packed = message.encode_answer(value)
    if is_careful then
      schema.check_names(message, value, true)
    end
    return message.number, packed
  end
end


--- Returns the JSON form of a value that has been encoded, and whether it contains an empty list.
---@param name string
---@param value any
---@param is_answer boolean?
---@return any form
---@return boolean? has_empty_list
function live_schema.json_value(name, value, is_answer)
  local message = by_name[name]
  local of = is_answer and message.answer or not is_answer and message.value
  if of then
    return json_values.to(of, value)
  end
end


--- Returns the name and the value of a message in binary form; or nil and an error.
---@param number integer
---@param body string
---@param is_answer boolean?
---@return string? name
---@return any value
function live_schema.decode(number, body, is_answer)
  local message = by_number[number]
  if not message or is_answer and not message.answer then
    return nil, current and ("no %s has the number %d"):format(is_answer and "answer" or "message", number)
      or "this game has no schema; messages are of type 0"
  end
  local ok, value = message[is_answer and "decode_answer" or "decode"](body)
  if ok then
    return message.name, value
  end
  live_schema.invalid = live_schema.invalid + 1
  return nil, value
end


--- Returns whether the schema has a message of this number.
---@param number integer
---@return boolean
function live_schema.knows(number)
  return by_number[number] ~= nil
end

local function pass(message, value, is_answer)
  local encode = is_answer and message.encode_answer or message.encode
  local of = is_answer and message.answer or message.value
  local bytes = encode(of and json_values.from(of, value))
  local _, decoded = message[is_answer and "decode_answer" or "decode"](bytes)
  return decoded
end


--- Checks a value that a client without the schema sent as JSON. Returns the value that the binary form would
--- give.
---@param name string
---@param value any
---@param is_answer boolean?
---@return boolean ok
---@return any value, or an error
function live_schema.check(name, value, is_answer)
  local message = by_name[name]
  if not message or is_answer and not message.answer then
    return true, value
  end
  local raise = codec.raise
  codec.raise = function(text) error(text, 0) end
  local ok, result = pcall(pass, message, value, is_answer)
  codec.raise = raise
  if not ok then
    live_schema.invalid = live_schema.invalid + 1
  end
  return ok, result
end

return live_schema
