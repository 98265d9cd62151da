--- Passwords. Threads hash them (src/account/password.h), and the handler waits meanwhile.

local core = require "perigee.core"
local live = require "perigee.host.live"
local pending = require "perigee.host.pending"
local tasks = require "perigee.host.tasks"

local TOKEN_MAX = 2 ^ 31
local TIMEOUT = 60 -- seconds; a full queue takes a tenth of that

local ran = core.ran() -- the running handler, see host/init.lua

local passwords = { on = {} }

local waiting = setmetatable({}, { __mode = "v" }) -- entries by token
local last_token = 0

-- Waits for the end of a request; returns whether the password is right, and the hash to store or "".
local function wait(request, ...)
  last_token = last_token % TOKEN_MAX + 1
  local entry, token = pending.new(), last_token
  if not request(token, ...) then
    return nil, "too many clients sign in at this moment; try again", "RateLimited"
  end
  waiting[token] = entry
  local answer = tasks.wait(entry, TIMEOUT)
  if not answer then
    return nil, "the password was not checked in time", "Unavailable"
  end
  return answer.is_right, answer.hash
end


--- Makes the hash of a new password.
---@param password string
---@return string? hash
---@return string? problem
---@return string? code
function passwords.hash(password)
  local is_right, hash, code = wait(core.password_hash, password)
  if is_right == nil then
    return nil, hash, code
  end
  return hash
end


--- Compares a password with a hash. If `hash` is nil, the comparison takes as long as with a hash, and
--- reports that the password is wrong.
--- @param password string
--- @param hash string?
--- @return boolean? is_right nil: it was not compared
--- @return string? hash hash to store from now on, or ""; or the problem
--- @return string? code
function passwords.check(password, hash)
  return wait(core.password_check, password, hash or "")
end


--- Handles the end of a request.
function passwords.on.password(_, _, hash, token, is_right)
  live.task, ran[1] = nil, nil
  local entry = waiting[token]
  waiting[token] = nil
  if entry and pending.timers[entry.id] == entry then
    core.timer_cancel(entry.id)
    return tasks.wake(entry, { is_right = is_right == 1, hash = hash })
  end
end

return passwords
