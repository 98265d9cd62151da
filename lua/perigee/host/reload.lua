--- A state machine that replaces the live version of the game by another one, in one step or not at all.
---
--- C (reload.c) calls reload.input for each input. In the states that RUNS names, C then calls code of the
--- game, with no other event in between; the end of that code is the next input. C holds the commands of that
--- code until core.commit(). When C continues with other events, it drops the commands that were not
--- committed.

local channels = require "perigee.api.channels"
local core = require "perigee.core"
local errors = require "perigee.host.errors"
local events = require "perigee.api.events"
local handlers = require "perigee.host.handlers"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local loader = require "perigee.host.loader"
local old_code = require "perigee.host.old_code"
local migrations = require "perigee.host.migrations"
local registry = require "perigee.host.registry"
local report = require "perigee.host.report"
local rollback_window = require "perigee.host.rollback_window"
local state = require "perigee.host.state"
local tasks = require "perigee.host.tasks"
local versions = require "perigee.host.versions"
local world = require("perigee.world").host

-- The states. Each state names the transitions for its inputs. A transition is a function below, which
-- returns the next state. An input that neither the state nor ALWAYS names has no effect.
local STATES = {
  -- No reload is in progress.
  idle = { request = "go_on", force = "go_on", change = "go_on" },
  -- A child process runs `perigee check`. Requests wait for its end.
  checking = { checked = "end_check" },
  -- Files are being written or parsed, or encoders are being made.
  waiting = { request = "go_on", force = "go_on", change = "go_on", again = "go_on" },
  -- The top level of the new version is running.
  loading = { ended = "end_load", failed = "refuse" },
  -- The rooms' on_upgrade functions run, one after another.
  upgrading = { ended = "end_upgrade", failed = "fail_upgrade" },
  -- The new version is live, and its on_reload is running.
  following = { ended = "end_follow_up", failed = "end_follow_up" },
}
-- Transitions for inputs that the current state does not name. The previous version can return until the
-- rollback window ends.
local ALWAYS = { failed = "refuse", rollback = "roll_back", expire = "close_window" }
local RUNS = {
  loading = core.events.load, upgrading = core.events.upgrade, following = core.events.follow_up,
}

local RETRY_MS = 40 -- time until files that are being written are read again
local PAUSE_MS = 1  -- time for other events between two parts of a large schema
local PATIENCE = 3  -- most seconds to wait for files that are being written
local WINDOW = 5 -- seconds of the rollback window
local FAILED_MAX = 10  -- on_upgrade may fail for one room in FAILED_MAX
local ROUNDS_MAX = 20  -- most loads that fail because of files that were not parsed ahead

local reload, transitions = {}, {}

local current = "idle" -- state
local last_number = 0  -- highest number of a version that went live
local previous -- data for a rollback: the previous version, and everything that ended with it
local job -- the current reload

-- A job also has these fields:
--  is_asked: the reload takes place even if no file has changed
--  is_forced: the reload ignores the findings of a check
--  found: result of the check; nil: the check has not run yet; false: it does not run
--  since: time at which the reload first found a file that is being written
--  fields that reload.load leaves for end_load
local function new_job()
  return {
    tokens = {}, waits = {}, -- tokens of server requests; entries of tasks.wait
    met = {}, rounds = 0, -- files of the last load that required unparsed files; number of such loads
    rooms = {}, at = 0, upgraded = {}, failed = 0,  -- ids; index of the current room; snapshots; number of
                                                    -- failures
  }
end

job = new_job()


--- Loads the first version.
---@param path string
function reload.start(path)
  live.path = path
  local version = versions.new(1)
  local ok, problem = loader.run(version)
  versions.watch(version, { files = {} })
  if not ok then
    error(problem, 0)
  end
  versions.check(version)
  versions.put_in_place(version)
  core.set_version(version.number, version.hash)
  last_number = version.number
  migrations.begin(version)
end


--- Handles an input.
---@param number integer index into core.reload_inputs
---@param text string error of the game's code, or output of a check
---@param token integer token of a request that came through the server, or 0
---@return integer? entry entry that C runs next
function reload.input(number, text, token)
  local input = core.reload_inputs[number]
  job.is_asked = job.is_asked or input == "request" or input == "force"
  job.is_forced = job.is_forced or input == "force"
  job.tokens[#job.tokens + 1] = token > 0 and token or nil
  local before, name = current, STATES[current][input] or ALWAYS[input]
  if name then
    current = "idle" -- state if the transition raises an error
    current = transitions[name](text) or before
  end
  return RUNS[current]
end


--- Requests a reload on behalf of a handler that waits for the end of the reload.
---@param entry table of tasks.wait
function reload.request(entry)
  job.waits[#job.waits + 1] = entry
  core.reload "request"
end

-- Files --------------------------------------------------------------------------------------------

-- Reads the files of the last load, and those that this reload has found.
local function read_files()
  local paths = { unpack(live.attempt.files) }
  for _, path in ipairs(job.met) do
    paths[#paths + 1] = path
  end
  return loader.read_all(paths)
end

-- Returns whether to wait, because a file seems to be half written. Errors in such a file are not reported.
local function is_too_early(path, number)
  job.since = job.since or path and core.now()
  if path and core.now() - job.since < PATIENCE then
    return true
  elseif path then
    live.log(core.levels.warn, path .. " keeps changing; it is taken as it was just now", number)
  end
end

local function wait_for_quiet()
  job.found = nil
  core.reload_in("again", RETRY_MS)
  return "waiting"
end

-- Refuses files in which `perigee check` found errors. Another reload starts only when these files change.
local function refuse_findings(found)
  live.attempt = { files = found.files, texts = loader.read_all(found.files) }
  versions.watch(found, live.version)
  return transitions.refuse(errors.shorten(found.problem)
    .. "\n`perigee reload --force` reloads the game in spite of that")
end


-- Continues the reload as far as possible now.
function transitions.go_on()
  local texts = read_files()
  if not job.is_asked and loader.is_same(live.attempt, texts) then
    return transitions.drop()
  elseif job.found == nil and not job.is_forced and core.check_game() then
    return "checking"
  end
  job.found = not job.is_forced and job.found or false
  if job.found and is_too_early(loader.find_changing(job.found)) then
    return wait_for_quiet()
  elseif job.found and job.found.problem then
    return refuse_findings(job.found)
  elseif not loader.parse_ahead(texts) then
    return "waiting"
  end
  job.texts = texts
  return "loading"
end


function transitions.end_check(output)
  job.found = output ~= "" and loader.read_check(output) or false
  return transitions.go_on()
end

-- The load -----------------------------------------------------------------------------------------

-- Stores the contents of all states, because the top level of a version may change the states of rooms and
-- peers, and the world. A reload that fails restores them.
local function remember_states()
  local others = { { state = world.copy() }, live.version.api }
  for _, objects in ipairs { registry.rooms, registry.peers, others } do
    for _, object in next, objects do
      journal.push(state.bring_back, state.remember(object))
    end
  end
end


--- Makes the next part of the schema's encoders. When all are made, runs the new version's top level and
--- checks its result.
function reload.load()
  job.new = nil
  if not loader.prepare_schema(job.texts) then
    return
  end
  job.old, job.before, job.began = live.version, live.attempt, core.read_clock()
  local new, is_last = versions.new(last_number + 1), job.rounds == ROUNDS_MAX
  job.new, new.parses = new, is_last and "now" or "ahead"
  remember_states()
  local ok, problem = loader.run(new)
  versions.watch(new, job.old)
  local changing = loader.find_changing(new) or job.found and loader.find_changing(job.found)
  job.is_early = is_too_early(changing, new.number)
  job.is_in_vain = job.is_early or new.has_unparsed and not is_last
  if job.is_in_vain then
    return
  elseif not ok then
    error(problem, 0)
  end
  job.loaded = core.read_clock()
  versions.check(new)
  live.set(new)
  for _, id in ipairs(core.rooms(true)) do
    job.rooms[#job.rooms + 1] = live.of_room[id].on_upgrade and id or nil
  end
end

local function undo_all()
  journal.run_all()
  core.forget()
end

local function is_undone()
  return job.failed * FAILED_MAX > #job.rooms
end

local function next_room()
  job.at = job.at + 1
  return job.rooms[job.at] and not is_undone() and "upgrading" or transitions.decide()
end


function transitions.end_load()
  if not job.new then
    core.reload_in("again", PAUSE_MS)
    return "waiting"
  elseif job.is_in_vain then
    undo_all()
    live.attempt, job.old = job.before, nil -- the live version may be rolled back before the next load
    if job.is_early then
      return wait_for_quiet()
    end
    job.met, job.rounds = job.new.files, job.rounds + 1
    return transitions.go_on()
  end
  last_number = job.new.number
  rollback_window.open(last_number)
  live.upgrading = true
  return next_room()
end

-- The upgrade of rooms -----------------------------------------------------------------------------


--- Calls the on_upgrade of one room.
function reload.upgrade()
  local id = job.rooms[job.at]
  live.task = { label = "on_upgrade", version = job.new.number }
  core.adopt(id, false)
  journal.hold()
  job.snapshot = state.remember(registry.rooms[id])
  journal.push(state.bring_back, job.snapshot)
  live.of_room[id].on_upgrade(registry.rooms[id], job.old.number, job.new.number)
end


function transitions.end_upgrade()
  job.upgraded[#job.upgraded + 1] = job.snapshot
  return next_room()
end


function transitions.fail_upgrade(text)
  job.failed = job.failed + 1
  job.first = job.first or ("room %q: %s"):format(core.room_name(job.rooms[job.at]) or "?", text)
  return next_room()
end

-- The decision -------------------------------------------------------------------------------------


-- Ends a reload without a report.
function transitions.drop()
  job = new_job()
  core.parse_ahead {} -- cancels the parsing
  return "idle"
end

local function finish(is_good, text)
  local ended = job
  transitions.drop()
  for _, entry in ipairs(ended.waits) do
    tasks.give(entry, is_good and text or nil, text)
  end
  core.commit()
  core.reloaded(is_good, text, ended.tokens)
  return "idle"
end


-- Continues with the old version, as if the new version had never been loaded. If the load itself succeeded,
-- no later version gets the same number.
function transitions.refuse(text)
  undo_all()
  live.upgrading = nil
  if job.old and job.old ~= live.version then
    live.set(job.old)
    handlers.export(job.old, events) -- on_upgrade may have begun to poll, or to use the world
  end
  if rollback_window.number ~= live.number then
    rollback_window.close()
  end
  local first, rest = text:match "^([^\n]*)(.*)$"
  return finish(false, ("reload failed: %s; version %s goes on%s"):format(first, live.name(live.number),
    rest))
end

local function describe(revoked, closed, groups)
  local parts = report.changes(job.old, job.new)
  if #revoked > 0 then
    parts[#parts + 1] = report.count(#revoked, "timer or task", "timers and tasks") .. " revoked"
  end
  if closed > 0 then
    parts[#parts + 1] = report.count(closed, "channel") .. " closed"
  end
  parts[#parts + 1] = report.old_code(groups)
  if #job.upgraded > 0 then
    parts[#parts + 1] = report.count(#job.upgraded, "room") .. " upgraded"
  end
  if job.failed > 0 then
    parts[#parts + 1] = ("on_upgrade failed for %s, whose old state stays; first %s"):format(
      report.count(job.failed, "room"), job.first)
  end
  parts[#parts + 1] = ("paused %.1f ms (%.1f loading)"):format(
    (core.read_clock() - job.began) * 1000, (job.loaded - job.began) * 1000)
  return report.join(report.version(job.new), parts)
end

-- Makes the new version live, together with all its commands and changes.
local function commit()
  local old, new = job.old, job.new
  versions.put_in_place(new)
  local revoked = tasks.revoke(new.number)
  local ended, closed = channels.revoke(new.number)
  local groups, numbers = old_code.find()
  numbers[old.number] = true
  live.forget_hashes(numbers)
  previous = {
    version = old, revoked = revoked, channels = ended, snapshots = job.upgraded, at = core.now(),
  }
  core.reload_in("expire", WINDOW * 1000)
  rollback_window.check(new.number)
  local text = describe(revoked, closed, groups)
  core.set_version(new.number, new.hash)
  finish(true, "reloaded: " .. text)
  return new.game.on_reload and "following" or "idle"
end


-- Commits the new version, unless on_upgrade failed too often, or left a value in a state that would make
-- each later reload fail.
function transitions.decide()
  live.upgrading = nil
  local name, problem = report.version(job.new), nil
  if is_undone() then
    problem = ("on_upgrade failed for %d of %s, so %s is not taken; first %s"):format(job.failed,
      report.count(#job.rooms, "room"), name, job.first)
  elseif #job.rooms > 0 then
    local ok, what = pcall(state.check, rawget(job.new.api, "state"))
    problem = not ok and ("after on_upgrade %s; so %s is not taken"):format(what, name)
  end
  return problem and transitions.refuse(problem) or commit()
end


--- Calls on_reload.
function reload.follow_up()
  live.task = { label = "on_reload", version = live.number }
  core.adopt(0, true)
  live.game.on_reload(previous.version.number, live.number)
end


function transitions.end_follow_up()
  core.commit()
  return "idle"
end

-- The rollback window ------------------------------------------------------------------------------


-- Restores the previous version, if the live version has made too many errors.
function transitions.roll_back()
  if not previous or not rollback_window.is_exceeded(live.number) then
    return
  end
  local broken, old = live.version, previous.version
  versions.configure(old)
  versions.put_in_place(old)
  versions.watch(old, broken)
  local revoked = tasks.revoke(old.number)
  tasks.restore(previous.revoked, previous.at)
  channels.revoke(old.number)
  channels.restore(previous.channels)
  for i = #previous.snapshots, 1, -1 do
    state.bring_back(previous.snapshots[i])
  end
  local parts = {
    ("handlers of %s failed %s in its first seconds"):format(report.version(broken),
      report.count(rollback_window.errors, "time")),
    "last: " .. tostring(rollback_window.last),
    ("%s revoked, %d set again"):format(
      report.count(#revoked, "timer or task", "timers and tasks"), #previous.revoked),
  }
  previous = nil
  rollback_window.close()
  core.set_version(old.number, old.hash)
  core.commit()
  core.reloaded(false, "rolled back: " .. report.join(report.version(old) .. " is back", parts), {}, true)
end


-- Forgets the previous version.
function transitions.close_window()
  if previous and core.now() - previous.at > WINDOW - 0.01 then -- otherwise the timer belongs to an earlier
                                                                 -- window
    previous = nil
    rollback_window.close()
    migrations.begin(live.version)
    core.commit()
  end
end

return reload
