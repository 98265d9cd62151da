--- perigee.matchmaker: queues and tickets for scripts. lua/perigee/meta/matchmaking.lua describes them.

local class = require "perigee.util.class"
local core = require "perigee.core"
local fault = require "perigee.util.fault"
local parties = require "perigee.matchmaking.parties"
local queues = require "perigee.matchmaking.queues"
local registry = require "perigee.host.registry"
local rules = require "perigee.matchmaking.rules"
local starts = require "perigee.matchmaking.starts"
local tickets = require "perigee.matchmaking.tickets"

local queue_class = { __metatable = "matchmaker" }
local ticket_class = { __metatable = "ticket" }

-- Tickets ------------------------------------------------------------------------------------

local ticket_methods, ticket_getters = {}, {}

function ticket_getters.id(self)
  return self._ticket.id
end

function ticket_getters.name(self)
  return self._ticket.queue.name
end

function ticket_getters.properties(self)
  return self._ticket.properties
end

function ticket_getters.waited(self)
  return core.now() - self._ticket.entered
end

function ticket_getters.peers(self)
  local ids = {}
  for i, player in ipairs(self._ticket.players) do
    ids[i] = player.peer
  end
  return registry.list(ids, registry.peers)
end


function ticket_methods:cancel()
  return queues.cancel(self._ticket, "cancelled")
end

class.define(ticket_class, ticket_methods, ticket_getters)


local function object_of(ticket)
  ticket.object = ticket.object or setmetatable({ _ticket = ticket, _id = ticket.id }, ticket_class)
  return ticket.object
end


function starts.objects_of(list)
  local objects = {}
  for i, ticket in ipairs(list) do
    objects[i] = object_of(ticket)
  end
  return objects
end

-- Queues -------------------------------------------------------------------------------------

local methods, getters = {}, {}

function getters.name(self)
  return self._name
end

local function queue_of(self)
  local queue = queues.find(self._name)
  if not queue then
    fault.raise("the matchmaker %s is not one of the running version; its file declares it at the top level",
      self._name)
  end
  return queue
end

-- Returns the peers that `who` means: a peer, a list of peers, or a party; and the party.
local function peers_of(who)
  if registry.is_peer(who) then
    return { who }
  elseif parties.is_party(who) then
    local party = parties.entry_of(who)
    return registry.list(party.members, registry.peers), party
  end
  fault.check("who enters", who, "table")
  local is_there = {}
  for i = 1, math.max(1, #who) do
    if not registry.is_peer(who[i]) then
      fault.raise("a peer, a list of peers or a party enters, and number %d of the list is %s", i,
        fault.kind(who[i]))
    elseif is_there[who[i].id] then
      fault.raise("%s is in the list of those who enter twice", who[i].name)
    end
    is_there[who[i].id] = true
  end
  return who
end


function methods:enter(who, properties)
  local peers, party = peers_of(who)
  if properties ~= nil then
    fault.check("the properties of a ticket", properties, "table")
  end
  local ticket, problem, code = queues.enter(queue_of(self), peers, properties or {}, party)
  if not ticket then
    if code == "Protocol" then
      fault.raise("the matchmaker %s: %s", self._name, problem)
    end
    return nil, problem, code
  end
  return object_of(ticket)
end


function methods:ticket(peer)
  if not registry.is_peer(peer) then
    fault.raise("matchmaker:ticket takes a peer, not %s", fault.kind(peer))
  end
  local ticket = tickets.of(peer.id)
  return ticket and ticket.queue.name == self._name and object_of(ticket) or nil
end


function methods:waiting()
  local queue = queue_of(self)
  local stats = queues.stats()[queue.name]
  return stats.players, stats.tickets
end

class.define(queue_class, methods, getters)


--- Declares a queue. Works only at the top level of a game.
---@param name string
---@param options perigee.MatchmakerOptions
---@return perigee.Matchmaker
return function(name, options)
  fault.check("the name of a matchmaker", name, "string")
  if not name:find "^%a[%w_]*$" or #name > 32 then
    fault.raise("%s cannot be the name of a matchmaker, which has at most 32 letters, digits and _",
      fault.quote(name))
  end
  fault.check("the options of perigee.matchmaker", options, "table")
  queues.declare(rules.read(name, options))
  return setmetatable({ _name = name }, queue_class)
end
