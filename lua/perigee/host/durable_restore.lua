--- Brings back what durable.lua has saved, after the first load and before the server listens. What cannot be
--- restored is moved to perigee_aside.

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
    or type(document.version) ~= "number" or not core.image_read(document.image, images.find_nothing) then
    return "it is damaged"
  elseif document.version > version then
    return ("it is of version %d, and config.version is %d"):format(document.version, version)
  elseif not durable.is_kind(kind) then
    return ("the game has no durable kind %s"):format(kind)
  end
end

local function restore_rooms(found)
  local rooms = {}
  local documents = read "rooms"
  for _, name in ipairs(sorted_keys(documents)) do
    local document = decode(documents[name])
    local problem, room = room_problem(name, document), document.room
    if not problem and not core.restore_room(document.id, name, room.by_join, room.settings or {},
      room.meta or {}) then
      problem = "no room of this name and id is possible"
    end
    if problem then
      set_aside("rooms", name, documents[name], document.version, problem)
    else
      rooms[#rooms + 1] = { id = document.id, name = name, document = document, json = documents[name] }
    end
  end
  found.rooms = rooms
end

local function restore_sessions(found)
  local documents = read "sessions"
  for _, session in ipairs(sorted_keys(documents)) do
    local document = decode(documents[session])
    local peer = core.restore_session(document, found.seconds)
    if not peer then
      durable.delete("sessions", session)
    else
      found.peers[#found.peers + 1] = { id = peer, image = document.image }
      for _, name in ipairs(document.rooms or {}) do
        local room = core.room_find(name)
        if room then
          core.restore_member(peer, room)
        end
      end
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

local function restore_states(found)
  for _, peer in ipairs(found.peers) do
    local value = peer.image and read_image(peer.image)
    if value and value.state then
      rawset(registry.peers[peer.id], "state", value.state)
    end
  end
  for _, entry in ipairs(found.rooms) do
    local room = registry.rooms[entry.id]
    local value, blanks = read_image(entry.document.image)
    rawset(room, "state", value.state)
    timers.restore(room, value.timers, blanks)
  end
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

-- Upgrades the states of rooms that an older version of the game has saved.
local function upgrade(found)
  local _, _, version = core.keep_settings()
  local upgraded = {}
  live.upgrading = true
  for _, entry in ipairs(found.rooms) do
    local handler, from = live.of_room[entry.id].on_upgrade, entry.document.version
    local ok, problem = true, nil
    if from < version and handler then
      ok, problem = pcall(handler, registry.rooms[entry.id], from, version)
    end
    if ok then
      upgraded[#upgraded + 1] = entry
    else
      set_aside("rooms", entry.name, entry.json, from, "on_upgrade failed: " .. tostring(problem))
      core.room_delete(entry.id)
    end
  end
  live.upgrading = nil
  found.rooms = upgraded
end

-- Calls on_restore of the rooms after on_start.
local function announce(found)
  for _, entry in ipairs(found.rooms) do
    local handler = live.of_room[entry.id].on_restore
    if handler then
      local room = registry.rooms[entry.id]
      timers.begin({ fn = handler, room = room, label = "on_restore",
        args = { n = 2, room, found.seconds } }, 0)
    end
  end
end


function restore.on.restore()
  live.task, ran[1] = nil, nil
  if not live.version or not live.version.is_durable then
    return
  end
  local found = { peers = {}, game = read "game" }
  local alive = decode(found.game[ALIVE] or "{}").at or core.unix()
  found.seconds = math.max(0, core.unix() - alive)
  durable.collection "aside"
  read "aside"
  restore_rooms(found)
  restore_sessions(found)
  restore_game(found)
  restore_states(found)
  upgrade(found)
  announce(found)
  if #found.rooms + #found.peers > 0 then
    live.log(core.levels.info, ("restored: %d rooms, %d sessions, after %.1f s"):format(#found.rooms,
      #found.peers, found.seconds))
  end
end

return restore
