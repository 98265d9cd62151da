--- Packets without decoding them: where they end in a stream, what kind they are; and the fast way
--- to write the one that clients send most. What they mean is perigee.client.protocol's business.

local bit = require "bit"
local cjson = require "cjson"
local commands = require "perigee.client.commands"
local constants = require "perigee.client.constants"

local band, byte, char, floor = bit.band, string.byte, string.char, math.floor
local encode = cjson.encode
local HEADER_SIZE = constants.HEADER_SIZE
local CONTROL, RELIABLE = constants.CHANNEL.CONTROL, constants.FLAG.RELIABLE
local QUESTIONS = constants.FLAG.REQUEST + constants.FLAG.RESPONSE
local BROADCAST_UP, BROADCAST_DOWN = constants.REQUEST.BROADCAST.number, 132

local wire = { HEADER_SIZE = HEADER_SIZE }


--- What stands in the header that begins at `at`; nothing when the data ends before the packet.
---@param data string
---@param at integer
---@return integer? stop where the packet ends
---@return integer channel
---@return integer number
---@return integer flags
function wire.scan(data, at)
  local size = #data - at + 1
  if size < HEADER_SIZE then return nil, 0, 0, 0 end
  local c1, c2, n1, n2, _, flags, _, _, l1, l2, l3, l4 = byte(data, at, at + 11)
  local length = l1 + l2 * 0x100 + l3 * 0x10000 + l4 * 0x1000000
  if size < HEADER_SIZE + length then return nil, 0, 0, 0 end
  return at + HEADER_SIZE + length - 1, c1 + c2 * 0x100, n1 + n2 * 0x100, flags
end


--- Whether a packet may be lost on the way: not one that is reliable, nor a question or an answer,
--- nor what the control channel does besides relaying.
---@param channel integer
---@param number integer
---@param flags integer
---@return boolean
function wire.may_be_lost(channel, number, flags)
  if band(flags, RELIABLE + QUESTIONS) ~= 0 then return false end
  return channel ~= CONTROL or number == BROADCAST_UP or number == BROADCAST_DOWN
end


-- JSON as commands.message writes it, for what clients mostly send; nil for all else. Keys are
-- sorted: their order in the table is not the same in every run.
local function plain(value)
  local kind = type(value)
  if kind == "number" then
    return value % 1 == 0 and value < 1e14 and value > -1e14 and ("%d"):format(value) or nil
  elseif kind == "string" or kind == "boolean" then
    return encode(value)
  end
  return nil
end


local function object(value)
  local fields, count = {}, 0
  for key, item in next, value do
    local text = type(key) == "string" and plain(item)
    if not text then return nil end
    count = count + 1
    fields[count] = encode(key) .. ":" .. text
  end
  if count > 1 then table.sort(fields) end
  return "{" .. table.concat(fields, ",") .. "}"
end


local function simple(value)
  if value == nil then return "null" end
  if type(value) == "table" and getmetatable(value) == nil then return object(value) end
  return plain(value)
end


local HEAD = char(constants.CHANNEL.MESSAGES, 0, 0, 0, constants.PRIORITY.normal, 0, 0, 0)
local names = {} -- name -> its JSON text


local function integer(value)
  return char(value % 256, floor(value / 0x100) % 256, floor(value / 0x10000) % 256,
    floor(value / 0x1000000))
end


--- A message, as commands.message writes it.
---@param room_id integer
---@param name string
---@param value any
---@param options? table
---@param schema? perigee.schema.Schema
---@return string
function wire.message(room_id, name, value, options, schema)
  if schema and schema.by_name[name] then return commands.message(room_id, name, value, options, schema) end
  local json = options == nil and type(name) == "string" and simple(value)
  if not json then return commands.message(room_id, name, value, options) end
  local quoted = names[name] or encode(name)
  names[name] = quoted
  local body = integer(room_id) .. "[" .. quoted .. "," .. json .. "]"
  return HEAD .. integer(#body) .. body
end


return wire
