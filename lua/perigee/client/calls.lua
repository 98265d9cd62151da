--- The methods of a client that do not depend on what carries its packets: methods of perigee.client's and of
--- perigee.testing's. They stand on `_send` and `_request`, and on the protocol.

local channels = require "perigee.client.channel"
local commands = require "perigee.client.commands"

---@class perigee.client.Calls
local calls = {}


--- Asks the server's script and waits for the answer: the value, or nil, message, code; when none
--- comes in time nil, "timeout".
---@param name string
---@param value? any
---@param timeout? number seconds
---@param room? perigee.client.Room
---@return any answer, string? message, string? code
function calls:ask(name, value, timeout, room)
  local data, ref = self._protocol:request(commands.ask, room and room.id or 0, name, value,
    self._protocol.schema)
  local event, message, code = self:_request("message", data, ref, timeout)
  if not event then return nil, message, code end
  return event.value
end


--- Answers an event of type "ask".
---@param event table
---@param value? any
---@return true? sent, string? message, string? code
function calls:answer(event, value)
  return self:_send(commands.answer(event, value, self._protocol.schema))
end


--- Answers the server's questions called `name`: what `fn(value, room)` returns is the answer.
--- Questions without a handler are events of type "ask", for `answer`.
---@param name string
---@param fn? fun(value: any, room: perigee.client.Room?): any
function calls:on_ask(name, fn)
  self._ask_handlers[name] = fn
end


--- The rooms that the server lists: { id, name, members (how many) } each.
---@return { id: integer, name: string, members: integer }[]?, string? message, string? code
function calls:rooms()
  local event, message, code = self:_request("rooms", self._protocol:request(commands.list_rooms))
  if not event then return nil, message, code end
  return event.rooms
end


--- Serves a plugin channel, until one of the two is closed; one that is served already is found.
---@param name string
---@return perigee.client.Channel?, string? message, string? code
function calls:channel(name)
  return channels.open(self, name)
end


--- Sends a packet on a channel of the game or of a plugin. Options: `priority`, `reliable`; `answers`
--- (the event of type "packet" that it answers).
---@param channel integer
---@param number integer the packet's type
---@param data? string
---@param options? table
---@return true? sent, string? message, string? code
function calls:send_packet(channel, number, data, options)
  local answers = type(options) == "table" and options.answers -- else a mistake, which commands.packet tells
  local to = answers and answers.sender
  local payload = self._protocol:address(channel, data or "", to)
  return self:_send(commands.packet(channel, number, payload, options))
end


--- Sends a packet that is a question and waits for the bytes of the answer.
---@param channel integer
---@param number integer the packet's type
---@param data? string
---@param timeout? number seconds
---@return string? answer, string? message, string? code
function calls:ask_packet(channel, number, data, timeout)
  local request, ref = self._protocol:request(commands.ask_packet, channel, number, data or "")
  local event, message, code = self:_request("packet", request, ref, timeout)
  if not event then return nil, message, code end
  return event.payload
end


-- For rooms.
function calls:_leave(room)
  local event, message, code =
    self:_request("left", self._protocol:request(commands.leave, room.id))
  if not event then return nil, message, code end
  return true
end


function calls:_broadcast(room, data, options)
  return self:_send(commands.broadcast(room.id, data, options))
end


return calls
