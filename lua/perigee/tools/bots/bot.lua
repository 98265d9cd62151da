--- One bot: a client that a script controls. A bot has all fields and methods of a client
--- (docs/lua-client.md) and the methods below. The figures count all its packets.

local client = require "perigee.client"
local check_methods = require "perigee.client.methods"
local random = require "perigee.testing.random"
local describe = require "perigee.util.describe"

local LATE_WAITS = 100 -- calls of `wait` that return at once after the end of the run
local HEADER_SIZE = 12
local IS_LINE = { disconnected = true, resumed = true, restored = true, lost = true }
local IS_SENT = { join = true, leave = true, list_rooms = true, send = true, send_bytes = true, ask = true,
  ask_bytes = true, answer = true, answer_bytes = true, relay = true, send_packet = true, ask_packet = true,
  send_to = true, ask_peer = true }
local IS_MESSAGE = { message = true, ask = true, broadcast = true, packet = true }

---@class perigee.Bot : perigee.Client
---@field number integer number of the bot, from 1 up
---@field name string
---@field client perigee.Client
local Bot = {}

local bots = {
  --- The error that ends a script which continues endlessly after the end of the run.
  OVER = {},
}


-- The client provides all fields and methods that a bot lacks.
local function index(self, key)
  local own = Bot[key]
  if own ~= nil then return own end
  local value = self.client[key]
  if type(value) ~= "function" then return value end
  return function(_, ...) return value(self.client, ...) end
end


--- Returns whether the bot should continue. It should stop when the run or its connection has finally ended.
---@return boolean
function Bot:is_running()
  return not self._run.is_over and not self.client.reason
end


--- Lets time pass. Returns early if the run or the connection ends. Returns the result of `is_running`.
---@param seconds? number nil: until the run or the connection ends
---@return boolean
function Bot:wait(seconds)
  if seconds ~= nil and type(seconds) ~= "number" then
    error(("%sbot:wait takes seconds, not %s"):format(describe.where(), describe.kind(seconds)), 0)
  end
  if self:is_running() then
    self._run.wait(seconds, self.client)
  else
    self._late_waits = self._late_waits + 1
    if self._late_waits > LATE_WAITS then error(bots.OVER, 0) end
  end
  return self:is_running()
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
  if count then return self._chance:pick(count) end
  return self._chance:fraction()
end


--- Handles events like `on` of a client. An error in the handler counts as an error of the bot.
---@param type string
---@param fn? fun(event: table)
function Bot:on(type, fn)
  self.client:on(type, fn and function(event) self._run.try(self, fn, event) end)
end


--- Handles requests like `on_ask` of a client. An error in the handler counts as an error of the bot.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function Bot:on_ask(name, fn)
  self.client:on_ask(name, fn and function(value, room) return self._run.try(self, fn, value, room) end)
end


--- The clients of bots, which count their packets. This class inherits from the class of perigee.client.
---@class perigee.bots.Counted: perigee.Client
local Counted = {}
local Plain


-- Counts a call if it sends a packet.
function Counted:_begin(method, ...)
  local by_udp = self.udp and self:stats().udp
  local result, message, code = Plain._begin(self, method, ...)
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
function Counted:_take(event)
  local figures = self._run.figures
  if IS_MESSAGE[event.type] then
    figures.received = figures.received + 1
    if event.by_udp then figures.received_by_udp = figures.received_by_udp + 1 end
    local data = event.body or event.payload or event.data or ""
    figures.received_bytes = figures.received_bytes + HEADER_SIZE + #data
  end
  Plain._take(self, event)
  if event.type == "closed" then self._run.wake(self) end
end


function Counted:_publish(event)
  local figures = self._run.figures
  local is_new = not event.is_counted -- an event that waited for a handler is published twice
  event.is_counted = true
  if is_new and IS_LINE[event.type] then figures[event.type] = figures[event.type] + 1 end
  if is_new and event.type == "udp_down" then figures:add_fallback(event.message) end
  return Plain._publish(self, event)
end


local function count(c, run)
  c._run = run
  if not Plain then
    Plain = getmetatable(c)
    check_methods(Counted, "client") -- its objects are also called "client"
    for name, value in pairs(Plain) do Counted[name] = Counted[name] or value end
    Counted.__index = Counted
  end
  setmetatable(c, Counted)
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


--- Runs a bot from its connection to its end, in the coroutine that calls this function. `run` has the fields
--- is_over, figures, script (a function or a table), try, wait, wake and line.
---@param number integer
---@param chosen table options
---@param run table
function bots.play(number, chosen, run)
  local figures = run.figures
  local name = chosen.name .. number
  local c, message, code = client.connect(run.address, {
    name = name, token = chosen.token, schema = chosen.schema,
    udp = chosen.udp, line = run.line(number),
  })
  local hint = code == "EAI_NONAME" and ", nor a game of that name" or ""
  if not c then return figures:add_error(("%s%s (%s)"):format(message, hint, code)) end
  run.clients[c] = true
  count(c, run)
  figures.came, figures.connected = figures.came + 1, figures.connected + 1
  local self = setmetatable({
    number = number, name = name, client = c, _late_waits = 0,
    _run = run, _chance = random.new(chosen.seed, number),
  }, { __index = index })
  local script = run.script
  local play = script
  if type(script) == "table" then
    set_handlers(self, script)
    play = script.run
  end
  if play then run.try(self, play, self) else while self:wait() do end end
  if c.reason and not run.is_over then
    figures:add_error(("the connection is over: %s (%s)"):format(c.reason.message, c.reason.code))
    figures.failures = figures.failures + 1
  end
  if c.reason then figures.connected = figures.connected - 1 end
  return c
end


return bots
