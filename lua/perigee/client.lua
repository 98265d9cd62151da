--- A client of a Perigee server for games, tools and tests, in LuaJIT, Lua 5.1 and LÖVE. Use:
---
---   local client = require "perigee.client"
---   local c = assert(client.connect("localhost:7777", { name = "ann" }))
---   local room = assert(c:join("lobby"))
---   room:broadcast("hello")
---   print(c:recv(5).type)
---   c:close()
---
--- A call returns the server's answer to it. Anything else that happens is an event, which goes to a handler
--- (`on`) or to `recv`. A failed call returns nil, a message and a code, and raises no error.
--- docs/lua-client.md is the guide. libperigee implements the protocol (include/perigee.h).

local address = require "perigee.client.address"
local calls = require "perigee.client.calls"
local checked = require "perigee.client.options"
local check_methods = require "perigee.client.methods"
local core = require "perigee.client.dependency" "perigee.client.core"
local json = require "perigee.client.json"
local loop = require "perigee.client.loop"
local matchmaking = require "perigee.client.matchmaking"
local schema = require "perigee.client.schema"

local TIMEOUT = 10 -- seconds, for a call without a timeout
-- Default times for connecting again, in seconds: the first pause, the longest pause, and the total time.
local RECONNECT = { first = 0.25, max = 8, patience = 60 }
local TRANSPORT = { [true] = "both", attached = "both", alone = "udp" }

---@class perigee.Client: perigee.client.Calls
---@field id integer this client's peer id
---@field name string
---@field session string the session's UUID
---@field connected boolean false also while the client tries to connect again
---@field max_payload integer bytes of one packet's payload
---@field ping_interval number seconds
---@field tick_rate integer ticks of the server per second
---@field server_time number Unix time in seconds at the moment of connecting
---@field matchmaker perigee.client.Matchmaker
---@field party perigee.client.Party
---@field udp boolean whether unreliable packets use UDP now
---@field timeout number seconds that a call without a timeout waits
---@field reason? table { code, message }: reason of the connection's end
local Client = {
  timeout = TIMEOUT, connected = false, udp = false,
  _scheduler = loop, _transport = "tcp", _handlers = {}, _first = 1, _last = 0, -- until a client has its own
}
for name, call in pairs(calls) do Client[name] = call end
Client.join = calls._join


-- Fields that each session determines. The first use of one copies all of them from the core.
local OF_SESSION = {
  id = true, name = true, session = true, ping_interval = true, max_payload = true, tick_rate = true,
  server_time = true,
}


function Client.__index(self, key)
  local member = Client[key]
  if member == nil and matchmaking[key] then
    self[key] = matchmaking[key](self)
    return self[key]
  end
  if member ~= nil or not OF_SESSION[key] or not rawget(self, "_core") then return member end
  calls._learn(self)
  return rawget(self, key)
end


local client = {
  spawn = loop.spawn,
  run = loop.run,
  sleep = loop.sleep,
  now = loop.now,
  --- Does all due work of all clients, without waiting. A game that must not wait calls it once in each
  --- frame. Raises errors of coroutines and handlers.
  update = loop.update,
  json = json.raw,
  use_json = json.use,
}


-- Connecting ------------------------------------------------------------------------------------

local function options_of(given, known)
  local reconnect = type(given.reconnect) == "table" and given.reconnect or RECONNECT
  return {
    name = given.name or "guest", token = given.token, hash = given.protocol_hash or known and known.hash,
    transport = TRANSPORT[given.udp], timeout = given.timeout or TIMEOUT,
    reconnect = given.reconnect ~= false, first = reconnect.first or RECONNECT.first,
    max = reconnect.max or RECONNECT.max, patience = reconnect.patience or RECONNECT.patience,
    rejoin = given.rejoin, sign_in = calls.sign_in_text(given),
  }
end


-- Returns the error in the options and its code; or nil and the schema that the options name, if any.
local function check(given)
  if given.token and #given.token > 65535 then return "a token is at most 65535 bytes", "Protocol" end
  if given.token and given.token:find("\0", 1, true) then return "a token has no NUL byte", "Protocol" end
  if given.protocol_hash and not given.protocol_hash:find("^" .. ("%x"):rep(16) .. "$") then
    return "a protocol hash has 16 hexadecimal digits", "EINVAL"
  end
  if not given.schema then return nil end
  local known, problem = schema.load(given.schema)
  if not known then return problem, "EINVAL" end
  return nil, known
end


-- Names of the system's error codes that C reports only as text.
local SYSTEM = {
  ["connection refused"] = "ECONNREFUSED", ["no route to host"] = "EHOSTUNREACH",
  ["network is unreachable"] = "ENETUNREACH", ["too many open files"] = "EMFILE",
}


-- Returns why the client could not connect: the message and the code of this Lua API.
local function refusal(where, message, code)
  if code == "Timeout" and not message:find "^cannot" then
    return ("cannot connect to %s: %s"):format(where, message), "timeout"
  elseif code ~= "Unreachable" and code ~= "Timeout" then
    local hint = message:find "^the server sent"
      and "; is that the port of a Perigee server, not its text port or one with TLS?" or ""
    return ("cannot connect to %s: %s%s"):format(where, message, hint), code
  elseif message:find "^cannot find the host" then
    return ("cannot connect to %s: no such host"):format(where), "EAI_NONAME"
  end
  local why = message:gsub("^cannot connect to .-: ", ""):gsub("; is the server running there%?$", "")
  why = why:sub(1, 1):lower() .. why:sub(2)
  if why == "no answer" then why = "no answer within the timeout" end
  local name = code == "Timeout" and "timeout" or SYSTEM[why] or "ECONNREFUSED"
  return ("cannot connect to %s: %s"):format(where, why), name
end


--- Connects and sends HELLO. Options:
---   `name` (1 to 64 bytes, default "guest"), `token` (a text for the server's on_connect)
---   `sign_in` (signs in first: { name =, password = }, { device = }, { jwt = } or { credentials = }; a
---   device is 16 to 128 bytes that the program keeps), `sign_up` (makes an account: { name =, password = })
---   `timeout` (seconds, default 10; also for later calls)
---   `reconnect` (how to connect again after the connection was lost, in seconds: the `first` pause, default
---   0.25; the longest pause `max`, 8; the total time `patience`, 60. `false`: does not connect again. Also
---   applies to the first connection if the server is not available yet)
---   `on` (handlers by type, as for `c:on`, set before the first connection begins)
---   `rejoin` (whether to join the rooms again after the session was lost; default true)
---   `schema` (the game's schema for binary messages: the path of its schema.perigee, or its text)
---   `protocol_hash` (16 hexadecimal digits, as `perigee schema --hash` prints them, for a game that declares
---   more than its messages; default: the hash of the schema)
---   `udp` (true: unreliable packets use UDP if the network passes it; "alone": all packets do)
---   `line` (an object that carries the bytes instead of sockets: perigee.tools.bots.line)
---@param where string "host", "host:port" or "[v6]:port"
---@param given? table
---@return perigee.Client?, string? message, string? code
function client.connect(where, given)
  given = given or {}
  checked.connect(where, given)
  json.check()
  local host, port = address.parse(where)
  if not host then return nil, port, "EINVAL" end
  local problem, known = check(given)
  if problem then return nil, problem, known end
  where = address.format(host, port)
  local self = setmetatable({
    timeout = given.timeout, _line = given.line, _schema = known, _opening = loop.future(),
    _transport = given.udp == "alone" and "udp" or nil,
  }, Client)
  for event_type, handler in pairs(given.on or {}) do self:on(event_type, handler) end
  if given.line then
    self._core = given.line:open(self, host, port, options_of(given, known))
  else
    self._core = core.connect(where, options_of(given, known))
  end
  if not self._core then
    local rule = calls.BAD_NAME .. ", and not beginning with !, * or /"
    return nil, ("cannot connect to %s: %s"):format(where, rule), "Protocol"
  end
  if not given.line then loop.add(self) end
  local ok, message, code = loop.wait(self._opening)
  self._opening = nil
  if ok then return self end
  return nil, refusal(where, message, code)
end


-- Events ----------------------------------------------------------------------------------------

-- Handles all waiting events. The loop calls this when events wait.
function Client:_drain()
  while self._core do
    local event = self._core:next_event()
    if not event then return end
    self:_take(event)
  end
end


-- Sends the output: at once outside of the loop, or inside the loop at the end of the iteration.
function Client:_flush()
  if self._line then return self._line:work() end
  if not loop.is_running() then self._core:poll() end
end


function Client:_welcome()
  calls._welcome(self)
  if self._opening then loop.fill(self._opening, true) end
end


-- Forgets the fields of the session, which have changed.
function Client:_learn()
  for name in pairs(OF_SESSION) do self[name] = nil end
end


function Client:_finish(code, message)
  if self._line then self._line:close() else loop.remove(self) end
  calls._learn(self) -- because the core goes
  calls._finish(self, code, message)
  if self._opening then loop.fill(self._opening, nil, message, code) end
  if self._closing then loop.fill(self._closing) end
end


function Client:_publish(event)
  local handler = self._handlers[event.type] or self._handlers["*"]
  local receivers = self._receivers -- futures of `recv`; nil: none
  local receiver = not handler and receivers and table.remove(receivers, 1)
  while receiver and receiver.is_filled do receiver = table.remove(receivers, 1) end
  if handler then
    loop.enter(handler, event)
  elseif receiver then
    loop.fill(receiver, event)
  else
    self._last = self._last + 1
    self:_own("_events")[self._last] = event
  end
  if event.type ~= "closed" then return end
  for _, waiting in ipairs(receivers or {}) do loop.fill(waiting, nil, "closed") end
end


local function pop(self)
  local events, first = self._events, self._first
  if first > self._last then return nil end
  local event = events[first]
  events[first], self._first = nil, first + 1
  return event
end


--- Returns the next event that has no handler. Returns nil, "timeout" if no event arrives in time. Returns
--- nil, "closed" if the connection is over and all its events were returned. The last event has the type
--- "closed".
---@param timeout? number seconds; nil waits for ever, 0 not at all
---@return table? event, string? reason
function Client:recv(timeout)
  if timeout ~= nil then checked.seconds("client:recv", timeout) end
  if timeout == 0 and self._first > self._last then loop.update() end
  local event = pop(self)
  if event then return event end
  if self.reason then return nil, "closed" end
  if timeout == 0 then return nil, "timeout" end
  local future, receivers = loop.future(), self:_own "_receivers"
  receivers[#receivers + 1] = future
  local reason
  event, reason = loop.wait(future, timeout)
  for i = #receivers, 1, -1 do
    if receivers[i] == future then table.remove(receivers, i) end
  end
  return event, reason
end


--- Calls `fn(event)` for every event of a type, in a coroutine, so that it may wait. "*" means all types
--- without their own handler. Waiting events of that type go to the new handler at once. nil removes the
--- handler.
---@param type string
---@param fn? fun(event: table)
function Client:on(type, fn)
  checked.handler("client:on", type, fn)
  if not rawget(self, "_handlers") then self._handlers = {} end
  self._handlers[type] = fn
  if not fn then return end
  for _ = self._first, self._last do
    local event = pop(self) -- nil: a handler has taken the event with recv
    if event then self:_publish(event) end
  end
end


-- Calls -----------------------------------------------------------------------------------------

--- Returns how the client is connected: `transport` ("tcp" or "udp") and, if datagrams are in use, `udp`.
--- Fields of `udp` about the connection: `rtt` (the newest measured round trip) and `rtt_smooth` in seconds,
--- both 0 while unknown; the numbers of datagrams `sent` and `received`; and, of the datagrams that need an
--- acknowledgement, how many were `acknowledged` or `lost`. Fields about the client: `packets_sent` and
--- `packets_received`.
---@return { transport: string, udp?: table }
function Client:stats()
  return { transport = self._transport, udp = self._core and self._core:udp_stats() }
end


--- Sends BYE and closes. When this returns, the server has received all earlier packets, unless the server
--- has gone.
---@return true
function Client:close()
  if self.reason then return true end
  self.connected = false
  self._closing = self._closing or loop.future()
  self._core:close()
  self:_flush()
  if loop.can_wait() and not self.reason then loop.wait(self._closing) end
  return true
end


check_methods(Client, "client")

return client
