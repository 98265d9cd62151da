--- The documents of accounts. The collection `accounts` has a document for each account, by its id. The
--- collection `names` maps each name, device, JWT subject and id of the game to the id of its account, so
--- that two accounts cannot share one. `keys` has the seed of the key that signs tokens.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local messages = require "perigee.host.messages"
local stores = require "perigee.host.stores"

local STEPS = core.store_steps
local RUNS_MAX = 10
local CONFLICT_TEXT = "another change of the account came first, 10 times"

local account_store = {}

local COLLECTIONS = { accounts = "perigee_accounts", names = "perigee_names", keys = "perigee_keys" }
local indexes = {} ---@type table<string, integer>
local is_made = false -- whether read_now has made the collection of accounts


--- Declares the collections of a version whose clients can sign in.
---@param version perigee.Version
function account_store.declare(version)
  if not core.store_has_accounts() then
    return
  end
  for what, name in next, COLLECTIONS do
    indexes[what] = stores.declare_own(version, name, "config.accounts")
  end
end


--- Reads the document of an account while the game is loaded for the first time, without waiting.
---@param id string
---@return table? document nil: the account does not exist
function account_store.read_now(id)
  local index, ok, problem = indexes.accounts, is_made, nil
  if not is_made then
    ok, problem = core.keep_define(index, COLLECTIONS.accounts)
    is_made = true
  end
  if ok then
    ok, problem = core.kept_document(index, id)
  end
  if not ok then
    error("accounts cannot be read: " .. problem, 0)
  end
  return ok ~= "" and messages.decode_json(ok) or nil
end


--- Reads a document.
---@param what string
---@param id string
---@return any value nil: no document, or a failure
---@return integer|string version 0: no document; after a failure its message
---@return string? code
function account_store.read(what, id)
  local text, version, schema = stores.wait(core.store_get, indexes[what], id)
  if not text then
    return nil, version, schema --[[@as string]]
  elseif text == "" then
    return nil, 0
  end
  return messages.decode_json(text), version
end


--- Writes documents together, if each still has the version with which it was read.
---@param steps { what: string, id: string, version: integer?, value: any }[] without `value`: deletes
---@return boolean? ok
---@return string? problem
---@return string? code
function account_store.write(steps)
  local texts = {}
  for i, step in ipairs(steps) do
    local problem, code
    texts[i] = false
    if step.value ~= nil then
      texts[i], problem, code = core.store_json(step.value)
      if code then
        return nil, "an account has at most 1 MiB of JSON", code
      elseif not texts[i] then
        fault.raise("%s", problem)
      end
    end
  end
  core.store_begin_unit()
  for i, step in ipairs(steps) do
    local index = indexes[step.what]
    if step.version then
      core.store_unit_step(STEPS.check, index, step.id, nil, 0, step.version)
    end
    core.store_unit_step(texts[i] and STEPS.put or STEPS.delete, index, step.id, texts[i] or nil, 1)
  end
  local text, problem, code = stores.wait(core.store_end_unit)
  if not text then
    return nil, problem, code
  end
  return true
end


--- Changes an account. `change` gets its document, and may run several times. If it returns true, the account
--- is written, together with the further documents that it returns. If it returns false, nothing is written,
--- and this function returns its further results.
---@param id string
---@param change fun(document: table): boolean, any, any, any
---@return table? document nil: the account does not exist, or a failure
---@return any problem
---@return any code
function account_store.change(id, change)
  for _ = 1, RUNS_MAX do
    local document, version, code = account_store.read("accounts", id)
    if not document then
      return nil, code and version or "the account does not exist", code or "Unavailable"
    end
    local is_changed, more, problem, problem_code = change(document)
    if not is_changed then
      return more, problem, problem_code
    end
    local steps = more or {}
    steps[#steps + 1] = { what = "accounts", id = id, version = version --[[@as integer]], value = document }
    local ok, why, why_code = account_store.write(steps)
    if ok then
      return document
    elseif why_code ~= "Conflict" then
      return nil, why, why_code
    end
  end
  return nil, CONFLICT_TEXT, "Conflict"
end

return account_store
