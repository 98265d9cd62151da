--- Reads the table that a game's file returned: finds and checks its handlers, and warns of misspelt names.
--- Exports the set of wanted events to the relay.

local bit = require "bit"
local channel_rules = require "perigee.host.channel_rules"
local core = require "perigee.core"
local declared = require "perigee.world.declared"
local fault = require "perigee.util.fault"
local lockstep_settings = require "perigee.lockstep.settings"
local lockstep_wire = require "perigee.lockstep.wire"
local room_settings = require "perigee.host.room_settings"

local getlocal, getmetatable = debug.getlocal, debug.getmetatable

local HOOKS = core.hooks

local handlers = {}

local KIND_HANDLERS = {
  "on_create", "on_delete", "on_join", "on_leave", "on_message", "on_broadcast",
  "on_backpressure", "on_resume", "on_restore", "on_tick", "on_upgrade", "on_error", "on_turn", "on_desync",
  "on_snapshot", "on_match_start",
}

-- The game's handlers that also serve rooms of undeclared kinds.
local FALLBACKS = {
  "on_create", "on_delete", "on_join", "on_leave", "on_broadcast", "on_backpressure",
  "on_resume", "on_upgrade",
}
local GAME_HANDLERS = {
  "on_start", "on_stop", "on_accept", "on_authenticate", "on_account_delete",
  "on_connect", "on_disconnect", "on_suspend", "on_rename", "on_message", "on_packet",
  "on_channel_open",
  "on_tick", "on_reload", "on_error", "on_room_create", "on_room_delete", unpack(FALLBACKS),
}

local SETTINGS = { unpack(room_settings.OF_KINDS) }
for _, name in ipairs(room_settings.OF_ROOMS) do
  SETTINGS[#SETTINGS + 1] = name
end

local GAME_FIELDS = { "config", "rooms", "channels" }

local function set_of(list)
  local set = {}
  for _, name in ipairs(list) do
    set[name] = true
  end
  return set
end

local TAKES_ROOM = set_of { "on_room_create", "on_room_delete", unpack(FALLBACKS) }

local IS_OF_GAME = set_of(GAME_HANDLERS)

local function fail(where, message, ...)
  error(("%s: %s"):format(where, message:format(...)), 0)
end

local function sorted_keys(source)
  local keys = {}
  for key in next, source do
    keys[#keys + 1] = key
  end
  table.sort(keys, function(a, b)
    return tostring(a) < tostring(b)
  end)
  return keys
end

-- Returns the file and the line of a function, or only the file.
local function place(where, value)
  return type(value) == "function" and fault.place(value) or where
end

-- Handlers ---------------------------------------------------------------------------------

local function read_by_name(source, where, prefix)
  local by_name = {}
  for _, name in ipairs(sorted_keys(source)) do
    if type(name) ~= "string" then
      fail(where, "%son_message has the key %s; its keys are message names", prefix,
        tostring(name))
    elseif type(source[name]) ~= "function" then
      fail(where, "%son_message.%s must be a function, not %s", prefix, name,
        fault.kind(source[name]))
    end
    by_name[name] = source[name]
  end
  return by_name
end

-- Copies the handlers that exist.
local function read_handlers(source, names, where, prefix)
  local found = {}
  for _, name in ipairs(names) do
    local handler = rawget(source, name)
    if name == "on_message" and type(handler) == "table" then
      found[name] = read_by_name(handler, where, prefix)
    elseif type(handler) == "function" then
      found[name] = handler
    elseif handler ~= nil then
      fail(where, "%s%s must be a function%s, not %s", prefix, name,
        name == "on_message" and " or a table of functions" or "", fault.kind(handler))
    end
  end
  return found
end

-- Names of this form are the game's own constants.
local CONSTANT = "^[A-Z][A-Z0-9_]*$"

-- Warns of keys that look like handlers or settings, but are never read.
local function check_keys(source, known, where, prefix, warnings)
  local is_known = set_of(known)
  for _, key in ipairs(sorted_keys(source)) do
    if type(key) == "string" and not is_known[key] and not key:find(CONSTANT) then
      local hint = IS_OF_GAME[key] and "; it is one of the game" or fault.hint(key, known)
      local kind = type(source[key])
      local is_free = kind == "function" or kind == "table" or prefix == ""
      if key:find "^on_" then
        warnings[#warnings + 1] =
          ("%s: there is no handler %s%s%s"):format(place(where, source[key]), prefix, key, hint)
      elseif hint ~= "" or not is_free then
        warnings[#warnings + 1] = ("%s: nothing reads %s%s%s"):format(place(where, source[key]),
          prefix, key, hint)
      end
    end
  end
end

-- Warns of a table with a metatable: inherited handlers are not found, because all handlers must be known at
-- the load.
local function check_inheritance(source, where, name, warnings)
  local meta = getmetatable(source)
  if meta and rawget(meta, "__index") ~= nil then
    warnings[#warnings + 1] = ("%s: %s has a metatable; handlers and settings are looked for in the "
      .. "table itself, so copy them into it"):format(where, name)
  end
end

-- Warns of handlers that are declared with a colon by mistake, which makes `self` their first argument.
-- Handlers whose first argument is a room may call it self.
local function check_self(found, where, warnings)
  for _, name in ipairs(GAME_HANDLERS) do
    local handler = found[name]
    if type(handler) == "function" and not TAKES_ROOM[name] and getlocal(handler, 1) == "self" then
      warnings[#warnings + 1] = ("%s: %s has no self; write `function game.%s` with a dot"):format(
        place(where, handler), name, name)
    end
  end
end

-- Kinds ------------------------------------------------------------------------------------

local function read_settings(source, where, prefix)
  local settings = {}
  for _, name in ipairs(SETTINGS) do
    local value = rawget(source, name)
    if value ~= nil then
      local problem = room_settings.problem(name, value)
      if problem then
        fail(where, "%s%s", prefix, problem)
      end
      settings[name] = value
    end
  end
  return settings
end

-- Warns of a kind whose rooms any peer can create under any name, and that are never deleted.
local function check_settings(settings, where, prefix, warnings)
  if settings.auto_create and not settings.auto_delete then
    warnings[#warnings + 1] = ("%s: %sauto_create without auto_delete: strangers can fill "
      .. "max_rooms; add auto_delete = 60"):format(where, prefix)
  end
end

local KIND_KEYS = { unpack(KIND_HANDLERS) }
for _, name in ipairs(SETTINGS) do
  KIND_KEYS[#KIND_KEYS + 1] = name
end
KIND_KEYS[#KIND_KEYS + 1] = "lockstep"

local function read_lockstep(version, name, source, where, prefix)
  local settings = lockstep_settings.read(rawget(source, "lockstep"), where, prefix, version.warnings)
  version.settings[name].lockstep = settings
  version.has_lockstep = version.has_lockstep or settings ~= nil
  for _, handler in ipairs { "on_turn", "on_desync", "on_snapshot" } do
    if version.kinds[name][handler] and not settings then
      version.warnings[#version.warnings + 1] = ("%s: nothing calls %s%s without lockstep = {}"):format(
        where, prefix, handler)
    end
  end
end

local function read_kind(version, name, source)
  if type(name) ~= "string" or name == "" or #name > 64 or name:find "[:%c]" then
    fail(version.main, "rooms has the key %s; room kinds are named by the part of a room's name "
      .. "before its first ':'", tostring(name))
  elseif type(source) ~= "table" then
    fail(version.main, "rooms.%s must be a table of handlers, not %s%s", name, fault.kind(source),
      source == true and "; does its file end with return?" or "")
  end
  local where = version.file_of[source] or version.main
  local prefix = name .. "."
  version.kinds[name] = read_handlers(source, KIND_HANDLERS, where, prefix)
  version.settings[name] = read_settings(source, where, prefix)
  version.kind_tables[name] = source
  read_lockstep(version, name, source, where, prefix)
  check_keys(source, KIND_KEYS, where, prefix, version.warnings)
  check_settings(version.settings[name], where, prefix, version.warnings)
  check_inheritance(source, where, "rooms." .. name, version.warnings)
end


-- Copies the configuration, so that a rollback applies it as it was at the load, even if the game has changed
-- its table since.
local function copy_config(source)
  local copy = {}
  for key, value in next, source do
    copy[key] = value
  end
  return copy
end


--- Fills in a version from the table that its main file returned. If the table is wrong, raises an error with
--- the name of the file.
---@param version perigee.Version
function handlers.read(version)
  local source = version.table
  version.game = read_handlers(source, GAME_HANDLERS, version.main, "")
  version.fallback = read_handlers(source, FALLBACKS, version.main, "")
  local known = { unpack(GAME_HANDLERS) }
  for _, field in ipairs(GAME_FIELDS) do
    known[#known + 1] = field
  end
  check_keys(source, known, version.main, "", version.warnings)
  check_self(version.game, version.main, version.warnings)
  check_inheritance(source, version.main, "the game's table", version.warnings)
  for _, field in ipairs(GAME_FIELDS) do
    local value = rawget(source, field)
    if value ~= nil and type(value) ~= "table" then
      fail(version.main, "%s must be a table, not %s", field, fault.kind(value))
    end
  end
  version.config = copy_config(rawget(source, "config") or {})
  version.channels = channel_rules.read(rawget(source, "channels") or {}, function(...)
    fail(version.main, ...)
  end)
  local rooms = rawget(source, "rooms") or {}
  for _, name in ipairs(sorted_keys(rooms)) do
    read_kind(version, name, rooms[name])
  end
  if next(version.queues) and not version.kinds.party then -- the rooms of parties
    version.kinds.party, version.settings.party, version.kind_tables.party = {}, {}, {}
  end
  if version.has_lockstep and channel_rules.uses(version.channels, lockstep_wire.CHANNEL) then
    fail(version.main, "channel %d is that of lockstep, which a room kind has", lockstep_wire.CHANNEL)
  end
end


--- Returns all handlers of a version by name, such as "on_tick" or "duel.on_message.move".
---@param version perigee.Version
---@return table<string, function>
function handlers.all(version)
  local all = {}
  local function add(found, prefix)
    for name, handler in next, found do
      if type(handler) == "function" then
        all[prefix .. name] = handler
      else
        for message, by_name in next, handler do
          all[prefix .. name .. "." .. message] = by_name
        end
      end
    end
  end
  add(version.game, "")
  for kind, found in next, version.kinds do
    add(found, kind .. ".")
  end
  return all
end

-- Hooks ------------------------------------------------------------------------------------

-- Handlers of the hooks whose handlers are not named "on_" plus the name of the hook.
local BY_HOOK = {
  room_create = { "on_room_create", "on_create" },
  room_delete = { "on_room_delete", "on_delete" },
  text = {},
}

local function takes_text(on_message)
  return type(on_message) == "function"
    or type(on_message) == "table" and on_message.text ~= nil
end

local function takes_messages(on_message)
  return type(on_message) == "function"
    or type(on_message) == "table" and next(on_message) ~= nil
end

local function hooks_of(found)
  local hooks = 0
  for hook, bit_of_hook in next, HOOKS do
    local is_wanted = false
    for _, name in ipairs(BY_HOOK[hook] or { "on_" .. hook }) do
      is_wanted = is_wanted or found[name] ~= nil
    end
    if hook == "text" then
      is_wanted = takes_text(found.on_message)
    elseif hook == "message" then
      is_wanted = takes_messages(found.on_message)
    end
    hooks = hooks + (is_wanted and bit_of_hook or 0)
  end
  return hooks
end

local function with_poll(hooks, events)
  local wanted = { connect = events.recording, disconnect = events.recording,
    message = events.recording, text = events.used, tick = declared.is_used }
  local has_accounts = core.store_has_accounts()
  wanted.connect = wanted.connect or declared.is_used or has_accounts
  wanted.sign_in = has_accounts
  for hook, is_wanted in next, wanted do
    hooks = is_wanted and bit.bor(hooks, HOOKS[hook]) or hooks
  end
  return hooks
end

-- Kinds whose rooms may have reserved seats, which matches of earlier versions may still have.
local has_seats = {}


--- Exports the kinds of a version and the set of wanted events to the relay.
---@param version perigee.Version
---@param events table state of the poll style: `recording`, `used`
function handlers.export(version, events)
  local hooks = with_poll(hooks_of(version.game), events)
  hooks = next(version.queues) and bit.bor(hooks, HOOKS.message) or hooks
  for _, rules in next, version.queues do
    has_seats.party, has_seats[rules.room] = true, true
  end
  core.kinds_begin(version.has_lockstep and bit.bor(hooks, HOOKS.packet) or hooks)
  for _, name in ipairs(sorted_keys(version.kinds)) do
    local settings = version.settings[name]
    local of_kind = hooks_of(version.kinds[name])
    of_kind = settings.lockstep and bit.bor(of_kind, HOOKS.leave) or of_kind
    of_kind = has_seats[name] and bit.bor(of_kind, HOOKS.join, HOOKS.leave) or of_kind
    core.kind_set(name, of_kind, settings)
  end
  core.kinds_end()
  channel_rules.export(version.channels)
  core.systems(declared.is_used and #version.world.systems + 1 or 0)
end

return handlers
