--- The network between one client and the server: latency, loss, bandwidth, and the end of the connection.
--- Bytes in one direction arrive in order, as in any stream; jitter varies the time between them.

local failure = require "perigee.testing.failure"
local wire = require "perigee.testing.wire"

local HUGE = math.huge
local WINDOW_MIN = 512 -- bytes; smallest window of a slow client
local WINDOW_DEFAULT = 256 * 1024

--- The conditions of a network. Each may change at any time.
---@class perigee.testing.Conditions
---@field latency? number seconds of latency, each way
---@field jitter? number largest additional latency in seconds
---@field loss? number share (0 to 1) of lost unreliable packets, each way
---@field bandwidth? number bytes a second, each way
---@field read_rate? number bytes a second that a slow client reads
---@field window? integer bytes that may wait at the client before output waits in the server

local KEYS = { "latency", "jitter", "loss", "bandwidth", "read_rate", "window" }
local IS_KEY = {}
for _, key in ipairs(KEYS) do IS_KEY[key] = true end

---@class perigee.testing.Link
---@field state "open"|"stalled"|"vanished"|"over"
local Link = {}
Link.__index = Link

local link = { KEYS = KEYS }


-- Conditions ------------------------------------------------------------------------------------

--- Raises an error for impossible conditions.
---@param conditions perigee.testing.Conditions
function link.check(conditions)
  for key, value in pairs(conditions) do
    if not IS_KEY[key] then
      failure.misuse("there is no network condition %q; there are %s", tostring(key),
        table.concat(KEYS, ", "))
    end
    failure.check(key, value, "number")
    if value < 0 or key == "loss" and value > 1 then
      failure.misuse("%s cannot be %s", key, value)
    end
  end
end


--- Changes some of the conditions, from now on.
---@param conditions perigee.testing.Conditions
function Link:set(conditions)
  link.check(conditions)
  for key, value in pairs(conditions) do self._conditions[key] = value end
  local now = self._conditions
  self._latency = (now.latency or 0) * 1000
  self._jitter = (now.jitter or 0) * 1000
  self._loss = now.loss or 0
  self._up_rate = now.bandwidth or HUGE
  self._down_rate = math.min(now.bandwidth or HUGE, now.read_rate or HUGE)
  local window = now.window
  if not window then
    window = self._down_rate == HUGE and WINDOW_DEFAULT
      or math.min(WINDOW_DEFAULT, math.max(WINDOW_MIN, math.floor(self._down_rate / 10)))
  end
  if self.state ~= "over" then self._end.window(window) end
end


--- Returns a link. `server_end` has the functions of the server's side: write(bytes), read(), which returns
--- bytes and ending, shutdown(), reset() and window(bytes). `client_end` has on_bytes(bytes) and
--- on_end(ending).
---@param clock perigee.testing.Clock
---@param random perigee.testing.Random
---@param server_end table
---@param client_end table
---@param is_packets boolean whether the stream consists of packets
---@return perigee.testing.Link
function link.new(clock, random, server_end, client_end, is_packets)
  return setmetatable({
    state = "open",
    _clock = clock,
    _random = random,
    _end = server_end,
    _client = client_end,
    _is_packets = is_packets,
    _conditions = {},
    _up = {}, _up_first = 1, _up_last = 0, -- operations in transit, oldest first
    _down = {}, _down_first = 1, _down_last = 0,
    _up_at = 0, _down_at = 0, -- arrival times of the newest operations
    _up_free = 0, _down_free = 0, -- times at which the line has sent everything so far
    _held = {}, -- operations of a stalled client
    _rest = "", -- incomplete packet at the end of a stream of packets
  }, Link)
end


local function delay(self)
  local jitter = self._jitter
  return self._latency + (jitter > 0 and jitter * self._random:fraction() or 0)
end


-- To the server ---------------------------------------------------------------------------------

-- Operations other than bytes.
local SHUTDOWN, RESET = {}, {}


local function carry_out(self, operation)
  if operation == SHUTDOWN then
    if not self._is_shut then self._end.shutdown() end
    self._is_shut = true
  elseif operation == RESET then
    self._end.reset()
  else
    self._end.write(operation)
  end
end


local function arrive_up(self)
  local first = self._up_first
  if first > self._up_last then return end -- the operation was dropped meanwhile
  local operation = self._up[first]
  self._up[first], self._up_first = nil, first + 1
  carry_out(self, operation)
end


local function travel_up(self, operation)
  local now = self._clock.now
  local at = math.max(now, self._up_free)
  if self._up_rate < HUGE and type(operation) == "string" then
    at = at + #operation / self._up_rate * 1000
    self._up_free = at
  end
  at = math.ceil(math.max(at + delay(self), self._up_at))
  self._up_at = at
  if at <= now and self._up_first > self._up_last then return carry_out(self, operation) end
  self._up_last = self._up_last + 1
  self._up[self._up_last] = operation
  self._clock:at(at, arrive_up, self)
end


local function send(self, operation)
  if self.state == "open" then
    travel_up(self, operation)
  elseif self.state == "stalled" then
    self._held[#self._held + 1] = operation
  end
end


-- Decides which packets are lost. Returns the other packets, and the incomplete packet at the end of `data`.
local function lose(self, data)
  local kept, at = {}, 1
  while true do
    local stop, channel, number, flags = wire.scan(data, at)
    if not stop then break end
    local is_lost = wire.may_be_lost(channel, number, flags)
      and self._random:fraction() < self._loss
    if not is_lost then kept[#kept + 1] = data:sub(at, stop) end
    at = stop + 1
  end
  return table.concat(kept), data:sub(at)
end


--- Sends whole packets, or one line.
---@param bytes string
function Link:send(bytes)
  if self._loss > 0 and self._is_packets then
    local kept, left = lose(self, bytes)
    bytes = kept .. left
  end
  if bytes ~= "" then send(self, bytes) end
end


-- To the client ---------------------------------------------------------------------------------

-- Delivers bytes and the end of the stream to the client. After an orderly end, the client may still close
-- its own side.
local function deliver(self, bytes, ending)
  if self.state == "vanished" or self.state == "over" then return end
  if bytes ~= "" then self._client.on_bytes(bytes) end
  if not ending or self.state == "over" then return end
  if ending == "reset" then self.state = "over" end
  self._client.on_end(ending)
end


-- Delivers bytes to the client; keeps them for later while the client is stalled.
local function arrive_down(self)
  local first = self._down_first
  if self.state == "stalled" or first > self._down_last then return end
  local item = self._down[first]
  if item.at > self._clock.now then return end -- `resume` has already delivered the bytes
  self._down[first], self._down_first = nil, first + 1
  deliver(self, item.bytes, item.ending)
end


local function pull_later(self)
  self:pull()
end


-- Keeps the line busy while it carries `size` bytes, so that later output waits in the server. Returns the
-- time at which the line is free again.
local function slow_down(self, size)
  if self._down_rate == HUGE or size == 0 then return self._clock.now end
  self._down_free = math.ceil(self._clock.now + size / self._down_rate * 1000)
  self._clock:at(self._down_free, pull_later, self)
  return self._down_free
end


--- Takes the server's new output if the client reads.
function Link:pull()
  local now = self._clock.now
  if self.state ~= "open" or self._has_ended or now < self._down_free then return end
  local bytes, ending = self._end.read()
  if bytes == "" and not ending then return end
  self._has_ended = ending ~= nil
  local at = slow_down(self, #bytes)
  if self._is_packets and (self._loss > 0 or self._rest ~= "") then
    bytes, self._rest = lose(self, self._rest .. bytes)
  end
  at = math.ceil(math.max(at + delay(self), self._down_at))
  self._down_at = at
  if at <= now and self._down_first > self._down_last then return deliver(self, bytes, ending) end
  self._down_last = self._down_last + 1
  self._down[self._down_last] = { at = at, bytes = bytes, ending = ending }
  self._clock:at(at, arrive_down, self)
end


-- Ends and pauses -------------------------------------------------------------------------------

--- Stalls the client: it does not read, and its output waits.
function Link:stall()
  if self.state == "open" then self.state = "stalled" end
end


--- Ends the stall: the client reads again, and sends its output.
function Link:resume()
  if self.state ~= "stalled" then return end
  self.state = "open"
  local held = self._held
  self._held = {}
  for _, operation in ipairs(held) do send(self, operation) end
  while self._down[self._down_first] and self._down[self._down_first].at <= self._clock.now do
    arrive_down(self)
  end
  self:pull()
end


--- Loses all bytes in both directions from now on, without notice to either side.
function Link:vanish()
  if self.state == "over" then return end
  self.state = "vanished"
  self._up, self._up_first, self._up_last, self._held = {}, 1, 0, {}
end


--- Sends the end of the client's stream; the client continues to read.
function Link:shutdown()
  send(self, SHUTDOWN)
end


-- Ends the client's side with a last operation for the server.
local function finish(self, operation)
  if self.state == "over" then return end
  if self.state == "stalled" then self.state = "open" end
  send(self, operation)
  self.state = "over"
end


--- Closes the client's socket after its output has been sent.
function Link:close()
  if self.state == "stalled" then self:resume() end
  finish(self, SHUTDOWN)
end


--- Ends the client and drops its unsent output; the system closes its socket.
function Link:kill()
  self._held = {}
  finish(self, SHUTDOWN)
end


--- Resets the connection. The server still receives the bytes that the client sent earlier, except those of a
--- stall.
function Link:reset()
  self._held = {}
  finish(self, RESET)
end


return link
