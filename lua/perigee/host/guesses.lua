--- Limits the failed sign-ins of a name and of a network (src/account/guesses.h). A sign-in whose proof can
--- be guessed waits while so many others are being judged that together they could exceed the limit.
--- Therefore many players of one network can sign in at the same time, and nobody gets more guesses by
--- trying many at a time.

local core = require "perigee.core"
local tasks = require "perigee.host.tasks"

local WAITING_MAX = 256 -- sign-ins that wait for others
local TIMEOUT = 60 -- seconds of such a wait
local IS_FAILURE = { Unauthorized = true, Rejected = true }

local guesses = {}

local judged = {} ---@type table<string, integer> sign-ins that are being judged, by name and by network
local waiting = {} ---@type { name: string, network: string }[] entries of those that wait, in order

local function count(name, network, change)
  for _, key in ipairs { "network " .. network, name ~= "" and "name " .. name or nil } do
    local number = (judged[key] or 0) + change
    judged[key] = number > 0 and number or nil
  end
end

local function judged_of(name, network)
  return math.max(judged["network " .. network] or 0, judged["name " .. name] or 0)
end

-- Waits until a sign-in of the same name or network has been judged. Returns whether that has happened.
local function wait(name, network)
  if #waiting >= WAITING_MAX then
    return false
  end
  local entry = { name = name, network = network }
  waiting[#waiting + 1] = entry
  local is_over = tasks.wait(entry, TIMEOUT)
  for i = #waiting, 1, -1 do
    if waiting[i] == entry then
      table.remove(waiting, i)
    end
  end
  return is_over == true
end

local function wake(name, network)
  for _, entry in ipairs(waiting) do
    if entry.network == network or name ~= "" and entry.name == name then
      tasks.give(entry, true)
    end
  end
end

-- Waits while the sign-ins that are being judged could use up the guesses that are left. Then returns the
-- reason why this sign-in may not be judged, or nil.
local function refusal(name, network, can_be_guessed)
  local left, seconds = core.guesses_left(name, network)
  while left > 0 and can_be_guessed and judged_of(name, network) >= left do
    if not wait(name, network) then
      return "too many clients sign in at this moment; try again"
    end
    left, seconds = core.guesses_left(name, network)
  end
  return left == 0 and ("too many tries; try again in %d s"):format(seconds) or nil
end


--- Judges a sign-in, and counts its failure.
---@param name string in lower case; "" if it has none
---@param address string
---@param can_be_guessed boolean
---@param judge fun(): string?, any, string? returns id and document of an account; or nil, a text and a code
---@return string? id
---@return any document
---@return string? code
function guesses.judge(name, address, can_be_guessed, judge)
  local network = core.network_of(address)
  local problem = refusal(name, network, can_be_guessed)
  if problem then
    return nil, problem, "RateLimited"
  end
  local change = can_be_guessed and 1 or 0
  count(name, network, change)
  local ok, id, document, code = pcall(judge)
  count(name, network, -change)
  if ok and IS_FAILURE[code] then
    core.guess_failed(name, network)
  end
  wake(name, network)
  if not ok then
    error(id, 0)
  end
  return id, document, code
end

return guesses
