--- A line that is worse than the one that is there, between one bot and its server. What is lost of a
--- stream is sent again, as TCP does: it comes later, with all that is behind it. A datagram that is
--- lost is lost, and others may overtake each other.

local loop = require "perigee.client.loop"
local random = require "perigee.testing.random"

local SEGMENT = 1400 -- bytes of a stream that are lost or not, together
local RESEND = 0.2 -- seconds at least until a lost piece is sent again

---@class perigee.bots.Line
local Line = {}
Line.__index = Line

local line = {}


--- One for the bot `number`; what chance does follows from the seed.
---@param conditions { latency: number, jitter: number, loss: number } seconds, each way; 0 to 1
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

local due = {} -- millisecond -> functions: many datagrams share a timer

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


--- Calls `deliver(data)`, later or never.
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

-- How long one piece takes.
local function delay_of(conditions, chance)
  local delay = conditions.latency + conditions.jitter * chance:fraction()
  while chance:fraction() < conditions.loss do
    delay = delay + math.max(RESEND, 2 * conditions.latency)
  end
  return delay
end


-- Functions that are called one after the other, each when its time has come.
local function queue(conditions, chance)
  local first, last, waiting, due_last, stop = 1, 0, {}, 0, nil
  local self = {}

  local function run()
    while first <= last and waiting[first].due <= loop.now() do
      local fn = waiting[first].fn
      waiting[first], first = nil, first + 1
      fn()
    end
    stop = first <= last and loop.after(waiting[first].due - loop.now(), run) or nil
    if not stop and self.on_empty then self.on_empty() end
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

  function self.is_empty() return first > last end

  function self.clear()
    first, last, waiting = 1, 0, {}
    if stop then stop() end
    stop = nil
    if self.on_empty then self.on_empty() end
  end

  return self
end


-- Has what perigee.client.loop's connections have.
local Stream = {}
Stream.__index = Stream


--- A connection that goes over this line.
---@param transport perigee.client.Transport
---@return table
function Line:stream(transport)
  return setmetatable({
    _transport = transport,
    _up = queue(self._conditions, self._chance.up), _down = queue(self._conditions, self._chance.down),
  }, Stream)
end


function Stream:start(on_bytes, on_end)
  self._transport:start(function(data)
    self._down.add_data(data, on_bytes)
  end, function(code, message)
    self._down.add(function() on_end(code, message) end)
  end)
end


function Stream:host() return self._transport:host() end


function Stream:write(data)
  self._up.add_data(data, function(piece) self._transport:write(piece) end)
end


function Stream:shutdown()
  self._up.add(function() self._transport:shutdown() end)
end


function Stream:flush()
  if not self._up.is_empty() then
    if not self._flushed or self._flushed.is_filled then self._flushed = loop.slot() end
    self._up.on_empty = function() loop.fill(self._flushed) end
    loop.wait(self._flushed)
  end
  self._transport:flush()
end


function Stream:close()
  self._up.clear()
  self._down.clear()
  self._transport:close()
end


return line
