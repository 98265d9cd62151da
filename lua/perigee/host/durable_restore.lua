--- Brings back what durable.lua has saved, after the first load and before the server listens. A room
--- that cannot be restored is moved to perigee_aside.

local core = require "perigee.core"
local durable = require "perigee.host.durable"
local images = require "perigee.host.images"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local registry = require "perigee.host.registry"
local sorted_keys = require "perigee.util.sorted_keys"
local timers = require "perigee.host.timers"

local ran = core.ran() -- the running handler, see host/init.lua

local restore = { on = {} }

local ALIVE = "alive"
local PART = 50 -- rooms or sessions that one call brings back

local function read(key)
  local documents, problem = core.kept_documents(durable.collection(key))
  if not documents then
    error("what was saved cannot be read: " .. problem, 0)
  end
  return documents
end

-- Moves a document out of the way.
local function set_aside(key, id, json, version, reason)
  local name = ("%s %s %d"):format(key, id, version or 0)
  durable.put("aside", name:sub(1, 255), core.store_json {
    what = key, name = id, reason = reason, at = core.unix(), row = json,
  })
  durable.delete(key, id)
  durable.warn(("%s %q is set aside as %q in perigee_aside: %s"):format(key, id, name, reason))
end

local function decode(json)
  local value = messages.decode_json(json)
  return type(value) == "table" and value or {}
end

-- Returns why a room's document cannot be restored, or nil.
local function room_problem(name, document)
  local _, _, version = core.keep_settings()
  local kind = name:match "^[^:]*"
  if type(document.id) ~= "number" or type(document.room) ~= "table" or type(document.image) ~= "string"
    or type(document.version) ~= "number" then
    return "it is damaged"
  elseif document.version > version then
    return ("it is of version %d, and config.version is %d"):format(document.version, version)
  elseif not durable.is_kind(kind) then
    return ("the game has no durable kind %s"):format(kind)
  end
end

local function restore_room(found, name, json)
  local document = decode(json)
  local problem, room = room_problem(name, document), document.room
  if not problem and not core.restore_room(document.id, name, room.by_join, room.settings or {},
    room.meta or {}) then
    problem = "no room of this name and id is possible"
  end
  if problem then
    return set_aside("rooms", name, json, document.version, problem)
  end
  found.rooms[#found.rooms + 1] = { id = document.id, name = name, document = document, json = json }
end

local function restore_session(found, session, json)
  local document = decode(json)
  local peer = core.restore_session(document, found.seconds)
  if not peer then
    return durable.delete("sessions", session)
  end
  found.peers[#found.peers + 1] = { id = peer, image = document.image }
  for _, name in ipairs(document.rooms or {}) do
    local room = core.room_find(name)
    if room then
      core.restore_member(peer, room)
    end
  end
end

-- Reads an image whose timers get their objects.
local function read_image(image)
  local blanks = {}
  local function timer(id)
    blanks[id] = blanks[id] or timers.blank()
    return blanks[id]
  end
  local ok, value = core.image_read(image, images.finder(timer))
  return ok and value or nil, blanks
end

local function restore_peer_state(peer)
  local value = peer.image and read_image(peer.image)
  if value and value.state then
    rawset(registry.peers[peer.id], "state", value.state)
  end
end

local function restore_room_state(entry)
  local room = registry.rooms[entry.id]
  local value, blanks = read_image(entry.document.image)
  if type(value) ~= "table" then
    entry.is_damaged = true
    set_aside("rooms", entry.name, entry.json, entry.document.version, "it is damaged")
    core.room_delete(entry.id)
    return
  end
  rawset(room, "state", value.state)
  timers.restore(room, value.timers, blanks)
end

local function restore_game(found)
  local _, is_kept, version = core.keep_settings()
  local json = is_kept and found.game.state
  if not json then
    return
  end
  local document = decode(json)
  local value, blanks
  if type(document.image) == "string" then
    value, blanks = read_image(document.image)
  end
  if not value or (document.version or 0) > version then
    return set_aside("game", "state", json, document.version, value and "it is of a newer version"
      or "it is damaged")
  end
  local shared = live.version.api.state
  for key in next, shared do
    shared[key] = nil
  end
  for key, entry in next, value.state or {} do
    shared[key] = entry
  end
  timers.restore(nil, value.timers, blanks)
end

-- Upgrades the state of a room that an older version of the game has saved, and lets on_restore follow.
local function upgrade(found, entry)
  if entry.is_damaged then
    return
  end
  local _, _, version = core.keep_settings()
  local handlers, room = live.of_room[entry.id], registry.rooms[entry.id]
  local ok, problem, from = true, nil, entry.document.version
  if from < version and handlers.on_upgrade then
    live.upgrading = true
    ok, problem = pcall(handlers.on_upgrade, room, from, version)
    live.upgrading = nil
  end
  if not ok then
    set_aside("rooms", entry.name, entry.json, from, "on_upgrade failed: " .. tostring(problem))
    core.room_delete(entry.id)
  elseif handlers.on_restore then
    timers.begin({ fn = handlers.on_restore, room = room, label = "on_restore",
      args = { n = 2, room, found.seconds } }, 0)
  end
end

-- Parts ---------------------------------------------------------------------------------------

local parts ---@type (fun())[] what is left to be done

-- Adds a part that calls fn for each entry of a list, a few in each call.
local function add(list, fn)
  local at = 0
  local function part()
    for _ = 1, math.min(PART, #list - at) do
      at = at + 1
      fn(list[at])
    end
    if at < #list then
      table.insert(parts, 1, part)
    end
  end
  parts[#parts + 1] = part
end

local function add_documents(key, fn)
  local documents = read(key)
  add(sorted_keys(documents), function(id)
    fn(id, documents[id])
  end)
end

local function plan()
  parts = {}
  if not live.version or not live.version.is_durable then
    return
  end
  local found = { rooms = {}, peers = {}, game = read "game" }
  local alive = decode(found.game[ALIVE] or "{}").at or core.unix()
  found.seconds = math.max(0, core.unix() - alive)
  read "aside"
  add_documents("rooms", function(name, json)
    restore_room(found, name, json)
  end)
  add_documents("sessions", function(session, json)
    restore_session(found, session, json)
  end)
  add({ found }, restore_game)
  add(found.peers, restore_peer_state)
  add(found.rooms, restore_room_state)
  add(found.rooms, function(entry)
    upgrade(found, entry)
  end)
  add({ found }, function()
    if #found.rooms + #found.peers > 0 then
      live.log(core.levels.info, ("restored: %d rooms, %d sessions, after %.1f s"):format(#found.rooms,
        #found.peers, found.seconds))
    end
  end)
end


--- Brings back a part of what is kept. Returns whether anything is left.
---@return boolean
function restore.on.restore()
  live.task, ran[1] = nil, nil
  if not parts then
    plan()
  end
  local part = table.remove(parts, 1)
  if part then
    part()
  end
  return #parts > 0
end

return restore
