--- An attacker plays a story with connections of all kinds, which are closed at its end. It records ids and
--- tokens from the server, which other attackers misuse.
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local Stream = require "tests.e2e.stream"
local number = require("tests.e2e.udp_wire").number
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local Attacker = {}
Attacker.__index = Attacker

-- The address from which attackers send datagrams. It differs from the players' address, because late
-- datagrams may reach a port that a player has by now.
Attacker.ADDRESS = "127.0.0.2"

local INBOX_MAX = 200 -- unrequested events that are kept

--- Reads everything and keeps nothing.
local Sink = setmetatable({}, { __index = Stream })
Sink.__index = Sink

function Sink.cut(buffer, from)
  if from > #buffer then return nil, from end
  return { name = "BYTES" }, #buffer + 1
end

function Sink.took(_, event) return event.name == "BYTES" end


-- Reads packets, and ignores those that the schema encodes.
local function cut(buffer, from)
  local is_whole = #buffer >= from + packet.HEADER_SIZE - 1
  local is_message = is_whole and number(buffer, from, 2) == 2
  if not is_message or number(buffer, from + 2, 2) == 0 then return packet.decode(buffer, from) end
  local after = from + packet.HEADER_SIZE + number(buffer, from + 8, 4)
  if #buffer < after - 1 then return nil, from end
  return { name = "BYTES" }, after
end


---@param target table { perigee, admin_port, socket: path of the control socket, known }
---@param dice table
function Attacker.new(target, dice)
  return setmetatable({ target = target, perigee = target.perigee, known = target.known, dice = dice,
    streams = {} }, Attacker)
end


--- Returns lists of the ids and tokens that the server sends to attackers. Any attacker may use them.
function Attacker.new_knowledge()
  return { rooms = { 1 }, peers = { 1 }, tokens = { packet.NO_UUID }, channels = { 1000 }, sessions = {} }
end


function Attacker:learn(kind, value)
  local list = self.known[kind]
  list[#list + 1] = value
  if #list > 40 then table.remove(list, 1) end
end


-- Records a connection, and reads what it receives.
function Attacker:keep(stream)
  self.streams[#self.streams + 1] = stream
  local took = stream.took
  stream.took = function(client, event)
    if event.name == "WELCOME" then
      self:learn("tokens", event.resume)
      self:learn("peers", event.peer)
    elseif event.name == "JOINED" then
      self:learn("rooms", event.room)
    elseif event.name == "CHANNEL_OPENED" then
      self:learn("channels", event.opened)
    end
    if #client.inbox > INBOX_MAX then table.remove(client.inbox, 1) end
    return took(client, event)
  end
  return stream
end


-- Ignores faults in what a UDP client receives, because the client's own forgeries may cause them.
local function forgive(client)
  local channel = client.udp
  local take = channel.take
  function channel.take(self, bytes) pcall(take, self, bytes) end
  return client
end


local OPEN = {
  tcp = function(self) return Client.connect(self.perigee.port) end,
  tls = function(self) return Client.connect(self.perigee.port, { tls = {} }) end,
  websocket = function(self) return web_socket.client(self.perigee.port) end,
  udp = function(self) return forgive(udp_client.raw(self.perigee, {
    from = Attacker.ADDRESS, plain = self.dice:chance(30),
  })) end,
}

local LINES = { { 12, "tcp" }, { 8, "websocket" }, { 5, "udp" }, { 1, "tls" } }


--- Opens a connection for packets, of this kind or of a random one.
function Attacker:line(kind)
  local client = OPEN[kind or self.dice:pick_weighted(LINES)](self)
  client.cut = cut
  return self:keep(client)
end


--- Opens a connection to a port and reads no answers.
function Attacker:sink(port, o)
  return self:keep(Stream.open(Sink, port, o))
end


--- Opens a connection to the control socket and reads no answers.
function Attacker:control_socket()
  local pipe, done, failure = uv.new_pipe(false), false, nil
  pipe:connect(self.target.socket, function(err) done, failure = true, err end)
  wait.until_true(function() return done end)
  if failure or not done then
    pipe:close()
    error("no connection to the control socket", 0)
  end
  local sink = self:keep(Stream.adopt(Sink, pipe))
  sink.reset = sink.close -- pipes have none of their own
  return sink
end


--- Waits for an event of a client, which may not come.
---@return table? event
function Attacker.await(_, client, name)
  local found
  wait.until_true(function()
    for _, event in ipairs(client.inbox) do
      if event.name == name then found = event end
    end
    return found or client.ended or client.fault
  end)
  return found
end


--- Waits for some milliseconds, or not at all.
function Attacker:pause(most)
  local until_ms = uv.now() + self.dice:number(0, most or 30)
  wait.until_true(function() return uv.now() >= until_ms or self.target.is_over end)
end


--- Sends bytes whole, in two pieces, or a few at a time.
function Attacker:send(stream, bytes)
  local way = self.dice.roll(10)
  if way > 2 or #bytes < 2 then return stream:write(bytes) end
  local size = way == 1 and math.ceil(#bytes / 2) or math.max(1, math.ceil(#bytes / 8))
  for from = 1, #bytes, size do
    stream:write(bytes:sub(from, from + size - 1))
    self:pause(10)
  end
end


local ENDS = {
  function(stream) stream:close() end,
  function(stream) stream:reset() end,
  function(stream) stream:half_close() end,
  function() end,
}


--- Ends a connection in a random way.
function Attacker:finish(stream)
  if stream.ended or stream.tcp:is_closing() then return end
  self.dice:pick(ENDS)(stream)
end


--- Plays a story until it ends or the server ends it.
---@param story fun(attacker: table)
---@return string? fault what the server did that it may not
function Attacker:play(story)
  local ok, err = pcall(story, self)
  local fault
  for _, stream in ipairs(self.streams) do
    -- Over UDP, an attacker's own forgery may make its input unreadable.
    if stream.fault and not stream.udp then fault = stream.fault end
    if not stream.tcp:is_closing() then stream:close() end
    if stream.udp then stream.udp:close() end
  end
  self.streams = {}
  if fault then return "the server breaks the protocol: " .. tostring(fault) end
  if not ok and tostring(err):find "attempt to" then return "a fault of the attack: " .. err end
end


return Attacker
