--- perigee.accounts and the account of a peer, which lua/perigee/meta/accounts.lua describes.

local accounts = require "perigee.host.accounts"
local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local replacements = require "perigee.api.replacements"
local tasks = require "perigee.host.tasks"

local SECONDS_MAX = 10 ^ 10
local REASON_MAX = 255

local account_class = { __metatable = "account" }

local api_accounts = { api = {} }

local getters, methods = {}, {}

function getters.id(self)
  return self._id
end

for _, field in ipairs { "name", "guest", "created" } do
  getters[field] = function(self)
    return self._entry.document[field]
  end
end

-- Returns a copy of a value without cycles.
local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local result = {}
  for key, item in next, value do
    result[key] = copy(item)
  end
  return result
end

-- Returns a copy, because a change that the script makes to it is not stored.
function getters.data(self)
  return copy(self._entry.document.data)
end

-- Returns the results of a change as scripts get them.
local function result(document, problem, code)
  if document then
    return true
  end
  return nil, problem, code
end


function methods:update(fn)
  if type(fn) ~= "function" then
    fault.raise("account:update takes a function that gets the data and returns the new ones, not %s",
      fault.kind(fn))
  end
  tasks.check_may_wait "account:update"
  local document, problem, code = accounts.change(self._id, function(present)
    local data = fn(present.data)
    if data == nil then
      fault.raise "the function of account:update must return the new data, not nil"
    end
    present.data = data
    return true
  end)
  if not document then
    return nil, problem, code
  end
  return copy(document.data)
end


function methods:sign_out_everywhere()
  return result(accounts.sign_out_everywhere(self._id))
end


function methods:ban(seconds, reason)
  fault.check("the seconds of account:ban", seconds, "number")
  if not (seconds >= 0 and seconds <= SECONDS_MAX) then
    fault.raise("the seconds of account:ban are 0 to %d, not %s", SECONDS_MAX, tostring(seconds))
  elseif reason ~= nil then
    fault.check("the reason of account:ban", reason, "string")
  end
  return result(accounts.ban(self._id, seconds, reason and reason:sub(1, REASON_MAX)))
end

class.define(account_class, methods, getters, replacements.account)


--- Returns the object of an account for scripts.
---@param entry perigee.AccountEntry
---@return perigee.Account
function api_accounts.object(entry)
  entry.object = entry.object or setmetatable({ _id = entry.id, _entry = entry }, account_class)
  return entry.object
end

local function check_used(what)
  if not core.limits().has_accounts then
    fault.raise("%s needs accounts; set accounts = true in game.config", what)
  end
end


function api_accounts.api.find(name)
  fault.check("the name for perigee.accounts.find", name, "string")
  check_used "perigee.accounts.find"
  local entry, problem, code = accounts.find(name)
  if not entry then
    return nil, problem, code
  end
  return api_accounts.object(entry)
end


function api_accounts.api.delete(id)
  fault.check("the id for perigee.accounts.delete", id, "string")
  check_used "perigee.accounts.delete"
  return accounts.delete(id)
end

return api_accounts
