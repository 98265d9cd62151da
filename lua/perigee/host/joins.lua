--- Reports the outcome of each join that the script requested to the handler that waits for it. If no handler
--- waits, logs a refusal while files are watched.

local core = require "perigee.core"
local errors = require "perigee.host.errors"
local fault = require "perigee.util.fault"
local registry = require "perigee.host.registry"
local tasks = require "perigee.host.tasks"
local journal = require "perigee.host.journal"

local FOR_EVER = 1e9 -- seconds; the outcome of the join ends the wait
local QUIET = "ConnectionClosed" -- code of a join that ended because the peer is gone; it is no refusal

local joins = {}

-- Joins by token: { entry = entry of the handler that waits, line = place of the call for the log of a
-- refusal, call = name of the called function, options = options for on_join }.
local pending = {}
local last_token = 0

-- Stores a join under a new token; returns the token.
local function expect(join)
  last_token = last_token % 0xffffffff + 1
  journal.set(pending, last_token, join)
  return last_token
end


-- Returns the line of the call for the log while files are watched, or nil.
local function watched_line()
  return core.limits().is_watched and fault.where() or nil
end


--- Returns the token of the join of a new bot.
---@return integer
function joins.expect_bot()
  local line = watched_line()
  return line and expect { line = line, call = "room:bot" } or 0
end


--- Makes a peer join a room; logs a refusal while files are watched.
---@param peer integer
---@param room integer
---@param options any
---@return boolean? ok
---@return string? message
---@return string? code
function joins.request(peer, room, options)
  local line = watched_line()
  return core.join(peer, room, (line or options ~= nil) and expect { line = line, options = options } or 0)
end


--- Makes a peer join a room, and waits for the outcome.
---@param peer integer
---@param room integer
---@param options any
---@return boolean? ok
---@return string? reason
---@return string? code
function joins.wait(peer, room, options)
  tasks.check_may_wait "peer:join"
  local problem = core.join_never_ends(peer, room)
  if problem then
    fault.raise("peer:join cannot wait here, because %s; leave out `wait`", problem)
  end
  local entry = {}
  local ok, message, code = core.join(peer, room, expect { entry = entry, options = options })
  if not ok then
    return nil, message, code
  end
  return tasks.wait(entry, FOR_EVER)
end


--- Returns the options for on_join of a join that the script requested.
---@param token integer
---@return any
function joins.options(token)
  local join = pending[token]
  return join and join.options or {}
end


--- Handles the outcome of a join. Without a code, the peer has joined.
---@param token integer
---@param peer integer?
---@param room integer?
---@param reason string?
---@param code string?
function joins.report(token, peer, room, reason, code)
  local join = pending[token] or {}
  pending[token] = nil
  if join.entry then
    tasks.give(join.entry, not code or nil, reason, code)
  elseif join.line and code and code ~= QUIET then
    local object = registry.peek_peer(peer)
    errors.log(core.levels.warn, ("%s%s: %s did not get into %s: %s (%s)"):format(join.line,
      join.call or "peer:join", object and object.name or "a peer",
      core.room_name(room) or "a room that is gone", reason, code), nil, nil, "peer:join " .. join.line)
  end
end

return joins
