--- Functions by which a client itself reacts to some of its events, by type. An event for which one
--- returns true goes no further.

local channels = require "perigee.client.channel"
local connection = require "perigee.client.connection"
local loop = require "perigee.client.loop"
local matches = require "perigee.client.matches"
local Room = require "perigee.client.room"
local welcome = require "perigee.client.welcome"

local reactions = {}


function reactions.ping(self, event)
  self._transport:write(event.answer)
  return true
end


function reactions.welcome(self, event)
  welcome(self, event)
  connection.watch(self)
  connection.attach(self, event)
  local is_first = not event.resumed and not event.lost
  if is_first then self._lost = nil end
  loop.fill(self._opening, event)
  if not is_first then connection.regain(self, event) end
  return true
end


function reactions.peer_renamed(self, event)
  if event.room_id == 0 then self.name = event.name end
end


function reactions.ack(self)
  if self._settled and self._protocol.stream.waiting == 0 then loop.fill(self._settled) end
  return true
end


function reactions.rejected(self, event)
  loop.fill(self._opening, nil, event.message, event.code)
  return self._lost ~= nil
end


function reactions.joined(self, event)
  event.room = setmetatable(event.room, Room)
  event.room.client = self
end


function reactions.ask(self, event)
  local fn = self._ask_handlers[event.name]
  if not fn then return false end
  loop.enter(function() self:answer(event, fn(event.value, event.room)) end)
  return true
end


function reactions.packet(self, event)
  if matches.take(self, event) then return true end
  return channels.take(self, event, loop.enter)
end


reactions.channel_opened = channels.refuse
reactions.error = matches.refuse


function reactions.left(self, event)
  matches.leave(self, event.room, event.code)
end


function reactions.closed(self, event)
  local lost = self._lost
  self.connected, self._lost = false, nil
  if lost and lost.pause then loop.fill(lost.pause) end
  self.reason = { code = event.code, message = event.message }
  connection.stop(self)
  self._transport:close()
  channels.close_all(self)
  matches.leave(self, nil, event.code)
  if self._stop_waiting then self._stop_waiting() end
  self:_fail_calls(event.message, event.code)
  if self._settled then loop.fill(self._settled) end
  loop.fill(self._opening, nil, event.message, event.code)
  loop.fill(self._ended)
end


return reactions
