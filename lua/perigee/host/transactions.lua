--- Transactions. A transaction remembers the documents that it reads. Its unit repeats these reads as checks,
--- and the store refuses the unit if another write came first; the function then runs again. While it waits
--- for the store, the handler's commands and the steps of its journal are set aside, because other handlers
--- run.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local stores = require "perigee.host.stores"
local tasks = require "perigee.host.tasks"

local RUNS_MAX = 10
local PUT, DELETE = core.store_steps.put, core.store_steps.delete
local CHECK, CHECK_FOUND = core.store_steps.check, core.store_steps.check_found

--- One run of a transaction's function. The documents are by collection and key.
---@class perigee.Run
---@field what string name of the function that runs it, for errors
---@field reads table<integer, table<string, table>> documents that were read: { json, version, schema }
---@field checks table[] steps that repeat the reads
---@field writes table<integer, table<string, table>> newest write of each document
---@field steps table[] these writes, in the order of their first occurrence
---@field scores table[] scores for leaderboards: function of the core, and its arguments
---@field is_closed boolean? whether the function of update runs, which cannot wait
---@field stash integer? commands that are set aside
---@field problem string? why a document could not be read
---@field code string?
---@field journal table? steps of the journal that are set aside

local transactions = {}

local function forget_run()
  live.transaction = nil
end

local function begin(what)
  local run = { what = what, reads = {}, checks = {}, writes = {}, steps = {}, scores = {} }
  live.transaction = run
  journal.push(forget_run)
  return run
end

-- Discards a run's effects that were set aside.
local function drop_stash(run)
  local stash, steps = run.stash, run.journal
  run.stash, run.journal = nil, nil
  if stash then
    core.store_drop(stash)
    journal.undo(steps)
  end
end

-- Discards a run's effects in C and in the journal.
local function drop(run)
  live.transaction = nil
  if run.stash then
    drop_stash(run)
  else
    core.forget()
    journal.run()
  end
end

-- Sets the handler's effects aside and waits for a request. Returns the results of stores.wait.
local function wait(run, entry, ...)
  run.stash, run.journal = core.store_stash(), journal.take()
  live.transaction = nil
  journal.push(drop_stash, run)
  tasks.check_may_wait(run.what)
  function entry.drop()
    drop_stash(run)
  end
  return stores.wait_as(entry, ...)
end

-- Gives the handler its effects back. Returns false if they were dropped meanwhile.
local function resume(run)
  if not run.stash then
    return false
  end
  core.commit() -- commits the commands of the event that resumed the handler
  core.store_unstash(run.stash)
  journal.give(run.journal)
  run.stash, run.journal = nil, nil
  live.transaction = run
  return true
end

-- Calls within a run ---------------------------------------------------------------------------

local function refuse()
  fault.raise "the function of update cannot read documents; perigee.store.transaction reads several"
end


--- Lets the running transaction fail as a whole.
---@param problem string
---@param code string
---@return nil
---@return string problem
---@return string code
function transactions.fail(problem, code)
  local run = live.transaction
  run.problem, run.code = problem, code
  return nil, problem, code
end

local function find(documents, index, id)
  return documents[index] and documents[index][id]
end

local function keep(documents, index, id, document)
  documents[index] = documents[index] or {}
  documents[index][id] = document
end


--- Returns the JSON of a document within the running transaction: what it has written or read before, or what
--- the store has now.
---@param index integer
---@param id string
---@return string? json "" for none; nil: the store has failed
---@return integer|string|nil version
---@return integer|string? schema
function transactions.get(index, id)
  local run = live.transaction
  local known = find(run.writes, index, id) or find(run.reads, index, id)
  if known then
    return known.json, known.version, known.schema
  elseif run.is_closed then
    refuse()
  end
  -- The cached document may be outdated. In that case, the unit's check of this read fails.
  local json, version, schema = core.store_cached(index, id)
  if not json then
    json, version, schema = wait(run, pending.new(), core.store_get, index, id)
    if not resume(run) then
      fault.raise("%s was interrupted", run.what)
    elseif not json then
      run.problem, run.code = version, schema
      return nil, version, schema
    end
  end
  keep(run.reads, index, id, { json = json, version = version, schema = schema })
  run.checks[#run.checks + 1] = { index = index, id = id, version = version }
  return json, version, schema
end

local function add_writes(run)
  for _, step in ipairs(run.steps) do
    core.store_unit_step(step.type, step.index, step.id, step.type == PUT and step.json or nil, step.schema)
  end
end


--- Makes a find or a count within the running transaction, which sees its own writes.
---@param query string bytes of core.store_query
---@return string? bytes of the documents, or the count; nil: the store has failed
---@return string? problem
---@return string? code
---@return string? cursor
function transactions.find(query)
  local run = live.transaction
  if run.is_closed then
    refuse()
  end
  core.store_begin_unit()
  add_writes(run)
  local text, version, code, cursor = wait(run, pending.new(), core.store_find, query)
  if not resume(run) then
    fault.raise("%s was interrupted", run.what)
  elseif not text then
    run.problem, run.code = version, code
    return nil, version, code
  end
  run.checks[#run.checks + 1] = { query = query, version = version }
  return text, nil, nil, cursor
end

local function write(step)
  local run = live.transaction
  local known = find(run.writes, step.index, step.id)
  if known then
    known.type, known.json, known.schema = step.type, step.json, step.schema
  else
    keep(run.writes, step.index, step.id, step)
    run.steps[#run.steps + 1] = step
  end
end


--- Writes a document within the running transaction.
---@param options perigee.CollectionOptions
---@param id string
---@param json string? nil: deletes the document
function transactions.write(options, id, json)
  write {
    type = json and PUT or DELETE, index = options.index, id = id, json = json or "", schema = options.schema,
  }
end


--- Adds a score within the running transaction.
---@param score { add: function, index: integer, id: string, period: integer, score: number?, json: string? }
function transactions.score(score)
  local scores = live.transaction.scores
  scores[#scores + 1] = score
end



--- Calls a function that may not wait within the running transaction.
---@param fn function
---@param value any its argument
---@return any result
function transactions.without_waits(fn, value)
  local run = live.transaction
  if run.is_closed then
    refuse()
  end
  run.is_closed = true
  local ok, result = pcall(fn, value)
  run.is_closed = nil
  if not ok then
    error(result, 0)
  end
  return result
end

-- The end of a run -----------------------------------------------------------------------------

local function is_write_needed(run)
  return #run.steps + #run.scores > 0 or #run.checks > 1
end

-- Adds the steps that repeat the reads of a run.
local function add_checks(run)
  for _, check in ipairs(run.checks) do
    if check.query then
      core.store_unit_step(CHECK_FOUND, 0, "", check.query, 0, check.version)
    else
      core.store_unit_step(CHECK, check.index, check.id, nil, 0, check.version)
    end
  end
end

-- Writes the unit of a run. Returns the unit's version; or nil, message and code.
local function commit(run)
  if not is_write_needed(run) then
    live.transaction = nil
    core.commit()
    return 0
  end
  core.store_begin_unit()
  add_checks(run)
  add_writes(run)
  for _, score in ipairs(run.scores) do
    score.add(score.index, score.id, score.period, score.score, score.json, true)
  end
  local entry = pending.new()
  entry.is_bound = true
  local text, version, code = wait(run, entry, core.store_end_unit)
  if text and resume(run) then
    live.transaction = nil
    core.commit()
    tasks.unbind(entry)
    return version
  end
  drop(run)
  return nil, version, code
end

-- Returns whether the function of a run may have failed because other writes came between its reads.
local function is_outdated(run)
  if #run.checks < 2 then
    return false
  end
  core.store_begin_unit()
  add_checks(run)
  local _, _, code = stores.wait(core.store_end_unit)
  return code == "Conflict"
end

local function pack(...)
  return { n = select("#", ...), ... }
end


--- Runs a function as a transaction. It runs again if another write comes first.
---@param what string name of the calling function, for errors
---@param fn fun(run: perigee.Run): ...
---@return boolean ok
---@return ... results of the function; or message and code
function transactions.run(what, fn)
  if live.transaction then
    fault.raise("%s cannot be called within %s, which joins all that it calls", what, live.transaction.what)
  end
  tasks.check_may_wait(what)
  core.commit() -- a transaction is a wait, so earlier commands take effect first
  for _ = 1, RUNS_MAX do
    local run = begin(what)
    local results = pack(pcall(fn, run))
    local version, problem, code = nil, run.problem, run.code
    if not results[1] then
      drop(run)
      if not is_outdated(run) then
        error(results[2], 0)
      end
      code = "Conflict"
    elseif code then
      drop(run)
    else
      version, problem, code = commit(run)
    end
    if version then
      return unpack(results, 1, results.n)
    elseif code ~= "Conflict" then
      return false, problem, code
    end
  end
  return false, ("other writes came first %d times"):format(RUNS_MAX), "Conflict"
end

return transactions
