--- The queues of a game and the party of this client: `client.matchmaker` and `client.party`. Both have calls
--- and events, which are requests and messages with fixed names (docs/protocol.md, section 21).

local check_methods = require "perigee.client.methods"
local describe = require "perigee.util.describe"

-- Sets the handler of an event, for `on` of both classes.
local function set_handler(self, name, fn)
  if not self._EVENTS[name] then
    error(("%s%s has no event %s; it has %s"):format(describe.where(), self._NAME, tostring(name),
      self._EVENT_NAMES), 0)
  end
  self._client:_own("_report_handlers")[self._NAME .. "." .. name] = fn
end

local function class(name, event_names)
  local events = {}
  for event in event_names:gmatch "%a+" do events[event] = true end
  local Class = { _NAME = name, _EVENT_NAMES = event_names, _EVENTS = events }
  Class.__index = Class
  return Class
end


---@class perigee.client.Matchmaker
local Matchmaker = class("matchmaker", "queued, matched, cancelled, timeout, ended")

--- Enters a queue, with the party that this client leads. Returns { ticket = its id }.
---@param queue string
---@param properties? table
---@return { ticket: integer }?, string? message, string? code, any fault
function Matchmaker:enter(queue, properties)
  return self._client:ask("matchmaker.enter", { queue = queue, properties = properties })
end


--- Leaves the queue. Returns false if this client was in none, or has been matched.
---@return boolean? left, string? message, string? code, any fault
function Matchmaker:cancel()
  return self._client:ask "matchmaker.cancel"
end


--- Calls `fn(value)` for each event of a name: "queued", "matched", "cancelled", "timeout" or "ended". An
--- event without a handler is an event of type "message", for example with the name "matchmaker.queued".
---@param name string
---@param fn? fun(value: table)
function Matchmaker:on(name, fn)
  set_handler(self, name, fn)
end


---@class perigee.client.Party
local Party = class("party", "changed, invited, left")

--- Makes a party, and returns it: { id, code, leader, members, size, room }.
---@return table? party, string? message, string? code, any fault
function Party:make()
  return self._client:ask "party.make"
end


--- Invites the client of this name, which gets the event "invited".
---@param name string
---@return true? invited, string? message, string? code, any fault
function Party:invite(name)
  return self._client:ask("party.invite", { name = name })
end


--- Joins the party with this code, and returns it.
---@param code string
---@return table? party, string? message, string? code, any fault
function Party:join(code)
  return self._client:ask("party.join", { code = code })
end


--- Leaves the party.
---@return true? left, string? message, string? code, any fault
function Party:leave()
  return self._client:ask "party.leave"
end


--- Makes another member the leader. Only the leader may do this.
---@param id integer
---@return true? promoted, string? message, string? code, any fault
function Party:promote(id)
  return self._client:ask("party.promote", { id = id })
end


--- Removes a member. Only the leader may do this.
---@param id integer
---@return true? kicked, string? message, string? code, any fault
function Party:kick(id)
  return self._client:ask("party.kick", { id = id })
end


--- Calls `fn(value)` for each event of a name: "changed", "invited" or "left".
---@param name string
---@param fn? fun(value: table)
function Party:on(name, fn)
  set_handler(self, name, fn)
end


check_methods(Matchmaker, "matchmaker")
check_methods(Party, "party")


--- Functions that return the objects of a client.
return {
  matchmaker = function(client) return setmetatable({ _client = client }, Matchmaker) end,
  party = function(client) return setmetatable({ _client = client }, Party) end,
}
