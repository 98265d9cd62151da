--- The client's own handling of events. Each function gets the client and an event of its type. If it returns
--- true, the program does not get the event.

local channels = require "perigee.client.channel"
local codes = require "perigee.client.codes"
local json = require "perigee.client.json"
local lockstep = require "perigee.client.lockstep"
local Room = require "perigee.client.room"
local schema = require "perigee.client.schema"

local events = {}

-- Closes the connection because the server has broken the protocol.
local function breach(self, problem)
  self._breach = { code = "Protocol", message = "the server sent " .. problem }
  self._core:close()
  return true
end


-- Decodes the value of an error that the game sent.
local function read_fault(_, event)
  if not event.fault then return end
  event.value = json.decode(event.fault)
  event.fault = nil
end


function events.failed(self, event)
  local own = not event.fault and codes[event.code]
  local future = self:_future_of(event)
  read_fault(self, event)
  if not future then return true end
  if own then self._scheduler.fill(future, nil, own[2], own[1]) end
  self._scheduler.fill(future, nil, event.message, event.code, event.value)
  return true
end


events.error = read_fault


-- Takes SIGNED_IN: before HELLO, as an answer, or with a renewed token, which the program may keep.
function events.signed_in(self, event)
  local signed_in = json.decode(event.found)
  if type(signed_in) ~= "table" then return breach(self, "a sign-in that cannot be read") end
  self.account = signed_in.account or self.account
  event.token, event.account, event.expires = signed_in.token, signed_in.account, signed_in.expires
end


function events.joined(self, event)
  local room = self._rooms[event.room_id]
  if not room then
    room = setmetatable({ id = event.room_id, name = event.name, joined = true, client = self }, Room)
    self:_own("_rooms")[room.id] = room
  end
  room.joined, room.members = true, nil
  event.room = room
end


function events.left(self, event)
  if not event.room then return end
  event.room.joined = false
  self._rooms[event.room_id] = nil
end


function events.connected(self)
  self:_welcome()
  return true
end


function events.disconnected(self)
  self.connected, self.udp = false, false
end


function events.resumed(self)
  self:_welcome()
end


-- Handles a session that a restarted server continues. The server does not know its channels.
function events.restored(self)
  channels.pause(self)
  self:_welcome()
end


-- Handles the beginning of a new session, which is in no room.
function events.lost(self)
  for _, room in pairs(self._rooms) do room.joined = false end
  channels.pause(self)
  self:_welcome()
end


function events.udp_up(self)
  self.udp = true
end


function events.udp_down(self)
  self.udp = false
end


function events.closed(self, event)
  local reason = self._breach or event
  event.code, event.message = reason.code, reason.message
  self:_finish(event.code, event.message)
end


-- Sets the name of a member, or removes it, if the room has a table of its members.
local function set_member(room, id, name)
  local members = room and rawget(room, "members")
  if members then members[id] = name end
end


function events.peer_joined(_, event)
  set_member(event.room, event.id, event.name)
end


function events.peer_left(_, event)
  set_member(event.room, event.id, nil)
end


-- Handles a new name of a member. An event without a room renames this client itself, because lists of
-- members do not contain it.
function events.peer_renamed(self, event)
  set_member(event.room, event.id, event.name)
  if not event.room then self:_learn() end
end


local function read_message(self, event)
  local problem, is_unknown = schema.read(self._schema, event)
  if problem then return breach(self, problem) end
  return is_unknown
end


-- Passes reports about queues and parties to their handlers (matchmaking.lua).
function events.message(self, event)
  if read_message(self, event) then return true end
  local handler = self._report_handlers[event.name]
  if not handler then return false end
  self._scheduler.enter(handler, event.value)
  return true
end


function events.answer(self, event)
  return not event.channel and read_message(self, event)
end


function events.ask(self, event)
  if read_message(self, event) then return true end
  local fn = self._ask_handlers[event.name]
  if not fn then return false end
  self._scheduler.enter(function() self:answer(event, fn(event.value, event.room)) end)
  return true
end


function events.packet(self, event)
  return channels.take(self, event)
end


function events.channel_opened(self, event)
  if event.answers then return false end
  channels.resume(self, event)
end


function events.channel_closed(self, event)
  channels.lose(self, event)
end


for _, kind in ipairs { "match", "turn", "pace", "snapshot_wanted", "tree_wanted", "desync", "waiting",
  "match_ended", "input_wanted", "input_missed" } do
  events[kind] = lockstep.take
end

return events
