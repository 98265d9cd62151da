--- A room in which this client is or was; `Client:join` returns it.

local check_methods = require "perigee.client.methods"
local describe = require "perigee.util.describe"

---@class perigee.client.Room
---@field id integer
---@field name string
---@field joined boolean false once the client has left the room or the connection has ended
---@field members table<integer, string> names of the other members by peer id
---@field client perigee.Client
local Room = { joined = false }


-- Makes the table `members` at its first use, because many programs never use it.
function Room.__index(self, key)
  if key ~= "members" then return Room[key] end
  local core = self.client._core
  self.members = core and core:members(self.id) or {}
  return self.members
end


local function with_room(room, options)
  -- Client:send reports this mistake
  if options ~= nil and type(options) ~= "table" then return options end
  local copy = { room = room }
  for key, value in pairs(options or {}) do copy[key] = value end
  return copy
end


--- Raises an error, because a room has no events.
function Room.on()
  error(("%sa room has no `on`: client:on(type, fn) handles events, whose `room` says where"):format(
    describe.where()), 0)
end


--- Relays bytes to all other members.
---@param data string
---@param options? table priority ("critical", "high", "normal", "low"), reliable (boolean)
---@return true? sent, string? message, string? code
function Room:broadcast(data, options)
  return self.client:_broadcast(self, data, options)
end


--- Sends a message about this room to the server's script.
---@param name string
---@param value? any
---@param options? table priority, reliable
---@return true? sent, string? message, string? code
function Room:send(name, value, options)
  return self.client:send(name, value, with_room(self, options))
end


--- Sends the server's script a request about this room and waits for the answer.
---@param name string
---@param value? any
---@param timeout? number seconds
---@return any answer, string? message, string? code
function Room:ask(name, value, timeout)
  return self.client:ask(name, value, timeout, self)
end


--- Takes part in the room's lockstep match; docs/lockstep.md describes `game`. The state of the match exists
--- when `is_ready` is true.
---@param game perigee.client.LockstepGame
---@return perigee.client.Lockstep
function Room:lockstep(game)
  return self.client:_lockstep(self, game)
end


--- Leaves the room and waits for the server's confirmation.
---@return true? left, string? message, string? code
function Room:leave()
  return self.client:_leave(self)
end


check_methods(Room, "room")

return Room
