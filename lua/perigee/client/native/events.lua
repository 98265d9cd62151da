--- Turns the events of libperigee into those of perigee.client: tables with a `type`.

local ffi = require "ffi"
local library = require "perigee.client.native.library"
local Room = require "perigee.client.room" -- its `id` is the library's number

local events = {}

--- Readers by the number of the event; each fills in a table, and may return nil for none.
local READ = {}


local function seconds_of(raw) return tonumber(raw.time_us) / 1e6 end


local function code_of(event, raw)
  event.code = raw.code == library.PERIGEE_TIMEOUT and "timeout"
    or ffi.string(library.perigee_code_name(raw.code))
  event.message = ffi.string(raw.text)
end


local function data_of(raw) return ffi.string(raw.data, raw.size) end


local function define(name, kind, fn)
  READ[tonumber(library["PERIGEE_" .. name])] = function(client, raw, decode)
    local event = { type = kind }
    if raw.request ~= 0 then event.answers = raw.request end
    if fn then return fn(event, client, raw, decode) end
    return event
  end
end


local function with_reason(event, _, raw)
  code_of(event, raw)
  return event
end


define("CONNECTED", "connected")
define("SYNCED", "synced")
define("UDP_UP", "udp_up")
define("UDP_DOWN", "udp_down")
define("DISCONNECTED", "disconnected", with_reason)
define("CLOSED", "closed", with_reason)
define("FAILED", "failed", with_reason)
define("ERROR", "error", with_reason)

define("RECONNECTING", "reconnecting", function(event, _, raw)
  event.attempt, event.delay = raw.count, seconds_of(raw)
  return event
end)

define("RESUMED", "resumed", function(event, _, raw)
  event.seconds, event.resent = seconds_of(raw), raw.count
  return event
end)

define("LOST", "lost", function(event, _, raw)
  event.dropped = raw.count
  return event
end)

define("PONG", "pong", function(event, _, raw)
  event.seconds = seconds_of(raw)
  return event
end)


-- Rooms -----------------------------------------------------------------------------------------

local function members_of(handle, number)
  local members = {}
  for i = 0, library.perigee_member_count(handle, number) - 1 do
    local peer = library.perigee_member(handle, number, i)
    members[peer] = ffi.string(library.perigee_member_name(handle, number, peer))
  end
  return members
end


-- What has happened since is told after this event: the list is a little ahead of it.
define("JOINED", "joined", function(event, client, raw)
  local room = client.rooms_by_id[raw.room] or setmetatable({ id = raw.room, client = client }, Room)
  room.name, room.joined = ffi.string(raw.name), true
  room.members = members_of(client._handle, raw.room)
  client.rooms_by_id[raw.room] = room
  event.room, event.room_id = room, raw.room
  return event
end)

define("LEFT", "left", function(event, client, raw)
  local room = client.rooms_by_id[raw.room]
  if room then room.joined = false end
  client.rooms_by_id[raw.room] = nil
  event.room, event.room_id = room, raw.room
  code_of(event, raw)
  return event
end)


local function about_peer(event, client, raw)
  event.room, event.room_id = client.rooms_by_id[raw.room], raw.room
  event.id, event.name = raw.peer, ffi.string(raw.name)
  return event
end

define("PEER_JOINED", "peer_joined", function(event, client, raw)
  about_peer(event, client, raw)
  if event.room then event.room.members[event.id] = event.name end
  return event
end)

define("PEER_LEFT", "peer_left", function(event, client, raw)
  about_peer(event, client, raw)
  if event.room then event.room.members[event.id] = nil end
  return event
end)

-- With room 0 it is about this client itself, which is in no list of members.
define("PEER_RENAMED", "peer_renamed", function(event, client, raw)
  about_peer(event, client, raw)
  event.before = ffi.string(raw.text)
  if event.room then
    event.room.members[event.id] = event.name
  else
    client.name = event.name
  end
  return event
end)

define("RELAY", "broadcast", function(event, client, raw)
  event.room, event.room_id = client.rooms_by_id[raw.room], raw.room
  event.sender, event.data = raw.peer, data_of(raw)
  event.name = raw.name[0] ~= 0 and ffi.string(raw.name) or nil
  return event
end)

define("ROOMS", "rooms", function(event, _, raw)
  event.rooms = {}
  for i = 0, raw.count - 1 do
    event.rooms[i + 1] = { name = ffi.string(raw.rooms[i].name), members = raw.rooms[i].members }
  end
  return event
end)


-- Messages and packets --------------------------------------------------------------------------

-- JSON alone: clients of this kind name no schema.
local function message(event, client, raw, decode)
  if raw.number ~= 0 then return nil end
  event.room = client.rooms_by_id[raw.room]
  event.room_id = raw.room
  event.name, event.body = ffi.string(raw.name), data_of(raw)
  event.value = decode(event.body)
  return event
end


local function packet(event, _, raw)
  event.channel, event.number, event.payload = raw.channel, raw.number, data_of(raw)
  event.request = raw.is_question ~= 0
  if event.request then event.question = ffi.new("PerigeeQuestion", raw.question) end
  return event
end


define("MESSAGE", "message", message)
define("PACKET", "packet", packet)

define("QUESTION", "ask", function(event, client, raw, decode)
  event.question = ffi.new("PerigeeQuestion", raw.question)
  return message(event, client, raw, decode)
end)

define("ANSWER", "answer", function(event, client, raw, decode)
  if raw.channel ~= 0 then return packet(event, client, raw) end
  return message(event, client, raw, decode)
end)

define("REDIRECT", "redirect", function(event, _, raw)
  event.host, event.port = ffi.string(raw.name), raw.number
  return event
end)


--- The event as a table, or nil for one that this client has no use for.
---@param client perigee.native.Client
---@param raw ffi.cdata* const PerigeeEvent *
---@param decode fun(text: string): any
---@return table?
function events.read(client, raw, decode)
  local read = READ[tonumber(raw.type)]
  return read and read(client, raw, decode)
end


return events
