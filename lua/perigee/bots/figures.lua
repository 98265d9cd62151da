--- What is counted while bots run, and how it is told.

local client = require "perigee.client"

-- Latencies are counted in classes, each wider than the one below by this factor: 2 % is as exact as
-- they are told.
local FACTOR = 1.02
local LEAST = 1e-6 -- seconds

---@class perigee.bots.Figures
---@field connected integer bots that are in at the moment
local Figures = {}
Figures.__index = Figures

local figures = {}


---@param count integer bots
---@return perigee.bots.Figures
function figures.new(count)
  return setmetatable({
    count = count,
    start = client.now(),
    connected = 0, came = 0,
    sent = 0, received = 0, sent_bytes = 0, received_bytes = 0,
    disconnected = 0, resumed = 0, lost = 0,
    failures = 0,
    _classes = {}, _class_last = 0, _sample_count = 0, _most = 0,
    _errors = {}, _error_order = {},
    _last = { time = client.now(), sent = 0, received = 0 },
  }, Figures)
end


---@param seconds number
function Figures:add_latency(seconds)
  local class = math.max(0, math.ceil(math.log(seconds / LEAST) / math.log(FACTOR)))
  self._classes[class] = (self._classes[class] or 0) + 1
  self._class_last = math.max(self._class_last, class)
  self._sample_count = self._sample_count + 1
  self._most = math.max(self._most, seconds)
end


--- Counts an error; the same text is told once.
---@param text string
function Figures:add_error(text)
  if not self._errors[text] then
    self._errors[text] = 0
    table.insert(self._error_order, text)
  end
  self._errors[text] = self._errors[text] + 1
end


--- How many errors there were.
---@return integer
function Figures:errors()
  local sum = 0
  for _, count in pairs(self._errors) do sum = sum + count end
  return sum
end


--- The latency that so many of 100 are not above, in seconds; nil without any.
---@param percent number
---@return number?
function Figures:percentile(percent)
  if self._sample_count == 0 then return nil end
  local left = percent / 100 * self._sample_count
  for class = 0, self._class_last do
    left = left - (self._classes[class] or 0)
    if left <= 0 then return math.min(LEAST * FACTOR ^ class, self._most) end
  end
  return self._most
end


local function milliseconds(seconds)
  return seconds and ("%.1f ms"):format(seconds * 1000) or "-"
end


local function bytes(count)
  if count < 10240 then return ("%d B"):format(count) end
  if count < 10485760 then return ("%.0f KiB"):format(count / 1024) end
  return ("%.1f MiB"):format(count / 1048576)
end


--- One line of how it goes, with the rates since the last one.
---@return string
function Figures:status()
  local now, last = client.now(), self._last
  local time = math.max(now - last.time, 1e-3)
  local line = ("%4.0f s  %d of %d in, %.0f messages/s in, %.0f/s out, latency %s (99 %%: %s)"):format(
    now - self.start, self.connected, self.count, (self.received - last.received) / time,
    (self.sent - last.sent) / time, milliseconds(self:percentile(50)), milliseconds(self:percentile(99)))
  if self:errors() > 0 then line = line .. (", %d errors"):format(self:errors()) end
  self._last = { time = now, sent = self.sent, received = self.received }
  return line
end


local function traffic(what, count, seconds, size)
  return ("%-8s  %d messages, %.0f/s, %s"):format(what, count, count / seconds, bytes(size))
end


local function rows(self)
  local seconds = client.now() - self.start
  local list = {
    ("%d of %d bots came in, %d were still there at the end"):format(self.came, self.count, self.connected),
    traffic("received", self.received, seconds, self.received_bytes),
    traffic("sent", self.sent, seconds, self.sent_bytes),
  }
  local lines = {}
  for _, percent in ipairs { 50, 90, 99, 100 } do
    local name = percent == 100 and "max" or percent .. " %"
    table.insert(lines, name .. " " .. milliseconds(self:percentile(percent)))
  end
  table.insert(list, ("latency   %s (%d pings)"):format(table.concat(lines, ", "), self._sample_count))
  if self.disconnected > 0 then
    table.insert(list, ("lines     %d lost, %d sessions resumed, %d begun anew"):format(
      self.disconnected, self.resumed, self.lost))
  end
  return list
end


--- What is told at the end: several lines.
---@return string
function Figures:summary()
  local list = { ("-- %.1f s --"):format(client.now() - self.start) }
  for _, row in ipairs(rows(self)) do table.insert(list, row) end
  table.insert(list, ("errors    %d"):format(self:errors()))
  for _, text in ipairs(self._error_order) do
    table.insert(list, ("  %d x %s"):format(self._errors[text], text))
  end
  return table.concat(list, "\n") .. "\n"
end


return figures
