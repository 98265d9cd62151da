--- Durable rooms, the sessions of their members, and perigee.state survive the end of the server. This module
--- saves them as documents of four collections of the store; durable_restore.lua restores them.
---
--- The collections: perigee_rooms has { id, version, room, image } by the room's name. perigee_sessions has
--- the result of core.kept_session, the image of peer.state and the sign-in, by session. perigee_game has
--- "alive" (the time at which the server was last known to run) and "state". perigee_aside has documents that
--- could not be restored.

local accounts = require "perigee.host.accounts"
local core = require "perigee.core"
local errors = require "perigee.host.errors"
local images = require "perigee.host.images"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"
local state = require "perigee.host.state"
local stores = require "perigee.host.stores"
local timers = require "perigee.host.timers"

local NAMES = { rooms = "perigee_rooms", sessions = "perigee_sessions", game = "perigee_game",
  aside = "perigee_aside" }
local SLICE_MIN = 10 -- rooms, and peers, that a slice may save in any case
local SLICES = 25 -- slices of save_interval; each saves a part of the rooms and peers
local HASTE = 0.9 -- share of save_interval after which an object is saved again
local SPREAD = 0.618 -- golden ratio: spreads the first saves of many objects evenly
local HOLD_MAX = 2 -- seconds that a connection waits at most for a store that does not work
local SIGN_EVERY = 1 -- seconds between two writes of "alive"
local IMAGE_MAX = "1 MiB"

local ran = core.ran() -- the running handler, see host/init.lua

local durable = { on = {}, names = NAMES }

local is_on = false -- whether the live version keeps anything
local kinds = {} ---@type table<string, true> durable kinds of the live version
local indexes = {} ---@type table<string, integer> numbers of the collections
local saved = {} ---@type table<any, { hash: string, rest: string?, due: number }> by object, or "state"
local reported = {} ---@type table<any, string> last problem of an object, so that it is logged once
local spread = 0
local next_sign = 0 -- time of the next write of "alive"
local saver -- entry of the timer that saves
local has_left = false -- the server is stopping, and everything is saved

-- Collections --------------------------------------------------------------------------------

local function durable_kinds(version)
  local found = {}
  for name, settings in next, version.settings do
    found[name] = settings.durable or nil
  end
  return found
end


--- Declares the collections if a checked version keeps anything.
---@param version perigee.Version
function durable.declare(version)
  local _, is_state_kept = core.keep_settings()
  local kind = sorted_keys(durable_kinds(version))[1]
  version.is_durable = is_state_kept or kind ~= nil
  local user = is_state_kept and "config.durable" or kind and ("rooms.%s.durable"):format(kind)
  for key, name in next, version.is_durable and NAMES or {} do
    indexes[key] = stores.declare_own(version, name, user)
  end
end


--- Returns the number and the name of a collection.
---@param key string
---@return integer index, string name
function durable.collection(key)
  return indexes[key], NAMES[key]
end

local function put(key, id, json)
  return core.store_step(core.store_steps.put, indexes[key], id, json, 1)
end

local function delete(key, id)
  return core.store_step(core.store_steps.delete, indexes[key], id, nil, 1)
end

durable.put, durable.delete = put, delete

-- Images -------------------------------------------------------------------------------------

-- Logs a problem of a state once, until the state can be saved again.
local function report(object, problem)
  if problem and reported[object] ~= problem then
    live.log(core.levels.error, problem .. "; it is not saved")
  end
  reported[object] = problem
end

-- Returns the hash of a value's image, and the JSON of a document that begins with `head` and has the image
-- (nil: the value has not changed); or nil and the reason of the failure.
local function take(name, value, hash, head)
  local new, json = core.image_take(value, images.name, hash, head)
  if new then
    return new, json
  elseif json then
    return nil, ("%s is larger than %s"):format(name, IMAGE_MAX)
  end
  local _, problem = pcall(state.check_value, name, value.state)
  return nil, problem or name .. " holds something that is not data"
end

local function state_name(room)
  return ("room.state of room %q"):format(room.name)
end

-- Returns the document of a room; nil if it has not changed since the last save; or nil and the reason of a
-- failure.
local function room_document(room, kept, before)
  local rest = core.store_json(kept)
  local value = { state = rawget(room, "state"), timers = timers.kept(room) }
  local _, _, version = core.keep_settings()
  local hash, json = take(state_name(room), value, before and before.rest == rest and before.hash or nil,
    ('{"id":%d,"version":%d,"saved_at":%d,"room":%s'):format(room.id, version, core.unix(), rest))
  if not hash then
    return nil, json
  elseif not json then
    return nil
  end
  return json, nil, { hash = hash, rest = rest }
end

-- Stores the time at which an object must be saved next.
local function keep(object, record)
  local interval = core.keep_settings() * HASTE
  local before = saved[object]
  record = record or before or {}
  if not before then
    spread = (spread + SPREAD) % 1
    interval = interval * spread
  end
  record.due = core.now() + interval
  saved[object] = record
end

-- Deletes the document of a deleted room, unless another room has its name now.
local function forget(room)
  local id = core.room_find(room.name)
  if not id or id == room.id then
    delete("rooms", room.name)
  end
end

-- Saves a room. Returns true; or nil, a sentence, and, if the store failed, its code.
local function save_room(room)
  local kept = core.kept_room(room.id)
  if not kept then -- a deleted room whose members have not left yet
    forget(room)
    saved[room] = { due = math.huge }
    return true
  end
  local json, problem, record = room_document(room, kept, saved[room])
  report(room, problem)
  if json then
    local ok, message, code = put("rooms", room.name, json)
    if not ok then
      return nil, message, code
    end
  end
  keep(room, record)
  return not problem or nil, problem
end

-- Returns the document of a session, its id and its durable rooms; nil if it has ended. With `before`, also
-- nil if peer.state has not changed.
local function session_document(peer, session, before)
  local kept = core.kept_session(peer, session)
  local object = rawget(registry.peers, peer)
  if not kept then
    return nil
  end
  kept.account = accounts.kept(peer)
  local json = core.store_json(kept)
  if object and rawget(object, "state") then
    local value = { state = object.state }
    local hash, whole = take(("peer.state of peer %d (%s)"):format(peer, kept.name), value, before,
      json:sub(1, -2))
    report(object, not hash and whole or nil)
    if before and not whole then
      return nil
    end
    json = hash and whole or json
    keep(object, hash and { hash = hash })
  elseif before then
    return nil
  end
  return json, kept.session, kept.rooms
end

-- Writes the whole document of the session, even if peer.state has not changed.
local function save_peer(id, object)
  local record = saved[object]
  local json, session = session_document(id, nil, record and record.hash or "")
  if json then
    put("sessions", session, json)
  elseif record then
    keep(object)
  end
end

local function save_game()
  local _, is_state_kept, version = core.keep_settings()
  if not is_state_kept then
    return
  end
  local value = { state = rawget(live.version.api, "state"), timers = timers.kept() }
  local hash, json = take("perigee.state", value, saved.state and saved.state.hash,
    ('{"version":%d'):format(version))
  report("state", not hash and json or nil)
  if hash and json then
    put("game", "state", json)
  end
  keep("state", hash and { hash = hash })
end

-- Saving -------------------------------------------------------------------------------------

-- Returns the durable rooms and the peers with a state that are due, and the number of all.
local function find_due(now)
  local rooms, peers, count = {}, {}, 0
  local function is_due(object)
    local record = saved[object]
    return not record or not record.due or record.due <= now
  end
  for _, id in ipairs(core.rooms(true)) do
    local room = registry.rooms[id]
    if not is_due(room) then -- most rooms; this is faster than to read their kind
      count = count + 1
    elseif kinds[room.kind] then
      count = count + 1
      rooms[#rooms + 1] = room
    end
  end
  for id, object in next, registry.peers do
    if rawget(object, "state") then
      count = count + 1
      peers[#peers + 1] = is_due(object) and { id, object } or nil
    end
  end
  return rooms, peers, count
end

-- Saves objects that are due, in a limited number. Returns whether more are due.
local function save_due(now)
  local rooms, peers, count = find_due(now)
  local most = math.max(SLICE_MIN, math.ceil(2 * count / SLICES))
  for i = 1, math.min(#rooms, most) do
    save_room(rooms[i])
  end
  for i = 1, math.min(#peers, most) do
    save_peer(peers[i][1], peers[i][2])
  end
  if not saved.state or saved.state.due <= now then
    save_game()
  end
  return math.max(#rooms, #peers) > most
end

local function tick()
  local now = core.now()
  if now >= next_sign then
    next_sign = now + SIGN_EVERY
    put("game", "alive", ('{"at":%.3f}'):format(core.unix()))
  end
  return save_due(now)
end


--- Begins or ends saving for a version that becomes live.
---@param version perigee.Version
function durable.take(version)
  kinds, is_on = durable_kinds(version), version.is_durable
  core.keep_sessions(is_on)
  if saver then
    pending.cancel(saver)
    saver = nil
  end
  if is_on then
    local every = core.keep_settings() / SLICES
    saver = { fn = tick, label = "the saving of durable rooms", interval = every, is_host = true }
    pending.set(saver, every)
  end
end


--- Saves a room at once, and waits until it is on disk.
---@param room perigee.Room
---@return true?, string? message, string? code
function durable.save(room)
  local ok, problem, why = save_room(room)
  if why then
    return nil, problem, why
  elseif not ok then
    error(problem, 0)
  end
  local text, message, code = stores.wait(core.store_flush)
  if not text then
    return nil, message, code
  end
  return true
end


--- Returns whether rooms of a kind survive.
---@param kind string
function durable.is_kind(kind)
  return kinds[kind] == true
end


--- Forgets a room that is deleted.
---@param room perigee.Room
function durable.forget_room(room)
  if is_on and not has_left and kinds[room.kind] then
    forget(room)
  end
  saved[room], reported[room] = nil, nil
end


--- Forgets the object of a peer.
function durable.forget_peer(object)
  saved[object], reported[object] = nil, nil
end


-- Saves the rooms of a session that were never saved, so that a client that got the answer to its join is
-- still a member after a crash.
local function save_new_rooms(names)
  for _, name in ipairs(names) do
    local id = core.room_find(name)
    local room = id and registry.rooms[id]
    if room and not saved[room] then
      save_room(room)
    end
  end
end


-- Writes or deletes the document of a session. C calls this when the session has begun, was resumed or has
-- ended, or when its durable rooms have changed. C holds back the output of the connection until the document
-- is on disk.
function durable.on.keep(_, _, session, peer, conn)
  live.task, ran[1] = nil, nil
  local json, _, rooms = session_document(peer, session)
  save_new_rooms(rooms or {})
  local id = session:gsub(".", function(byte)
    return ("%02x"):format(byte:byte())
  end)
  local step = json and core.store_steps.put or core.store_steps.delete
  if conn == 0 then
    core.store_step(step, indexes.sessions, id, json, 1)
    return
  end
  core.store_begin_unit()
  core.store_unit_step(step, indexes.sessions, id, json, 1)
  local hold = { label = "a connection that waits for the store", is_host = true }
  function hold.fn()
    core.release(conn)
  end
  pending.set(hold, HOLD_MAX)
  local text, problem = stores.wait(core.store_end_unit)
  report("session", not text and "a session cannot be stored: " .. tostring(problem) or nil)
  if pending.timers[hold.id] == hold then
    pending.cancel(hold)
    core.release(conn)
  end
end


--- Saves the next part of everything, because the server is stopping. Returns whether more is left.
---@return boolean
function durable.on.save()
  live.task, ran[1] = nil, nil
  if not is_on then
    return false
  elseif saver then
    pending.cancel(saver)
    saver, next_sign = nil, 0
    core.keep_sessions(false)
    for _, record in next, saved do
      record.due = 0
    end
  end
  has_left = not tick()
  return not has_left
end


--- Reports a problem of the restore.
function durable.warn(text)
  errors.log(core.levels.warn, text)
end

return durable
