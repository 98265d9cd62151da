--- A simulated text peer, which behaves like netcat connected to a real server. It has the common calls of
--- all clients, `send` and `close`. `line` and `expect_line` send and receive raw lines.

local Client = require "perigee.testing.client"
local check_methods = require "perigee.client.methods"
local failure = require "perigee.testing.failure"
local json = require "perigee.client.json"
local sim = require "perigee.sim"
local strict = require "perigee.testing.strict"

local CLOSE_SECONDS = 1
local ANSWER = "answer to a command" -- topic of expectations that wait for answers

---@class perigee.testing.TextClient: perigee.testing.Client
local TextClient = setmetatable({}, { __index = Client })
TextClient.__index = TextClient

local text_client = {}

--- A room in which a text peer is.
---@class perigee.testing.TextRoom
---@field name string
---@field joined boolean
---@field client perigee.testing.TextClient
local TextRoom = {}
TextRoom.__index = TextRoom


-- Receiving ---------------------------------------------------------------------------------------

-- Converts a line to an event. If the line may be a message, the event has `name` and `value`.
local function decode(line)
  local event = { type = "line", line = line }
  local name, rest = line:match "^([^%s*!][^%s]*) ?(.*)$"
  if not name then return event end
  if rest == "" then
    event.name = name
    return event
  end
  local value, problem = json.decode(rest)
  if not problem then event.name, event.value = name, value end
  return event
end


function TextClient:_on_bytes(data)
  local at = 1
  while true do
    local stop = data:find("\n", at, true)
    if not stop then break end
    local line = self._rest .. data:sub(at, stop - 1)
    self._rest, at = "", stop + 1
    local code, message = line:match "^! (%w+): (.*)$"
    if code then self._problem = { code = code, message = message } end
    self.name = line:match "^%* you are now (.*)$" or self.name
    self._inbox:push(self._clock.now, line)
  end
  self._rest = self._rest .. data:sub(at)
  self:_tell()
end


function TextClient:_finish(code, message)
  if self._problem and code == "ConnectionClosed" then self.reason = self._problem end
  Client._finish(self, code, message)
end


TextClient._lose = TextClient._finish


-- Waits for a line that matches one of the patterns. Returns the number of the pattern, and its captures.
local function await(self, patterns)
  local which, captures
  local index, problem = self:_await(ANSWER, function(event)
    for name, pattern in pairs(patterns) do
      local found = { (event.line or ""):match(pattern) }
      if found[1] then
        which, captures = name, found
        return true
      end
    end
    return false
  end, self.timeout)
  if not index then return nil, problem end
  self._inbox:take(ANSWER, index)
  return which, unpack(captures)
end


local function escape(text)
  return (text:gsub("%p", "%%%0"))
end


--- Sends a command and waits for its answer, or for an error.
local function command(self, line, good)
  self._inbox:skip(ANSWER)
  self:line(line)
  local which, code, message = await(self, { good = good, bad = "^! (%w+): (.*)$" })
  if which == "good" then return true end
  if which == "bad" then return nil, message, code end
  local reason = self.reason or { message = code, code = code }
  return nil, reason.message, reason.code
end


-- Connecting ------------------------------------------------------------------------------------

-- Waits until the game has accepted this client, on a server that does not greet text peers.
local function await_silently(self, server, before)
  local until_ms = self._clock.now + self.timeout * 1000
  local id, name
  repeat
    self._clock:sleep(1)
    id, name = sim.inspect(server._id, "last_text_peer")
  until id ~= before or self._ended.is_filled or self._clock.now >= until_ms
  if id == before then
    local reason = self.reason or { message = "the server does not answer", code = "HandshakeTimeout" }
    return nil, reason.message, reason.code
  end
  self.connected, self.id, self.name, self._is_silent = true, id, name, true
  return self
end


-- Waits for the greeting. A server with accounts waits for the first line before it greets: for /login, or
-- for any other line of a guest.
local function await_greeting(self, sign_in)
  local patterns = {
    good = "^%* connected as (.-); /join ",
    bad = "^! (%w+): (.*)$",
    login = "^(%* /login NAME)",
  }
  local which, name, message = await(self, patterns)
  if which ~= "login" then return which, name, message end
  self:line(sign_in and "/login " .. sign_in.name or "/rooms")
  if sign_in then self:line(sign_in.password) end
  return await(self, patterns)
end


--- Connects, waits for the greeting, and requests the name in `options`.
---@param server perigee.testing.Server
---@param options table name (nil: the name that the server gives), sign_in (name and password), network
---@param server_end table see link.new
---@return perigee.testing.TextClient?, string? message, string? code
function text_client.connect(server, options, server_end)
  local self = setmetatable({ text = true, _rest = "" }, TextClient)
  Client.init(self, server, options, server_end, decode)
  local before = sim.inspect(server._id, "last_text_peer")
  server:_add_client(self)
  if not server:_greets_text() then return await_silently(self, server, before) end
  local which, name, message = await_greeting(self, options.sign_in)
  if which == "bad" then return nil, message, name end
  if not which then return nil, "the server does not greet", "HandshakeTimeout" end
  self.connected, self.name = true, name
  self.id = tonumber(name:match "^guest%-(%d+)") or sim.inspect(server._id, "text_peer", name)
  if not options.name or options.name == name then return self end
  local good, problem, code =
    command(self, "/name " .. options.name, "^(%* you are now " .. escape(options.name) .. ")$")
  if not good then return nil, problem, code end
  return self
end


-- Calls -----------------------------------------------------------------------------------------

--- Sends a line: text for the room joined last, or a command.
---@param line string
---@return true? sent, string? message, string? code
function TextClient:line(line)
  failure.check("a line", line, "string")
  if self._ended.is_filled then return nil, "closed", self.reason.code end
  self._link:send(line .. "\n")
  return true
end


--- Joins a room; returns nil, message, code if the server refuses.
---@param name string
---@param options? table
---@return perigee.testing.TextRoom?, string? message, string? code
function TextClient:try_join(name, options)
  failure.check("a room's name", name, "string")
  local line = options and ("/join_with %s %s"):format(name, json.encode(options)) or "/join " .. name
  local good, message, code = command(self, line, "^(%* joined " .. escape(name) .. ")")
  if not good then return nil, message, code end
  self._last_room = setmetatable({ name = name, joined = true, client = self }, TextRoom)
  return self._last_room
end


--- Sends a message about the room joined last.
---@param name string
---@param value? any a value that JSON can express
---@return true? sent, string? message, string? code
function TextClient:send(name, value)
  local rest = value == nil and "" or " " .. json.encode(value)
  return self:line("/send " .. name .. rest)
end


--- Waits for a line.
---@param line? string|fun(line: string): boolean
---@param seconds? number
---@return string line
function TextClient:expect_line(line, seconds)
  failure.check("what is expected", line, "string", "function", "nil")
  return self:_expect_line(line, seconds)
end


--- Sends /quit and waits until the server has received it.
function TextClient:close()
  if self._ended.is_filled then return end
  if not self._is_silent then self:line "/quit" end
  self.connected = false
  self._link:shutdown()
  self._clock:wait(self._ended, CLOSE_SECONDS * 1000)
  self._link:close()
  self:_finish("ConnectionClosed", "closed")
end


for _, name in ipairs { "ask", "answer", "on_ask", "send_packet", "ask_packet", "channel", "ping",
  "reconnect", "room", "rooms", "list", "write", "broadcast" } do
  TextClient[name] = function()
    failure.misuse("a text peer has no %s; it has line and expect_line", name)
  end
end


-- Rooms -----------------------------------------------------------------------------------------

local function check_is_last(self)
  if self.client._last_room ~= self then
    failure.misuse("a text peer speaks in the room that it joined last, which is %s, not %s",
      self.client._last_room.name, self.name)
  end
end


--- Sends text to the other members.
---@param data string
function TextRoom:broadcast(data)
  check_is_last(self)
  return self.client:line(data)
end


--- Sends a message about this room.
---@param name string
---@param value? any
function TextRoom:send(name, value)
  check_is_last(self)
  return self.client:send(name, value)
end


--- Leaves the room and waits for the server's confirmation.
---@return true? left, string? message, string? code
function TextRoom:leave()
  local good, message, code =
    command(self.client, "/leave " .. self.name, "^(%* left " .. escape(self.name) .. ")")
  if good then self.joined = false end
  return good, message, code
end


check_methods(TextClient, "client")
check_methods(TextRoom, "room")
strict(TextClient, "client", Client._FIELDS)
strict(TextRoom, "text peer's room", { "name", "joined", "client" })


return text_client
