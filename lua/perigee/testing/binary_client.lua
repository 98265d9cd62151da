--- A client that speaks packets: perigee.client on a simulated network. The same calls do the same
--- things; the protocol is perigee.client.protocol's, and rooms are perigee.client's rooms. Calls
--- that a spec expects to succeed (`join`) fail the spec when they do not; `try_join` and the like
--- return nil, message, code, as perigee.client's do.

local arrivals = require "perigee.testing.arrivals"
local calls = require "perigee.client.calls"
local channels = require "perigee.client.channel"
local Client = require "perigee.testing.client"
local check_methods = require "perigee.client.methods"
local clocks = require "perigee.testing.clock"
local commands = require "perigee.client.commands"
local failure = require "perigee.testing.failure"
local matches = require "perigee.client.matches"
local Room = require "perigee.client.room"
local protocols = require "perigee.client.protocol"
local strict = require "perigee.testing.strict"
local wire = require "perigee.testing.wire"

local CLOSE_SECONDS = 1 -- that the server has to answer a BYE

---@class perigee.testing.BinaryClient: perigee.testing.Client, perigee.client.Calls
---@field session string UUID
---@field max_payload integer
---@field ping_interval number seconds
---@field tick_rate integer
local BinaryClient = setmetatable({}, { __index = Client })
BinaryClient.__index = BinaryClient
for name, call in pairs(calls) do BinaryClient[name] = call end

local binary_client = {}


-- Connecting ------------------------------------------------------------------------------------

--- Connects and waits for the server's yes or no.
---@param server perigee.testing.Server
---@param options table name, token, network
---@param server_end table as link.new has it
---@return perigee.testing.BinaryClient?, string? message, string? code, integer? retry
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
  Client.init(self, server, options, server_end, arrivals.decoder(rooms, schema))
  server:_add_client(self)
  local welcome, message, code, retry = self:_shake_hands()
  if welcome then return self end
  return nil, message, code, retry
end


-- Says HELLO and waits for the answer.
function BinaryClient:_shake_hands()
  self._link:send(self._protocol:hello(self._options.name, self._options.token or ""))
  local welcome, message, code, retry = self._clock:wait(self._opening, self.timeout * 1000)
  if welcome then return welcome end
  if message == "timeout" then
    self._link:reset()
    return nil, "the server did not answer HELLO", "HandshakeTimeout"
  end
  return nil, message, code, retry
end


--- Connects again, as real clients do by themselves, and takes the session up where it still waits:
--- true; where it does not, another one begins: false. An event "resumed" or "lost" tells the same.
---@return boolean? resumed, string? message, string? code, integer? retry
function BinaryClient:reconnect()
  if not self._ended.is_filled then
    self:vanish()
    self:_finish("ConnectionReset", "the client connects again")
  end
  self._protocol:begin()
  self._rest, self.reason = "", nil
  self:_attach(self.server:_new_end(self._options), self._network)
  table.insert(self.server._links, self._link)
  local welcome, message, code, retry = self:_shake_hands()
  if not welcome then return nil, message, code, retry end
  if welcome.resumed then matches.resume_all(self) else self:_reopen_channels() end
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


function BinaryClient:_on_bytes(data)
  arrivals.take(self, data)
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


function BinaryClient:_lockstep(room, game)
  local clock = self._clock
  return matches.open(self, room, game, function(seconds, fn)
    local entry = clock:at(clock.now + math.ceil(seconds * 1000), function()
      if self.connected then fn() end
    end)
    return function() clock:cancel(entry) end
  end)
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
  local data, ref = self._protocol:request(commands.ping)
  local event, message, code = self:_request("pong", data, ref, timeout)
  if not event then return nil, message, code end
  return (self._clock.now - start) / 1000
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


check_methods(BinaryClient, "client")
strict(BinaryClient, "client", Client._FIELDS)
strict(Room, "room", { "id", "name", "joined", "members", "client" })

return binary_client
