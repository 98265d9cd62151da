--- The collections of the game's versions, and the handlers that wait for the store. C stores the documents
--- (src/store). The answer to a request arrives as the event `store`.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local sorted_keys = require "perigee.util.sorted_keys"
local tasks = require "perigee.host.tasks"

local TOKEN_MAX = 2 ^ 31
local GRACE = 5 -- seconds that a handler waits beyond the store's own timeout

local ran = core.ran() -- the running handler, see host/init.lua

--- A collection that a version declares.
---@class perigee.CollectionOptions
---@field name string
---@field index integer number of the collection in this process
---@field fields string[] indexed fields, sorted
---@field schema integer
---@field migrate? fun(id: string, value: any, from: integer): any
---@field where string place of the declaration
---@field user? string what of the game needs a collection of the host's own

--- A leaderboard that a version declares.
---@class perigee.BoardOptions
---@field is_board true
---@field name string
---@field index integer number, counted together with collections
---@field is_low boolean the lowest score ranks first
---@field keep integer BoardKeep
---@field period fun(seconds: number): integer number of the period at a time
---@field where string

local stores = { on = {} }

---@alias perigee.Declared perigee.CollectionOptions|perigee.BoardOptions
local loading = nil ---@type table<string, perigee.Declared>? of the version that loads
local names = {} ---@type string[] names of all collections so far
local numbers = {} ---@type table<string, integer> their numbers, by name
-- Collections and leaderboards in the form in which the store has them, by number.
local defined = {} ---@type table<integer, { form: string, fields: string[]? }>
local waiting = setmetatable({}, { __mode = "v" }) -- entries by token
local defining = {} ---@type table<integer, string> collections that the store is making, by token
local last_token = 0
local timeout = 0 -- seconds

-- Collections --------------------------------------------------------------------------------


--- Begins the collections of a version.
---@param version perigee.Version
function stores.begin(version)
  loading = {}
  version.collections = loading
end


-- Returns the index of a collection in this process.
local function index_of(name)
  if not numbers[name] then
    names[#names + 1] = name
    numbers[name] = #names
  end
  return numbers[name] - 1
end


--- Returns the name of a collection or leaderboard.
---@param index integer
---@return string
function stores.name(index)
  return names[index + 1]
end


--- Declares a collection of the host's own, for a version that has been run.
---@param version perigee.Version
---@param name string
---@param user string what of the game needs it
---@return integer index
function stores.declare_own(version, name, user)
  local index = index_of(name)
  version.collections[name] = { name = name, index = index, fields = {}, schema = 1,
    where = version.main .. ": ", user = user }
  return index
end


--- Declares a collection or leaderboard of the version that is being loaded; fills in `index` and `where`.
---@param options perigee.CollectionOptions|perigee.BoardOptions
function stores.declare(options)
  if not live.loading then
    fault.raise("perigee.%s(%q) belongs to the top level of the game, not into a handler",
      options.is_board and "leaderboard" or "store", options.name)
  elseif loading[options.name] and loading[options.name].is_board ~= options.is_board then
    fault.raise("a collection and a leaderboard cannot both have the name %s", options.name)
  elseif loading[options.name] then
    fault.raise("the name %s is declared twice; require it from the file that declares it", options.name)
  end
  options.index, options.where = index_of(options.name), fault.where()
  loading[options.name] = options
end

-- Returns the place of the store: an absolute path or one relative to the working directory, :memory:, or a
-- URL. Creates the folder of a path.
local function place_of(version, place)
  if place == ":memory:" or place:find "^postgres" then
    return place
  end
  local path = place:sub(1, 1) == "/" and place or version.root .. place
  local folder = path:match "^(.+)/"
  if folder and not core.is_simulated then
    core.make_folder(folder)
  end
  return path
end


--- Opens the store, if a version uses it. Raises an error if that is impossible.
---@param version perigee.Version
function stores.finish(version)
  local name = sorted_keys(version.collections)[1]
  if not name then
    return
  end
  local place = core.store_place()
  if place == "" then
    local first = version.collections[name]
    local user = first.user or first.is_board and "perigee.leaderboard" or "perigee.store"
    error(("%s%s needs a store, but the setting store is false"):format(first.where, user), 0)
  end
  local problem = core.store_open(place_of(version, place))
  if problem then
    error("the store cannot be opened: " .. problem, 0)
  end
  timeout = core.store_timeout() + GRACE
end

local function next_token()
  last_token = last_token % TOKEN_MAX + 1
  return last_token
end


--- Creates the collections of a version that becomes live. Later requests wait for them.
---@param version perigee.Version
function stores.take(version)
  for _, name in ipairs(sorted_keys(version.collections)) do
    local options = version.collections[name]
    local form = options.is_board and ("board %s %d"):format(options.is_low, options.keep)
      or table.concat(options.fields, " ")
    local before = defined[options.index]
    if not before or before.form ~= form then
      defined[options.index] = { form = form, fields = options.fields }
      local token = next_token()
      defining[token] = name
      if options.is_board then
        core.board_define(token, options.index, name, options.is_low, options.keep)
      else
        core.store_define(token, options.index, name, options.fields)
      end
    end
  end
end

--- Returns what the live version declares about a collection; nil if it has no such collection.
---@param name string
---@return perigee.CollectionOptions?
function stores.find(name)
  local options = live.version.collections[name]
  return options and not options.is_board and options or nil
end


--- Returns the number of an indexed field, from 0; nil if the collection has no such index.
---@param index integer
---@param field string
---@return integer?
function stores.field(index, field)
  for i, name in ipairs(defined[index] and defined[index].fields or {}) do
    if name == field then
      return i - 1
    end
  end
end

-- Requests -----------------------------------------------------------------------------------


--- Makes a request, and waits for its answer.
---@param request fun(token: integer, ...): boolean?, string?, string? function of the core
---@param ... any its arguments
---@return string? text JSON of a document, or "" for none; nil: the request has failed
---@return integer|string version, or a sentence
---@return integer|string? schema, or a code
---@return string? cursor
function stores.wait(request, ...)
  return stores.wait_as(pending.new(), request, ...)
end


--- Makes a request like stores.wait, but waits with an entry of tasks.wait.
function stores.wait_as(entry, request, ...)
  local token = next_token()
  local ok, problem, code = request(token, ...)
  if not ok then
    return nil, problem, code
  end
  waiting[token] = entry
  local text, version, schema, id = tasks.wait(entry, timeout)
  if not text and not schema then
    return nil, "the store does not answer", "Unavailable"
  end
  return text, version, schema, id
end


--- Handles the answer to a request.
function stores.on.store(_, _, text, token, code, version, schema, id)
  live.task, ran[1] = nil, nil
  local entry, name = waiting[token], defining[token]
  waiting[token], defining[token] = nil, nil
  if name and code then
    live.log(core.levels.error, ("%s cannot be made in the store: %s"):format(name, text))
  end
  if not entry or pending.timers[entry.id] ~= entry then
    return
  end
  core.timer_cancel(entry.id)
  if code then
    return tasks.wake(entry, nil, text, code)
  end
  return tasks.wake(entry, text, version, schema, id)
end


--- Handles the failure of a write for which no handler waits.
function stores.on.store_failed(_, _, text, index, code, _, _, id)
  live.task, ran[1] = nil, nil
  errors.write_failed { collection = names[index + 1], key = id, code = code, message = text }
end

return stores
