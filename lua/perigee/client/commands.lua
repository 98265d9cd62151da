--- Encodes what a client sends: one function per packet of docs/protocol.md. Those that request an
--- answer take the ref first. They raise an error for values that have no encoding (an unknown priority,
--- a function in a message).

local bytes = require "perigee.client.bytes"
local constants = require "perigee.client.constants"
local packet = require "perigee.client.packet"
local schema = require "perigee.client.schema"
local describe = require "perigee.util.describe"

local CHANNEL, FLAG, REQUEST = constants.CHANNEL, constants.FLAG, constants.REQUEST
local CRITICAL = { priority = "critical" }
local OPTIONS = { priority = true, reliable = true, room = true, answers = true }
local BROADCAST_HINT = "; a client broadcasts bytes, and room:send(name, value) sends messages"

---@class perigee.client.SendOptions
---@field priority? "critical"|"high"|"normal"|"low"
---@field reliable? boolean

local commands = {}


local function fail(text, ...)
  error(describe.where() .. text:format(...), 0)
end


-- Raises for options that are none; `call` is what was called with them, `hint` what may have been meant.
local function check(call, options, hint)
  if options == nil then return end
  if type(options) ~= "table" then
    fail("%s: options are a table, as { reliable = true }, not %s%s", call, describe.kind(options),
      hint or "")
  end
  for name in pairs(options) do
    if not OPTIONS[name] then
      fail("%s: there is no option %s; there are priority and reliable%s", call, tostring(name), hint or "")
    end
  end
  if options.priority ~= nil and not constants.PRIORITY[options.priority] then
    fail("%s: no priority %q; there are critical, high, normal and low", call, tostring(options.priority))
  end
end


local function check_bytes(call, data, hint)
  if type(data) ~= "string" then
    fail("%s: what is sent is a string of bytes, not %s%s", call, describe.kind(data), hint or "")
  end
end


local function priority_of(options)
  return constants.PRIORITY[options and options.priority or "normal"]
end


local function flags_of(options, flags)
  return (flags or 0) + (options and options.reliable and FLAG.RELIABLE or 0)
end


local function control(layout, values, ref, options)
  return packet.encode {
    channel = CHANNEL.CONTROL,
    number = layout.number,
    priority = priority_of(options),
    flags = flags_of(options, ref and FLAG.REQUEST),
    ref = ref,
    payload = bytes.write(layout, values),
  }
end


---@param name string
---@param token string
---@param resume_token? string of the session to take up again
---@param received? integer reliable packets that came in it so far
---@param known? perigee.schema.Schema
---@return string
function commands.hello(name, token, resume_token, received, known)
  return control(REQUEST.HELLO, {
    version = constants.VERSION,
    protocol_hash = schema.hash(known),
    name = name,
    token = token,
    resume_token = resume_token or constants.NO_TOKEN,
    reliable_received = received or 0,
  })
end


---@param count integer
---@return string
function commands.ack(count)
  return control(REQUEST.ACK, { count = count }, nil, CRITICAL)
end


---@param ref integer
---@param name string
---@return string
function commands.join(ref, name)
  return control(REQUEST.JOIN, { name = name }, ref)
end


---@param ref integer
---@param room_id integer
---@return string
function commands.leave(ref, room_id)
  return control(REQUEST.LEAVE, { room = room_id }, ref)
end


---@param room_id integer
---@param data string
---@param options? perigee.client.SendOptions
---@return string
function commands.broadcast(room_id, data, options)
  check_bytes("room:broadcast", data, BROADCAST_HINT)
  check("room:broadcast", options, BROADCAST_HINT)
  return control(REQUEST.BROADCAST, { room = room_id, data = data }, nil, options)
end


---@param ref integer
---@return string
function commands.list_rooms(ref)
  return control(REQUEST.ROOM_LIST, {}, ref)
end


--- A PING whose value is its ref, so that the PONG finds its way back.
---@param ref integer
---@return string
function commands.ping(ref)
  return control(REQUEST.PING, { value = bytes.integer(ref, 8) }, nil, CRITICAL)
end


---@param value string the PING's
---@return string
function commands.pong(value)
  return control(REQUEST.PONG, { value = value }, nil, CRITICAL)
end


---@param ref integer
---@param name string
---@return string
function commands.open_channel(ref, name)
  return control(REQUEST.CHANNEL_OPEN, { name = name }, ref)
end


---@param channel integer
---@return string
function commands.close_channel(channel)
  return control(REQUEST.CHANNEL_CLOSE, { channel = channel }, nil, { reliable = true })
end


---@return string
function commands.bye()
  return control(REQUEST.BYE, {})
end


local function game_packet(channel, number, data, ref, flags, options)
  return packet.encode {
    channel = channel,
    number = number,
    priority = priority_of(options),
    flags = flags_of(options, flags),
    ref = ref,
    payload = data,
  }
end


local function message(known, room_id, name, value, ref, flags, options)
  local number, body = schema.write(known, name, value, flags == FLAG.RESPONSE)
  return game_packet(CHANNEL.MESSAGES, number, bytes.integer(room_id, 4) .. body, ref, flags, options)
end


---@param room_id integer 0: none
---@param name string
---@param value any
---@param options? perigee.client.SendOptions
---@param known? perigee.schema.Schema
---@return string
function commands.message(room_id, name, value, options, known)
  check("send", options)
  return message(known, room_id, name, value, nil, nil, options)
end


---@param ref integer
---@param room_id integer 0: none
---@param name string
---@param value any
---@param known? perigee.schema.Schema
---@return string
function commands.ask(ref, room_id, name, value, known)
  return message(known, room_id, name, value, ref, FLAG.REQUEST)
end


-- What answers a reliable question is reliable as well.
local function answer_to(request, data)
  return request.reliable and packet.reliable(data) or data
end


--- The answer to an event of type "ask".
---@param ask table the event
---@param value any
---@param known? perigee.schema.Schema
---@return string
function commands.answer(ask, value, known)
  return answer_to(ask, message(known, ask.room_id, ask.name, value, ask.ref, FLAG.RESPONSE))
end


--- A packet on a channel of the game or of a plugin.
---@param channel integer
---@param number integer
---@param data string
---@param options? table priority, reliable, answers (an event of type "packet")
---@return string
function commands.packet(channel, number, data, options)
  check_bytes("send_packet", data)
  check("send_packet", options)
  local answers = options and options.answers
  if not (answers and answers.request) then
    return game_packet(channel, number, data, nil, nil, options)
  end
  return answer_to(answers, game_packet(channel, number, data, answers.ref, FLAG.RESPONSE, options))
end


--- A packet of the client that serves a channel, to one peer.
---@param channel integer
---@param number integer
---@param peer integer
---@param data string
---@param options? perigee.client.SendOptions
---@return string
function commands.channel_packet(channel, number, peer, data, options)
  check_bytes("channel:send", data)
  check("channel:send", options)
  return game_packet(channel, number, bytes.integer(peer, 4) .. data, nil, nil, options)
end


---@param ref integer
---@param channel integer
---@param number integer
---@param peer integer
---@param data string
---@return string
function commands.ask_on_channel(ref, channel, number, peer, data)
  return game_packet(channel, number, bytes.integer(peer, 4) .. data, ref, FLAG.REQUEST)
end


---@param ref integer
---@param channel integer
---@param number integer
---@param data string
---@return string
function commands.ask_packet(ref, channel, number, data)
  return game_packet(channel, number, data, ref, FLAG.REQUEST)
end


return commands
