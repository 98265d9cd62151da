--- One bot: a client that a script controls. A bot has all fields and methods of a client
--- (docs/lua-client.md) and the methods below. The figures count all its packets.

local client = require "perigee.client"
local check_methods = require "perigee.client.methods"
local random = require "perigee.testing.random"
local describe = require "perigee.util.describe"

local LATE_WAITS = 100 -- calls of `wait` that return at once after the end of the run
local KEPT = 16 -- newest events without a handler that a bot keeps until its script first calls `recv`
local HEADER_SIZE = 12
local IS_LINE = { disconnected = true, resumed = true, restored = true, lost = true }
local IS_SENT = { join = true, leave = true, list_rooms = true, send = true, send_bytes = true, ask = true,
  ask_bytes = true, answer = true, answer_bytes = true, relay = true, send_packet = true, ask_packet = true,
  send_to = true, ask_peer = true }
local IS_MESSAGE = { message = true, ask = true, broadcast = true, packet = true }

---@class perigee.Bot : perigee.Client
---@field number integer number of the bot, from 1 up
---@field client perigee.Client the bot itself
---@field _run table
local Bot = { _late_waits = 0 }
local Client -- class of perigee.client; nil before the first bot

local bots = {
  --- The error that ends a script which continues endlessly after the end of the run.
  OVER = {},
}


function Bot.__index(self, key)
  local own = Bot[key]
  if own ~= nil then return own end
  if key == "client" then return self end
  return Client.__index(self, key)
end


--- Returns whether the bot should continue. It should stop when the run or its connection has finally ended.
---@return boolean
function Bot:is_running()
  return not self._run.is_over and not self.reason
end


--- Lets time pass. Returns early if the run or the connection ends. Returns the result of `is_running`.
---@param seconds? number nil: until the run or the connection ends
---@return boolean
function Bot:wait(seconds)
  if seconds ~= nil and type(seconds) ~= "number" then
    error(("%sbot:wait takes seconds, not %s"):format(describe.where(), describe.kind(seconds)), 0)
  end
  if self:is_running() then return self._run.wait(seconds, self) end
  self._late_waits = self._late_waits + 1
  if self._late_waits > LATE_WAITS then error(bots.OVER, 0) end
  return false
end


--- Returns a number from 0 to just below 1, or a whole number from 1 to `count`. Each bot has its own
--- sequence, which is the same in each run with the same seed.
---@param count? integer
---@return number
function Bot:random(count)
  if count and (type(count) ~= "number" or count < 1) then
    error(("%sbot:random takes a number from 1 up, or nothing, not %s"):format(describe.where(),
      type(count) == "number" and count or describe.kind(count)), 0)
  end
  self._chance = self._chance or random.new(self._run.seed, self.number)
  if count then return self._chance:pick(count) end
  return self._chance:fraction()
end


--- Handles events like `on` of a client. An error in the handler counts as an error of the bot.
---@param type string
---@param fn? fun(event: table)
function Bot:on(type, fn)
  Client.on(self, type, fn and function(event) self._run.try(self, fn, event) end)
end


--- Handles requests like `on_ask` of a client. An error in the handler counts as an error of the bot.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function Bot:on_ask(name, fn)
  Client.on_ask(self, name, fn and function(value, room) return self._run.try(self, fn, value, room) end)
end


--- Returns the next event that has no handler, like `recv` of a client.
---@param timeout? number seconds
---@return table? event, string? reason
function Bot:recv(timeout)
  self._receives = true
  return Client.recv(self, timeout)
end


-- Figures ----------------------------------------------------------------------------------------

-- Counts a call if it sends a packet.
function Bot:_begin(method, ...)
  local by_udp = self.udp and self:stats().udp
  local result, message, code = Client._begin(self, method, ...)
  if not result or not IS_SENT[method] then return result, message, code end
  local figures, size = self._run.figures, HEADER_SIZE
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if type(part) == "string" then size = size + #part end
  end
  figures.sent, figures.sent_bytes = figures.sent + 1, figures.sent_bytes + size
  local udp = by_udp and self:stats().udp
  if udp then figures.sent_by_udp = figures.sent_by_udp + udp.packets_sent - by_udp.packets_sent end
  return result
end


-- Counts an event, and handles the end of the connection.
function Bot:_take(event)
  local figures = self._run.figures
  if IS_MESSAGE[event.type] then
    figures.received = figures.received + 1
    if event.by_udp then figures.received_by_udp = figures.received_by_udp + 1 end
    local data = event.body or event.payload or event.data or ""
    figures.received_bytes = figures.received_bytes + HEADER_SIZE + #data
  end
  Client._take(self, event)
  if event.type == "closed" then self._run.wake(self) end
end


function Bot:_publish(event)
  local figures = self._run.figures
  local is_new = not event.is_counted -- an event that waited for a handler is published twice
  event.is_counted = true
  if is_new and IS_LINE[event.type] then figures[event.type] = figures[event.type] + 1 end
  if is_new and event.type == "udp_down" then figures:add_fallback(event.message) end
  Client._publish(self, event)
  -- Drops the oldest event, because most scripts never call `recv`, and bots run for long.
  if not self._receives and self._last - self._first == KEPT then Client.recv(self, 0) end
end


-- Makes a connected client a bot.
local function adopt(c, number, run)
  if not Client then
    Client = getmetatable(c)
    check_methods(Bot, "client") -- errors call it a client, as they do for methods of clients
  end
  c.number, c._run = number, run
  return setmetatable(c, Bot)
end


--- Measures a bot's round trip to the server.
---@param c perigee.Client
---@param figures perigee.bots.Figures
function bots.measure(c, figures)
  local seconds = c.connected and c:ping(5)
  if seconds then figures.pings:add(seconds) end
  local udp = c.udp and c:stats().udp
  if udp and udp.rtt > 0 then figures.datagrams:add(udp.rtt) end
end


-- Sets the handlers of a script that is a table. `bots.play` calls its `run`.
local function set_handlers(self, script)
  local on_message = script.on_message
  if on_message then
    self:on("message", function(event)
      local handler = on_message[event.name]
      if handler then handler(self, event.value, event.room) end
    end)
  end
  for name, handler in pairs(script.on_ask or {}) do
    self:on_ask(name, function(value, room) return handler(self, value, room) end)
  end
end


--- Connects a bot. `run` has the fields is_over, figures, script (a function or a table), seed, try, wait,
--- wake and line. Without a connection, counts an error and returns nil.
---@param number integer
---@param chosen table options
---@param run table
---@return perigee.Bot?
function bots.connect(number, chosen, run)
  local figures = run.figures
  local c, message, code = client.connect(run.address, {
    name = chosen.name .. number, token = chosen.token, schema = chosen.schema,
    udp = chosen.udp, line = run.line(number),
  })
  local hint = code == "EAI_NONAME" and ", nor a game of that name" or ""
  if not c then
    figures:add_error(("%s%s (%s)"):format(message, hint, code))
    return nil
  end
  figures.came, figures.connected = figures.came + 1, figures.connected + 1
  local self = adopt(c, number, run)
  run.clients[self] = true
  return self
end


--- Runs the script of a bot to its end, in the coroutine that calls this function.
---@param self perigee.Bot
function bots.play(self)
  local run = self._run
  local script = run.script
  if type(script) == "table" then
    set_handlers(self, script)
    script = script.run
  end
  if script then return script(self) end
  while self:wait() do end
end


--- Counts the end of a bot whose connection is over.
---@param self perigee.Bot
function bots.count_end(self)
  local run, figures, reason = self._run, self._run.figures, self.reason
  if not reason then return end
  if not run.is_over then
    figures:add_error(("the connection is over: %s (%s)"):format(reason.message, reason.code))
    figures.failures = figures.failures + 1
  end
  figures.connected = figures.connected - 1
end


return bots
