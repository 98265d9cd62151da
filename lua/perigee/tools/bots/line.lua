--- Simulates a bad network between one bot and its server. A lost piece of a stream is sent again, as in TCP,
--- so this piece and all later pieces are delayed. Lost datagrams are not sent again, and datagrams may
--- overtake each other.

local core = require "perigee.client.core"
local loop = require "perigee.client.loop"
local random = require "perigee.testing.random"
local uv = require "perigee.tools.uv"

local SEGMENT = 1400 -- bytes of a stream that are lost together
local RESEND = 0.2 -- seconds; shortest time until a lost piece is sent again

---@class perigee.bots.Line
local Line = {}
Line.__index = Line

local line = {}


--- Returns the line of bot `number`. Its random numbers are derived from the seed.
---@param conditions { latency: number, jitter: number, loss: number } in seconds, each way; loss: 0 to 1
---@param seed integer
---@param number integer
---@return perigee.bots.Line
function line.new(conditions, seed, number)
  local chance = {}
  for i, name in ipairs { "up", "down", "datagrams_up", "datagrams_down" } do
    chance[name] = random.new(seed, i, number)
  end
  return setmetatable({ _conditions = conditions, _chance = chance }, Line)
end

-- Datagrams --------------------------------------------------------------------------------------

local due = {} -- millisecond -> functions; one timer serves all functions of a millisecond

local function later(seconds, fn)
  local at = math.ceil((loop.now() + seconds) * 1000)
  if due[at] then
    table.insert(due[at], fn)
    return
  end
  due[at] = { fn }
  loop.after(at / 1000 - loop.now(), function()
    local list = due[at]
    due[at] = nil
    for _, each in ipairs(list) do each() end
  end)
end


--- Calls `deliver(data)` later, or never if the datagram is lost.
---@param direction "up"|"down"
---@param data string
---@param deliver fun(data: string)
function Line:datagram(direction, data, deliver)
  local conditions, chance = self._conditions, self._chance["datagrams_" .. direction]
  if chance:fraction() < conditions.loss then return end
  local delay = conditions.latency + conditions.jitter * chance:fraction()
  if delay == 0 then return deliver(data) end
  later(delay, function() deliver(data) end)
end

-- Streams ----------------------------------------------------------------------------------------

-- Returns the delay of one piece.
local function delay_of(conditions, chance)
  local delay = conditions.latency + conditions.jitter * chance:fraction()
  while chance:fraction() < conditions.loss do
    delay = delay + math.max(RESEND, 2 * conditions.latency)
  end
  return delay
end


--- Returns a queue that calls its functions in order, each after its delay.
---@param conditions table
---@param chance perigee.testing.Random
function line.queue(conditions, chance)
  local first, last, waiting, due_last, stop = 1, 0, {}, 0, nil
  local self = {}

  local function run()
    while first <= last and waiting[first].due <= loop.now() do
      local fn = waiting[first].fn
      waiting[first], first = nil, first + 1
      fn()
    end
    stop = first <= last and loop.after(waiting[first].due - loop.now(), run) or nil
  end

  function self.add(fn)
    due_last = math.max(due_last, loop.now() + delay_of(conditions, chance))
    last = last + 1
    waiting[last] = { due = due_last, fn = fn }
    stop = stop or loop.after(due_last - loop.now(), run)
  end

  function self.add_data(data, deliver)
    for at = 1, #data, SEGMENT do
      local piece = data:sub(at, at + SEGMENT - 1)
      self.add(function() deliver(piece) end)
    end
  end

  function self.clear()
    first, last, waiting = 1, 0, {}
    if stop then stop() end
    stop = nil
  end

  return self
end


-- Clients ----------------------------------------------------------------------------------------

local CLOSED, RESET, UNREACHABLE = 0, 1, -2 -- PerigeeCode

local REASONS = {
  ECONNREFUSED = "Connection refused", EHOSTUNREACH = "No route to host",
  ENETUNREACH = "Network is unreachable", EMFILE = "Too many open files", ECONNRESET = "connection reset",
}


--- Begins a client on this line. The client has a core without sockets; luv's sockets are at the other end of
--- the line.
---@param client perigee.Client
---@param host string
---@param port integer
---@param options table options of perigee.client.core
---@return userdata? core, string? code
function Line:open(client, host, port, options)
  local conditions, chance = self._conditions, self._chance
  local half, code = core.new(options, loop.now())
  if not half then return nil, code end
  self._client, self._core, self._host, self._port = client, half, host, port
  self._up, self._down = line.queue(conditions, chance.up), line.queue(conditions, chance.down)
  self._is_alone, self._connection = options.transport == "udp", 0
  loop.spawn(self.work, self)
  return half
end


-- Reports that the connection has ended or cannot be opened.
function Line:_end(number, code, text)
  if number ~= self._connection or not self._core then return end
  self._core:ended(code, text, loop.now())
  self:work()
end


local function close(socket)
  if socket and not socket:is_closing() then socket:close() end
end


function Line:_close()
  self._up.clear()
  self._down.clear()
  close(self._tcp)
  close(self._udp)
  self._tcp, self._udp = nil, nil
end


function Line:_refuse(number, problem)
  local text = problem == "EAI_NONAME" and ("cannot find the host %s: no such host"):format(self._host)
    or ("cannot connect to %s:%d: %s"):format(self._host, self._port, REASONS[problem] or problem)
  self:_end(number, UNREACHABLE, text)
end


function Line:_opened(number)
  if number ~= self._connection or not self._core then return end
  self._core:opened(loop.now())
  self:work()
end


function Line:_read(number)
  self._tcp:read_start(function(problem, data)
    if data then
      self._down.add_data(data, function(piece)
        if number ~= self._connection or not self._core then return end
        self._core:receive(piece, loop.now())
        self:work()
      end)
    else
      self._down.add(function()
        if problem then return self:_end(number, RESET, REASONS[problem] or problem) end
        self:_end(number, CLOSED, "the server closed the connection")
      end)
    end
  end)
end


function Line:_connect(number)
  uv.getaddrinfo(self._host, tostring(self._port), { socktype = "stream" }, function(problem, addresses)
    if number ~= self._connection or not self._core then return end
    if problem then return self:_refuse(number, problem) end
    self._address = addresses[1].addr
    if self._is_alone then return self:_opened(number) end
    local tcp = uv.new_tcp()
    self._tcp = tcp
    tcp:connect(self._address, self._port, function(why)
      if tcp ~= self._tcp then return end
      if why then return self:_refuse(number, why) end
      tcp:nodelay(true)
      self:_read(number)
      self:_opened(number)
    end)
  end)
end


function Line:_new_socket()
  local socket = uv.new_udp()
  socket:recv_start(function(_, data)
    if not data then return end
    self:datagram("down", data, function(late)
      if socket ~= self._udp or not self._core then return end
      self._core:receive_datagram(late, loop.now())
      self:work()
    end)
  end)
  return socket
end


function Line:_send(now)
  local output, tcp = self._core:output(now), self._tcp
  if output ~= "" and tcp then
    self._up.add_data(output, function(piece)
      if not tcp:is_closing() then tcp:write(piece) end
    end)
  end
  while true do
    local data, port = self._core:next_datagram(now)
    if not data then return end
    self._udp = self._udp or self:_new_socket()
    local socket, to = self._udp, port > 0 and port or self._port
    self:datagram("up", data, function(late)
      if not socket:is_closing() then socket:try_send(late, self._address, to) end
    end)
  end
end


-- Sets the timer for the next `work` that the core needs.
local function arm(self)
  local at = self._core:due()
  if at == self._due and self._stop then return end
  if self._stop then self._stop() end
  self._due = at
  self._stop = at and loop.after(at - loop.now(), function()
    self._stop = nil
    self:work()
  end)
end


--- Carries the client's output and handles its events.
function Line:work()
  if not self._core or self._is_working then return end
  local now = loop.now()
  self._is_working = true
  self._core:advance(now)
  local number = self._core:connection()
  if number ~= self._connection then
    self:_send(now) -- sends the last datagram
    self:_close()
    self._connection = number
    if number ~= 0 then self:_connect(number) end
  end
  self:_send(now)
  local ok, problem = pcall(self._client._drain, self._client)
  self._is_working = false
  if self._core then
    self:_send(now) -- sends the output of the events' handlers
    arm(self)
  end
  if not ok then loop.enter(error, problem, 0) end -- the loop raises the error
end


--- Closes the line together with its client.
function Line:close()
  if self._stop then self._stop() end
  self:_send(loop.now())
  self._core = nil
  self:_close()
end


return line
