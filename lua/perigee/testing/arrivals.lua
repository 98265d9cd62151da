--- What arrives at a client that speaks packets: bytes become packets, and these events. To some of
--- them the client itself reacts, and the others go to its inbox; a packet that perhaps nobody will
--- look at goes there as it came.

local bit = require "bit"
local channels = require "perigee.client.channel"
local commands = require "perigee.client.commands"
local constants = require "perigee.client.constants"
local matches = require "perigee.client.matches"
local protocols = require "perigee.client.protocol"
local Room = require "perigee.client.room"
local schemas = require "perigee.client.schema"
local welcome = require "perigee.client.welcome"
local wire = require "perigee.testing.wire"

local CHANNEL, FLAG = constants.CHANNEL, constants.FLAG
local QUESTIONS = FLAG.REQUEST + FLAG.RESPONSE
local BROADCAST = 132
local ACK_MS = 250 -- until what has come is acknowledged, where it is not much

local arrivals = {}


-- Events ----------------------------------------------------------------------------------------

--- What the client itself does about some events. Nothing else happens with those it returns true
--- for.
local TAKE = {}


function TAKE.ping(self, event)
  self._link:send(event.answer)
  return true
end


function TAKE.welcome(self, event)
  welcome(self, event)
  if event.resumed then
    self._joined = self._left_rooms
    self._link:send(commands.ack(self._protocol.stream:tell()) .. event.packets)
    self._inbox:push(self._clock.now, { type = "resumed", resent = event.resent })
  elseif event.lost then
    self._inbox:push(self._clock.now, { type = "lost", dropped = event.dropped })
  end
  self._clock:fill(self._opening, event)
  return true
end


function TAKE.ack() return true end


function TAKE.peer_renamed(self, event)
  if event.room_id == 0 then self.name = event.name end
end


function TAKE.rejected(self, event)
  self.reason = { code = event.code, message = event.message }
  self._clock:fill(self._opening, nil, event.message, event.code, event.retry)
end


function TAKE.closing(self, event)
  self.reason = { code = event.code, message = event.message }
end


function TAKE.joined(self, event)
  event.room = setmetatable(event.room, Room)
  event.room.client = self
  self._known_rooms[event.room_id] = event.room
  table.insert(self._joined, event.room)
end


function TAKE.left(self, event)
  matches.leave(self, event.room, event.code)
  for i, room in ipairs(self._joined) do
    if room == event.room then table.remove(self._joined, i) end
  end
end


function TAKE.packet(self, event)
  if matches.take(self, event) then return true end
  return channels.take(self, event, function(fn) self._clock:spawn(fn) end)
end


TAKE.channel_opened = channels.refuse
TAKE.error = matches.refuse


function TAKE.ask(self, event)
  local fn = self._ask_handlers[event.name]
  if not fn then return false end
  self._clock:spawn(function() self:answer(event, fn(event.value, event.room)) end)
  return true
end


local function take(self, event)
  if event.type == "closed" then return self:_finish(event.code, event.message) end
  local react = TAKE[event.type]
  if react and react(self, event) then return end
  local slot = event.answers and self._slots[event.answers]
  if slot then
    self:_tell() -- events that came before the answer are reported before it
    return self._clock:fill(slot, event)
  end
  self._inbox:push(self._clock.now, event)
end


-- Whether a packet may wait until somebody looks at it.
local function is_lazy(schema, channel, number, flags)
  if bit.band(flags, QUESTIONS) ~= 0 then return false end
  return channel == CHANNEL.MESSAGES and schemas.knows(schema, number)
    or channel == CHANNEL.CONTROL and number == BROADCAST
end


local function take_packet(self, raw, channel, number, flags)
  if self.connected and is_lazy(self._protocol.schema, channel, number, flags) then
    if bit.band(flags, FLAG.RELIABLE) ~= 0 then self._protocol.stream:receive() end
    return self._inbox:push(self._clock.now, raw)
  end
  self._protocol:receive(raw)
  for event in self._protocol.next_event, self._protocol do take(self, event) end
end


-- Bytes -----------------------------------------------------------------------------------------

--- Decodes what the inbox kept as it came. A protocol of its own: the other's may be over by then.
function arrivals.decoder(rooms, schema)
  local protocol = protocols.new(schema)
  protocol.phase, protocol.rooms = "open", rooms
  return function(raw)
    protocol:receive(raw)
    return assert(protocol:next_event())
  end
end


local function send_ack(self)
  self._has_ack_due = false
  local data = self.connected and self._protocol:ack()
  if data then self._link:send(data) end
end


-- Tells the server what has come: at once when it is much, else a little later.
local function acknowledge(self)
  local protocol = self._protocol
  if not self.connected or not protocol:can_resume() or protocol.stream:untold() == 0 then return end
  if protocol.stream:is_due() then return send_ack(self) end
  if self._has_ack_due then return end
  self._has_ack_due = true
  self._clock:at(self._clock.now + ACK_MS, send_ack, self)
end


--- Takes bytes as they come, and lets those who wait know.
---@param self perigee.testing.BinaryClient
---@param data string
function arrivals.take(self, data)
  if self._rest ~= "" then data, self._rest = self._rest .. data, "" end
  local at, size = 1, #data
  while at <= size do
    local stop, channel, number, flags = wire.scan(data, at)
    if not stop then break end
    take_packet(self, at == 1 and stop == size and data or data:sub(at, stop), channel, number,
      flags)
    at = stop + 1
  end
  if at <= size then self._rest = at == 1 and data or data:sub(at) end
  acknowledge(self)
  self:_tell()
end


return arrivals
