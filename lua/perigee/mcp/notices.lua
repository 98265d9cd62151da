--- Notifications to a session. They have two sources: the script (perigee.mcp.notify), and packets on the
--- session's channel. Only a peer that serves a plugin channel may send such packets, and only after the
--- session has called a tool of that channel. The session's channel is closed to all other peers, because an
--- LLM may treat a notification's text as an instruction.

local core = require "perigee.core"
local exchange = require "perigee.mcp.exchange"
local fault = require "perigee.util.fault"
local json = require "perigee.mcp.json"
local LEVELS = require("perigee.mcp.session").LEVELS
local peer_host = require "perigee.api.peer"
local registry = require "perigee.mcp.registry"
local sessions = require "perigee.mcp.sessions"

local notices = {}

local CODES = core.codes
local WHOLE = 0 -- type of a packet with a whole notification; other types are log levels
local MESSAGE, PROGRESS = "notifications/message", "notifications/progress"
local ALWAYS = { [MESSAGE] = true, [PROGRESS] = true } -- notifications that plugins may send without
                                                        -- declaring them

local level_names = {}
for name, number in next, LEVELS do
  level_names[number] = name
end

-- Returns the oldest running call with this plugin and this progress token; nil as an argument matches any.
local function call_of(session, plugin, token)
  local found
  for _, call in next, session.calls do
    if (not plugin or call.plugin == plugin) and (token == nil or call.progress_token == token)
      and not (found and found.began <= call.began) then
      found = call
    end
  end
  return found
end

-- Sends a notification: with the answer of its call if that call is running, otherwise on a stream of the
-- session. If that fails, returns an error and its code.
local function send(session, method, params, plugin)
  local token = method == PROGRESS and params.progressToken or nil
  local call = (plugin or token ~= nil) and call_of(session, plugin, token)
  if method == PROGRESS and (token == nil or not call) then
    return "no call with this progressToken is under way", "Unsupported"
  elseif method == MESSAGE and not LEVELS[params.level] then
    return "level is one of debug, info, notice, warning, error, critical, alert, emergency", "Protocol"
  elseif method == MESSAGE and LEVELS[params.level] < (session.level or LEVELS.debug) then
    return
  end
  local message = json.notification(method, params)
  if call then
    return exchange.notify(call.exchange, message), "Protocol"
  end
  return sessions.notify(session, message), "Protocol"
end


function notices.notify(channel, method, params)
  fault.check_whole("the channel", channel, 0, core.channels.last)
  fault.check("the method", method, "string")
  fault.check("its parameters", params == nil and {} or params, "table")
  if not method:find "^notifications/." then
    fault.raise("perigee.mcp.notify: a notification is like notifications/message, not %s", method)
  end
  local session = sessions.of_channel(channel)
  if not session then
    return nil, "there is no such session", "ChannelNotFound"
  end
  local problem, code = send(session, method, params or {})
  if problem then
    return nil, problem, code
  end
  return true
end

-- Packets ----------------------------------------------------------------------------------

-- Returns the plugin channel that lets a peer send to a session, and the notifications that the channel's
-- tools declare. The peer must serve this channel, and the session must have called a tool of the channel.
local function plugin_of(session, peer)
  for name in next, session.plugins do
    local _, server = core.channel_find(name)
    local declared = server == peer and registry.notifications_of(name)
    if declared then
      return name, declared
    end
  end
end

-- Returns the method and the parameters in a packet; or nil, an error, and its code.
local function read(packet_type, data, plugin, declared)
  local level = level_names[packet_type]
  if level and core.is_utf8(data) then
    return MESSAGE, { level = level, logger = plugin, data = data }
  elseif level then
    return nil, "a line for the client's log is UTF-8", "Protocol"
  elseif packet_type ~= WHOLE then
    return nil, "a packet to an LLM's session is of type 0 to 8", "Unsupported"
  end
  local value = json.decode(data)
  local method = type(value) == "table" and value.method
  local params = method and (value.params == nil and {} or value.params)
  if type(method) ~= "string" or type(params) ~= "table" then
    return nil, 'a notification is JSON: {"method": "...", "params": {...}}', "Protocol"
  elseif not ALWAYS[method] and not declared[method] then
    return nil, "no tool of this channel declares " .. method:sub(1, 100), "Unsupported"
  end
  return method, params
end


--- Handles a packet on a session's channel.
---@param peer integer
---@param data string
---@param flags integer
---@param ref integer
---@param packet_type integer
---@param channel integer
function notices.take(peer, data, flags, ref, packet_type, channel)
  local session = sessions.of_channel(channel)
  local plugin, declared = nil, nil
  if session then
    plugin, declared = plugin_of(session, peer)
  end
  if not plugin then
    core.error(peer, CODES.ChannelNotFound, flags, ref, "nobody serves this channel")
    return
  end
  local method, params, code = read(packet_type, data, plugin, declared)
  local problem = params
  if method then
    problem, code = send(session, method, params, plugin)
  end
  if problem then
    core.error(peer, CODES[code], flags, ref, problem)
  elseif peer_host.is_request(flags) then
    peer_host.answer_packet(peer, channel, packet_type, "", ref, flags)
  end
end

return notices
