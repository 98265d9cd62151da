--- Puts a version of the game in the place of another, in one step or not at all.

local core = require "perigee.core"
local events = require "perigee.events"
local fault = require "perigee.fault"
local handlers = require "perigee.handlers"
local live = require "perigee.live"
local loader = require "perigee.loader"
local perigee = require "perigee.init"
local registry = require "perigee.registry"
local state = require "perigee.state"
local tasks = require "perigee.tasks"

local reload = {}

local game -- its path, as the user gave it
local follow_ups = {} -- handlers of the new version that come next: rooms' ids, or 0 for on_reload
local from -- the version before the live one

-- A copy of a table of the API, which says so when a script asks it for what it has not.
local function copy_api(what, source)
  local copy, names = {}, {}
  for name, value in next, source do
    copy[name] = value
    names[#names + 1] = name
  end
  return setmetatable(copy, {
    __index = function(_, name)
      fault.raise("%s has no %s%s", what, tostring(name), fault.hint(tostring(name), names))
    end,
    __metatable = "table",
  })
end

-- A copy of the API, so that nothing one version does to it reaches another.
local function make_api(shared)
  local api = copy_api("perigee", perigee)
  api.rooms = copy_api("perigee.rooms", perigee.rooms)
  api.to = copy_api("perigee.to", perigee.to)
  api.state = shared
  return api
end

local function tell_files(version, ok)
  local files = { unpack(version.files) }
  if not ok and live.version then
    for _, path in ipairs(live.version.files) do
      files[#files + 1] = not version.texts[path] and path or nil
    end
  end
  core.files(files)
end

local function sorted(set)
  local list = {}
  for key in next, set do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

local function check_config(version)
  for key in next, version.config do
    if type(key) ~= "string" then
      error(("%s: config has the key %s; its keys are names"):format(version.main,
        tostring(key)), 0)
    end
  end
end

local function tell_config(version)
  check_config(version)
  core.config_begin()
  for _, key in ipairs(sorted(version.config)) do
    local wrong = core.config_set(key, version.config[key])
    if wrong then
      core.config_end(false)
      error(("%s: %s"):format(version.main, wrong), 0)
    end
  end
end

local function export()
  if live.version then
    handlers.export(live.version, events)
  end
end

events.on_change = export

-- Loads and checks; then takes the version into use, which cannot fail.
local function take(version)
  local ok, problem = loader.run(version)
  tell_files(version, ok)
  if not ok then
    error(problem, 0)
  end
  state.check(rawget(version.api, "state"))
  tell_config(version)
  live.set(version)
  events.begin_window(version.game.on_tick ~= nil)
  export()
  core.config_end(true)
  for _, warning in ipairs(version.warnings) do
    core.log(core.levels.warn, warning, version.number)
  end
end


--- The first load.
---@param path string
---@return integer version
function reload.load(path)
  game = path
  take(loader.new(game, 1, make_api {}))
  return live.number
end

-- What changed -----------------------------------------------------------------------------

local function add_list(parts, what, list)
  if #list > 0 then
    parts[#parts + 1] = what .. " " .. table.concat(list, ", ")
  end
end

local function compare_files(parts, old, new)
  local changed, added, removed = {}, {}, {}
  for path, text in next, new.texts do
    local list = old.texts[path] == nil and added or old.texts[path] ~= text and changed
    if list then
      list[#list + 1] = path
    end
  end
  for path in next, old.texts do
    removed[#removed + 1] = new.texts[path] == nil and path or nil
  end
  for i, list in ipairs { changed, added, removed } do
    table.sort(list)
    add_list(parts, ({ "changed", "added", "removed" })[i], list)
  end
end

local function compare_handlers(parts, old, new)
  local before, after, added, removed = handlers.names(old), handlers.names(new), {}, {}
  for name in next, after do
    added[#added + 1] = not before[name] and name or nil
  end
  for name in next, before do
    removed[#removed + 1] = not after[name] and name or nil
  end
  table.sort(added)
  table.sort(removed)
  add_list(parts, "new handlers", added)
  add_list(parts, "handlers gone:", removed)
end

local function describe(old, new, revoked, kept)
  local parts = { "version " .. new.number }
  compare_files(parts, old, new)
  compare_handlers(parts, old, new)
  if #parts == 1 then
    parts[2] = "nothing changed"
  end
  if revoked > 0 then
    parts[#parts + 1] = ("%d timers and tasks revoked"):format(revoked)
  end
  if kept > 0 then
    parts[#parts + 1] = ("%d timers and tasks go on with old code"):format(kept)
  end
  return table.concat(parts, "; ")
end

local function list_follow_ups(version)
  follow_ups = {}
  for _, id in ipairs(core.rooms(true)) do
    if live.of_room[id].on_upgrade then
      follow_ups[#follow_ups + 1] = id
    end
  end
  if version.game.on_reload then
    follow_ups[#follow_ups + 1] = 0
  end
end


--- Loads the game again. Returns the new version's number, what changed, and how many follow-ups
--- there are; raises an error when the old version has to go on.
---@return integer version
---@return string report
---@return integer follow_ups
function reload.reload()
  local old = live.version
  local new = loader.new(game, old.number + 1, make_api(rawget(old.api, "state") or {}))
  take(new)
  from = old.number
  local revoked, kept = tasks.revoke(new.number)
  list_follow_ups(new)
  return new.number, describe(old, new, revoked, kept), #follow_ups
end


--- Runs one of the handlers that follow a reload.
---@param at integer
function reload.follow_up(at)
  local id = follow_ups[at]
  local is_game = id == 0
  live.task = { label = is_game and "on_reload" or "on_upgrade", version = live.number }
  core.adopt(id, is_game)
  if is_game then
    live.game.on_reload(from, live.number)
  elseif registry.rooms[id] then
    live.of_room[id].on_upgrade(registry.rooms[id], from, live.number)
  end
end

return reload
