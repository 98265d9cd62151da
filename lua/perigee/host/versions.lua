--- Gives a version of the game its API, checks the result of its load, and makes it live.

local account_store = require "perigee.host.account_store"
local bots = require("perigee.host.bots").api
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local durable = require "perigee.host.durable"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local handlers = require "perigee.host.handlers"
local iterate = require "perigee.util.iterate"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local loader = require "perigee.host.loader"
local lockstep = require "perigee.lockstep.host"
local mcp_registry = require "perigee.mcp.registry"
local network = require "perigee.world.network"
local perigee = require "perigee.init"
local protocol = require "perigee.api.protocol"
local queues = require "perigee.matchmaking.queues"
local replacements = require "perigee.api.replacements"
local sorted_keys = require "perigee.util.sorted_keys"
local state = require "perigee.host.state"
local store = require "perigee.api.store"
local stores = require "perigee.host.stores"
local systems = require "perigee.world.systems"
local world = require("perigee.world").host

local versions = {}

-- Copies a table of the API. Access to an unknown name raises an error that suggests the right name. With
-- `call`, the table can be called.
local function copy_api(what, source, others, call)
  local copy, names = {}, {}
  for name, value in iterate(source) do
    copy[name] = value
    names[#names + 1] = name
  end
  return setmetatable(copy, {
    __index = function(_, name)
      local other = others and others[name]
      fault.raise("%s has no %s%s", what, tostring(name),
        other and "; write " .. other or fault.hint_or_names(name, names))
    end,
    __call = call and function(_, ...)
      return call(...)
    end,
    __metatable = what,
  })
end

-- Copies the API, so that no version can change the API of another one.
local function make_api(shared)
  local api = copy_api("perigee", perigee, replacements.perigee)
  for _, part in ipairs { "rooms", "to", "mcp", "fixed", "json", "accounts", "party", "rating" } do
    api[part] = copy_api("perigee." .. part, perigee[part])
  end
  api.store = copy_api("perigee.store", perigee.store, nil, store.collection)
  api.state = shared
  return api
end


--- Returns a version that has not been run yet.
---@param number integer
---@return perigee.Version
function versions.new(number)
  local shared = live.version and rawget(live.version.api, "state") or {}
  local version = loader.new(live.path, number, make_api(shared))
  declared.begin(version)
  protocol.begin()
  stores.begin(version)
  queues.begin(version)
  return version
end


--- Watches the files of two versions: the new version and the live version. The files of a broken new version
--- are not enough, because it may stop before it has required all of them.
---@param version { files: string[] }
---@param other { files: string[] }
function versions.watch(version, other)
  local files, known = {}, {}
  for _, source in ipairs { version, other } do
    for _, path in ipairs(source.files) do
      files[#files + 1] = not known[path] and path or nil
      known[path] = true
    end
  end
  core.files(files)
end


--- Passes the configuration of a version to the server, which applies it when the version goes live.
---@param version perigee.Version
function versions.configure(version)
  for key in iterate(version.config) do
    if type(key) ~= "string" then
      error(("%s: config has the key %s; its keys are names"):format(version.main, tostring(key)), 0)
    end
  end
  core.config_begin()
  for _, key in ipairs(sorted_keys(version.config)) do
    local problem = core.config_set(key, version.config[key])
    if problem then
      error(("%s: %s"):format(version.main, problem), 0)
    end
  end
end


--- Raises an error if anything is wrong with a version that has been run.
---@param version perigee.Version
function versions.check(version)
  declared.finish(version.world)
  systems.sort(version.world)
  state.check(rawget(version.api, "state"))
  versions.configure(version)
  protocol.finish(version)
  local problem = live_schema.conflict(version.protocol, version.config)
  if problem then
    error(("%sschema.perigee: %s"):format(version.root, problem), 0)
  end
  world.check()
  queues.check(version)
  durable.declare(version)
  account_store.declare(version)
  stores.finish(version)
end


--- Makes a checked version live. Cannot fail.
---@param version perigee.Version
function versions.put_in_place(version)
  live.set(version)
  world.take(version.world)
  events.begin_window(version.game.on_tick ~= nil or #version.world.systems > 0)
  handlers.export(version, events)
  bots.take()
  core.config_take()
  stores.take(version)
  queues.take(version)
  durable.take(version)
  live_schema.take(version.protocol)
  lockstep.take()
  mcp_registry.take(version.number)
  for _, warning in ipairs(version.warnings) do
    live.log(core.levels.warn, warning, version.number)
  end
  version.warnings = {}
end


function events.on_change()
  if live.version and not live.upgrading then
    handlers.export(live.version, events)
  end
end

function declared.on_use()
  events.on_change()
  network.sync()
end

return versions
