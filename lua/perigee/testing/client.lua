--- The common part of both kinds of simulated clients: the inbox and its expectations, handlers, the network,
--- and the end of a connection. binary_client.lua and text_client.lua add the two protocols.

local clocks = require "perigee.testing.clock"
local check_methods = require "perigee.client.methods"
local failure = require "perigee.testing.failure"
local inboxes = require "perigee.testing.inbox"
local link = require "perigee.testing.link"
local match = require "perigee.testing.match"
local report = require "perigee.testing.report"

local HUGE = math.huge
local EXPECT_SECONDS = 5 -- seconds that an expectation waits
local NOTHING_SECONDS = 1 -- seconds in which nothing may arrive
local TIMEOUT = 10 -- seconds, for a call without a timeout
local IS_MESSAGE = { message = true, ask = true, line = true }

---@class perigee.testing.Client
---@field id integer peer id
---@field name string
---@field text boolean whether the client is a text peer
---@field connected boolean whether the client considers itself connected
---@field reason? table { code, message }: reason of the connection's end
---@field timeout number seconds that a call without a timeout waits
---@field server perigee.testing.Server
local Client = {}
Client.__index = Client


--- Sets the fields that both kinds of clients share. For `server_end`, see link.new.
---@param self table
---@param server perigee.testing.Server
---@param options table name, and network conditions
---@param server_end table
---@param decode fun(raw: string): table
function Client.init(self, server, options, server_end, decode)
  self.server, self.name, self.connected = server, options.name, false
  self.timeout = TIMEOUT
  self._clock = server._clock
  self._inbox = inboxes.new(decode)
  self._handlers = {}
  self._waiters = {} -- tasks that wait for an event
  self._arrived_to = 0 -- index up to which handlers have received events
  self:_attach(server_end, options.network)
  return self
end


--- Attaches a new connection. From now on, the previous connection delivers nothing.
function Client:_attach(server_end, network)
  local own
  self._opening, self._ended = clocks.future(), clocks.future()
  own = link.new(self.server._clock, self.server:_new_random(), server_end, {
    on_bytes = function(data) return self._link == own and self:_on_bytes(data) end,
    on_end = function(ending) return self._link == own and self:_on_end(ending) end,
  }, not self.text)
  self._link, self._network = own, network
  own:set(network)
end


-- Events -----------------------------------------------------------------------------------------

local function give_to_handlers(self)
  local handlers, inbox = self._handlers, self._inbox
  if next(handlers) == nil then
    self._arrived_to = inbox.count
    return
  end
  while self._arrived_to < inbox.count do
    self._arrived_to = self._arrived_to + 1
    local event = inbox:get(self._arrived_to)
    local handler = not event.is_handled and (handlers[event.type] or handlers["*"])
    if handler and not event.is_taken then
      event.is_handled = true
      self._clock:spawn(handler, event)
    end
  end
end


--- Passes new events to handlers and waiting tasks.
function Client:_tell()
  give_to_handlers(self)
  local waiters = self._waiters
  for i = #waiters, 1, -1 do
    local waiter = waiters[i]
    local index = self._inbox:find(waiter.topic, waiter.accept, waiter.from)
    waiter.from = self._inbox.count + 1
    if index then self._clock:fill(waiter.future, index) end
  end
end


--- Handles the end of the connection. If the client already knows a reason, that reason replaces the
--- arguments.
function Client:_finish(code, message)
  if self._ended.is_filled then return end
  self.connected = false
  self.reason = self.reason or { code = code, message = message }
  local event = { type = "closed", code = self.reason.code, message = self.reason.message }
  self._inbox:push(self._clock.now, event)
  self:_tell()
  for _, waiter in ipairs(self._waiters) do self._clock:fill(waiter.future, nil, "closed") end
  self._clock:fill(self._opening, nil, event.message, event.code)
  self._clock:fill(self._ended)
end


--- Handles the loss of the connection.
Client._lose = Client._finish


function Client:_on_end(ending)
  if ending == "reset" then
    self:_lose("ConnectionReset", "the connection was reset")
  else
    self._link:close()
    self:_lose("ConnectionClosed", "the server closed the connection")
  end
end


--- Waits for an event that `accept` accepts; the event may have arrived already.
---@return integer? index, string? problem
function Client:_await(topic, accept, seconds)
  local inbox = self._inbox
  local index = inbox:find(topic, accept)
  if index then return index end
  if self._ended.is_filled then return nil, "closed" end
  local waiter = { topic = topic, accept = accept, future = clocks.future(), from = inbox.count + 1 }
  table.insert(self._waiters, waiter)
  local found, problem = self._clock:wait(waiter.future, seconds * 1000)
  for i, other in ipairs(self._waiters) do
    if other == waiter then table.remove(self._waiters, i) end
  end
  return found, problem
end


-- Expectations ----------------------------------------------------------------------------------

--- An expectation: its topic, the events that it accepts, and its description for reports.
---@class perigee.testing.Wish
---@field topic string expectations with the same topic check events in order
---@field what string
---@field is_candidate fun(event: table): boolean whether the expectation concerns an event
---@field value any the expected value
---@field value_of fun(event: table): any

local function accepter(wish)
  local is_candidate, value_of, value = wish.is_candidate, wish.value_of, wish.value
  return function(event)
    if not is_candidate(event) then return false end
    return value == nil or match.accepts(value, value_of(event))
  end
end


local function or_default(seconds, default)
  if seconds == nil then return default end
  failure.check_seconds("an expectation", seconds)
  return seconds
end


local function expect(self, wish, seconds)
  seconds = or_default(seconds, EXPECT_SECONDS)
  local index, problem = self:_await(wish.topic, accepter(wish), seconds)
  if not index then failure.raise("%s", report.missing(self, wish, seconds, problem)) end
  return self._inbox:take(wish.topic, index)
end


local function expect_nothing(self, wish, seconds)
  local accept = accepter(wish)
  local index = self:_await(wish.topic, accept, or_default(seconds, NOTHING_SECONDS))
  if index then failure.raise("%s", report.unwanted(self, wish, index)) end
end


local function message_wish(name, value)
  failure.check("the name of a message", name, "string")
  return {
    topic = "message " .. name,
    what = ("the message %q"):format(name),
    value = value,
    is_candidate = function(event) return event.name == name and IS_MESSAGE[event.type] end,
    value_of = function(event) return event.value end,
  }
end


--- Waits for a message `name` with the expected value. If `value` is a table, only its fields are compared.
--- If `value` is a function, it returns whether it accepts the value of the message. Skips earlier messages
--- `name`.
---@param name string
---@param value? any nil: any value
---@param seconds? number default 5
---@return any value, table event
function Client:expect(name, value, seconds)
  local event = expect(self, message_wish(name, value), seconds)
  return event.value, event
end


--- Fails the spec if a message that `expect` would return has arrived already, or arrives within `seconds`.
---@param name string
---@param value? any
---@param seconds? number default 1; may also be the second argument
function Client:expect_nothing(name, value, seconds)
  if type(value) == "number" and seconds == nil then value, seconds = nil, value end
  expect_nothing(self, message_wish(name, value), seconds)
end


--- Waits for bytes that another member or the server relayed to a room.
---@param data? string|fun(data: string): boolean
---@param seconds? number
---@return string data, table event
function Client:expect_broadcast(data, seconds)
  local event = expect(self, {
    topic = "broadcast",
    what = "a broadcast",
    value = data,
    is_candidate = function(event) return event.type == "broadcast" end,
    value_of = function(event) return event.data end,
  }, seconds)
  return event.data, event
end


--- Waits for an event of a type (docs/lua-client.md lists them).
---@param kind string
---@param fields? table
---@param seconds? number
---@return table event
function Client:expect_event(kind, fields, seconds)
  failure.check("the type of an event", kind, "string")
  return expect(self, {
    topic = "event " .. kind,
    what = ("an event %q"):format(kind),
    value = fields,
    is_candidate = function(event) return event.type == kind end,
    value_of = function(event) return event end,
  }, seconds)
end


--- Waits for the end of the connection.
---@param code? string code such as "Kicked"
---@param seconds? number
---@return table reason { code, message }
function Client:expect_closed(code, seconds)
  return self:expect_event("closed", code and { code = code }, seconds)
end


-- Implements expect_line, which only text peers have.
function Client:_expect_line(line, seconds)
  local event = expect(self, {
    topic = "line",
    what = "a line",
    value = line,
    is_candidate = function(event) return event.type == "line" end,
    value_of = function(event) return event.line end,
  }, seconds)
  return event.line
end


--- Returns the values of all messages `name` that have arrived since `clear`, including those that `expect`
--- has returned. For a message without a value, the list contains false.
---@param name string
---@return any[]
function Client:received(name)
  local values, inbox = {}, self._inbox
  for index = inbox.first, inbox.count do
    local event = inbox:get(index)
    if event.name == name and IS_MESSAGE[event.type] then
      if event.value == nil then values[#values + 1] = false else values[#values + 1] = event.value end
    end
  end
  return values
end


--- Forgets everything that has arrived so far.
function Client:clear()
  self._inbox:clear()
  self._arrived_to = self._inbox.count
end


-- Events, as in perigee.client ------------------------------------------------------------------

--- Returns the next event that has no handler. Returns nil, "timeout" if none arrives in time, and nil,
--- "closed" after the last event.
---@param timeout? number seconds
---@return table? event, string? reason
function Client:recv(timeout)
  local inbox = self._inbox
  local event = inbox:next()
  if event then return event end
  if self._ended.is_filled then return nil, "closed" end
  inbox:skip "recv"
  local _, problem = self:_await("recv", function(other) return not other.is_handled end,
    timeout or HUGE)
  event = inbox:next()
  if event then return event end
  return nil, problem
end


--- Calls `fn(event)` for every event of a type, in a task, so that `fn` may wait. The type "*" means all
--- types without their own handler. Events of that type that `recv` has not returned yet go to the new
--- handler at once. Without `fn`, removes the handler.
---@param kind string
---@param fn? fun(event: table)
function Client:on(kind, fn)
  self._handlers[kind] = fn
  if not fn then return end
  self._arrived_to = self._inbox.read_to
  give_to_handlers(self)
end


-- Rooms -----------------------------------------------------------------------------------------

--- Joins a room; fails the spec if the server refuses.
---@param name string
---@param options? table
---@return perigee.client.Room|perigee.testing.TextRoom
function Client:join(name, options)
  local room, message, code = self:try_join(name, options)
  if not room then
    local what = ("%s cannot join %q"):format(self.name, name)
    failure.raise("%s", report.refused(self.server, what, message, code))
  end
  return room
end


-- Time ------------------------------------------------------------------------------------------

--- Starts a task that plays this client: `fn(client, ...)`.
---@param fn function
function Client:spawn(fn, ...)
  self.server:spawn(fn, self, ...)
end


--- Lets time pass.
---@param seconds number
function Client:sleep(seconds)
  failure.check_seconds("client:sleep(seconds)", seconds)
  self.server:_pass(seconds)
end


-- The network -----------------------------------------------------------------------------------

--- Changes conditions of this client's network from now on: latency, jitter, loss, bandwidth, read_rate,
--- window.
---@param conditions perigee.testing.Conditions
function Client:network(conditions)
  failure.check("the network's conditions", conditions, "table")
  self._link:set(conditions)
  for key, value in pairs(conditions) do self._network[key] = value end
end


--- Stalls the client: it neither reads nor sends until `resume`.
function Client:stall()
  self._link:stall()
end


function Client:resume()
  self._link:resume()
end


--- Unplugs the client's cable: bytes are lost in both directions, and neither side learns of it.
function Client:vanish()
  self._link:vanish()
end


--- Resets the client's connection.
function Client:cut()
  self._link:reset()
  self:_lose("ConnectionReset", "the spec cut the connection")
end


--- Kills the client's program: the system closes the connection, without a BYE.
function Client:kill()
  self._is_done = true -- does not come back by itself
  self._link:kill()
  self:_lose("ConnectionClosed", "the spec killed the client")
end


--- Names of the fields, other than methods, of both kinds of clients.
Client._FIELDS = {
  "id", "name", "text", "connected", "reason", "timeout", "server", "session", "max_payload", "ping_interval",
  "tick_rate",
}


check_methods(Client, "client")

return Client
