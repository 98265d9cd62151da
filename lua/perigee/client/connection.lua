--- How a client comes to its connection, and to the next one when that is lost: HELLO, pauses that
--- grow from try to try, and ACKs meanwhile. The client's own part is perigee.client.

local channels = require "perigee.client.channel"
local commands = require "perigee.client.commands"
local datagrams = require "perigee.client.datagrams"
local loop = require "perigee.client.loop"
local matches = require "perigee.client.matches"
local rejoin = require "perigee.client.rejoin"
local schema = require "perigee.client.schema"

local TRY = 5 -- seconds that one takes at most
local ACK_DELAY = 0.25 -- seconds until what has come is acknowledged
local SILENCE = 1.5 -- intervals of the server's pings without a word, after which it is gone
local SECOND_LOOK = 1 -- seconds
local ATTACH = 5 -- seconds for which a client tries to

--- After a connection that ended with one of these there is no other: it would end so again, or
--- somebody meant it.
local FINAL = {
  PayloadTooLarge = true, Protocol = true, Kicked = true, Rejected = true, VersionMismatch = true,
  ProtocolHashMismatch = true, RateLimited = true, Unsupported = true, Unauthorized = true,
  Replaced = true,
}

local connection = {}


local function udp_options(self)
  return { hash = schema.hash(self._protocol.schema), line = self._line }
end


-- A connection without a word said on it.
local function dial(self, timeout)
  if self._udp == "alone" then
    local transport, message, code, retry =
      datagrams.connect(self._host, self._port, udp_options(self), timeout)
    self._datagrams = transport
    return transport, message, code, retry
  end
  local transport, message, code = loop.connect(self._host, self._port, timeout)
  if transport and self._line then transport = self._line:stream(transport) end
  return transport, message, code
end


-- Connects, says HELLO and waits for the server's yes or no; of an Unavailable also the seconds to wait.
---@param self perigee.Client
---@param timeout number seconds
---@return true?, string? message, string? code, integer? retry
local function open(self, timeout)
  local deadline = loop.now() + timeout
  local transport, message, code, retry = dial(self, timeout)
  if not transport then return nil, message, code, retry end
  if self._ended.is_filled then
    transport:close()
    return nil, "closed", "ConnectionClosed"
  end
  self._transport, self._opening = transport, loop.slot()
  transport:start(function(data) self:_on_bytes(transport, data) end,
    function(...) self:_on_end(transport, ...) end,
    function(data) self:_on_datagram(transport, data) end)
  transport:write(self._protocol:hello(self._said, self._token))
  local welcome
  welcome, message, code = loop.wait(self._opening, deadline - loop.now())
  if welcome then return true end
  transport:close()
  if message == "timeout" then
    return nil, "the server did not answer HELLO; is it a Perigee server?", "HandshakeTimeout"
  end
  local reason = self._protocol:reason()
  if code == "Protocol" and not reason then
    message = message .. "; is that the port of a Perigee server, not its text port or one with TLS?"
  end
  return nil, message, code, reason and reason.retry
end


local function udp_up(self)
  self.udp = true
  self:_publish { type = "udp_up" }
end


local function udp_down(self, code, message)
  self.udp = false
  self:_publish { type = "udp_down", code = code, message = message }
end


local function attach(self, transport, welcome)
  if welcome.udp_port == 0 then
    return udp_down(self, "Unsupported", "the server has no UDP (udp_ports = 0)")
  end
  local host, o = transport:host(), udp_options(self)
  if not host then return end -- it is over already
  o.peer, o.udp_key = welcome.id, welcome.udp_key
  local beside, message, code = datagrams.connect(host, welcome.udp_port, o, ATTACH)
  if transport ~= self._transport or not self.connected then return beside and beside:close() end
  if not beside then return udp_down(self, code, message) end
  self._datagrams = beside
  beside:start(nil, function(why, what)
    self._datagrams = nil
    udp_down(self, why, what)
  end, function(data)
    self:_on_datagram(transport, data)
  end, function(passes)
    if passes then udp_up(self) else udp_down(self, "timeout", "nothing by UDP arrives") end
  end)
  udp_up(self)
end


--- The server has let this client in: beside a stream datagrams are tried, where they are wanted.
---@param self perigee.Client
---@param welcome table the event
function connection.attach(self, welcome)
  self.udp = self._udp == "alone"
  if self._udp == "attached" then loop.spawn(attach, self, self._transport, welcome) end
end


--- Whether the client connects again after its connection has ended so.
---@param self perigee.Client
---@return boolean
function connection.can_return(self)
  local reason = self._protocol:reason()
  return self.connected and self._reconnect.patience > 0 and not (reason and FINAL[reason.code])
end


-- Grows from try to try, and differs from client to client; with the seconds that the server asked for
-- before it.
local function pause_before(attempt, reconnect, retry)
  local pause = math.min(reconnect.max, reconnect.first * 2 ^ (attempt - 1)) * (0.5 + loop.fraction() / 2)
  return pause + (retry or 0) * (1 + loop.fraction() / 2)
end


local function give_up(self, code, message)
  local event = self._protocol:finish(code, message)
  if event then self:_take(event) end
  return nil, message, code
end


-- Tries again and again, with a pause before each try; the first after at least `retry` seconds, or nil.
local function come_back(self, lost, retry)
  for attempt = 1, math.huge do
    local pause = pause_before(attempt, self._reconnect, retry)
    if loop.now() - lost.since + pause > self._reconnect.patience then
      return give_up(self, lost.code, lost.message)
    end
    self:_publish { type = "reconnecting", attempt = attempt, delay = pause }
    lost.pause = loop.slot()
    loop.wait(lost.pause, pause)
    if self._lost ~= lost then return nil, "closed", "ConnectionClosed" end
    local is_open, message, code
    is_open, message, code, retry = open(self, TRY)
    if is_open or self._lost ~= lost then return is_open, message, code end
    if FINAL[code] then return give_up(self, code, message) end
    self._protocol:begin()
  end
end


--- Makes the first connection. A server that is not available yet is asked again.
---@param self perigee.Client
---@param timeout number seconds, of the first try
---@return true?, string? message, string? code
function connection.begin(self, timeout)
  local lost = { since = loop.now() }
  self._lost = lost
  local is_open, message, code, retry = open(self, timeout)
  if is_open or code ~= "Unavailable" or self._reconnect.patience == 0 or self._lost ~= lost then
    return is_open, message, code
  end
  lost.code, lost.message = code, message
  self._protocol:begin()
  return come_back(self, lost, retry)
end


--- The connection is lost; the session may not be.
---@param self perigee.Client
---@param code string
---@param message string
function connection.lose(self, code, message)
  local reason = self._protocol:reason() or { code = code, message = message }
  local lost = { code = reason.code, message = reason.message, since = loop.now() }
  self.connected, self._lost = false, lost
  connection.stop(self)
  self._transport:close()
  self._protocol:begin()
  self:_publish { type = "disconnected", code = lost.code, message = lost.message }
  loop.spawn(come_back, self, lost, reason.retry)
end


local function reopen(self, channel)
  local ok, message, code = channels.reopen(channel)
  if ok then return end
  self:_publish { type = "channel_closed", name = channel.name, message = message, code = code }
end


--- A WELCOME on another connection: the session goes on, or another has begun.
---@param self perigee.Client
---@param welcome table the event
function connection.regain(self, welcome)
  local lost = self._lost
  self._lost = nil
  if not welcome.resumed then
    rejoin.begin(self, welcome.rooms)
    self:_fail_calls("the session was lost", "ConnectionReset")
    if self._settled then
      loop.fill(self._settled, nil, "the session was lost", "ConnectionReset")
    end
    for _, channel in pairs(self._channels.by_name) do loop.spawn(reopen, self, channel) end
    return self:_publish { type = "lost", dropped = welcome.dropped }
  end
  -- The first packet tells the server that its WELCOME has come.
  self._transport:write(commands.ack(self._protocol.stream:tell()) .. welcome.packets)
  matches.resume_all(self)
  self:_publish {
    type = "resumed", seconds = loop.now() - lost.since, resent = welcome.resent,
  }
end


--- Acknowledges what has come: at once when it is much, else a little later.
---@param self perigee.Client
function connection.acknowledge(self)
  local protocol = self._protocol
  if not self.connected or not protocol:can_resume() then return end
  if protocol.stream:is_due() then
    self._transport:write(protocol:ack())
  elseif protocol.stream:untold() > 0 and not self._stop_ack then
    self._stop_ack = loop.after(ACK_DELAY, function()
      self._stop_ack = nil
      local data = self.connected and protocol:ack()
      if data then self._transport:write(data) end
    end)
  end
end


--- Watches a connection on which the server pings: one that dies without a word is lost as well.
---@param self perigee.Client
function connection.watch(self)
  local transport, patience = self._transport, SILENCE * self.ping_interval
  if patience == 0 then return end
  local function look(is_second)
    local left = self._heard + patience - loop.now()
    if left <= 0 and is_second then
      return self:_on_end(transport, "PingTimeout", "the server does not answer")
    end
    -- Bytes that came while the program was busy are still unread.
    local delay = left > 0 and left or math.min(SECOND_LOOK, patience)
    self._stop_watch = loop.after(delay, function() look(left <= 0) end)
  end
  look(false)
end


--- The connection is over: no ACK is due any more, nothing watched, and no datagrams go beside it.
---@param self perigee.Client
function connection.stop(self)
  if self._datagrams and self._datagrams ~= self._transport then self._datagrams:close() end
  self._datagrams, self.udp = nil, false
  for _, name in ipairs { "_stop_ack", "_stop_watch" } do
    if self[name] then self[name]() end
    self[name] = nil
  end
end


return connection
