--- A client's datagrams (docs/protocol.md, sections 5 and 16): the request for a connection by UDP,
--- and luv's socket under the link of perigee.udp, which does the rest. A client that is alone has
--- nothing else: its datagrams are used as a connection by TCP is (start, write, flush, shutdown,
--- close). Beside a stream, attached, they carry what may be lost.

local constants = require "perigee.client.constants"
local loop = require "perigee.client.loop"
local dependency = require "perigee.client.dependency"
local uv = dependency("luv", "lua-luv", "luv")

-- The perigee command brings it.
local is_there, udp = pcall(require, "perigee.udp")

local REPEAT = 0.25 -- seconds until a request is repeated for the first time
local KEY_SIZE = 32
local CLOSED, RESET, PROTOCOL = 0, 1, 5 -- codes

---@class perigee.client.Datagrams
---@field passes boolean whether what may be lost is to go this way
---@field _answered perigee.client.Slot how the request has ended
local Datagrams = {}
Datagrams.__index = Datagrams

local datagrams = {
  --- Whether this program can do it.
  is_there = is_there,
}


local function now_us() return uv.hrtime() / 1000 end


local function new(o)
  local secret = o.udp_key or udp.random(KEY_SIZE)
  local high, low = udp.random(2):byte(1, 2)
  return setmetatable({
    passes = false,
    _line = o.line,
    _is_attached = o.udp_key ~= nil,
    _secret = secret,
    _request = {
      hash = o.hash, peer = o.peer, udp_key = o.udp_key, sequence = high * 256 + low,
      client_key = o.udp_key and udp.random(KEY_SIZE) or udp.public_key(secret),
    },
    _answered = loop.slot(),
    _unsent = {}, -- of the stream, from _first on
    _first = 1,
    _last = 0,
  }, Datagrams)
end

-- Datagrams go -----------------------------------------------------------------------------------

-- One that does not go is as good as one that is lost.
local function put(self, datagram)
  local socket = self._socket
  local function send(data)
    if not socket:is_closing() then socket:try_send(data, nil, nil) end
  end
  if self._line then return self._line:datagram("up", datagram, send) end
  send(datagram)
end


-- Gives the stream what it takes.
local function feed(self)
  while self._first <= self._last do
    local data = self._unsent[self._first]
    local taken = self._link:write(data)
    if taken < #data then
      self._unsent[self._first] = data:sub(taken + 1)
      return
    end
    self._unsent[self._first], self._first = nil, self._first + 1
  end
  if self._flushed then loop.fill(self._flushed) end
end


local pump


-- Sees to it that what is due is sent then.
local function arm(self)
  local due = self._link:deadline()
  if not due or self._due and self._due <= due then return end
  if self._stop_timer then self._stop_timer() end
  self._due = due
  self._stop_timer = loop.after((due - now_us()) / 1e6, function()
    self._stop_timer, self._due = nil, nil
    pump(self)
  end)
end


local function set_passing(self, state)
  if not self._is_attached or self._is_over then return end
  if state == "gone" then return self:_end("PingTimeout", "nothing by UDP arrives any more") end
  local passes = state == "passes"
  if passes == self.passes then return end
  self.passes = passes
  if self._on_pass then self._on_pass(passes) end
end


-- Sends what may be sent now.
local function send(self)
  local now = now_us()
  while true do
    feed(self)
    local datagram = self._link:produce(now)
    if not datagram then return end
    put(self, datagram)
  end
end


function pump(self)
  if self._is_over then return end
  send(self)
  arm(self)
  set_passing(self, self._link:passing(now_us()))
end


--- Takes a packet, where it may be lost and can go this way now.
---@param data string
---@return boolean
function Datagrams:take(data)
  if not self.passes or not self._link:send(data) then return false end
  arm(self) -- what else is sent in this turn of the loop goes with it
  return true
end


--- Alone: appends to the stream.
---@param data string
function Datagrams:write(data)
  if self._is_over then return end
  self._last = self._last + 1
  self._unsent[self._last] = data
  feed(self)
  arm(self)
end


--- Waits until the stream has taken all that was written, or it is over.
function Datagrams:flush()
  pump(self)
  if self._is_over or self._first > self._last then return end
  if not self._flushed or self._flushed.is_filled then self._flushed = loop.slot() end
  loop.wait(self._flushed)
end

-- Asking -----------------------------------------------------------------------------------------

local function stop_repeating(self)
  if self._stop_repeating then self._stop_repeating() end
  self._stop_repeating = nil
end


local function ask(self, pause)
  stop_repeating(self)
  put(self, udp.request(self._request))
  self._stop_repeating = loop.after(pause, function() ask(self, 2 * pause) end)
end


local function close_socket(self)
  if self._socket and not self._socket:is_closing() then
    self._socket:close()
    loop.poll() -- luv crashes when the program ends while one is closing
  end
end


local take


local function listen(self, socket)
  socket:recv_start(function(problem, data)
    if socket ~= self._socket or self._is_over then return end
    if problem == "ECONNREFUSED" and not self._link then return self:_try_next() end
    if not data then return end
    if not self._line then return take(self, data) end
    self._line:datagram("down", data, function(late)
      if socket == self._socket and not self._is_over then take(self, late) end
    end)
  end)
end


-- Asks the next address of the host; the answer is no when there is none.
function Datagrams:_try_next()
  close_socket(self)
  local target = table.remove(self._addresses, 1)
  if not target then
    if self._problem then return self:_end(self._problem, loop.describe(self._problem)) end
    return self:_end("ECONNREFUSED", ("nobody listens for UDP at port %d"):format(self._port))
  end
  self._socket, self._target = uv.new_udp(), target
  local is_open, _, problem = self._socket:connect(target.addr, target.port)
  if not is_open then
    self._problem = problem
    return self:_try_next()
  end
  listen(self, self._socket)
  self._request.cookie = nil
  ask(self, REPEAT)
end


-- Everything goes to the port that the answer names from now on.
local function begin(self, answer)
  if (answer.server_key == nil) ~= self._is_attached or not self._request.cookie then return end
  local link = udp.link({
    secret = self._secret, cookie = self._request.cookie, client_key = self._request.client_key,
    server_key = answer.server_key, first_sent = self._request.sequence, first_received = answer.sequence,
  }, now_us())
  if not link then return end
  if answer.port ~= self._target.port then
    self._socket:connect(nil, nil)
    self._socket:connect(self._target.addr, answer.port)
  end
  stop_repeating(self)
  self._link, self.passes = link, true
  arm(self)
  loop.fill(self._answered, true)
end


local ANSWER = {}


function ANSWER.challenge(self, answer)
  if self._request.cookie then return end -- with another it would be another connection
  self._request.cookie = answer.cookie
  ask(self, REPEAT)
end


function ANSWER.rejected(self, answer)
  self:_end(constants.CODES[answer.code] or "Unknown", answer.text, answer.retry)
end


ANSWER.accepted = begin

-- Datagrams come ---------------------------------------------------------------------------------

local ARRIVAL = {}


function ARRIVAL.packet(self, data)
  if self._on_packet then self._on_packet(data) end
end


function ARRIVAL.stream(self, data)
  if self._on_bytes then self._on_bytes(data) end
end


function ARRIVAL.close(self, code)
  self:_end(constants.CODES[code] or "Unknown", "the server closed the connection")
end


function take(self, data)
  local link = self._link
  if not link then
    local kind, answer = udp.answer(data)
    return kind and ANSWER[kind](self, answer)
  end
  local is_taken = link:receive(data, now_us())
  if is_taken == nil then
    self._close_code = PROTOCOL
    return self:_end("Protocol", "the server sent a datagram that breaks the protocol")
  end
  if not is_taken then return end
  for kind, value in link.next, link do
    ARRIVAL[kind](self, value)
    if self._is_over then return end
  end
  -- An acknowledgement tells of so many datagrams only: it does not wait for the next turn.
  local due = link:deadline()
  if due and due <= now_us() then pump(self) else arm(self) end
end

-- Beginning and end ------------------------------------------------------------------------------

--- Tells of what arrives: `on_bytes(data)` of the stream, `on_packet(data)` whole packets, and
--- `on_end(code, message)` once, when no more will. Attached: `on_pass(passes)` each time that changes.
---@param on_bytes? fun(data: string)
---@param on_end fun(code: string, message: string)
---@param on_packet fun(data: string)
---@param on_pass? fun(passes: boolean)
function Datagrams:start(on_bytes, on_end, on_packet, on_pass)
  self._on_bytes, self._on_end, self._on_packet, self._on_pass = on_bytes, on_end, on_packet, on_pass
end


--- The server hears of the end by the stream, and closes.
function Datagrams:shutdown()
  self._close_code = CLOSED
end


-- It ends by itself: who waits for the answer is told, or who was told of the beginning.
function Datagrams:_end(code, message, retry)
  self:close()
  if not self._answered.is_filled then return loop.fill(self._answered, nil, message, code, retry) end
  if self._on_end then self._on_end(code, message) end
end


--- Closes at once.
function Datagrams:close()
  if self._is_over then return end
  self._is_over, self.passes = true, false
  if self._link then
    send(self)
    -- Without a goodbye the line was lost: the session waits for its next connection.
    self._link:close(self._close_code or self._is_attached and CLOSED or RESET)
    send(self)
  end
  stop_repeating(self)
  if self._stop_timer then self._stop_timer() end
  if self._flushed then loop.fill(self._flushed) end
  close_socket(self)
end


--- How the line is: `rtt` (the newest sample, with its wait for an acknowledgement, up to 25 ms) and
--- `rtt_smooth` in seconds, 0 while they are not known; datagrams `sent` and `received`; of those that
--- were to be acknowledged, `acknowledged` and `lost`.
---@return table
function Datagrams:stats()
  local stats = self._link:stats()
  stats.rtt, stats.rtt_smooth = stats.rtt / 1e6, stats.rtt_smooth / 1e6
  return stats
end


--- Asks a server for a connection by UDP, and waits for its answer. Options: `hash` (8 bytes: the
--- protocol hash), `line` (what the datagrams pass on their way, or nil: perigee.bots.line); and to attach
--- to a session its `peer` id and `udp_key`.
---@param host string
---@param port integer
---@param o table
---@param timeout number seconds
---@return perigee.client.Datagrams?, string? message, string? code, integer? retry
function datagrams.connect(host, port, o, timeout)
  local self = new(o)
  self._port = port
  uv.getaddrinfo(host, tostring(port), { socktype = "dgram" }, function(problem, addresses)
    if self._is_over then return end
    if problem then return self:_end(problem, loop.describe(problem)) end
    self._addresses = addresses
    self:_try_next()
  end)
  local is_accepted, message, code, retry = loop.wait(self._answered, timeout)
  if is_accepted then return self end
  self:close()
  if code then return nil, message, code, retry end
  return nil, ("no answer by UDP from port %d; a firewall may block it"):format(port), "timeout"
end


return datagrams
