--- Plugin channels that the script serves: perigee.channel. lua/perigee/meta/sending.lua describes the
--- methods. The core assigns a number to each name. An entry here has the handler and the waiting packets of
--- one channel. Opening and closing are commands, so a handler that fails opens and closes nothing.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local options = require "perigee.api.options"
local peer_host = require "perigee.api.peer"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local requests = require "perigee.host.requests"
local targets = require "perigee.api.targets"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"
local journal = require "perigee.host.journal"

local CODES = core.codes
local REQUEST, RELIABLE = core.flags.request, core.flags.reliable
local PRIORITY = core.priorities.high -- priority of requests
local TO_PEER = core.targets.peer
local ASK_TIMEOUT = 5 -- seconds, if the script gives no timeout
local FIRST, LAST = core.channels.served_first, core.channels.served_last
local ID_LAST = core.channels.plugin_first - 1 -- last number that a game may choose
local WAITING_MAX = 1024 -- most packets of a channel that wait for channel:receive
local WAITING_BYTES = 4 * 2 ^ 20 -- most bytes of the payloads of these packets

local channels = {}


---@class perigee.ChannelEntry
---@field id integer
---@field name string
---@field object perigee.Channel
---@field owned boolean whether the channel ends with the version that opened it
---@field version integer number of the version that opened the channel
---@field queue table
---@field handler { fn: function, label: string, version: integer }? the running code, as in live.task
---@field replaced perigee.ChannelEntry? entry of the previous version, while a reload may be rolled back

local by_name = {} ---@type table<string, perigee.ChannelEntry>
local by_id = {} ---@type table<integer, perigee.ChannelEntry>
local held = setmetatable({}, { __mode = "k" }) -- entries, by the object that the script has

local function add(entry)
  by_name[entry.name], by_id[entry.id] = entry, entry
end

local function remove(entry)
  if by_name[entry.name] == entry then
    by_name[entry.name], by_id[entry.id] = nil, nil
  end
end

-- Objects of scripts ------------------------------------------------------------------------

local Channel = {}
local channel_class = { __index = Channel, __metatable = "channel" }

-- Returns the entry of a method's self; nil and the failure if the channel is closed.
local function entry_of(self, method)
  local entry = type(self) == "table" and held[self]
  if not entry then
    fault.raise("a channel's method is called with a colon: channel:%s()", method)
  elseif by_name[entry.name] ~= entry then
    return nil, "the channel is closed", "ChannelNotFound"
  end
  return entry
end


local function deliver_packet(target, id, except, channel, packet_type, bytes, priority, flags, key)
  if target == TO_PEER and core.peer_transport(id) == "text" then
    return nil, "a text peer takes no packets", "Unsupported"
  end
  return core.packet(target, id, channel, packet_type, bytes, priority, flags, 0, key, except)
end


function Channel:send(whom, packet_type, bytes, opts)
  local entry, message, code = entry_of(self, "send")
  fault.check_whole("type", packet_type, 0, core.channels.last)
  fault.check("bytes", bytes, "string")
  local priority, flags, key, except = options.read(opts)
  if not entry then
    return nil, message, code
  end
  return targets.deliver("channel:send", whom, except, deliver_packet, entry.id, packet_type, bytes,
    priority, flags, key)
end


function Channel:ask(peer, packet_type, bytes, timeout)
  local entry, message, code = entry_of(self, "ask")
  if not registry.is_peer(peer) then
    fault.raise("channel:ask takes a peer, not %s", fault.kind(peer))
  end
  fault.check_whole("type", packet_type, 0, core.channels.last)
  fault.check("bytes", bytes, "string")
  fault.check_seconds("timeout", timeout == nil and ASK_TIMEOUT or timeout)
  tasks.check_may_wait "channel:ask"
  if not entry then
    return nil, message, code
  elseif not peer.connected then
    return nil, "the peer is not connected", "ConnectionClosed"
  elseif peer.transport == "text" or peer.is_bot then
    return nil, peer.is_bot and "a bot answers no packets" or "a text peer cannot answer", "Unsupported"
  end
  return channels.request(peer.id, entry.id, packet_type, bytes, timeout or ASK_TIMEOUT)
end


function Channel:on_packet(fn)
  local entry = entry_of(self, "on_packet")
  fault.check("what channel:on_packet takes", fn, "function")
  if entry then
    journal.set(entry, "handler", {
      label = "channel " .. entry.name, fn = fn, version = live.version_of(fn) or live.running(),
    })
  end
  return self
end


function Channel:receive()
  local entry = entry_of(self, "receive")
  local packets, dropped = {}, 0
  if entry then
    local queue = entry.queue
    for i = queue.first, queue.last do
      packets[#packets + 1], queue[i] = queue[i], nil
    end
    dropped = queue.dropped
    queue.first, queue.last, queue.bytes, queue.dropped = 1, 0, 0, 0
  end
  return packets, dropped
end


-- After the running handler, fails the requests that wait for an answer on a closed channel, unless the
-- channel is open again by then.
local function drop_requests_later(id)
  timers.after(nil, 0, function()
    if not by_id[id] then
      requests.drop_channel(id)
    end
  end)
end


function Channel:close()
  local entry = entry_of(self, "close")
  if not entry then
    return false
  end
  core.channel_close(entry.id)
  remove(entry)
  journal.push(add, entry)
  drop_requests_later(entry.id)
  return true
end


-- Opening ----------------------------------------------------------------------------------

local function whole_in(value, first, last)
  return type(value) == "number" and value >= first and value <= last and value % 1 == 0
end


--- Returns the first and the last number that `{ id = 300 }` or `{ range = "1000-1079" }` names. Returns
--- nothing for a table without both fields; nil and an error for a wrong field.
---@param given table
---@param id_last integer
---@return integer? first
---@return integer|string|nil last
function channels.span(given, id_last)
  if given.id ~= nil and given.range ~= nil then
    return nil, "give an id or a range, not both"
  elseif given.id ~= nil then
    if not whole_in(given.id, FIRST, id_last) then
      return nil, ("id must be a whole number from %d to %d, not %s"):format(FIRST, id_last,
      fault.quote(given.id))
    end
    return given.id, given.id
  elseif given.range == nil then
    return
  end
  local first, last = tostring(given.range):match "^(%d%d?%d?%d?)%-(%d%d?%d?%d?)$"
  first, last = tonumber(first), tonumber(last)
  if not first or not whole_in(first, FIRST, LAST) or not whole_in(last, first, LAST) then
    return nil, ('range must be "FIRST-LAST" with numbers from %d to %d, such as "1000-1079", not %s')
      :format(FIRST, LAST, fault.quote(given.range))
  end
  return first, last
end

-- Reads the argument of perigee.channel. Returns the name, and the first and the last number that the channel
-- may have (0, 0: any number).
local function read_options(given)
  if type(given) ~= "table" then
    fault.check("a channel's name", given, "string")
    return given, 0, 0
  end
  for key in next, given do
    if key ~= "name" and key ~= "id" and key ~= "range" then
      fault.raise("perigee.channel has no option %s; it has name, id and range", tostring(key))
    end
  end
  fault.check("a channel's name", given.name, "string")
  local first, last = channels.span(given, ID_LAST)
  if not first and last then
    fault.raise("perigee.channel: %s", last)
  end
  return given.name, first or 0, last or 0
end

local function take_back(entry, known)
  remove(entry)
  if known then
    add(known)
  end
end


function channels.open(given)
  local name, first, last = read_options(given)
  local known, version = by_name[name], live.running()
  local other = first ~= 0 and first == last and by_id[first]
  if other and other.name ~= name then
    return nil, ("channel %q: the number %d is that of the channel %q"):format(name, first, other.name),
      "ChannelTaken"
  elseif known and known.version == version and (first == 0 or known.id >= first and known.id <= last) then
    return known.object
  end
  local id, owned, code = core.channel_open(name, first, last)
  if not id then
    return nil, ("channel %q: %s"):format(name, owned), code
  elseif known and not owned then
    return known.object -- an earlier version opened it in a handler that is still running
  end
  local object = setmetatable({ id = id, name = name }, channel_class)
  local entry = {
    id = id, name = name, object = object, owned = owned, version = version,
    replaced = live.loading and known,
    queue = known and known.queue or { first = 1, last = 0, bytes = 0, dropped = 0 }, -- for channel:receive
  }
  held[object] = entry
  add(entry)
  journal.push(take_back, entry, known)
  return object
end


-- What the host calls ----------------------------------------------------------------------

local function wait_for_receive(entry, peer, packet_type, data, flags, priority)
  local queue = entry.queue
  queue.last = queue.last + 1
  queue.bytes = queue.bytes + #data
  queue[queue.last] = {
    peer = registry.peers[peer], type = packet_type, payload = data,
    priority = options.priority_names[priority], reliable = flags % 2 == RELIABLE,
  }
  while queue.last - queue.first >= WAITING_MAX or queue.bytes > WAITING_BYTES do
    queue.bytes = queue.bytes - #queue[queue.first].payload
    queue[queue.first] = nil
    queue.first, queue.dropped = queue.first + 1, queue.dropped + 1
    errors.log(core.levels.warn, ("channel %q: the oldest packets are dropped, because more wait "
      .. "than channel:receive may leave; ask more often, or set channel:on_packet"):format(entry.name))
  end
end


--- Returns the entry of a channel that the script serves, by number.
---@param id integer
---@return perigee.ChannelEntry?
function channels.find(id)
  return by_id[id]
end


--- Handles a packet on a channel that the script served when the packet arrived.
---@param peer integer
---@param data string
---@param flags integer
---@param ref integer
---@param packet_type integer
---@param entry perigee.ChannelEntry
---@param priority integer
function channels.take(peer, data, flags, ref, packet_type, entry, priority)
  local is_request = peer_host.is_request(flags)
  if not entry.handler then
    if is_request then
      core.error(peer, CODES.Unsupported, flags, ref,
        "the script polls this channel, and answers no questions on it")
    else
      wait_for_receive(entry, peer, packet_type, data, flags, priority)
    end
    return
  end
  local id, name, handler = entry.id, entry.name, entry.handler.fn
  local answer = handler(registry.peers[peer], packet_type, data)
  if is_request then
    answer = channels.check_answer(name, answer)
    peer_host.answer_packet(peer, id, packet_type, answer, ref, flags)
  end
end


--- Checks the answer that a handler returned.
---@param name string name of the channel
---@param answer any
---@return string
function channels.check_answer(name, answer)
  if answer == nil then
    return ""
  elseif type(answer) ~= "string" then
    fault.raise("channel %q: the answer must be a string, not %s", name, fault.kind(answer))
  end
  return answer
end


-- Requests ---------------------------------------------------------------------------------


--- Sends a request on a plugin channel, and waits for the answer.
---@param peer integer
---@param channel integer
---@param packet_type integer
---@param bytes string
---@param timeout number seconds
---@return string? bytes
---@return string? message
---@return string? code
function channels.request(peer, channel, packet_type, bytes, timeout)
  local ref = pending.take_ref(peer)
  local ok, message, code =
    core.packet(TO_PEER, peer, channel, packet_type, bytes, PRIORITY, REQUEST + RELIABLE, ref)
  if not ok then
    return nil, message, code
  end
  return requests.wait(peer, ref, timeout, channel)
end


--- Returns the name of a channel that is given by name or number; nil for a number without a name.
---@param channel string|integer
---@return string?
function channels.name_of(channel)
  return type(channel) == "string" and channel or core.channel_name(channel)
end


--- Sends a request of the host to the client or script that serves a plugin channel. A client gets a packet.
--- A script's handler (channel:on_packet) is called without a peer.
---@param name string
---@param packet_type integer
---@param bytes string
---@param timeout number seconds
---@return string? bytes
---@return string? message
---@return string? code
function channels.request_server(name, packet_type, bytes, timeout)
  local id, peer = core.channel_find(name)
  local entry = by_name[name]
  if id and peer ~= 0 then
    return channels.request(peer, id, packet_type, bytes, timeout)
  elseif not entry then
    return nil, ("nobody serves the channel %q"):format(name), "ChannelNotFound"
  elseif not entry.handler then
    return nil, ("the script polls the channel %q, and answers no questions on it"):format(name),
      "Unsupported"
  end
  return channels.check_answer(name, entry.handler.fn(nil, packet_type, bytes))
end


-- Versions ---------------------------------------------------------------------------------


--- Closes the channels of other versions, except channels that this version has opened as well.
---@param number integer
---@return perigee.ChannelEntry[] ended
---@return integer closed the number of names that lost their server
function channels.revoke(number)
  local ended, closed = {}, 0
  for _, entry in next, by_name do
    if entry.replaced then
      ended[#ended + 1], entry.replaced = entry.replaced, nil
    elseif entry.owned and entry.version ~= number then
      ended[#ended + 1], closed = entry, closed + 1
      core.channel_close(entry.id)
      drop_requests_later(entry.id)
    end
  end
  for _, entry in ipairs(ended) do
    remove(entry)
  end
  return ended, closed
end


--- Reopens the channels that channels.revoke ended, except channels that a client serves now.
---@param ended perigee.ChannelEntry[]
function channels.restore(ended)
  for _, entry in ipairs(ended) do
    local number, why = core.channel_open(entry.name, entry.id, entry.id)
    if number then
      add(entry)
    else
      live.log(core.levels.warn, ("channel %q is not opened again: %s"):format(entry.name, why))
    end
  end
end


--- Returns the open channels. Do not change the result.
---@return table<string, perigee.ChannelEntry>
function channels.entries()
  return by_name
end

return channels
