--- Puts a version of the game in the place of another, in one step or not at all.
---
--- C calls reload.begin, reload.upgrade for each room that has an on_upgrade, and reload.finish,
--- with no other event in between. What all of them ask for waits until finish has decided; so
--- does whatever holds outside of these files: configuration, room kinds, the revoked timers.

local channels = require "perigee.api.channels"
local checked = require "perigee.host.checked"
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local each = require "perigee.util.iterate"
local events = require "perigee.api.events"
local fault = require "perigee.util.fault"
local handlers = require "perigee.host.handlers"
local instead = require "perigee.api.replacements"
local live = require "perigee.host.live"
local live_schema = require "perigee.host.live_schema"
local lockstep = require "perigee.lockstep.host"
local loader = require "perigee.host.loader"
local network = require "perigee.world.network"
local mcp_registry = require "perigee.mcp.registry"
local old_code = require "perigee.host.old_code"
local perigee = require "perigee.init"
local probation = require "perigee.host.probation"
local registry = require "perigee.host.registry"
local report = require "perigee.host.report"
local sorted_keys = require "perigee.util.sorted_keys"
local state = require "perigee.host.state"
local systems = require "perigee.world.systems"
local tasks = require "perigee.host.tasks"
local undo = require "perigee.host.journal"
local world = require("perigee.world").host

local reload = {}

local FAILED_MAX = 10 -- one room in so many may fail in on_upgrade
local ROUNDS_MAX = 20 -- attempts of a reload that meet files which were not parsed ahead

local game -- its path, as the user gave it
local last_number = 0 -- of the versions that went live, for however short a time
local step -- the reload that is under way, see reload.begin
-- Paths that attempts of a reload have met and that were not parsed ahead; and how many such attempts
-- there were.
local wanted, rounds = {}, 0
local spare -- the version before the live one, while it may have to come back

-- A copy of a table of the API, which says so when a script asks it for what it has not, and what to
-- write instead.
local function copy_api(what, source, others)
  local copy, names = {}, {}
  for name, value in each(source) do
    copy[name] = value
    names[#names + 1] = name
  end
  return setmetatable(copy, {
    __index = function(_, name)
      local other = others and others[name]
      fault.raise("%s has no %s%s", what, tostring(name),
        other and "; write " .. other or fault.hint(tostring(name), names))
    end,
    __metatable = what,
  })
end

-- A copy of the API, so that nothing one version does to it reaches another.
local function make_api(shared)
  local api = copy_api("perigee", perigee, instead.perigee)
  api.rooms = copy_api("perigee.rooms", perigee.rooms)
  api.to = copy_api("perigee.to", perigee.to)
  api.mcp = copy_api("perigee.mcp", perigee.mcp)
  api.fixed = copy_api("perigee.fixed", perigee.fixed)
  api.state = shared
  return api
end

-- Of the new version and of the one that is live: a broken version may not get to ask for all of
-- its files, and what it waits for may be an old one's.
local function tell_files(version, other)
  local files, known = {}, {}
  for _, source in ipairs { version, other } do
    for _, path in ipairs(source.files) do
      files[#files + 1] = not known[path] and path or nil
      known[path] = true
    end
  end
  core.files(files)
end

local function check_config(version)
  for key in each(version.config) do
    if type(key) ~= "string" then
      error(("%s: config has the key %s; its keys are names"):format(version.main,
        tostring(key)), 0)
    end
  end
end

local function tell_config(version)
  check_config(version)
  core.config_begin()
  for _, key in ipairs(sorted_keys(version.config)) do
    local wrong = core.config_set(key, version.config[key])
    if wrong then
      core.config_end(false)
      error(("%s: %s"):format(version.main, wrong), 0)
    end
  end
end

function events.on_change()
  if live.version and not step then
    handlers.export(live.version, events)
  end
end

function declared.on_use()
  events.on_change()
  network.sync()
end

local function check_schema(version)
  local problem = live_schema.conflict(version.schema, version.config)
  if problem then
    error(("%sschema.perigee: %s"):format(version.root, problem), 0)
  end
end

-- Everything that can be wrong with a version that has been run.
local function check(version)
  declared.finish(version.world)
  systems.sort(version.world)
  state.check(rawget(version.api, "state"))
  check_schema(version)
  world.check()
  tell_config(version)
end

-- Makes what has been checked hold, which cannot fail.
local function take(version)
  live.set(version)
  last_number = math.max(last_number, version.number)
  world.take(version.world)
  events.begin_window(version.game.on_tick ~= nil or #version.world.systems > 0)
  handlers.export(version, events)
  core.config_end(true)
  live_schema.take(version.schema)
  lockstep.take()
  mcp_registry.take(version.number)
end

local function warn(version)
  for _, warning in ipairs(version.warnings) do
    live.log(core.levels.warn, warning, version.number)
  end
end


--- The first load.
---@param path string
---@return integer version
---@return string hash
function reload.load(path)
  game = path
  local version = loader.new(game, 1, make_api {})
  declared.begin(version)
  local ok, problem = loader.run(version)
  tell_files(version)
  if not ok then
    error(problem, 0)
  end
  check(version)
  take(version)
  warn(version)
  return version.number, version.hash
end

-- A reload, step by step -------------------------------------------------------------------

local function list_rooms(version)
  local ids = {}
  live.set(version)
  for _, id in ipairs(core.rooms(true)) do
    if live.of_room[id].on_upgrade then
      ids[#ids + 1] = id
    end
  end
  return ids
end

-- The top level of a version may change the states of rooms and peers, and the world. A reload that fails
-- restores their present contents.
local function remember_states(api)
  for _, objects in ipairs { registry.rooms, registry.peers, { { state = world.copy() } } } do
    for _, object in next, objects do
      undo.push(state.bring_back, state.remember(object))
    end
  end
  undo.push(state.bring_back, state.remember(api))
end

-- Returns whether a file is only half written, so that all of them have to be read again a little later. An
-- error that comes of that is not reported, either.
local function is_too_early(path, patience, version)
  if path and patience > 0 then
    return true
  elseif path then
    live.log(core.levels.warn, path .. " keeps changing; it is taken as it was just now", version)
  end
end

-- Refuses files in which `perigee check` found errors, and remembers them: only another change of them starts
-- another attempt.
local function refuse(found)
  live.attempt = { files = found.files, texts = loader.read_all(found.files) }
  tell_files(found, live.version)
  error(found.problem .. "\n`perigee reload --force` reloads the game in spite of that", 0)
end


--- Returns whether files have changed since the last attempt.
---@return boolean
function reload.is_due()
  return not loader.is_same(live.attempt, loader.read_all(live.attempt.files))
end


-- The files of the load before, and those that the last attempt met first.
local function list_files()
  local paths = { unpack(live.attempt.files) }
  for _, path in ipairs(wanted) do
    paths[#paths + 1] = path
  end
  return paths
end

-- Undoes the attempt.
local function forget_attempt(before)
  undo.run_all()
  live.attempt = before
end

-- The reload goes on once the files that this attempt has met are parsed.
local function wait_for_parser(version)
  wanted, rounds = version.files, rounds + 1
  return loader.parse_ahead(loader.read_all(list_files())) and "again" or "parse"
end


--- Loads the game again and checks it. On success its top level has been run and on_upgrade comes
--- next (reload.upgrade, then reload.finish), and nothing of it holds yet. Raises an error when the
--- old version has to go on.
---@param patience number seconds for which files that are just being written can be waited for
---@param is_asked boolean whether somebody wants it even if no file has changed
---@param found perigee.Checked? what `perigee check` found; nil: it was not asked
---@return string outcome "upgrade", "again" (files are being written: a little later), "parse" (once they
--- are parsed), "more" (after the loop has served others) or "same" (nothing changed)
---@return integer? rooms
function reload.begin(patience, is_asked, found)
  local before, texts = live.attempt, loader.read_all(list_files())
  if not is_asked and loader.is_same(before, texts) then
    return "same"
  elseif found and is_too_early(checked.unsettled(found), patience) then
    return "again"
  elseif found and found.problem then
    refuse(found)
  elseif not loader.parse_ahead(texts) then
    return "parse"
  elseif not loader.prepare_schema(texts) then
    return "more"
  end
  local old, began = live.version, core.read_clock()
  local new = loader.new(game, last_number + 1, make_api(rawget(old.api, "state") or {}))
  new.parses = rounds < ROUNDS_MAX and "ahead" or "now"
  declared.begin(new)
  remember_states(old.api)
  local ok, problem = loader.run(new)
  tell_files(new, old)
  if is_too_early(loader.unsettled(new) or found and checked.unsettled(found), patience, new.number) then
    forget_attempt(before)
    return "again"
  elseif new.has_unparsed and rounds < ROUNDS_MAX then
    forget_attempt(before)
    return wait_for_parser(new)
  end
  wanted, rounds = {}, 0
  if not ok then
    error(problem, 0)
  end
  local loaded = core.read_clock()
  check(new)
  step = { old = old, new = new, began = began, loaded = loaded, at = 0, failed = 0, done = {} }
  step.rooms = list_rooms(new)
  probation.begin(new.number)
  return "upgrade", #step.rooms
end


-- The on_upgrade that was called last did not come back.
local function note_failure()
  local id = step.room
  if id then
    step.room, step.failed = nil, step.failed + 1
    step.first = step.first or ("room %q: %s"):format(core.room_name(id) or "?",
      probation.last or "?")
  end
end

local function is_undone()
  return step.failed * FAILED_MAX > #step.rooms
end


--- Calls the next room's on_upgrade. What it asks for is carried out when the reload is final.
function reload.upgrade()
  note_failure()
  step.at = step.at + 1
  local id = step.rooms[step.at]
  if not id or is_undone() then
    return
  end
  local room, old, new = registry.rooms[id], step.old, step.new
  live.task = { label = "on_upgrade", version = new.number }
  core.adopt(id, false)
  undo.hold()
  local snapshot = state.remember(room)
  undo.push(state.bring_back, snapshot)
  step.room, live.upgrading = id, true
  live.of_room[id].on_upgrade(room, old.number, new.number)
  step.room, live.upgrading = nil, nil
  step.done[#step.done + 1] = snapshot
end


local function describe_rooms(parts)
  local done = #step.done
  if done > 0 then
    parts[#parts + 1] = report.count(done, "room") .. " upgraded"
  end
  if step.failed > 0 then
    parts[#parts + 1] = ("on_upgrade failed for %s, whose old state stays; first %s"):format(
      report.count(step.failed, "room"), step.first)
  end
end

local function describe(revoked, closed, groups)
  local parts = report.changes(step.old, step.new)
  if #revoked > 0 then
    parts[#parts + 1] = report.count(#revoked, "timer or task", "timers and tasks")
      .. " revoked"
  end
  if closed > 0 then
    parts[#parts + 1] = report.count(closed, "channel") .. " closed"
  end
  parts[#parts + 1] = report.old_code(groups)
  describe_rooms(parts)
  parts[#parts + 1] = ("paused %.1f ms (%.1f loading)"):format(
    (core.read_clock() - step.began) * 1000, (step.loaded - step.began) * 1000)
  return report.join(report.version(step.new), parts)
end

-- As if it had never been loaded, but for its number.
local function give_up(text)
  local old, new = step.old, step.new
  last_number = new.number
  undo.run_all()
  core.config_end(false)
  live.set(old)
  handlers.export(old, events) -- on_upgrade may have begun to poll, or to use the world
  probation.stop()
  step = nil
  return false, old.number, old.hash, text
end

-- Describes a value that on_upgrade has left in a state and that would make each later reload fail.
local function find_unkeepable()
  if #step.rooms > 0 then
    local ok, problem = pcall(state.check, rawget(step.new.api, "state"))
    return not ok and problem or nil
  end
end

local function make_final()
  local old, new = step.old, step.new
  take(new)
  local revoked = tasks.revoke(new.number)
  local ended, closed = channels.revoke(new.number)
  local groups, versions = old_code.find()
  versions[old.number] = true
  live.forget_hashes(versions)
  spare = { version = old, revoked = revoked, channels = ended, snapshots = step.done,
    at = core.now() }
  probation.start(core.rollback_errors())
  local text = describe(revoked, closed, groups)
  warn(new)
  step = nil
  return true, new.number, new.hash, text, new.game.on_reload ~= nil
end


--- Decides. If the reload is final it holds from here on; if not, nothing of it ever did.
---@return boolean is_final
---@return integer number of the version that is live
---@return string hash
---@return string text what happened
---@return boolean? has_handler whether on_reload is to be called
function reload.finish()
  note_failure()
  live.upgrading = nil
  local name = report.version(step.new)
  if is_undone() then
    return give_up(("on_upgrade failed for %d of %s, so %s is not taken; first %s"):format(step.failed,
      report.count(#step.rooms, "room"), name, step.first))
  end
  local problem = find_unkeepable()
  if problem then
    return give_up(("after on_upgrade %s; so %s is not taken"):format(problem, name))
  end
  return make_final()
end


--- Calls on_reload.
function reload.follow_up()
  live.task = { label = "on_reload", version = live.number }
  core.adopt(0, true)
  local from = spare and spare.version.number or live.number
  live.game.on_reload(from, live.number)
end

--- Where the game is, as the user gave it.
---@return string path
function reload.game()
  return game
end

-- Back ---------------------------------------------------------------------------------------


--- Puts the version before the live one back, if that has made too many errors.
---@return integer? number nil: it stays
---@return string? hash
---@return string? text
function reload.roll_back()
  if not spare or probation.number ~= live.number then
    return nil
  end
  local broken, old = live.version, spare.version
  tell_config(old)
  take(old)
  tell_files(old, broken)
  local revoked = tasks.revoke(old.number)
  tasks.restore(spare.revoked, spare.at)
  channels.revoke(old.number)
  channels.restore(spare.channels)
  for i = #spare.snapshots, 1, -1 do
    state.bring_back(spare.snapshots[i])
  end
  local parts = {
    ("handlers of %s failed %s in its first seconds"):format(report.version(broken),
      report.count(probation.failures, "time")),
    "last: " .. tostring(probation.last),
    ("%s revoked, %d set again"):format(
      report.count(#revoked, "timer or task", "timers and tasks"), #spare.revoked),
  }
  spare = nil
  probation.stop()
  return old.number, old.hash, report.join(report.version(old) .. " is back", parts)
end


--- The live version is there for good: what was kept for going back goes.
function reload.settle()
  if spare and probation.is_over() then
    spare = nil
    probation.stop()
  end
end

return reload
