--- Counts events while bots run, and reports the figures.

local client = require "perigee.client"
local safe = require("perigee.tools.connect.text").safe

-- Latencies are counted in classes. Each class is wider than the previous class by this factor, so that
-- reports are exact to 2 %.
local FACTOR = 1.02
local LEAST = 1e-6 -- seconds; upper end of the first class
local TEXTS_MAX = 100 -- different errors in a report

--- Counted latencies.
---@class perigee.bots.Latencies
---@field count integer samples
local Latencies = {}
Latencies.__index = Latencies


local function latencies()
  return setmetatable({ count = 0, _classes = {}, _class_last = 0, _most = 0 }, Latencies)
end


---@param seconds number
function Latencies:add(seconds)
  local class = math.max(0, math.ceil(math.log(seconds / LEAST) / math.log(FACTOR)))
  self._classes[class] = (self._classes[class] or 0) + 1
  self._class_last = math.max(self._class_last, class)
  self.count = self.count + 1
  self._most = math.max(self._most, seconds)
end


--- Returns a percentile of the latencies in seconds; nil if no latency was added.
---@param percent number
---@return number?
function Latencies:percentile(percent)
  if self.count == 0 then return nil end
  local left = percent / 100 * self.count
  for class = 0, self._class_last do
    left = left - (self._classes[class] or 0)
    if left <= 0 then return math.min(LEAST * FACTOR ^ class, self._most) end
  end
  return self._most
end


---@class perigee.bots.Figures
---@field connected integer bots that are connected now
---@field pings perigee.bots.Latencies
---@field datagrams perigee.bots.Latencies
local Figures = {}
Figures.__index = Figures

local figures = {}


---@param count integer bots
---@param udp? "attached"|"alone"
---@return perigee.bots.Figures
function figures.new(count, udp)
  return setmetatable({
    count = count,
    udp = udp,
    start = client.now(),
    connected = 0, came = 0,
    sent = 0, received = 0, sent_bytes = 0, received_bytes = 0, sent_by_udp = 0, received_by_udp = 0,
    disconnected = 0, resumed = 0, restored = 0, lost = 0,
    failures = 0,
    pings = latencies(), datagrams = latencies(),
    with_udp = 0, datagrams_sent = 0, datagrams_lost = 0, datagrams_settled = 0,
    _errors = {}, _fallbacks = {}, -- texts in the order of their first occurrence, and text -> count
    _last = { time = client.now(), sent = 0, received = 0 },
  }, Figures)
end


-- Counts a text; a report shows each text once with its count. The text may come from the server, so it is
-- made safe for a terminal, and its later lines are indented.
local function count_text(texts, text)
  local lines = {}
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = safe((line:match "^%s*(.*)$")) end
  text = table.concat(lines, "\n      ")
  if not texts[text] and #texts >= TEXTS_MAX then text = "others" end
  if not texts[text] then
    texts[text] = 0
    table.insert(texts, text)
  end
  texts[text] = texts[text] + 1
end


---@param text string
function Figures:add_error(text)
  count_text(self._errors, text)
end


--- Counts a bot that continues without UDP.
---@param why string
function Figures:add_fallback(why)
  count_text(self._fallbacks, why)
end


--- Returns the number of errors.
---@return integer
function Figures:errors()
  local sum = 0
  for _, text in ipairs(self._errors) do sum = sum + self._errors[text] end
  return sum
end


local function milliseconds(seconds)
  return seconds and ("%.1f ms"):format(seconds * 1000) or "-"
end


local function bytes(count)
  if count < 10240 then return ("%d B"):format(count) end
  if count < 10485760 then return ("%.0f KiB"):format(count / 1024) end
  return ("%.1f MiB"):format(count / 1048576)
end


--- Returns a status line, with the rates since the previous status line.
---@return string
function Figures:status()
  local now, last = client.now(), self._last
  local time = math.max(now - last.time, 1e-3)
  local function latency(of)
    return ("%s (99 %%: %s)"):format(milliseconds(of:percentile(50)), milliseconds(of:percentile(99)))
  end
  local line = ("%4.0f s  %d of %d in, %.0f messages/s in, %.0f/s out, latency %s"):format(
    now - self.start, self.connected, self.count, (self.received - last.received) / time,
    (self.sent - last.sent) / time, latency(self.pings))
  if self.udp then line = line .. ", datagrams " .. latency(self.datagrams) end
  if self:errors() > 0 then line = line .. (", %d errors"):format(self:errors()) end
  self._last = { time = now, sent = self.sent, received = self.received }
  return line
end


--- Adds the counters of a bot's datagrams. Call it before the bot's client is closed.
---@param c perigee.Client
function Figures:add_udp(c)
  local udp = c:stats().udp
  if not udp then return end
  self.with_udp = self.with_udp + 1
  self.datagrams_sent = self.datagrams_sent + udp.sent
  self.datagrams_lost = self.datagrams_lost + udp.lost
  self.datagrams_settled = self.datagrams_settled + udp.lost + udp.acknowledged
end


-- Names of the two paths of packets for each value of --udp.
local WAYS = {
  attached = { "TCP: ", "UDP: ", share = "by UDP" },
  alone = { "reliable:  ", "datagrams: ", share = "unreliable" },
}


local function traffic(self, what, seconds)
  local count, by_udp = self[what], self[what .. "_by_udp"]
  local row = ("%-8s  %d messages, %.0f/s, %s"):format(what, count, count / seconds,
    bytes(self[what .. "_bytes"]))
  if not self.udp then return row end
  return row .. (", %.0f %% %s"):format(100 * by_udp / math.max(count, 1), WAYS[self.udp].share)
end


local function spread(latencies_of, unit)
  local list = {}
  for _, percent in ipairs { 50, 90, 99, 100 } do
    local name = percent == 100 and "max" or percent .. " %"
    table.insert(list, name .. " " .. milliseconds(latencies_of:percentile(percent)))
  end
  return ("%s (%d %s)"):format(table.concat(list, ", "), latencies_of.count, unit)
end


local function udp_rows(self)
  local ways, settled = WAYS[self.udp], self.datagrams_settled
  local lost = settled > 0 and ("%.1f %%"):format(100 * self.datagrams_lost / settled) or "-"
  return {
    "latency   " .. ways[1] .. spread(self.pings, "pings"),
    "          " .. ways[2] .. spread(self.datagrams, "round trips"),
    ("udp       %d of %d bots, %d datagrams sent, %s lost on the way"):format(self.with_udp, self.came,
      self.datagrams_sent, lost),
  }
end


local function rows(self)
  local seconds = client.now() - self.start
  local list = {
    ("%d of %d bots came in, %d were still there at the end"):format(self.came, self.count, self.connected),
    traffic(self, "received", seconds),
    traffic(self, "sent", seconds),
  }
  local rest = self.udp and udp_rows(self) or { "latency   " .. spread(self.pings, "pings") }
  for _, row in ipairs(rest) do table.insert(list, row) end
  for _, text in ipairs(self._fallbacks) do
    table.insert(list, ("          %d x TCP alone: %s"):format(self._fallbacks[text], text))
  end
  if self.disconnected > 0 then
    table.insert(list, ("lines     %d lost, %d sessions resumed, %d begun anew"):format(
      self.disconnected, self.resumed + self.restored, self.lost))
  end
  return list
end


--- Returns the final report, which has several lines.
---@return string
function Figures:summary()
  local list = { ("-- %.1f s --"):format(client.now() - self.start) }
  for _, row in ipairs(rows(self)) do table.insert(list, row) end
  table.insert(list, ("errors    %d"):format(self:errors()))
  for _, text in ipairs(self._errors) do
    table.insert(list, ("  %d x %s"):format(self._errors[text], text))
  end
  return table.concat(list, "\n") .. "\n"
end


return figures
