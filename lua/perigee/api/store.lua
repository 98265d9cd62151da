--- perigee.store: collections of documents. Checks arguments; host/stores.lua waits for the store.

local class = require "perigee.util.class"
local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local iterate = require "perigee.util.iterate"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local migrations = require "perigee.host.migrations"
local replacements = require "perigee.api.replacements"
local stores = require "perigee.host.stores"
local tasks = require "perigee.host.tasks"
local transactions = require "perigee.host.transactions"

local NAME_MAX, FIELDS_MAX = 48, 16
local KEY_MAX = 255 -- bytes
local SCHEMA_MAX = 2 ^ 31 - 1
local VERSION_MAX = 2 ^ 53 - 1
local ARGUMENTS_MAX = 64

local PUT, DELETE, CHECK = core.store_steps.put, core.store_steps.delete, core.store_steps.check

local OPTIONS = { index = "table", schema = "number", migrate = "function" }
local OPTION_NAMES = { "index", "schema", "migrate" }

local store = {}

local collection_class = { __metatable = "collection" }

-- Declarations -------------------------------------------------------------------------------


--- Raises an error if a name is not allowed for a collection or the like.
---@param what string "a collection"
---@param name any
function store.check_name(what, name)
  fault.check("the name of " .. what, name, "string")
  if not name:find "^%l[%l%d_]*$" or #name > NAME_MAX then
    fault.raise("%s cannot be the name of %s, which has at most %d of a-z, 0-9 and _",
      fault.quote(name), what, NAME_MAX)
  elseif name:find "^perigee_" or name:find "^sqlite_" or name:find "^pg_" then
    fault.raise("the name %s is reserved, as all that begin with perigee_, sqlite_ or pg_", name)
  end
end

local function read_fields(index)
  local fields, known = {}, {}
  local stray = next(index, #index > 0 and #index or nil)
  if stray ~= nil and type(stray) ~= "number" then
    fault.raise("index of perigee.store is a list of fields, such as { %q }, not a table with the key %s",
      tostring(stray), fault.quote(stray))
  end
  for i = 1, #index do
    local field = index[i]
    fault.check("an indexed field", field, "string")
    if not field:find "^[%a_][%w_]*$" or #field > NAME_MAX then
      fault.raise("%s cannot be an indexed field; it is the name of a field of the documents themselves, "
        .. "of at most %d letters, digits and _", fault.quote(field), NAME_MAX)
    end
    fields[#fields + 1] = not known[field] and field or nil
    known[field] = true
  end
  if #fields > FIELDS_MAX then
    fault.raise("a collection has at most %d indexed fields, not %d", FIELDS_MAX, #fields)
  end
  table.sort(fields)
  return fields
end


--- Declares a collection. Works only at the top level of a game.
---@param name string
---@param options table?
---@return perigee.Collection
function store.collection(name, options)
  store.check_name("a collection", name)
  options = options or {}
  fault.check("the options of perigee.store", options, "table")
  for key, value in next, options do
    if not OPTIONS[key] then
      fault.raise("perigee.store has no option %s%s", fault.quote(key),
        fault.hint_or_names(key, OPTION_NAMES))
    end
    if key == "index" and type(value) == "string" then
      fault.raise("index of perigee.store is a list of fields: { %q }", value)
    end
    fault.check(key .. " of perigee.store", value, OPTIONS[key])
  end
  local schema = options.schema or 1
  fault.check_whole("schema of perigee.store", schema, 1, SCHEMA_MAX)
  if options.migrate and schema == 1 then
    fault.raise "perigee.store has migrate, but schema is 1, so no document is older; give schema = 2"
  end
  local declared = {
    name = name, fields = read_fields(options.index or {}), schema = schema, migrate = options.migrate,
  }
  stores.declare(declared)
  return setmetatable({ _options = declared }, collection_class)
end

-- Keys, values and options -------------------------------------------------------------------


-- Hints for values that are no keys, by their kinds.
local KEYS = {
  ["a number"] = "; use tostring(id)", ["an account"] = "; use account.id",
  ["a peer"] = "; use peer.account.id, or peer.name", ["a room"] = "; use room.name",
}


--- Raises an error if a value is no key.
---@param id any
function store.check_key(id)
  if core.store_is_key(id) then
    return
  elseif type(id) ~= "string" then
    local kind = fault.kind(id)
    fault.raise("a key must be a string, not %s%s", kind, KEYS[kind] or "")
  elseif #id < 1 or #id > KEY_MAX then
    fault.raise("a key has 1 to %d bytes, not %d", KEY_MAX, #id)
  end
  fault.raise("the key %s is not UTF-8, or contains a byte 0", fault.quote(id))
end


--- Raises an error if a write is impossible here.
---@param what string
function store.check_may_write(what)
  if live.loading then
    fault.raise("%s belongs into a handler, such as on_start, and not to the top level of the game", what)
  end
end

-- Passes on the results of a write of the handler. Reports a failure, because the script may not look at it.
local function written(options, id, done, problem, code)
  if done then
    return true
  end
  errors.log(core.levels.warn, ("%s%s %q was not written: %s"):format(fault.where(), options.name, id,
    problem), nil, nil, "not written: " .. code)
  return nil, problem, code
end

-- Passes on the results of a core function that writes JSON. Raises an error if JSON cannot express a value.
local function expressed(result, problem, code)
  if code == "TooLarge" then
    problem = "a document has at most 1 MiB of JSON"
  elseif not result and not code then
    fault.raise("%s", problem)
  end
  return result, problem, code
end

-- Returns the value in a document's JSON, migrated to the collection's present schema; or nil, message and
-- code.
local function value_of(options, id, json, schema)
  local value, problem = messages.decode_json(json)
  if problem then
    return nil, ("the document %q of %s is no JSON: %s"):format(id, options.name, problem), "Unavailable"
  elseif schema > options.schema then
    return nil, ("the document %q of %s has the schema %d, which is newer than %d"):format(id, options.name,
      schema, options.schema), "VersionMismatch"
  elseif schema < options.schema and options.migrate then
    value, problem = migrations.migrate(options, id, value, schema)
    if problem then
      error(("the document %q of %s cannot be migrated from schema %d: %s"):format(id, options.name, schema,
        problem), 0)
    end
  end
  return value
end

-- Returns the version that a write expects; nil for a write without condition.
local function expected(what, options)
  if options == nil then
    return nil
  end
  fault.check("the options of " .. what, options, "table")
  for key in next, options do
    if key ~= "if_version" then
      fault.raise("%s has no option %s; it has if_version", what, fault.quote(key))
    end
  end
  if options.if_version ~= nil then
    fault.check_whole("if_version", options.if_version, 0, VERSION_MAX)
  end
  return options.if_version
end

-- Methods ------------------------------------------------------------------------------------

local methods = {}

-- Returns the JSON of a document, with version and schema; or nil, message and code.
local function read(index, id)
  if live.transaction then
    return transactions.get(index, id)
  end
  tasks.check_may_wait "get"
  if core.store_cached(index, id) then
    tasks.sleep(0) -- a cached read also waits, so that reads always behave alike
    local json, version, schema = core.store_cached(index, id)
    if json then
      return json, version, schema
    end
  end
  return stores.wait(core.store_get, index, id)
end


function methods:get(id)
  store.check_key(id)
  local options = self._options
  local json, version, schema = read(options.index, id)
  if not json then
    return nil, version, schema
  elseif json == "" then
    return nil
  end
  local value, problem, code = value_of(options, id, json, schema)
  if code then
    return nil, problem, code
  end
  return value, version
end

-- Writes a document if it still has the version. Returns the new version; or nil, message and code.
local function write_if(what, version, step, options, id, json)
  if live.transaction then
    fault.raise("%s has no if_version in a transaction, which checks by itself what it has read", what)
  end
  tasks.check_may_wait(what .. " with if_version")
  core.store_begin_unit()
  core.store_unit_step(CHECK, options.index, id, nil, 0, version)
  core.store_unit_step(step, options.index, id, json, options.schema)
  local text, new_version, code = stores.wait(core.store_end_unit)
  if not text then
    return nil, new_version, code
  end
  return new_version
end

-- Writes a document, or deletes it (`json` nil).
local function write(what, self, id, json, if_options)
  local version = expected(what, if_options)
  local options, step = self._options, json and PUT or DELETE
  if version then
    return write_if(what, version, step, options, id, json)
  elseif live.transaction then
    transactions.write(options, id, json)
    return true
  end
  return written(options, id, core.store_step(step, options.index, id, json, options.schema))
end


function methods:put(id, value, options)
  store.check_may_write "put"
  store.check_key(id)
  local own = self._options
  if options == nil and not live.transaction then -- the common case, in one step
    return written(own, id, expressed(core.store_put(own.index, id, value, own.schema)))
  end
  local json, problem, code = expressed(core.store_json(value))
  if not json and live.transaction then
    return transactions.fail(problem, code)
  elseif not json then
    return written(own, id, nil, problem, code)
  end
  return write("put", self, id, json, options)
end


function methods:delete(id, options)
  store.check_may_write "delete"
  store.check_key(id)
  local done, problem, code = write("delete", self, id, nil, options)
  if not done then
    return nil, problem, code
  end
  return true
end

-- Returns the results of a transaction; or nil, message and code.
local function results_of(ok, ...)
  if not ok then
    return nil, ...
  elseif select("#", ...) == 0 then
    return true
  end
  return ...
end


-- Changes a document within the running transaction. Returns its new value; or nil, message and code.
local function change(self, id, fn)
  local value, problem, code = self:get(id)
  if code then
    return nil, problem, code
  end
  value = transactions.without_waits(fn, value)
  if value == nil then
    fault.raise "the function of update returns the new value; it has returned nil"
  end
  local done
  done, problem, code = self:put(id, value)
  if not done then
    return nil, problem, code
  end
  return value
end


function methods:update(id, fn)
  store.check_key(id)
  if type(fn) ~= "function" then
    fault.raise("update takes a function that gets the value and returns the new one, not %s",
      fault.kind(fn))
  end
  if live.transaction then
    return change(self, id, fn)
  end
  return results_of(transactions.run("update", function(run)
    local value
    value, run.problem, run.code = change(self, id, fn)
    return value
  end))
end

-- Finding ------------------------------------------------------------------------------------

local OPS = { ["="] = 0, ["<"] = 1, ["<="] = 2, [">"] = 3, [">="] = 4 }
local CONDITIONS_MAX, LIMIT, LIMIT_MAX = 16, 100, 1000
local IS_COMPARED = { string = true, number = true, boolean = true }
local FIND_OPTIONS = { order = "string", limit = "number", after = "string" }

local function field_of(options, field)
  local number = type(field) == "string" and stores.field(options.index, field)
  if not number then
    fault.raise("%s has no index of %s; declare it: perigee.store(%q, { index = { %q } })", options.name,
      fault.quote(field), options.name, tostring(field))
  end
  return number
end

local function add_condition(list, number, field, op, value)
  if not OPS[op] then
    fault.raise('a condition of %s is a value, or a list such as { ">=", 10 } with =, <, <=, > or >=', field)
  elseif not IS_COMPARED[type(value)] or value ~= value then
    fault.raise("a condition of %s compares with a string, a number or a boolean, not %s", field,
      fault.quote(value))
  end
  local count = #list
  list[count + 1], list[count + 2], list[count + 3] = number, OPS[op], value
end

-- Returns the conditions as core.store_query takes them.
local function read_where(options, where)
  if type(where) ~= "table" then
    fault.raise("find and count take conditions by field, such as { %s = 10 }, or {} for all documents, "
      .. "not %s", options.fields[1] or "rating", fault.kind(where))
  end
  local list = {}
  for field, value in iterate(where) do
    local number = field_of(options, field)
    if type(value) == "table" then
      for i = 1, math.max(#value, 1), 2 do
        add_condition(list, number, field, value[i], value[i + 1])
      end
    else
      add_condition(list, number, field, "=", value)
    end
  end
  if #list / 3 > CONDITIONS_MAX then
    fault.raise("find has at most %d conditions", CONDITIONS_MAX)
  end
  return list
end

local function read_find_options(given)
  given = given or {}
  fault.check("the options of find", given, "table")
  for key, value in next, given do
    if not FIND_OPTIONS[key] then
      fault.raise("find has no option %s; it has order, limit and after", fault.quote(key))
    end
    fault.check(key .. " of find", value, FIND_OPTIONS[key])
  end
  if given.limit then
    fault.check_whole("limit of find", given.limit, 1, LIMIT_MAX)
  end
  return given
end

local function read_order(options, order)
  if not order then
    return 0
  end
  local sign, field = order:match "^(-?)(.*)$"
  local number = field_of(options, field) + 1
  return sign == "-" and -number or number
end

-- Returns the result of a query: bytes or a count, and a cursor; or nil, message and code.
local function ask(what, query)
  if live.transaction then
    return transactions.find(query)
  end
  tasks.check_may_wait(what)
  core.store_begin_unit()
  return stores.wait(core.store_find, query)
end


function methods:find(where, options)
  local own, given = self._options, read_find_options(options)
  local text, problem, code, cursor = ask("find", core.store_query(own.index, read_where(own, where),
    read_order(own, given.order), given.limit or LIMIT, given.after or "", false))
  if not text then
    return nil, problem, code
  end
  local found, list = core.store_found(text), {}
  for i = 1, #found, 4 do
    local id, json, version, schema = found[i], found[i + 1], found[i + 2], found[i + 3]
    local value
    value, problem, code = value_of(own, id, json, schema)
    if code then
      return nil, problem, code
    end
    list[#list + 1] = { id = id, value = value, version = version }
  end
  return list, cursor ~= "" and cursor or nil
end


function methods:count(where)
  local own = self._options
  local text, problem, code = ask("count",
    core.store_query(own.index, read_where(own, where), 0, 1, "", true))
  if not text then
    return nil, problem, code
  end
  return tonumber(text) or 0
end

local getters = {}


function getters:name()
  return self._options.name
end

class.define(collection_class, methods, getters, replacements.collection)

-- The whole store ----------------------------------------------------------------------------

store.api = {}


--- Waits until everything written so far is on disk.
function store.api.commit()
  tasks.check_may_wait "perigee.store.commit"
  local text, problem, code = stores.wait(core.store_flush)
  if not text then
    return nil, problem, code
  end
  return true
end


--- Reads with a statement of SQL. Returns its rows.
function store.api.sql(statement, ...)
  fault.check("the statement of perigee.store.sql", statement, "string")
  local arguments, count = { ... }, select("#", ...)
  for i = 1, count do
    local value = arguments[i]
    if value ~= nil and not IS_COMPARED[type(value)] then
      fault.raise("an argument of perigee.store.sql is a string, a number, a boolean or nil, not %s",
        fault.kind(value))
    end
  end
  if count > ARGUMENTS_MAX then
    fault.raise("perigee.store.sql has at most %d arguments", ARGUMENTS_MAX)
  end
  tasks.check_may_wait "perigee.store.sql"
  local json, problem, code = stores.wait(core.store_sql, statement, arguments, count)
  if not json then
    return nil, problem, code
  end
  local rows
  rows, problem = messages.decode_json(json)
  if problem then -- a text of the statement, or of the file
    return nil, problem, "Invalid"
  end
  return rows
end


--- Runs a function whose reads, writes and commands take effect together or not at all.
function store.api.transaction(fn)
  fault.check("what perigee.store.transaction calls", fn, "function")
  return results_of(transactions.run("perigee.store.transaction", function()
    return fn()
  end))
end

return store
