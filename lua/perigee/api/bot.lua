--- The methods and fields that bots have in addition to the methods and fields of all peers.
--- lua/perigee/meta/bots.lua describes them.

local bots = require("perigee.host.bots").api
local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local joins = require "perigee.host.joins"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local peer = require "perigee.api.peer"
local registry = require "perigee.host.registry"
local replacements = require "perigee.api.replacements"

local OPTIONS = { "name", "brain", "fill" }
local TYPES = { name = "string", brain = "string", fill = "boolean" }

local Bot, getters = {}, {}


function getters.room(self)
  local room = bots.get(self._id)
  return room and registry.rooms[room]
end


function getters.brain(self)
  return (select(2, bots.get(self._id)))
end


function Bot:act(name, value)
  if name == "text" and type(value) == "string" then
    return core.act_line(self._id, value)
  end
  local body, _, number, packed = messages.encode(name, value, core.targets.peer, self._id)
  return core.act(self._id, bots.get(self._id) or 0, packed or body, number or 0, 0, 0)
end


for name, method in next, peer.methods do
  Bot[name] = Bot[name] or method
end
for name, getter in next, peer.getters do
  getters[name] = getters[name] or getter
end


function Bot.join()
  return nil, "a bot stays in its room", "Unsupported"
end

class.define(registry.bot_class, Bot, getters, replacements.bot)

local function check(options)
  fault.check("the argument of room:bot", options, "table")
  for key, value in next, options do
    if not TYPES[key] then
      fault.raise("room:bot has no option %s%s", tostring(key), fault.hint_or_names(key, OPTIONS))
    end
    fault.check(key, value, TYPES[key])
  end
end


--- Implements room:bot.
---@param room perigee.Room
---@param options perigee.BotOptions
---@return perigee.Bot? bot
---@return string? message
---@return perigee.Code? code
return function(room, options)
  check(options)
  local settings = live.version.settings[room.kind]
  if settings and settings.lockstep then
    fault.raise("room:bot: a lockstep room has no bots, because its clients play all members")
  end
  local id, message, code = bots.add(room.id, options.name or "", options.brain, options.fill == true,
    joins.expect_bot())
  if not id then
    return nil, message, code
  end
  local bot = setmetatable({ _id = id }, registry.bot_class)
  registry.peers[id] = bot
  return bot
end
