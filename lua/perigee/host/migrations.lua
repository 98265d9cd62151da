--- Rewrites the documents of older schemas in the form of the live version, a few at a time, while the game
--- runs.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local messages = require "perigee.host.messages"
local sorted_keys = require "perigee.util.sorted_keys"
local stores = require "perigee.host.stores"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

local PUT, CHECK = core.store_steps.put, core.store_steps.check
local TOGETHER = 20 -- documents of a unit
local PAUSE = 10 -- seconds until the next try, while the store fails

local migrations = {}

-- Returns the JSON of a document in the present form; nil if its migration fails.
local function convert(options, id, json, schema)
  local ok, value, problem = pcall(messages.decode_json, json)
  if ok and not problem then
    ok, value = pcall(options.migrate, id, value, schema)
  end
  local new_json
  if ok then
    new_json, problem = core.store_json(value)
  end
  if not new_json then
    errors.log(core.levels.error, ("the document %q of %s stays in schema %d: %s"):format(id, options.name,
      schema, errors.text(problem or value)), nil, nil, "migration of " .. options.name)
  end
  return new_json
end

-- Writes documents, unless another write comes first. Returns whether it has written them, and a code.
local function write(options, documents)
  core.store_begin_unit()
  for _, document in ipairs(documents) do
    core.store_unit_step(CHECK, options.index, document.id, nil, 0, document.version)
  end
  for _, document in ipairs(documents) do
    core.store_unit_step(PUT, options.index, document.id, document.json, options.schema)
  end
  local text, _, code = stores.wait({}, core.store_end_unit)
  return text ~= nil, code
end

local function rewrite(options, found)
  local documents = {}
  for i = 1, #found, 4 do
    local id, json, version, schema = found[i], found[i + 1], found[i + 2], found[i + 3]
    local new_json = convert(options, id, json, schema)
    documents[#documents + 1] = new_json and { id = id, json = new_json, version = version } or nil
    if #documents == TOGETHER or i + 4 > #found and #documents > 0 then
      local _, code = write(options, documents)
      if code == "Conflict" then -- the others of the unit are written alone
        for _, document in ipairs(documents) do
          write(options, { document })
        end
      end
      documents = {}
    end
  end
end

local function run(options)
  local after = ""
  repeat
    local text = stores.wait({}, core.store_scan, options.index, options.schema, after)
    local found = text and core.store_found(text)
    if found then
      rewrite(options, found)
      after = found[#found - 3]
    else
      tasks.sleep(PAUSE)
    end
  until found and #found == 0
end


--- Begins to rewrite the documents of a version that will not be rolled back. The next version ends this.
---@param version perigee.Version
function migrations.begin(version)
  for _, name in ipairs(sorted_keys(version.collections)) do
    local options = version.collections[name]
    if options.migrate then
      local entry = { what = "task", label = "the migration of " .. name, fn = function()
        run(options)
      end }
      timers.begin(entry, 0)
      entry.owned = true
    end
  end
end

return migrations
