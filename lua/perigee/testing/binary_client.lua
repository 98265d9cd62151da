--- A client that speaks packets: perigee.client on a simulated network. The same calls do the same
--- things; the protocol is perigee.client.protocol's, and rooms are perigee.client's rooms. Calls
--- that a spec expects to succeed (`join`) fail the spec when they do not; `try_join` and the like
--- return nil, message, code, as perigee.client's do.

local bit = require "bit"
local channels = require "perigee.client.channel"
local Client = require "perigee.testing.client"
local clocks = require "perigee.testing.clock"
local commands = require "perigee.client.commands"
local constants = require "perigee.client.constants"
local failure = require "perigee.testing.failure"
local lockstep = require "perigee.client.lockstep"
local protocols = require "perigee.client.protocol"
local report = require "perigee.testing.report"
local Room = require "perigee.client.room"
local schemas = require "perigee.client.schema"
local wire = require "perigee.testing.wire"

local CHANNEL, FLAG = constants.CHANNEL, constants.FLAG
local QUESTIONS = FLAG.REQUEST + FLAG.RESPONSE
local BROADCAST = 132
local CLOSE_SECONDS = 1 -- that the server has to answer a BYE
local ACK_MS = 250 -- until what has come is acknowledged, where it is not much

---@class perigee.testing.BinaryClient: perigee.testing.Client
---@field session string UUID
---@field max_payload integer
---@field ping_interval number seconds
---@field tick_rate integer
local BinaryClient = setmetatable({}, { __index = Client })
BinaryClient.__index = BinaryClient

local binary_client = {}


-- Connecting ------------------------------------------------------------------------------------

-- Decodes what the inbox kept as it came. A protocol of its own: the other's may be over by then.
local function decoder(rooms, schema)
  local protocol = protocols.new(schema)
  protocol.phase, protocol.rooms = "open", rooms
  return function(raw)
    protocol:receive(raw)
    return assert(protocol:next_event())
  end
end


local function uuid_text(raw)
  local hex = raw:gsub(".", function(char) return ("%02x"):format(char:byte()) end)
  return (hex:gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)", "%1-%2-%3-%4-"))
end


--- Connects and waits for the server's yes or no.
---@param server perigee.testing.Server
---@param options table name, token, network
---@param server_end table as link.new has it
---@return perigee.testing.BinaryClient?, string? message, string? code
function binary_client.connect(server, options, server_end)
  local rooms = {}
  local self = setmetatable({ text = false, _joined = {} }, BinaryClient)
  self._known_rooms = rooms -- by id, also those that it left
  local schema = options.schema ~= false and server:_schema() or nil
  self._protocol = protocols.new(schema)
  self._slots = {} -- ref -> the slot of the call that waits for the answer
  self._ask_handlers = {}
  self._channels = channels.table()
  self._rest = "" -- a packet that has not come whole
  self._options = options
  Client.init(self, server, options, server_end, decoder(rooms, schema))
  server:_add_client(self)
  local welcome, message, code = self:_shake_hands()
  if welcome then return self end
  return nil, message, code
end


-- Says HELLO and waits for the answer.
function BinaryClient:_shake_hands()
  self._link:send(self._protocol:hello(self._options.name, self._options.token or ""))
  local welcome, message, code = self._clock:wait(self._opening, self.timeout * 1000)
  if welcome then return welcome end
  if message == "timeout" then
    self._link:reset()
    return nil, "the server did not answer HELLO", "HandshakeTimeout"
  end
  return nil, message, code
end


--- Connects again, as real clients do by themselves, and takes the session up where it still waits:
--- true; where it does not, another one begins: false. An event "resumed" or "lost" tells the same.
---@return boolean? resumed, string? message, string? code
function BinaryClient:reconnect()
  if not self._ended.is_filled then
    self:vanish()
    self:_finish("ConnectionReset", "the client connects again")
  end
  self._protocol:begin()
  self._rest, self.reason = "", nil
  self:_attach(self.server:_new_end(self._options), self._network)
  table.insert(self.server._links, self._link)
  local welcome, message, code = self:_shake_hands()
  if not welcome then return nil, message, code end
  if welcome.resumed then lockstep.resume_all(self) else self:_reopen_channels() end
  return welcome.resumed
end


function BinaryClient:_reopen_channels()
  local served = {}
  for _, channel in pairs(self._channels.by_name) do served[#served + 1] = channel end
  for _, channel in ipairs(served) do
    local ok, problem, why = channels.reopen(channel)
    if not ok then
      self._inbox:push(self._clock.now,
        { type = "channel_closed", name = channel.name, message = problem, code = why })
    end
  end
end


-- What arrives ----------------------------------------------------------------------------------

--- What the client itself does about some events. Nothing else happens with those it returns true
--- for.
local TAKE = {}


function TAKE.ping(self, event)
  self._link:send(event.answer)
  return true
end


function TAKE.welcome(self, event)
  self.connected = true
  self.id, self.session = event.id, uuid_text(event.session)
  self.max_payload, self.tick_rate = event.max_payload, event.tick_rate
  self.ping_interval = event.ping_interval_ms / 1e3
  self.server_time = event.server_time_us / 1e6
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


function TAKE.rejected(self, event)
  self.reason = { code = event.code, message = event.message }
  self._clock:fill(self._opening, nil, event.message, event.code)
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
  for i, room in ipairs(self._joined) do
    if room == event.room then table.remove(self._joined, i) end
  end
end


function TAKE.packet(self, event)
  if lockstep.take(self, event) then return true end
  return channels.take(self, event, function(fn) self._clock:spawn(fn) end)
end


TAKE.channel_opened = channels.refuse


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
  if slot then return self._clock:fill(slot, event) end
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


function BinaryClient:_on_bytes(data)
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
  self:_acknowledge()
  self:_tell()
end


local function send_ack(self)
  self._has_ack_due = false
  local data = self.connected and self._protocol:ack()
  if data then self._link:send(data) end
end


-- Tells the server what has come: at once when it is much, else a little later.
function BinaryClient:_acknowledge()
  local protocol = self._protocol
  if not self.connected or not protocol:can_resume() or protocol.stream:untold() == 0 then return end
  if protocol.stream:is_due() then return send_ack(self) end
  if self._has_ack_due then return end
  self._has_ack_due = true
  self._clock:at(self._clock.now + ACK_MS, send_ack, self)
end


function BinaryClient:_finish(code, message)
  if self._ended.is_filled then return end
  self._protocol:finish(code, message)
  self._left_rooms, self._joined = self._joined, {}
  Client._finish(self, code, message)
  local slots = self._slots
  self._slots = {}
  for _, slot in pairs(slots) do
    self._clock:fill(slot, nil, self.reason.message, self.reason.code)
  end
end


--- Nobody answers this call any more.
function BinaryClient:_fail_call(ref, message, code)
  local slot = self._slots[ref]
  self._slots[ref] = nil
  if slot then self._clock:fill(slot, nil, message, code) end
end


-- Calls -----------------------------------------------------------------------------------------

local function gone(self)
  return nil, "closed", self.reason and self.reason.code or "ConnectionClosed"
end


--- Sends bytes; nil, message, code when the connection is over or the packet too large.
function BinaryClient:_send(data)
  if not self.connected then return gone(self) end
  local size = #data - wire.HEADER_SIZE
  if size > self.max_payload then
    return nil, ("%d bytes of payload, and the server takes %d"):format(size, self.max_payload),
      "PayloadTooLarge"
  end
  local noted, message, code = self._protocol:note(data)
  if not noted then return nil, message, code end
  self._link:send(data)
  return true
end


--- Sends a request and waits for the event that answers it, of the type that it has to be.
function BinaryClient:_request(wanted, data, ref, timeout)
  local slot = clocks.slot()
  self._slots[ref] = slot
  local event, message, code = self:_send(data)
  if event then
    event, message, code = self._clock:wait(slot, (timeout or self.timeout) * 1000)
  end
  self._slots[ref] = nil
  self._protocol:forget(ref)
  if not event then return nil, message, code or message end
  if event.type == "error" then return nil, event.message, event.code end
  if event.type ~= wanted then return nil, "the answer is of another kind", "Protocol" end
  return event
end


--- Joins a room; nil, message, code when it may not.
---@param name string
---@return perigee.client.Room?, string? message, string? code
function BinaryClient:try_join(name)
  failure.check("a room's name", name, "string")
  if #name > 255 then return nil, "a name is 1 to 64 bytes", "Protocol" end
  local event, message, code = self:_request("joined", self._protocol:request(commands.join, name))
  if not event then return nil, message, code end
  return event.room
end


--- Joins a room; the spec fails when it may not.
---@param name string
---@return perigee.client.Room
function BinaryClient:join(name)
  local room, message, code = self:try_join(name)
  if not room then
    local what = ("%s cannot join %q"):format(self.name, name)
    failure.raise("%s", report.refused(self.server, what, message, code))
  end
  return room
end


function BinaryClient:_lockstep(room, game)
  local clock = self._clock
  return lockstep.open(self, room, game, function(seconds, fn)
    local entry = clock:at(clock.now + math.ceil(seconds * 1000), function()
      if self.connected then fn() end
    end)
    return function() clock:cancel(entry) end
  end)
end


function BinaryClient:_leave(room)
  local event, message, code =
    self:_request("left", self._protocol:request(commands.leave, room.id))
  if not event then return nil, message, code end
  return true
end


function BinaryClient:_broadcast(room, data, options)
  return self:_send(commands.broadcast(room.id, data, options))
end


--- Sends a message to the game. Options: `room`, `priority`, `reliable`.
---@param name string
---@param value? any what JSON can hold
---@param options? table
---@return true? sent, string? message, string? code
function BinaryClient:send(name, value, options)
  local room = options and options.room
  if room and next(options, next(options)) == nil then options = nil end -- nothing but the room
  return self:_send(wire.message(room and room.id or 0, name, value, options, self._protocol.schema))
end


--- Asks the game and waits for the answer: the value, or nil, message, code; when none comes in
--- time nil, "timeout".
---@param name string
---@param value? any
---@param timeout? number seconds
---@param room? perigee.client.Room
---@return any answer, string? message, string? code
function BinaryClient:ask(name, value, timeout, room)
  local data, ref = self._protocol:request(commands.ask, room and room.id or 0, name, value,
    self._protocol.schema)
  local event, message, code = self:_request("message", data, ref, timeout)
  if not event then return nil, message, code end
  return event.value
end


--- Answers an event of type "ask".
---@param event table
---@param value? any
---@return true? sent, string? message, string? code
function BinaryClient:answer(event, value)
  return self:_send(commands.answer(event, value, self._protocol.schema))
end


--- Answers the game's questions called `name` with what `fn(value, room)` returns. Questions
--- without a handler are for `expect`, and for `answer`.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function BinaryClient:on_ask(name, fn)
  self._ask_handlers[name] = fn
end


--- The rooms that the server lists.
---@return { id: integer, name: string, members: integer }[]?, string? message, string? code
function BinaryClient:rooms()
  local event, message, code = self:_request("rooms", self._protocol:request(commands.list_rooms))
  if not event then return nil, message, code end
  return event.rooms
end


--- The room this client is in under that name, or nil.
---@param name string
---@return perigee.client.Room?
function BinaryClient:room(name)
  for _, room in ipairs(self._joined) do
    if room.name == name then return room end
  end
  return nil
end


--- The time to the server and back, in seconds.
---@param timeout? number seconds
---@return number? latency, string? message, string? code
function BinaryClient:ping(timeout)
  local start = self._clock.now
  local event, message, code = self:_request("pong", self:_ping_request(timeout))
  if not event then return nil, message, code end
  return (self._clock.now - start) / 1000
end


function BinaryClient:_ping_request(timeout)
  local data, ref = self._protocol:request(commands.ping)
  return data, ref, timeout
end


--- Serves a plugin channel; one that is served already is found.
---@param name string
---@return perigee.client.Channel?, string? message, string? code
function BinaryClient:channel(name)
  return channels.open(self, name)
end


--- Sends a packet on a channel of the game or of a plugin; options as perigee.client has them.
---@param channel integer
---@param number integer the packet's type
---@param data? string
---@param options? table priority, reliable, answers
---@return true? sent, string? message, string? code
function BinaryClient:send_packet(channel, number, data, options)
  local to = options and options.answers and options.answers.sender
  local payload = self._protocol:address(channel, data or "", to)
  return self:_send(commands.packet(channel, number, payload, options))
end


--- Sends a packet that is a question and waits for the bytes of the answer.
---@param channel integer
---@param number integer
---@param data? string
---@param timeout? number seconds
---@return string? answer, string? message, string? code
function BinaryClient:ask_packet(channel, number, data, timeout)
  local request, ref = self._protocol:request(commands.ask_packet, channel, number, data or "")
  local event, message, code = self:_request("packet", request, ref, timeout)
  if not event then return nil, message, code end
  return event.payload
end


--- Sends bytes as they are: for specs about clients that do not keep to the protocol.
---@param data string
function BinaryClient:write(data)
  self._link:send(data)
end


--- Says BYE and waits until the server has heard it.
function BinaryClient:close()
  if self._ended.is_filled then return end
  if self.connected then
    self:_send(commands.bye())
    self.connected = false
  end
  self._link:shutdown()
  self._clock:wait(self._ended, CLOSE_SECONDS * 1000)
  self._link:close()
  self:_finish("ConnectionClosed", "closed")
end


return binary_client
