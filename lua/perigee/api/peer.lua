--- The methods and fields of a peer, which lua/perigee/meta/rooms.lua describes.

local accounts = require "perigee.host.accounts"
local api_accounts = require "perigee.api.accounts"
local bit = require "bit"
local bots = require("perigee.host.bots").api
local class = require "perigee.util.class"
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local fault = require "perigee.util.fault"
local replacements = require "perigee.api.replacements"
local joins = require "perigee.host.joins"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local network = require "perigee.world.network"
local send_options = require "perigee.api.options"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local rooms = require("perigee.api.rooms").host
local requests = require "perigee.host.requests"
local targets = require "perigee.api.targets"
local tasks = require "perigee.host.tasks"

local TO_PEER = core.targets.peer
local CODES, CHANNELS = core.codes, core.channels
local REQUEST, RESPONSE = core.flags.request, core.flags.response
local RELIABLE = core.flags.reliable
local PRIORITY = core.priorities.high -- priority of requests and their answers
local ASK_TIMEOUT = 5 -- seconds, if the script gives no timeout

local Peer = {}

local getters = { state = class.state }

-- Fields that stay readable when the peer is gone.
local KEPT = { "name", "session", "address", "port", "transport", "token", "latency_ms", "account" }

function getters.id(self)
  return self._id
end

function getters.entity(self)
  declared.use()
  return network.entity_of(self._id)
end

function getters.is_bot(self)
  return self.transport == "bot"
end

function getters.connected(self)
  return not rawget(self, "_kept") and core.peer_connected(self._id)
end


-- Functions for the fields that scripts get in another form than the core has.
local READ = {}

function READ.account(id)
  local entry = accounts.of(id)
  return entry and api_accounts.object(entry)
end

function READ.token(id)
  local token = core.peer_token(id)
  return token and (accounts.hides(token) and "" or token)
end


for _, field in ipairs(KEPT) do
  local read = READ[field] or core["peer_" .. field]
  getters[field] = function(self)
    local kept = rawget(self, "_kept")
    if kept then
      return kept[field]
    end
    return read(self._id)
  end
end


function Peer:send(name, value, opts)
  local body, value_at, number, packed = messages.encode(name, value, TO_PEER, self._id)
  local priority, flags, key, except = send_options.read(opts)
  if except and send_options.leaves_out(except, self._id) then
    return true
  end
  return core.send(TO_PEER, self._id, 0, name, body, value_at, priority, flags, 0, key, nil, number, packed)
end


function Peer:send_packet(channel, packet_type, bytes, opts)
  if type(channel) == "string" then
    fault.raise "channel must be a number, not a string; that of a plugin channel is perigee.channel(name).id"
  end
  fault.check_whole("channel", channel, CHANNELS.message + 1, CHANNELS.last)
  fault.check_whole("type", packet_type, 0, CHANNELS.last)
  fault.check("bytes", bytes, "string")
  local priority, flags, key, except = send_options.read(opts)
  if self.transport == "text" then
    return nil, "a text peer takes no packets", "Unsupported"
  elseif bots.lacks(self._id, "on_packet") then
    return nil, "the brain of the bot has no on_packet", "Unsupported"
  elseif except and send_options.leaves_out(except, self._id) then
    return true
  end
  return core.packet(core.targets.peer, self._id, channel, packet_type, bytes, priority, flags, 0, key)
end


function Peer:relay(bytes, opts)
  return targets.relay(self, bytes, opts)
end


function Peer:ask(name, value, timeout)
  fault.check_seconds("timeout", timeout == nil and ASK_TIMEOUT or timeout)
  local body, value_at, number, packed = messages.encode(name, value, TO_PEER, self._id)
  tasks.check_may_wait "peer:ask"
  if not self.connected then
    return nil, "the peer is not connected", "ConnectionClosed"
  elseif self.transport == "text" then
    return nil, "a text peer cannot answer", "Unsupported"
  elseif bots.lacks(self._id, "on_message") then
    return nil, "the brain of the bot has no on_message", "Unsupported"
  end
  local ref = pending.take_ref(self._id)
  local ok, message, code =
    core.send(TO_PEER, self._id, 0, name, body, value_at, PRIORITY, REQUEST + RELIABLE, ref, nil, nil,
      number, packed)
  if not ok then
    return nil, message, code
  end
  return requests.wait(self._id, ref, timeout or ASK_TIMEOUT)
end


-- Returns the id of a room, given as the room or its name; 0 if no room has that name.
local function id_of(room, what)
  if registry.is_room(room) then
    return room.id
  elseif type(room) ~= "string" then
    fault.raise("%s takes a room or its name, not %s", what, fault.kind(room))
  end
  return core.room_find(room, true) or 0
end

-- Reads the last argument of peer:join.
local function read_wait(how)
  if how == nil then
    return false
  end
  fault.check("the last argument of peer:join", how, "table")
  for key, value in next, how do
    if key ~= "wait" then
      fault.raise("peer:join has no option %s; it has wait", tostring(key))
    end
    fault.check("wait", value, "boolean")
  end
  return how.wait == true
end

local function is_made_by_joining(name)
  local settings = live.version.settings[name:match "^[^:]*"]
  return settings ~= nil and settings.auto_create == true
end


function Peer:join(room, options, how)
  local id, is_waiting = id_of(room, "peer:join"), read_wait(how)
  if id == 0 and is_made_by_joining(room) then
    local made, message, code = rooms.create_for_join(room, options)
    if not made then
      return nil, message, code
    end
    id = made.id
  end
  return (is_waiting and joins.wait or joins.request)(self._id, id, options)
end


function Peer:leave(room)
  return core.leave(self._id, id_of(room, "peer:leave"), CODES.ConnectionClosed, "")
end


function Peer:set_name(name)
  fault.check("name", name, "string")
  return core.peer_set_name(self._id, name)
end


function Peer:rooms()
  return registry.list(core.peer_rooms(self._id) or {}, registry.rooms)
end


function Peer:kick(reason)
  if reason ~= nil then
    fault.check("reason", reason, "string")
  end
  return core.close(self._id, CODES.Kicked, reason or "")
end


function Peer:stats()
  local stats = core.peer_stats(self._id)
  if not stats then
    return nil, "the peer is gone", "ConnectionClosed"
  end
  stats.late_answers = requests.late_answers(self._id)
  return stats
end


class.define(registry.peer_class, Peer, getters, replacements.peer)

local peer = { methods = Peer, getters = getters }


--- Copies the fields of a peer into its object, which stays valid after the peer has gone.
---@param id integer
---@return perigee.Peer
function peer.keep(id)
  local object = registry.peers[id]
  local kept = {}
  for _, field in ipairs(KEPT) do
    local value = getters[field](object) -- nil for a peer that was never accepted
    kept[field] = value
  end
  rawset(object, "_kept", kept)
  return object
end


-- Raises an error if an answer is too large. Ignores other failures of sending, such as a peer that is gone.
local function check_answer(ok, problem, code)
  if not ok and code == "PayloadTooLarge" then
    fault.raise("the answer is %s", problem)
  end
end


--- Answers a peer's request.
---@param id integer
---@param room integer room of the request, or 0
---@param name string
---@param value any
---@param ref integer
---@param flags integer flags of the request; a reliable request gets a reliable answer
function peer.answer(id, room, name, value, ref, flags)
  local body, value_at, number, packed = messages.encode_answer(name, value, TO_PEER, id)
  check_answer(core.send(TO_PEER, id, room, name, body, value_at, PRIORITY,
    RESPONSE + bit.band(flags, RELIABLE), ref, nil, nil, number, packed))
end


--- Answers the request in a packet with bytes.
---@param id integer
---@param channel integer
---@param packet_type integer
---@param bytes string
---@param ref integer
---@param flags integer flags of the request
function peer.answer_packet(id, channel, packet_type, bytes, ref, flags)
  check_answer(core.packet(core.targets.peer, id, channel, packet_type, bytes, PRIORITY,
    RESPONSE + bit.band(flags, RELIABLE), ref))
end


---@param flags integer
---@return boolean
function peer.is_request(flags)
  return bit.band(flags, REQUEST) ~= 0
end

return peer
