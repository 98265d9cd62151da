--- The live version: the version of the game whose handlers are called, and the results of its load.

local core = require "perigee.core"
local iterate = require "perigee.util.iterate"
local registry = require "perigee.host.registry"

local getfenv = debug.getfenv

local live = {
  path = nil,  -- path of the game, as the user gave it
  number = 0,  -- number of the live version
  loading = nil, -- number of the version whose top level is running; nil: none
  upgrading = nil, -- true while on_upgrade runs; a failed reload rolls back its effects
  is_dry = nil, -- true while a line of the console runs that is only tried; its effects are reverted
  transaction = nil, -- perigee.Run of the transaction whose function is running; see transactions.lua
  version = nil,  -- perigee.Version; see loader.lua
  attempt = nil,  -- files and texts of the version loaded last, live or not
  -- Description of the running code if the event does not describe it: the name of a message, or a table with
  -- label (for error messages) and version. Nil for a handler that the event describes.
  task = nil,
}

--- The game's own handlers, by name.
---@type table<string, function>
live.game = {}

--- The rules for plugin channels (channel_rules.lua).
live.channels = {}

-- Handlers of rooms: by kind, and for rooms of undeclared kinds.
live.kinds = {}
live.fallback = {}

--- The handlers of a room, by the room's id.
---@type table<integer, table<string, function>>
live.of_room = setmetatable({}, {
  __index = function(of_room, id)
    local room = registry.rooms[id]
    if not room then
      return live.fallback
    end
    local handlers = live.kinds[room.kind] or live.fallback
    of_room[id] = handlers
    return handlers
  end,
})


-- The versions whose code may still run: their hashes by number, and their numbers by the environment of
-- their functions.
local hashes = {}
local numbers = setmetatable({}, { __mode = "k" })


--- Registers the version that is loaded next.
---@param version perigee.Version
function live.know(version)
  numbers[version.environment] = version.number
end


--- Returns the number of a function's version; nil for a function of the host.
---@param fn function
---@return integer?
function live.version_of(fn)
  return numbers[getfenv(fn)]
end


--- Removes the hashes of all versions except the live version and the needed versions.
---@param needed table<integer, true>
function live.forget_hashes(needed)
  for number in next, hashes do
    if number ~= live.number and not needed[number] then
      hashes[number] = nil
    end
  end
end


--- Returns the name of a version in the log, such as "3.1a2b3c4".
---@param number integer
---@return string
function live.name(number)
  return hashes[number] and number .. "." .. hashes[number] or tostring(number)
end


--- Sets the hash of a version. Call it when all files of the version are known.
---@param number integer
---@param hash string
function live.set_hash(number, hash)
  hashes[number] = hash
end


--- Returns the hash of a version, or "".
---@param number integer
---@return string
function live.hash(number)
  return hashes[number] or ""
end


--- Logs a text on behalf of a version.
---@param level integer
---@param text string
---@param number integer? version; the live one if not given
function live.log(level, text, number)
  number = number or live.number
  core.log(level, text, number, hashes[number] or "")
end


--- Makes a version the live one.
---@param version perigee.Version
function live.set(version)
  live.number, live.version = version.number, version
  live.game, live.kinds, live.fallback = version.game, version.kinds, version.fallback
  live.channels = version.channels
  for id in next, live.of_room do
    live.of_room[id] = nil
  end
end


--- Returns the name of the running code for error messages; nil if its event names it.
---@return string?
function live.label()
  local task = live.task
  if type(task) == "string" then
    return "on_message." .. task
  end
  return task and task.label
end


--- Returns the number of the version that is being loaded; otherwise the number of the live version.
---@return integer
function live.running()
  return live.loading or live.number
end


-- Returns the table that contains timers' functions by name, and the name of that table for errors.
local function named_in(room)
  local of_kind = room and live.version.kind_tables[room.kind]
  return of_kind or live.version.table, of_kind and "room kind " .. room.kind or "the game"
end


--- Returns the function that a timer names.
---@param name string
---@param room perigee.Room?
---@return function?
function live.named(name, room)
  local found = rawget(named_in(room), name)
  return type(found) == "function" and found or nil
end


--- Returns the names that timers can call, and the owner of these functions for errors.
---@param room perigee.Room?
---@return string[] names
---@return string whose
function live.functions(room)
  local source, whose = named_in(room)
  local names = {}
  for name, value in iterate(source) do
    if type(name) == "string" and type(value) == "function" then
      names[#names + 1] = name
    end
  end
  return names, whose
end

return live
