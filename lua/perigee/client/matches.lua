--- The matches in lockstep that a client of perigee.client or perigee.testing takes part in: what they
--- send, and what comes for them.

local commands = require "perigee.client.commands"
local lockstep = require "perigee.client.lockstep"
local packet = require "perigee.client.packet"
local wire = require "perigee.lockstep.wire"

local matches = {}


--- Takes part in the match of a room.
---@param client table a client of perigee.client or perigee.testing
---@param room perigee.client.Room
---@param game perigee.client.LockstepGame
---@param after fun(seconds: number, fn: fun()): fun()
---@return perigee.client.Lockstep
function matches.open(client, room, game, after)
  local function send(kind, bytes, reliable)
    client:send_packet(wire.CHANNEL, kind, bytes,
      { reliable = reliable, priority = kind == wire.INPUT and "critical" or nil })
  end
  local function ask(kind, bytes)
    local data, ref = client._protocol:request(commands.ask_packet, wire.CHANNEL, kind, bytes)
    return client:_send(packet.reliable(data)) and ref
  end
  local self = lockstep.new(game,
    { room = room, send = send, ask = ask, after = after, patience = client.timeout })
  client._matches = client._matches or {}
  client._matches[room] = self
  self:enter()
  return self
end


--- A packet has come. Returns whether it was for a match of the client's.
---@param client table
---@param event table of type "packet"
---@return boolean
function matches.take(client, event)
  if event.channel ~= wire.CHANNEL or not client._matches then return false end
  local id = wire.read_u32(event.payload, 1)
  for room, self in pairs(client._matches) do
    if room.id == id then
      self:receive(event.number, event.payload)
      return true
    end
  end
  return false
end


--- An error has come. Returns whether it was a match's, which the server does not let the client into.
---@param client table
---@param event table of type "error"
---@return boolean
function matches.refuse(client, event)
  for _, self in pairs(event.answers and client._matches or {}) do
    if self:is_asking(event.answers) then
      self:refuse(event.message, event.code)
      return true
    end
  end
  return false
end


--- The client is out of a room, or of all of them.
---@param client table
---@param room? perigee.client.Room
---@param code string
function matches.leave(client, room, code)
  for of, self in pairs(client._matches or {}) do
    if of == room or not room then
      self:lose(("this client is out of the room (%s)"):format(code), code)
    end
  end
end


--- Restores the match of a room that has been joined again, in another session.
---@param client table
---@param room perigee.client.Room
function matches.rejoin(client, room)
  local self = client._matches and client._matches[room]
  if self then self:enter() end
end


--- The session has been taken up again.
---@param client table
function matches.resume_all(client)
  for _, self in pairs(client._matches or {}) do self:resume() end
end

return matches
