--- Restores the data that durable.lua has saved, after the first load and before the server listens. A
--- document that cannot be restored is moved to perigee_aside.

local account_store = require "perigee.host.account_store"
local accounts = require "perigee.host.accounts"
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
local DAMAGED = "it is damaged"
local NEWER = "a later version of perigee has written it"
local PART = 50 -- rooms or sessions that one call restores

-- Returns the documents of a collection by id, and which of them a later version of perigee has written.
local function read(key)
  local index, name = durable.collection(key)
  local documents, problem = core.keep_define(index, name)
  if documents then
    documents, problem = core.kept_documents(index)
  end
  if not documents then
    error("what was saved cannot be read: " .. problem, 0)
  end
  return documents, problem
end

local function put_aside(key, id, json, name, reason)
  local head = core.store_json { what = key, name = id, reason = reason, at = core.unix() }
  return durable.put("aside", name, ('%s,"row":%s}'):format(head:sub(1, -2), core.kept_row(json)))
end

-- Moves a document to perigee_aside, and logs the reason.
local function set_aside(key, id, json, reason)
  local name = ("%s %s %.3f"):format(key, id, core.unix())
  local ok, is_put = pcall(put_aside, key, id, json, name, reason)
  if not ok or not is_put then
    return durable.warn(("%s %q stays where it is: %s"):format(key, id, reason))
  end
  durable.delete(key, id)
  durable.warn(("%s %q is set aside as %q in perigee_aside: %s"):format(key, id, name, reason))
end

local function decode(json)
  local value = messages.decode_json(json)
  return type(value) == "table" and value or {}
end

-- Reads an image. Timers in it become timer objects. Returns nil if the image is damaged.
local function read_image(image)
  local blanks = {}
  local function timer(id)
    blanks[id] = blanks[id] or timers.blank()
    return blanks[id]
  end
  if type(image) ~= "string" then
    return nil, blanks
  end
  local ok, value = core.image_read(image, images.finder(timer))
  return ok and type(value) == "table" and value or nil, blanks
end

-- Returns the reason why a room's document cannot be restored; nil if it can.
local function room_problem(name, document)
  local _, _, version = core.keep_settings()
  local kind = name:match "^[^:]*"
  if type(document.id) ~= "number" or type(document.room) ~= "table"
    or type(document.version) ~= "number" then
    return DAMAGED
  elseif document.version > version then
    return ("it is of version %d, and config.version is %d"):format(document.version, version)
  elseif not durable.is_kind(kind) then
    return ("the game has no durable kind %s"):format(kind)
  end
end

-- Makes a room. Returns nothing, or a problem.
local function make_room(name, document)
  local room = document.room
  local ok, is_made = pcall(core.restore_room, document.id, name, room.by_join, room.settings or {},
    room.meta or {})
  if ok and not is_made then
    return "no room of this name and id is possible"
  elseif not ok then
    local id = core.room_find(name)
    if id then
      core.room_delete(id)
    end
    return DAMAGED
  end
end

local function restore_room(found, name, json, is_newer)
  local document = decode(json)
  local problem = is_newer and NEWER or room_problem(name, document) or make_room(name, document)
  if problem then
    return set_aside("rooms", name, json, problem)
  end
  found.rooms[#found.rooms + 1] = { id = document.id, name = name, document = document, json = json }
end

local function is_list_of_texts(value)
  for _, item in ipairs(type(value) == "table" and value or { false }) do
    if type(item) ~= "string" then
      return false
    end
  end
  return true
end

local function is_sign_in(value)
  return value == nil or type(value) == "table" and type(value.id) == "string"
    and type(value.sign_in) == "number" and type(value.generation) == "number"
end

local function is_session(document)
  return is_list_of_texts(document.rooms) and is_sign_in(document.account)
    and (document.image == nil or read_image(document.image) ~= nil)
end

-- Makes the peer of a session. Returns its id; false if no session survives; nil if the document is damaged.
local function make_peer(found, document)
  if not is_session(document) then
    return nil
  end
  local kept = document.account
  local account = kept and core.limits().has_accounts and account_store.read_now(kept.id) or nil
  local refusal = accounts.kept_problem(kept, account)
  local ok, peer = pcall(core.restore_session, document, found.seconds, refusal ~= nil)
  if not ok or not peer then
    return ok and peer
  elseif refusal then
    found.refused[#found.refused + 1] = { id = peer, reason = refusal }
  elseif account then
    accounts.restore(peer, kept, account)
  end
  return peer
end

local function restore_session(found, session, json, is_newer)
  local document = decode(json)
  local peer
  if not is_newer then
    peer = make_peer(found, document)
  end
  if peer == false then
    return durable.delete("sessions", session)
  elseif not peer then
    return set_aside("sessions", session, json, is_newer and NEWER or DAMAGED)
  end
  found.peers[#found.peers + 1] = { id = peer, image = document.image }
  for _, name in ipairs(document.rooms) do
    local room = core.room_find(name)
    if room then
      core.restore_member(peer, room)
    end
  end
end

local function restore_peer_state(peer)
  local value = read_image(peer.image)
  if value and value.state then
    rawset(registry.peers[peer.id], "state", value.state)
  end
end

local function restore_room_state(entry)
  local room = registry.rooms[entry.id]
  local value, blanks = read_image(entry.document.image)
  if not value or not pcall(timers.restore, room, value.timers, blanks) then
    entry.is_damaged = true
    set_aside("rooms", entry.name, entry.json, DAMAGED)
    core.room_delete(entry.id)
    return
  end
  rawset(room, "state", value.state)
end

local function game_problem(document, is_newer, value)
  local _, _, version = core.keep_settings()
  if is_newer then
    return NEWER
  elseif not value or type(value.state) ~= "table" or type(document.version) ~= "number" then
    return DAMAGED
  elseif document.version > version then
    return ("it is of version %d, and config.version is %d"):format(document.version, version)
  end
end

local function restore_game(found)
  local _, is_kept = core.keep_settings()
  local json = is_kept and found.game.state
  if not json then
    return
  end
  local document = decode(json)
  local value, blanks = read_image(document.image)
  local problem = game_problem(document, found.is_newer.state, value)
  if not problem and not pcall(timers.restore, nil, value.timers, blanks) then
    problem = DAMAGED
  end
  if problem then
    return set_aside("game", "state", json, problem)
  end
  local shared = live.version.api.state
  for key in next, shared do
    shared[key] = nil
  end
  for key, entry in next, value.state do
    shared[key] = entry
  end
end

-- Upgrades the state of a room that an older version of the game has saved. Then on_restore runs as a task.
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
    set_aside("rooms", entry.name, entry.json, "on_upgrade failed: " .. tostring(problem))
    core.room_delete(entry.id)
  elseif handlers.on_restore then
    timers.begin({ fn = handlers.on_restore, room = room, label = "on_restore",
      args = { n = 2, room, found.seconds } }, 0)
  end
end

-- Parts ---------------------------------------------------------------------------------------

local parts ---@type (fun())[] what is left to be done

-- Adds a part that calls `fn` for each entry of a list, for at most PART entries in each step.
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

local function add_documents(key, fn, found)
  local documents, is_newer = read(key)
  add(sorted_keys(documents), function(id)
    fn(found, id, documents[id], is_newer[id])
  end)
end

-- Ends a peer that may not return, after on_start and on_restore.
local function refuse_later(refused)
  timers.begin({ fn = accounts.refuse, label = "accounts", is_host = true,
    args = { n = 2, refused.id, refused.reason } }, 0)
end

local function plan()
  parts = {}
  if not live.version or not live.version.is_durable then
    return
  end
  local found = { rooms = {}, peers = {}, refused = {} }
  found.game, found.is_newer = read "game"
  local alive = tonumber(decode(found.game[ALIVE] or "{}").at) or core.unix()
  found.seconds = math.max(0, core.unix() - alive)
  read "aside"
  add_documents("rooms", restore_room, found)
  add_documents("sessions", restore_session, found)
  add({ found }, restore_game)
  add(found.peers, restore_peer_state)
  add(found.rooms, restore_room_state)
  add(found.rooms, function(entry)
    upgrade(found, entry)
  end)
  add(found.refused, refuse_later)
  add({ found }, function()
    if #found.rooms + #found.peers > 0 then
      live.log(core.levels.info, ("restored: %d rooms, %d sessions, after %.1f s"):format(#found.rooms,
        #found.peers, found.seconds))
    end
  end)
end


--- Restores the next part. Returns whether more is left.
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
