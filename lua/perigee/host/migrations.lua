--- Rewrites the documents of older schemas in the form of the live version, a few at a time, while the game
--- runs.

local core = require "perigee.core"
local describe = require "perigee.util.describe"
local errors = require "perigee.host.errors"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local sorted_keys = require "perigee.util.sorted_keys"
local stores = require "perigee.host.stores"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

local PUT, CHECK = core.store_steps.put, core.store_steps.check
local TOGETHER = 20 -- documents that are written together
local TOGETHER_BYTES = 2 ^ 18 -- bytes of JSON between two waits
local LARGE = 2 ^ 16 -- bytes of JSON
local PAUSE = 10 -- seconds until the next try, while the store fails

local migrations = {}


--- Returns the value of a document in the present form; nil and the error if its migration fails.
---@param options perigee.CollectionOptions
---@param id string
---@param value any
---@param schema integer of the document
---@return any value
---@return string? problem
function migrations.migrate(options, id, value, schema)
  local ok, result = pcall(options.migrate, id, value, schema)
  if not ok then
    return nil, errors.text(result)
  elseif result == nil then
    return nil, (describe.place(options.migrate) or "?") .. ": migrate must return the new value, not nil"
  end
  return result
end

-- Logs that a document stays as it is. Errors with the same key count as equal.
local function leave(job, id, schema, problem, key)
  if not job.is_left[id] then
    job.left, job.is_left[id] = job.left + 1, true
  end
  errors.log(core.levels.error, ("the document %q of %s stays in schema %d: %s"):format(id, job.options.name,
    schema, problem), nil, nil, ("%s of %s"):format(key or "migration", job.options.name))
end

local function pause(is_large)
  if is_large then
    tasks.sleep(0)
  end
end

-- Returns the JSON of a document in the present form; nil if its migration fails. Waits between the steps for
-- a large document, because each takes much of a handler's budget.
local function convert(job, id, json, schema)
  local is_large = #json > LARGE
  local value, problem = messages.decode_json(json)
  local new_json
  if not problem then
    pause(is_large)
    value, problem = migrations.migrate(job.options, id, value, schema)
  end
  if not problem then
    pause(is_large)
    new_json, problem = core.store_json(value)
  end
  if not new_json then
    leave(job, id, schema, problem or "it would be larger than 1 MiB")
  end
  return new_json
end

-- Writes documents together, unless one of them has changed. Returns true; or false, a message and a code.
local function write(options, documents)
  core.store_begin_unit()
  for _, document in ipairs(documents) do
    core.store_unit_step(CHECK, options.index, document.id, nil, 0, document.version)
  end
  for _, document in ipairs(documents) do
    core.store_unit_step(PUT, options.index, document.id, document.json, options.schema)
  end
  local text, problem, code = stores.wait(core.store_end_unit)
  return text ~= nil, problem, code
end

-- Writes documents together; if the store refuses one of them, each alone.
local function write_each(job, documents)
  local ok, problem, code = write(job.options, documents)
  while code == "Unavailable" or code == "SlowStore" do
    tasks.sleep(PAUSE)
    ok, problem, code = write(job.options, documents)
  end
  if ok then
    job.written = job.written + #documents
  elseif #documents > 1 then
    for _, document in ipairs(documents) do
      write_each(job, { document })
    end
  elseif code ~= "Conflict" then -- after a conflict, the document has the present form
    leave(job, documents[1].id, documents[1].schema, problem)
  end
end

local function rewrite(job, found)
  local documents, bytes = {}, 0
  tasks.sleep(0) -- because many bytes have been read
  for i = 1, #found, 4 do
    local id, json, version, schema = found[i], found[i + 1], found[i + 2], found[i + 3]
    job.id, job.schema = id, schema
    local new_json = not job.is_left[id] and convert(job, id, json, schema)
    job.id = nil
    tasks.sleep(0) -- so that each document has the time of a handler
    documents[#documents + 1] = new_json
      and { id = id, json = new_json, version = version, schema = schema } or nil
    bytes = bytes + #json
    if #documents == TOGETHER or (bytes > TOGETHER_BYTES or i + 4 > #found) and #documents > 0 then
      write_each(job, documents)
      documents, bytes = {}, 0
    end
  end
end

local function run(job)
  repeat
    local text = stores.wait(core.store_scan, job.options.index, job.options.schema, job.after)
    local found = text and core.store_found(text)
    if found then
      rewrite(job, found)
      job.after, job.is_left = found[#found - 3], {}
    else
      tasks.sleep(PAUSE)
    end
  until found and #found == 0
  if job.written + job.left > 0 then
    live.log(core.levels.info, ("%s: rewrote %d documents in schema %d; %d stay as they are"):format(
      job.options.name, job.written, job.options.schema, job.left))
  end
end

-- Runs a job as a task. When a document takes longer than a handler may, it is left, and the job goes on.
local function begin(job)
  local entry = { what = "task", label = "the migration of " .. job.options.name, fn = function()
    run(job)
  end }
  function entry.on_failure(problem)
    if job.id then
      -- The pcall of migrate may have returned before the handler was ended, so `leave` may have run in part.
      leave(job, job.id, job.schema, problem, "slow migration")
      begin(job)
      core.commit()
    end
  end
  timers.begin(entry, 0)
  entry.owned = true
end


--- Begins to rewrite the documents of older schemas, for a version that will not be rolled back. The next
--- version ends this.
---@param version perigee.Version
function migrations.begin(version)
  for _, name in ipairs(sorted_keys(version.collections)) do
    local options = version.collections[name]
    if options.migrate then
      -- after: id behind which the documents have to be looked at; is_left: documents behind it that stay as
      -- they are; written, left: numbers of documents; id, schema: of the document that is being converted
      begin { options = options, after = "", is_left = {}, written = 0, left = 0 }
    end
  end
end

return migrations
