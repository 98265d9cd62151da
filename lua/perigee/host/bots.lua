--- Bots: members of rooms that brains play. A brain is a module of the game, found by its name for each call,
--- so that a reload changes the brains of running bots.

local backoff = require "perigee.host.backoff"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local priority_names = require("perigee.api.options").priority_names
local registry = require "perigee.host.registry"
local requests = require "perigee.host.requests"

local HANDLERS = { "on_tick", "on_message", "on_broadcast", "on_packet" }
local FLAGS = core.bot_flags
local CHANNELS, RELIABLE, REQUEST, RESPONSE =
  core.channels, core.flags.reliable, core.flags.request, core.flags.response

local ran = core.ran() -- the running handler, see host/init.lua

local bots = {}

--- A bot.
---@class perigee.BotEntry
---@field room integer
---@field brain string? name of the brain's module
---@field where string place of the call of room:bot that made it, such as "game.lua:12: "
---@field on_tick table? task of the brain's on_tick, for errors and pauses; nil: the brain has no on_tick
---@field on_message table?
---@field on_broadcast table?
---@field on_packet table?

-- The bots that exist, by peer id.
local all = {} ---@type table<integer, perigee.BotEntry>

-- Returns the error in a brain, or nil.
local function problem_of(name, brain)
  if type(brain) ~= "table" then
    return ("the module %q is no brain: it returned %s; a brain is a table with on_tick or on_message")
      :format(name, fault.kind(brain))
  end
  local has_any = false
  for _, handler in ipairs(HANDLERS) do
    local value = rawget(brain, handler)
    if value ~= nil and type(value) ~= "function" then
      return ("%s of the brain %q must be a function, not %s"):format(handler, name, fault.kind(value))
    end
    has_any = has_any or value ~= nil
  end
  if not has_any then
    return ("the brain %q has none of %s"):format(name, table.concat(HANDLERS, ", "))
  end
end

local warned = setmetatable({}, { __mode = "k" }) -- brains whose unknown handlers have been reported

local function warn_of_unknown(name, brain)
  for key, value in next, warned[brain] and {} or brain do
    if type(key) == "string" and key:find "^on_" and not FLAGS[key] and type(value) == "function" then
      live.log(core.levels.warn, ("%s: the brain %q has no handler %s%s"):format(fault.place(value) or name,
        name, key, fault.hint_or_names(key, HANDLERS)))
    end
  end
  warned[brain] = true
end

-- Sets a bot's tasks to the handlers that its brain has in a version; returns their flags.
local function set_tasks(entry, version)
  local brain = entry.brain and version.modules[entry.brain]
  local flags = 0
  if brain then
    warn_of_unknown(entry.brain, brain)
  end
  for _, handler in ipairs(HANDLERS) do
    local fn = brain and rawget(brain, handler)
    local task = fn and {
      label = entry.brain .. "." .. handler, version = version.number, fn = fn,
      room = registry.rooms[entry.room],
    }
    entry[handler] = task
    flags = flags + (task and FLAGS[handler] or 0)
  end
  local on_tick = entry.on_tick
  if on_tick then
    function on_tick.on_failure()
      on_tick.is_running = false
    end
  end
  return flags
end

local function forget(id)
  all[id] = nil
  registry.forget_peer(id)
end


--- Adds a bot to a room; returns its id.
---@param room integer
---@param name string
---@param brain string?
---@param fills boolean
---@param token integer token of the join
---@return integer? id
---@return string? message
---@return string? code
function bots.add(room, name, brain, fills, token)
  if live.loading then
    fault.raise "room:bot cannot be called while the game is being loaded; call it in a handler"
  end
  if brain then
    local problem = problem_of(brain, live.version.require(brain))
    if problem then
      fault.raise("room:bot: %s", problem)
    end
  end
  local entry = { room = room, brain = brain, where = fault.where() }
  local flags = set_tasks(entry, live.version) + (fills and FLAGS.fills or 0)
  local id, message, code = core.bot_add(room, name, token, flags)
  if not id then
    return nil, message, code
  end
  all[id] = entry
  journal.push(forget, id)
  return id
end


--- Returns the room and the brain of a bot that exists.
---@param id integer
---@return integer? room
---@return string? brain
function bots.get(id)
  local entry = all[id]
  if entry then
    return entry.room, entry.brain
  end
end


--- Returns whether the peer is a bot whose brain has no such handler.
---@param id integer
---@param handler string
---@return boolean
function bots.lacks(id, handler)
  local entry = all[id]
  return entry ~= nil and entry[handler] == nil
end


--- Forgets a bot that has ended; returns whether the peer was a bot.
---@param id integer
---@return boolean
function bots.forget(id)
  local entry = all[id]
  all[id] = nil
  return entry ~= nil
end


--- Requires the brains of the running bots for a version that is being loaded.
---@param version perigee.Version
function bots.load(version)
  local is_checked = {}
  for _, entry in next, all do
    local name = entry.brain
    if name and not is_checked[name] then
      is_checked[name] = true
      local ok, brain = pcall(version.require, name)
      local problem = not ok and brain or problem_of(name, brain)
      if type(problem) == "string" and not problem:find "^[^\n]-:%d+: " and not version.has_unparsed then
        problem = ("%s%s; a bot that was made here needs it"):format(entry.where, problem)
      end
      if problem then
        error(problem, 0)
      end
    end
  end
end


--- Gives the running bots the brains of the version that is live now.
function bots.take()
  for id, entry in next, all do
    core.bot_brain(id, set_tasks(entry, live.version))
  end
end

-- Events -----------------------------------------------------------------------------------

local on = {}

-- Returns the task of a bot's handler, and marks it as the running code; returns nil if the brain has no such
-- handler. A task of an older version may still be waiting in the same handler.
local function begin(peer, handler)
  local task = all[peer] and all[peer][handler]
  live.task, ran[1] = task, task and task.fn
  return task
end


function on.bot_tick(peer, _, _, passed_us)
  local task = begin(peer, "on_tick")
  if not task or task.is_running or backoff.is_on(task) then
    return
  end
  task.is_running = true
  task.fn(registry.peers[peer], passed_us / 1e6)
  task.is_running = false
  backoff.forget(task)
end


-- Returns a task for a request. If on_message fails, the sender of the request gets the error at once.
local function answering(task, peer, ref)
  return {
    label = task.label, version = task.version, fn = task.fn, room = task.room,
    on_failure = function(text, code)
      requests.fail(peer, ref, code and text or "the brain's on_message failed", code or "Internal")
    end,
  }
end

local function take_message(peer, body, flags, ref, packet_type)
  local task = begin(peer, "on_message")
  local name, value = messages.decode(body, packet_type)
  if not task or not name then
    return
  end
  local is_request = flags % (2 * REQUEST) >= REQUEST
  if is_request then
    live.task = answering(task, peer, ref)
  end
  local answer = task.fn(registry.peers[peer], name, value)
  if is_request then
    local json, _, number, packed = messages.encode_answer(name, answer, core.targets.peer, peer)
    core.act(peer, 0, packed or json, number or 0, RESPONSE + flags % (2 * RELIABLE), ref)
  end
end

local function take_broadcast(peer, bytes, sender)
  local task = begin(peer, "on_broadcast")
  if task then
    task.fn(registry.peers[peer], sender ~= 0 and registry.peers[sender] or nil, bytes)
  end
end

local function take_packet(peer, bytes, flags, packet_type, channel, priority)
  local task = begin(peer, "on_packet")
  if task then
    task.fn(registry.peers[peer], {
      channel = channel, type = packet_type, payload = bytes, priority = priority_names[priority],
      reliable = flags % (2 * RELIABLE) == RELIABLE, request = false,
    })
  end
end


function on.bot_message(peer, _, body, sender, _, flags, ref, packet_type, channel, priority)
  if channel == CHANNELS.message then
    take_message(peer, body, flags, ref, packet_type)
  elseif channel == CHANNELS.control then
    take_broadcast(peer, body, sender)
  else
    take_packet(peer, body, flags, packet_type, channel, priority)
  end
end

return { api = bots, events = on }
