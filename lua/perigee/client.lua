--- A client of a Perigee server, for tools, tests and plain LuaJIT. Reads top to bottom:
---
---   local client = require "perigee.client"
---   local c = assert(client.connect("localhost:7777", { name = "ann" }))
---   local room = assert(c:join("lobby"))
---   room:broadcast("hello")
---   print(c:recv(5).type)
---   c:close()
---
--- What you ask for is returned; what happens unasked is an event, for a handler (`on`) or for
--- `recv`. Calls fail with nil, a message and a code, never with an error. docs/lua-client.md is
--- the guide.

local address = require "perigee.client.address"
local calls = require "perigee.client.calls"
local channels = require "perigee.client.channel"
local check_methods = require "perigee.client.methods"
local commands = require "perigee.client.commands"
local connection = require "perigee.client.connection"
local datagrams = require "perigee.client.datagrams"
local json = require "perigee.client.json"
local loop = require "perigee.client.loop"
local matches = require "perigee.client.matches"
local protocol = require "perigee.client.protocol"
local queue = require "perigee.client.queue"
local reactions = require "perigee.client.reactions"
local rejoin = require "perigee.client.rejoin"
local schema = require "perigee.client.schema"
local describe = require "perigee.util.describe"

local TIMEOUT = 10 -- seconds, for a call that names none
local CLOSE_TIMEOUT = 1 -- seconds that the server has to answer a BYE
-- Seconds: the pause before the first try to connect again, the longest, and for how long to try.
local RECONNECT = { first = 0.25, max = 8, patience = 60 }

---@class perigee.Client: perigee.client.Calls
---@field id integer this client's peer id
---@field name string
---@field session string the session's UUID
---@field connected boolean false also while the connection is lost and tried again
---@field max_payload integer bytes of one packet's payload
---@field ping_interval number seconds
---@field tick_rate integer
---@field server_time number Unix time in seconds, as of the connection
---@field udp boolean whether what may be lost goes by UDP at the moment
---@field timeout number seconds that a call waits when it names no timeout
---@field reason? table { code, message }: why the connection ended
local Client = {}
Client.__index = Client
for name, call in pairs(calls) do Client[name] = call end

local client = {
  spawn = loop.spawn,
  run = loop.run,
  sleep = loop.sleep,
  now = loop.now,
  json = json.raw,
}


-- Connecting ------------------------------------------------------------------------------------

local function new_client(options)
  return setmetatable({
    name = options.name,
    _said = options.name, -- in HELLO; the server may give another
    timeout = options.timeout,
    connected = false,
    udp = false,
    _udp = options.udp, -- nil, "attached" or "alone"
    _line = options.line,
    _udp_sent = 0, -- packets
    _udp_received = 0,
    _token = options.token,
    _host = options.host,
    _port = options.port,
    _reconnect = options.reconnect,
    _rejoins = options.rejoin ~= false,
    _joins = rejoin.table(),
    _protocol = protocol.new(options.schema),
    _slots = {}, -- ref -> the slot of the call that waits for the answer
    _queue = queue.new(), -- events nobody took yet
    _receivers = {}, -- slots of the calls to recv that wait, oldest first
    _handlers = {},
    _ask_handlers = {},
    _channels = channels.table(), -- that this client serves
    _ended = loop.slot(),
  }, Client)
end


local function reconnect_of(given)
  if given == false then return { patience = 0 } end
  return setmetatable(type(given) == "table" and given or {}, { __index = RECONNECT })
end


--- Connects and says HELLO. Options: `name` (1 to 64 bytes, "guest" when left out), `token` (a
--- text for the server's on_connect), `timeout` (seconds, 10 when left out; also for later calls),
--- `reconnect` (what to do when the connection is lost, in seconds: the `first` pause, 0.25 when left
--- out; the `max`, 8; the `patience`, 60; false: nothing; the same holds for a first connection to a server
--- that is not available yet), `on` (handlers by type, as for `c:on`, that are there before the first
--- connection is), `rejoin` (whether rooms that were joined are
--- joined again when the session was lost; true when left out), `schema` (the game's, as the path of its
--- schema.perigee or as its text, for messages in binary), `udp` (true: what may be lost goes by UDP, where
--- that passes; "alone": everything does), `line` (what the bytes pass on their way: perigee.bots.line).
---@param where string "host", "host:port" or "[v6]:port"
---@param options? table
---@return perigee.Client?, string? message, string? code
function client.connect(where, options)
  options = options or {}
  local host, port = address.parse(where)
  if not host then return nil, port, "EINVAL" end
  local name, token = options.name or "guest", options.token or ""
  if #name > 255 then return nil, "a name is 1 to 64 bytes", "Protocol" end
  if #token > 65535 then return nil, "a token is at most 65535 bytes", "Protocol" end
  local udp = options.udp == true and "attached" or options.udp
  if udp and not datagrams.is_there then
    return nil, "UDP is for programs of the perigee command; elsewhere perigee.native has it", "Unsupported"
  end
  local known, problem
  if options.schema then
    known, problem = schema.load(options.schema)
    if not known then return nil, problem, "EINVAL" end
  end
  local self = new_client {
    name = name, token = token, host = host, port = port, schema = known,
    timeout = options.timeout or TIMEOUT, reconnect = reconnect_of(options.reconnect),
    rejoin = options.rejoin, udp = udp, line = options.line,
  }
  for event_type, handler in pairs(options.on or {}) do self:on(event_type, handler) end
  local connected, message, code = connection.begin(self, self.timeout)
  if connected then return self end
  return nil, "cannot connect to " .. address.format(host, port) .. ": " .. message, code
end


-- What arrives ----------------------------------------------------------------------------------

function Client:_on_bytes(transport, data)
  self._heard = loop.now()
  self._protocol:receive(data)
  self:_take_events(transport)
end


-- Beside a stream it is no sign of the stream's life.
function Client:_on_datagram(transport, data)
  if transport == self._datagrams then self._heard = loop.now() end
  self._udp_received = self._udp_received + 1
  self._protocol:receive_datagram(data)
  self:_take_events(transport)
end


function Client:_take_events(transport)
  for event in self._protocol.next_event, self._protocol do
    self:_take(event)
    if transport ~= self._transport then return end
  end
  connection.acknowledge(self)
end


function Client:_on_end(transport, code, message)
  if transport ~= self._transport then return end
  if connection.can_return(self) then return connection.lose(self, code, message) end
  if self._lost then
    local reason = self._protocol:reason() or { code = code, message = message }
    return loop.fill(self._opening, nil, reason.message, reason.code)
  end
  local event = self._protocol:finish(code, message)
  if event then self:_take(event) end
end


--- Nobody answers the calls that wait any more.
function Client:_fail_calls(message, code)
  local slots = self._slots
  self._slots = {}
  for _, slot in pairs(slots) do loop.fill(slot, nil, message, code) end
end


--- Nobody answers this call any more.
function Client:_fail_call(ref, message, code)
  local slot = self._slots[ref]
  self._slots[ref] = nil
  if slot then loop.fill(slot, nil, message, code) end
end


--- Gives an event to who waits for it: the call it answers, a handler, `recv`, or the queue.
function Client:_take(event)
  local take = reactions[event.type]
  if take and take(self, event) then return end
  local slot = event.answers and self._slots[event.answers]
  if slot then return loop.fill(slot, event) end
  self:_publish(event)
  if event.type ~= "closed" then return end
  while #self._receivers > 0 do
    loop.fill(table.remove(self._receivers, 1), nil, "closed")
  end
end


function Client:_publish(event)
  local handler = self._handlers[event.type] or self._handlers["*"]
  if handler then return loop.enter(handler, event) end
  while #self._receivers > 0 do
    local slot = table.remove(self._receivers, 1)
    if not slot.is_filled then return loop.fill(slot, event) end
  end
  self._queue:push(event)
end


--- The next event that no handler takes; nil, "timeout" when none comes in time; nil, "closed"
--- when the connection is over and all its events were taken. The last event is of type "closed".
---@param timeout? number seconds; nil waits for ever, 0 not at all
---@return table? event, string? reason
function Client:recv(timeout)
  if timeout == 0 and self._queue.count == 0 then loop.poll() end
  if self._queue.count > 0 then return self._queue:pop() end
  if self._ended.is_filled then return nil, "closed" end
  if timeout == 0 then return nil, "timeout" end
  local slot = loop.slot()
  self._receivers[#self._receivers + 1] = slot
  local event, reason = loop.wait(slot, timeout)
  for i, other in ipairs(self._receivers) do
    if other == slot then table.remove(self._receivers, i) end
  end
  return event, reason
end


--- Calls `fn(event)` for every event of a type, in a coroutine, so it may wait; "*" stands for
--- all types without a handler of their own. Events of that type that already wait for `recv` go
--- to it at once. nil takes the handler away.
---@param type string
---@param fn? fun(event: table)
function Client:on(type, fn)
  self._handlers[type] = fn
  if not fn then return end
  local waiting = self._queue
  self._queue = queue.new()
  for event in waiting.pop, waiting do self:_publish(event) end
end


-- Calls -----------------------------------------------------------------------------------------

--- Sends bytes; nil, message, code when the connection is over or the packet too large. While the
--- connection is lost what is reliable waits for the next one, and what is not is lost as well.
function Client:_send(data)
  if not self.connected and not self._lost then
    local reason = self.reason or { code = "ConnectionClosed" }
    return nil, "closed", reason.code
  end
  local size = #data - 12
  if size > self.max_payload then
    return nil, ("%d bytes of payload, and the server takes %d"):format(size, self.max_payload),
      "PayloadTooLarge"
  end
  local noted, message, code = self._protocol:note(data)
  if not noted then return nil, message, code end
  if not self.connected then return true end
  if self._datagrams and self._datagrams:take(data) then
    self._udp_sent = self._udp_sent + 1
  else
    self._transport:write(data)
  end
  return true
end


--- Sends a request and waits for the event that answers it, of the type that it has to be.
function Client:_request(wanted, data, ref, timeout)
  local slot = loop.slot()
  self._slots[ref] = slot
  local sent, message, code = self:_send(data)
  if not sent then
    self._slots[ref] = nil
    self._protocol:forget(ref)
    return nil, message, code
  end
  local event
  event, message, code = loop.wait(slot, timeout or self.timeout)
  self._slots[ref] = nil
  self._protocol:forget(ref)
  if not event then return nil, message, code or message end
  if event.type == "error" then return nil, event.message, event.code end
  if event.type ~= wanted then return nil, "the answer is of another kind", "Protocol" end
  return event
end


local function check_room_name(name)
  if type(name) ~= "string" then
    error(("%sclient:join takes the name of a room, not %s"):format(describe.where(), describe.kind(name)), 0)
  elseif #name <= 255 then
    return true
  end
  return nil, "a name is 1 to 64 bytes", "Protocol"
end


--- Joins a room and waits for the server's yes or no.
---@param name string
---@return perigee.client.Room?, string? message, string? code
function Client:join(name)
  local fits, problem, wrong = check_room_name(name)
  if not fits then return nil, problem, wrong end
  local is_waiting, room, why, what = rejoin.wait(self, name)
  if is_waiting then return room, why, what end
  local event, message, code = self:_request("joined", self._protocol:request(commands.join, name))
  if not event then return nil, message, code end
  rejoin.note(self, event.room)
  return event.room
end


function Client:_lockstep(room, game)
  return matches.open(self, room, game, loop.after)
end


--- Sends a message to the server's script. Options: `room`, `priority`, `reliable`.
---@param name string
---@param value? any what JSON can hold, or `client.json "[]"`
---@param options? table
---@return true? sent, string? message, string? code
function Client:send(name, value, options)
  local room = type(options) == "table" and options.room
  local room_id = room and room.id or 0
  return self:_send(commands.message(room_id, name, value, options, self._protocol.schema))
end


--- The room this client is in under that name, or nil.
---@param name string
---@return perigee.client.Room?
function Client:room(name)
  for _, room in pairs(self._protocol.rooms) do
    if room.name == name then return room end
  end
  return nil
end


--- The time to the server and back, in seconds.
---@param timeout? number seconds
---@return number? latency, string? message, string? code
function Client:ping(timeout)
  local start = loop.now()
  local data, ref = self._protocol:request(commands.ping)
  local event, message, code = self:_request("pong", data, ref, timeout)
  if not event then return nil, message, code end
  return loop.now() - start
end


--- How the client is connected: `transport` ("tcp" or "udp"); where datagrams go, `udp` has of this
--- connection `rtt` (the newest round trip that was seen) and `rtt_smooth` in seconds, 0 while they are not
--- known; datagrams `sent` and `received`; `acknowledged` and `lost`, of those that ask for it; and of the
--- client `packets_sent` and `packets_received`.
---@return { transport: string, udp?: table }
function Client:stats()
  local stats = { transport = self._udp == "alone" and "udp" or "tcp" }
  if self._datagrams then
    stats.udp = self._datagrams:stats()
    stats.udp.packets_sent, stats.udp.packets_received = self._udp_sent, self._udp_received
  end
  return stats
end


--- Waits until the system has taken all that was sent, and the server has acknowledged all of it
--- that is reliable: for those who send faster than the network carries.
---@return true? flushed, string? message, string? code
function Client:flush()
  if self.connected then self._transport:flush() end
  if self._datagrams then self._datagrams:flush() end
  while self._protocol.stream.waiting > 0 and not self._ended.is_filled do
    if not self._settled or self._settled.is_filled then self._settled = loop.slot() end
    local _, message, code = loop.wait(self._settled)
    if message then return nil, message, code end
  end
  if self.connected then return true end
  return nil, "closed", self.reason and self.reason.code or "ConnectionClosed"
end


--- Says BYE and closes. Everything sent before has reached the server when this returns, unless the
--- server went away.
---@return true
function Client:close()
  if self._ended.is_filled then return true end
  local transport = self._transport
  if self.connected then
    self.connected = false
    transport:write(commands.bye())
    transport:shutdown()
    self._stop_waiting = loop.after(CLOSE_TIMEOUT, function()
      self:_on_end(transport, "ConnectionClosed", "closed")
    end)
  elseif self._lost then
    self:_take(self._protocol:finish("ConnectionClosed", "closed"))
  end
  if loop.can_wait() then loop.wait(self._ended) end
  return true
end


check_methods(Client, "client")

return client
