--- Lockstep for rooms of kinds with `lockstep`: connects the matches (match.lua) with timers and with the
--- script's handlers. packets.lua reads the packets of members. api/lockstep.lua has the methods for scripts.
---
--- A match belongs to the host, so a new version of the game does not restart it. Each of the script's
--- handlers runs as a separate task, so that its failure stops nothing else.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local matches = require "perigee.lockstep.match"
local recorders = require "perigee.lockstep.recorder"
local registry = require "perigee.host.registry"
local backoff = require "perigee.host.backoff"
local timers = require "perigee.host.timers"
local journal = require "perigee.host.journal"
local wire = require "perigee.lockstep.wire"

local LEVELS = core.levels
local ran = core.ran() -- as in host/init.lua
local CRITICAL, NORMAL = core.priorities.critical, core.priorities.normal
local RELIABLE, TO_PEER, TO_ROOM = core.flags.reliable, core.targets.peer, core.targets.room

local HELD_BYTES = 64 * 1024 * 1024 -- most bytes of turns and states that all matches may keep together
local LOOK_SECONDS = 1 -- seconds between two measurements of these bytes
local NAMES_MAX = 8 -- most names in the text of a report

local host = {}

--- The match of a room, with the state that the host keeps for it.
---@class perigee.LockstepEntry
---@field room perigee.Room
---@field match perigee.Match
---@field except integer[]? members of the room that take no part; nil: must be found again
---@field counted integer? number of the room's members at the time when `except` was found
---@field timer table? timer that wakes the match
---@field wakes number? time at which `timer` fires, by core.now
---@field queue table[] closed turns that on_turn has not received yet
---@field simulated integer? newest turn of on_turn; nil: it has missed a turn or received none
---@field recorder perigee.LockstepRecorder? recording of the running or the last match
---@field object perigee.Lockstep? object for scripts

local entries = {} ---@type table<integer, perigee.LockstepEntry> by room id

-- Memory ------------------------------------------------------------------------------------

local looked_at, is_scarce = -LOOK_SECONDS, false


local function look_at_memory()
  local now = core.now()
  if now - looked_at >= LOOK_SECONDS then
    local held = 0
    for _, entry in next, entries do
      held = held + entry.match:held_bytes()
    end
    looked_at, is_scarce = now, held > HELD_BYTES
  end
  return is_scarce
end

-- Timers ------------------------------------------------------------------------------------

local wake

--- Sets the timer to the time that the match requests.
---@param entry perigee.LockstepEntry
function host.set_timer(entry)
  local at = entry.match:wake_at()
  if at == entry.wakes then
    return
  elseif entry.timer then
    timers.cancel(entry.timer)
  end
  entry.wakes, entry.timer = at, nil
  if at then
    local delay = math.max(0, math.ceil((at - core.now()) * 1000 - 0.01) + 0.5) / 1000
    entry.timer = { fn = wake, label = "lockstep", room = entry.room, is_host = true }
    timers.begin(entry.timer, delay)
    entry.timer.owned = false -- a match survives the version that began it
  end
end


function wake(room)
  local entry = entries[room.id]
  if entry then
    entry.timer, entry.wakes = nil, nil
    entry.match:tick(core.now())
    host.set_timer(entry)
  end
end


--- Runs a function as a task with the room, when the running handler has ended without an error.
---@param entry perigee.LockstepEntry
---@param label string name in error messages
---@param fn function
---@param backoff_key any? key for backoff.lua if the function exceeds its deadline
---@param on_failure fun()? called if the function fails
function host.begin_task(entry, label, fn, backoff_key, on_failure)
  local task = { fn = fn, label = label, room = entry.room, is_host = true, backoff_key = backoff_key,
    on_failure = on_failure }
  timers.begin(task, 0)
  task.owned = false
end

-- The script's handlers ---------------------------------------------------------------------


local function handler_of(entry, name)
  return live.of_room[entry.room.id][name]
end

local function begin_handler(entry, name, fn, backoff_key, on_failure)
  host.begin_task(entry, entry.room.kind .. "." .. name, fn, backoff_key, on_failure)
end


local function as_hash(value)
  if value == nil then
    return nil
  elseif type(value) ~= "number" or value % 1 ~= 0 or value < -2 ^ 31 or value >= 2 ^ 32 then
    fault.raise("on_turn returns the hash of the state, a whole number of 32 bits, or nothing, not %s",
      type(value) == "number" and value or fault.kind(value))
  end
  return value % 2 ^ 32
end


-- Runs on_turn for the oldest turn that it has not received. The tasks do not contain their turns, because
-- tasks run in the order of their timers, which may differ from the order of turns.
local function run_turn(entry)
  local first = table.remove(entry.queue, 1)
  local handler = first and handler_of(entry, "on_turn")
  if not handler or backoff.is_on(entry) then
    return
  end
  ran[1] = handler
  local is_next = first.turn == 1 or entry.simulated == first.turn - 1
  entry.simulated = nil
  local hash = as_hash(handler(entry.room, first.turn, (wire.read_turn(first.bytes, 1))))
  backoff.forget(entry)
  if is_next then
    entry.simulated = first.turn
  end
  if is_next and hash then
    entry.match:script_hash(first.turn, hash)
    host.set_timer(entry)
  end
end


local function queue_turn(entry, turn, bytes)
  if handler_of(entry, "on_turn") then
    entry.queue[#entry.queue + 1] = { turn = turn, bytes = bytes }
    begin_handler(entry, "on_turn", function() run_turn(entry) end, entry)
  end
end


local function request_of_script(entry, request)
  local function answer(turn, bytes)
    entry.match:script_gives(request, turn, bytes, core.now())
    host.set_timer(entry)
  end
  begin_handler(entry, "on_snapshot", function()
    local handler, turn = handler_of(entry, "on_snapshot"), entry.simulated
    ran[1] = handler
    local bytes = handler and turn and handler(entry.room)
    if bytes then
      fault.check("on_snapshot's answer", bytes, "string")
    end
    if bytes and #bytes > entry.match.settings.snapshot_limit then
      fault.raise("on_snapshot's answer has %d bytes; snapshot_limit is %d", #bytes,
        entry.match.settings.snapshot_limit)
    end
    answer(turn, bytes or nil)
  end, nil, function()
    answer() -- a member gets the request at once
    core.commit()
  end)
end


local function describe(entry, desync)
  local names, more = {}, #desync.odd - NAMES_MAX
  for i = 1, math.min(#desync.odd, NAMES_MAX) do
    local id = desync.odd[i]
    local member = entry.match.members[id]
    names[i] = member and member.name or core.peer_name(id) or "?"
  end
  return ("turn %d: %s%s%s%s"):format(desync.turn, table.concat(names, ", "),
    more > 0 and (" and %d more"):format(more) or "",
    desync.is_tie and " have different states, and nobody can say which is right"
      or (#desync.odd == 1 and " has" or " have") .. " another state than the others",
    desync.path and "; it begins at " .. desync.path or "")
end


--- The argument of on_desync.
---@class perigee.DesyncReport
---@field turn integer turn after which the states differ
---@field peers perigee.Peer[] peers whose state differs from the majority's
---@field hash integer? the majority's hash
---@field hashes table<perigee.Peer, integer> hashes that have arrived, by peer
---@field tie boolean whether no majority exists; `peers` then has all members
---@field path string? place in the state, if the clients have trees of hashes
---@field text string the report as text

local function report_desync(entry, desync)
  local text = describe(entry, desync)
  errors.log(LEVELS.warn, "lockstep: " .. text, nil, nil, "desync in room " .. entry.room.id)
  if not handler_of(entry, "on_desync") then
    return
  end
  local peers, by_peer = {}, {}
  for i, id in ipairs(desync.odd) do
    peers[i] = registry.peers[id]
  end
  for id, hash in next, desync.hashes do
    by_peer[registry.peers[id]] = hash
  end
  local report = { turn = desync.turn, peers = peers, hash = desync.hash, hashes = by_peer,
    tie = desync.is_tie, path = desync.path, text = text }
  begin_handler(entry, "on_desync", function()
    local handler = handler_of(entry, "on_desync")
    ran[1] = handler
    if handler then
      handler(entry.room, report)
    end
  end)
end

-- Recordings --------------------------------------------------------------------------------


local function close_recorder(entry)
  if entry.recorder then
    entry.recorder:close()
    entry.recorder = nil
  end
end


-- Records a turn, except in tests of games.
local function record_turn(entry, turn, bytes)
  local settings = entry.match.settings
  if turn == 1 then
    close_recorder(entry)
    entry.recorder = settings.record and not core.is_simulated
      and recorders.open(live.version.root .. settings.record, settings.record_limit, entry.room, entry.match)
      or nil
  end
  if entry.recorder then
    entry.recorder:turn(turn, bytes)
  end
end

-- A room's match ----------------------------------------------------------------------------


-- Returns the members of the room that take no part in the match.
local function others(entry)
  local count = core.room_count(entry.room.id)
  if not entry.except or entry.counted ~= count then
    entry.except, entry.counted = {}, count
    for _, id in ipairs(core.room_members(entry.room.id)) do
      if not entry.match.members[id] then
        entry.except[#entry.except + 1] = id
      end
    end
  end
  return entry.except
end


local function new_out(entry)
  local id = entry.room.id
  return {
    random = function() return core.seed() % 2 ^ 32 end,
    latency = function(peer) return (core.peer_latency_ms(peer) or 0) / 1000 end,
    send = function(peer, kind, bytes)
      local priority = kind == wire.TURNS and NORMAL or CRITICAL
      core.packet(TO_PEER, peer, wire.CHANNEL, kind, bytes, priority, RELIABLE, 0)
    end,
    cast = function(kind, bytes)
      core.packet(TO_ROOM, id, wire.CHANNEL, kind, bytes, CRITICAL, 0, 0, nil, others(entry))
    end,
    closed = function(turn, bytes)
      record_turn(entry, turn, bytes)
      queue_turn(entry, turn, bytes)
    end,
    agreed = function(turn, hash)
      if entry.recorder then
        entry.recorder:hash(turn, hash)
      end
    end,
    desync = function(desync) report_desync(entry, desync) end,
    warn = function(text) errors.log(LEVELS.warn, "lockstep: " .. text) end,
    members_changed = function() entry.except = nil end,
    is_scarce = look_at_memory,
  }
end


local function settings_of(room)
  local settings = live.version.settings[room.kind]
  return settings and settings.lockstep
end


-- Applies the settings and handlers of the live version, which may be new.
local function refresh(entry)
  if entry.version == live.version then
    return
  end
  entry.version = live.version
  local settings, match = settings_of(entry.room), entry.match
  local gives = live.of_room[entry.room.id].on_snapshot and settings
  match.out.request_snapshot = gives and function(request) request_of_script(entry, request) end or nil
  if not settings and not match.is_over then
    match:stop()
    close_recorder(entry)
  elseif settings and match.is_over then
    entry.match = matches.new(entry.room.id, settings, match.out)
  elseif settings ~= match.settings and settings then
    match:configure(settings, core.now())
  end
end


local function new_entry(room, settings)
  local entry = { room = room, queue = {} }
  entry.match = matches.new(room.id, settings, new_out(entry))
  journal.set(entries, room.id, entry)
  return entry
end


--- Returns the match of a room; nil if the room's kind has no lockstep.
---@param room perigee.Room
---@return perigee.LockstepEntry?
function host.find(room)
  local entry = entries[room.id]
  if not entry then
    local settings = settings_of(room)
    if not settings then
      return nil
    end
    entry = new_entry(room, settings)
  end
  if not live.upgrading then -- a reload may still be rolled back
    refresh(entry)
  end
  return not entry.match.is_over and entry or nil
end


--- Returns whether a kind has lockstep, or a match is still running.
---@return boolean
function host.is_used()
  return live.version.has_lockstep or next(entries) ~= nil
end

-- Changes of rooms ---------------------------------------------------------------------


--- Handles a peer that has left a room, or has joined it again.
---@param peer integer
---@param room integer
function host.leave(peer, room)
  local entry = entries[room]
  if entry then
    entry.except = nil
    entry.match:leave(peer, core.now())
    host.set_timer(entry)
    core.commit() -- takes effect even if on_leave fails
  end
end


--- Ends the match of a room that is being deleted, if the running handler ends without an error.
---@param room integer
function host.close(room)
  local entry = entries[room]
  if entry then
    host.begin_task(entry, "lockstep", function()
      local match = entry.match
      match:stop()
      entry.match = matches.new(room, match.settings, match.out) -- no peer can enter this match
      close_recorder(entry)
      host.set_timer(entry)
    end)
  end
end


--- Handles the end of a room.
---@param room integer
function host.forget(room)
  if entries[room] then
    close_recorder(entries[room])
    entries[room] = nil
  end
end


--- Returns the match of a room for the turns of a recording (replay.lua); nil if the room's kind has no
--- on_turn.
---@param room perigee.Room
---@param id integer
---@param seed integer
---@return perigee.LockstepEntry?
function host.replay(room, id, seed)
  local entry = host.find(room)
  if not entry or not handler_of(entry, "on_turn") then
    return nil
  end
  entry.match.id, entry.match.seed, entry.match.is_started = id, seed, true
  return entry
end


---@param entry perigee.LockstepEntry
---@param turn integer
---@param bytes string
function host.replay_turn(entry, turn, bytes)
  entry.match.closed = turn
  queue_turn(entry, turn, bytes)
end


--- Applies the settings and handlers of the new live version to the running matches.
function host.take()
  for _, entry in next, entries do
    refresh(entry)
    host.set_timer(entry)
  end
end

return host
