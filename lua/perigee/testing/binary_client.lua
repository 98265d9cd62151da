--- A simulated client that speaks packets and has the calls of perigee.client. libperigee implements its
--- protocol without sockets (perigee.client.core). `join` fails the spec if the server refuses it. All other
--- calls, such as `try_join`, return nil, message, code, as in perigee.client.

local calls = require "perigee.client.calls"
local Client = require "perigee.testing.client"
local check_methods = require "perigee.client.methods"
local clocks = require "perigee.testing.clock"
local core = require "perigee.client.core"
local failure = require "perigee.testing.failure"
local matchmaking = require "perigee.client.matchmaking"
local Room = require "perigee.client.room"
local strict = require "perigee.testing.strict"

local HUGE = math.huge
local CLOSE_SECONDS = 1 -- seconds; limit for the server's answer to BYE
local CODES = { ConnectionClosed = 0, ConnectionReset = 1 }

---@class perigee.testing.BinaryClient: perigee.testing.Client, perigee.client.Calls
---@field session string UUID
---@field max_payload integer
---@field ping_interval number seconds
---@field tick_rate integer
local BinaryClient = setmetatable({}, { __index = Client })
BinaryClient.__index = BinaryClient
for name, call in pairs(calls) do BinaryClient[name] = call end

local binary_client = {}


-- Makes calls wait as tasks of the simulated clock.
local function scheduler(clock)
  local function spawn(fn, ...) clock:spawn(fn, ...) end
  return {
    future = clocks.future, spawn = spawn, enter = spawn,
    fill = function(future, ...) clock:fill(future, ...) end,
    wait = function(future, seconds) return clock:wait(future, (seconds or HUGE) * 1000) end,
  }
end


-- Creates the client in C.
local function new_core(self)
  local options, schema = self._options, self._schema
  return core.new({
    name = options.name, token = options.token, hash = schema and schema.hash, timeout = self.timeout,
    first = 0.001, max = 0.001, sign_in = calls.sign_in_text(options),
  }, self._clock.now / 1000)
end


-- Connecting ------------------------------------------------------------------------------------

--- Connects and waits for the server's decision.
---@param server perigee.testing.Server
---@param options table name, token, sign_in, sign_up, network
---@param server_end table see link.new
---@return perigee.testing.BinaryClient?, string? message, string? code, integer? retry
function binary_client.connect(server, options, server_end)
  local self = setmetatable({
    text = false, _options = options, _scheduler = scheduler(server._clock),
    _schema = options.schema ~= false and server:_schema() or nil,
  }, BinaryClient)
  Client.init(self, server, options, server_end)
  self.matchmaker, self.party = matchmaking.matchmaker(self), matchmaking.party(self)
  server:_add_client(self)
  self._core = new_core(self)
  if not self._core then return nil, "a name is 1 to 64 bytes", "Protocol" end
  return self:_open()
end


-- Sends HELLO and waits for the answer.
function BinaryClient:_open()
  self._core:opened(self._clock.now / 1000)
  self:_work()
  local ok, message, code, retry = self._clock:wait(self._opening, self.timeout * 1000)
  if ok then return self end
  if code and code ~= "Timeout" then return nil, message, code, retry end
  self._link:reset()
  return nil, "the server did not answer HELLO", "timeout"
end


-- The core ---------------------------------------------------------------------------------------

local function on_due(self)
  self._timer = nil
  if self._link.state ~= "stalled" then self:_work() end
end


-- Sets the timer for the core's next call.
local function arm(self)
  local due, clock = self._core and self._core:due(), self._clock
  local at = due and math.max(math.ceil(due * 1000), clock.now + 1)
  if at == self._timer_at and self._timer then return end
  if self._timer then clock:cancel(self._timer) end
  self._timer = at and clock:at(at, on_due, self)
  self._timer_at = at
end


local function take_events(self)
  while self._core do
    local event = self._core:next_event()
    if not event then break end
    self:_take(event)
  end
end


-- Handles all events. After an error, for example of a game in lockstep, the client continues.
local function drain(self)
  self._is_draining = true
  local ok, problem = pcall(take_events, self)
  self._is_draining = false
  self:_tell()
  if not ok then error(problem, 0) end
end


-- Sends the core's output, and handles its events.
function BinaryClient:_work()
  local now = self._clock.now / 1000
  self._core:advance(now)
  local output = self._core:output(now)
  if output ~= "" then self._link:send(output) end
  if self._is_draining then return end
  drain(self)
  -- Sends the output that the events have caused.
  output = self._core and self._core:output(now) or ""
  if output ~= "" then self._link:send(output) end
  arm(self)
end


BinaryClient._flush = BinaryClient._work


--- Connects again, which real clients do automatically. Returns true if the old session continues, or false
--- if a new session begins. The event "resumed", "restored" (the server has restarted) or "lost" also reports
--- this.
---@return boolean? resumed, string? message, string? code, integer? retry
function BinaryClient:reconnect()
  if not self._ended.is_filled then
    self:vanish()
    self:_lose("ConnectionReset", "the client connects again")
  end
  self._core = self._core or new_core(self)
  if self._core:connection() ~= 0 then -- the core already wants a connection
    self._core:ended(CODES.ConnectionReset, "the client connects again", self._clock.now / 1000)
    drain(self)
  end
  self.reason, self._resumed, self._is_done = nil, false, false
  self:_attach(self.server:_new_end(self._options), self._network)
  table.insert(self.server._links, self._link)
  local ok, message, code, retry = self:_open()
  if not ok then return nil, message, code, retry end
  return self._resumed
end


function BinaryClient:_on_bytes(data)
  if not self._core then return end
  self._core:receive(data, self._clock.now / 1000)
  self:_work()
end


function BinaryClient:_lose(code, message)
  if not self._core then return self:_finish(code, message) end
  self._core:ended(CODES[code], message, self._clock.now / 1000)
  self:_work()
end


function BinaryClient:_begin(method, ...)
  if not self.connected then
    return nil, "closed", self.reason and self.reason.code or "ConnectionClosed"
  end
  return calls._begin(self, method, ...)
end


function BinaryClient:_publish(event)
  self._inbox:push(self._clock.now, event)
end


-- Events -----------------------------------------------------------------------------------------

--- Handlers of events that this client treats differently from perigee.client, which connects again by
--- itself.
local TAKE = {}


-- Reports the loss of a session that the server could not resume. The core does not report this loss, because
-- it treats this client as a new one.
function TAKE.connected(self)
  if self.session then self:_publish { type = "lost", dropped = 0 } end
end


function TAKE.resumed(self)
  for _, room in pairs(self._rooms) do room.joined = true end
  self._resumed = true
  self._clock:fill(self._opening, true)
end


TAKE.restored = TAKE.resumed


function TAKE.disconnected(self, event)
  self:_finish(event.code, event.message)
  return true
end


function TAKE.reconnecting(self, event)
  self._clock:fill(self._opening, nil, event.message, event.code, event.retry)
  if not self.connected then self:_finish(event.code, event.message) end
  return true
end


function TAKE.closed(self, event)
  self._core:free()
  self._core = nil
  self:_finish(event.code, event.message)
  return true
end


function BinaryClient:_take(event)
  local take = TAKE[event.type]
  if take and take(self, event) then return end
  if event.answers then self:_tell() end -- first reports the events that came before the answer
  calls._take(self, event)
end


function BinaryClient:_welcome()
  calls._welcome(self)
  self._clock:fill(self._opening, true)
end


function BinaryClient:_finish(code, message)
  if self._ended.is_filled then return end
  for _, room in pairs(self._rooms) do room.joined = false end
  Client._finish(self, code, message)
  self:_fail_calls(self.reason.message, self.reason.code)
end


-- Calls -----------------------------------------------------------------------------------------

--- Joins a room; returns nil, message, code if the server refuses.
---@param name string
---@param options? table
---@return perigee.client.Room?, string? message, string? code
function BinaryClient:try_join(name, options)
  failure.check("a room's name", name, "string")
  return self:_join(name, options)
end


--- Sends raw bytes, for specs about clients that break the protocol.
---@param data string
function BinaryClient:write(data)
  self._link:send(data)
end


--- Sends BYE and waits until the server has received it.
function BinaryClient:close()
  self._is_done = true
  if self._ended.is_filled then return end
  if self.connected then
    self.connected = false
    self._core:close()
    self:_work()
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
