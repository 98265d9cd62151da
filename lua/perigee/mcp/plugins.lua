--- Tools that clients offer on the plugin channels that they serve: TOOL_ADD and TOOL_REMOVE in
--- docs/protocol.md. A tool ends with its channel. Calls of a tool go through its channel, as calls of the
--- game's tools with `channel` do.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local json = require "perigee.mcp.json"
local live = require "perigee.host.live"
local peer_host = require "perigee.api.peer"
local registry = require "perigee.mcp.registry"

local CODES = core.codes
local TOOL_ADD = 13
local TOOLS_MAX = 64 -- most tools of one peer
local CHANGES_MAX, CHANGES_SECONDS = 256, 60 -- most changes of a peer's tools; seconds for which they count
local VALUES_MAX, DEPTH_MAX = 1024, 24 -- most values and most levels in a tool's JSON

local plugins = {
  make_tool = nil, -- function set by perigee.mcp: returns the item for a tool's description, or raises an
                   -- error
}

local of_peer = {} -- peer id -> { changes, since = start of the count, tools = names of its tools }

local function entry_of(peer)
  of_peer[peer] = of_peer[peer] or { tools = {}, changes = 0, since = core.now() }
  return of_peer[peer]
end

-- Reading ----------------------------------------------------------------------------------

local function is_deeper(value, depth)
  if type(value) ~= "table" then
    return false
  elseif depth == 0 then
    return true
  end
  for _, item in next, value do
    if is_deeper(item, depth - 1) then
      return true
    end
  end
  return false
end

-- Returns the value of a packet, which must be an object; or nil and an error.
local function read(data)
  if core.json_count(data) > VALUES_MAX then
    return nil, ("the JSON of a tool has more than %d values"):format(VALUES_MAX)
  end
  local value, problem = json.decode(data)
  if type(value) ~= "table" or data:find "^%s*%[" then
    return nil, "a tool is a JSON object: " .. (problem or "this is none")
  elseif is_deeper(value, DEPTH_MAX) then
    return nil, ("the JSON of a tool is nested deeper than %d"):format(DEPTH_MAX)
  end
  return json.without_null(value)
end

-- Returns the name of the channel that a tool names. Without such a name, returns the channel that the peer
-- serves, if it serves exactly one. Otherwise returns nil.
local function channel_of(peer, named)
  local is_number = type(named) == "number" and named % 1 == 0 and named >= 0 and named <= core.channels.last
  if type(named) == "string" or is_number then
    local name = channels.name_of(named)
    local _, server = core.channel_find(name or "")
    return server == peer and name or nil
  elseif named ~= nil then
    return nil
  end
  local _, numbers, names = core.channels_served(nil)
  local found
  for i in ipairs(numbers) do
    local _, server = core.channel_find(names[i])
    if server == peer and found then
      return nil
    end
    found = server == peer and names[i] or found
  end
  return found
end

-- Changing ---------------------------------------------------------------------------------

-- Counts a change of tools. Returns an error and its code after too many changes.
local function count(entry)
  local now = core.now()
  if now - entry.since > CHANGES_SECONDS then
    entry.changes, entry.since = 0, now
  end
  entry.changes = entry.changes + 1
  if entry.changes > CHANGES_MAX then
    return ("at most %d tools are added and removed in %d s"):format(CHANGES_MAX, CHANGES_SECONDS),
      "RateLimited"
  end
end

local function size_of(set)
  local size = 0
  for _ in next, set do
    size = size + 1
  end
  return size
end

-- Adds the tool that a TOOL_ADD describes. If that fails, returns an error and its code.
local function add(peer, entry, data)
  local given, problem = read(data)
  if not given then
    return problem, "Protocol"
  elseif entry.tools[given.name or ""] == nil and size_of(entry.tools) >= TOOLS_MAX then
    return ("a client has at most %d tools; remove one"):format(TOOLS_MAX), "ServerFull"
  end
  local name = channel_of(peer, given.channel)
  local rule = name and live.channels[name]
  if not name then
    return "a tool has the `channel` that you serve, its name or number", "ChannelNotFound"
  elseif rule and rule.has_no_tools then
    return "the game allows no tools on this channel", "Unauthorized"
  elseif given.handler ~= nil then
    return "a tool of a client has no handler", "Protocol"
  end
  given.channel = name
  local ok, item = pcall(plugins.make_tool, given)
  if not ok then
    return (tostring(item):gsub("^perigee%.mcp%.", "")), "Protocol"
  end
  item.peer = peer
  local whose = registry.owner(given.name)
  if whose ~= nil and whose ~= peer then
    return ("the tool %s is %s"):format(given.name, whose == 0 and "the game's" or "another client's"),
      "Rejected"
  elseif not registry.add_plugged(given.name, item) then
    return "there are too many tools of clients", "ServerFull"
  end
  entry.tools[given.name] = name
end

local function remove(_, entry, data)
  local given, problem = read(data)
  local name = given and given.name
  if not given then
    return problem, "Protocol"
  elseif type(name) ~= "string" or not entry.tools[name] then
    return "you have no such tool", "Rejected"
  end
  entry.tools[name] = nil
  registry.remove_plugged(name)
end


--- Handles a TOOL_ADD or TOOL_REMOVE.
---@param peer integer
---@param data string
---@param flags integer
---@param ref integer
---@param packet_type integer
function plugins.take(peer, data, flags, ref, packet_type)
  local entry = entry_of(peer)
  local problem, code = count(entry)
  if not problem then
    problem, code = (packet_type == TOOL_ADD and add or remove)(peer, entry, data)
  end
  if problem then
    core.error(peer, CODES[code], flags, ref, problem)
  elseif peer_host.is_request(flags) then
    core.accept(peer, packet_type, flags, ref)
  end
end


--- Removes all tools of a peer; with `channel`, removes only the tools of this channel.
---@param peer integer
---@param channel integer?
function plugins.drop(peer, channel)
  local entry = of_peer[peer]
  if not entry then
    return
  end
  local of_channel = channel and channels.name_of(channel)
  local dropped = false
  for name, whose in next, entry.tools do
    if not channel or whose == of_channel then
      entry.tools[name], dropped = nil, true
      registry.remove_plugged(name)
    end
  end
  of_peer[peer] = channel and entry or nil
  if dropped then
    core.commit() -- clients get the notifications even if the handler that follows fails
  end
end

return plugins
