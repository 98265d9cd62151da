--- The requests of clients to the matchmaker and to their party: messages whose names begin with
--- "matchmaker." and "party.". docs/protocol.md lists them. They exist in games that have a matchmaker.

local core = require "perigee.core"
local faults = require "perigee.host.faults"
local live = require "perigee.host.live"
local parties = require "perigee.matchmaking.parties"
local queues = require "perigee.matchmaking.queues"
local registry = require "perigee.host.registry"
local rules = require "perigee.matchmaking.rules"
local tickets = require "perigee.matchmaking.tickets"

local PARTY_SIZE = 8

-- Limits of a client's requests: BURST requests at once, and RATE more in each second.
local BURST, RATE = 20, 5

local debts = setmetatable({}, { __mode = "k" }) -- number of requests, and time of the last one, by peer

local requests = {} ---@type table<string, fun(peer: perigee.Peer, value: any): any>

local function fail(code, message, ...)
  error(faults.new(code, { message = message:format(...) }))
end

local function field(value, name, wanted)
  local found = type(value) == "table" and value[name]
  if type(found) ~= wanted then
    fail("Protocol", "%s must be a %s", name, wanted)
  end
  return found
end

-- The matchmaker -------------------------------------------------------------------------------

-- Returns the peers that enter a queue together with this peer, and their party. Raises a fault if the peer
-- is in a party but is not its leader.
local function group_of(peer)
  local party = parties.of(peer.id)
  if not party then
    return { peer }
  elseif party.members[1] ~= peer.id then
    fail("NotLeader", "the leader of the party enters for all")
  end
  return registry.list(party.members, registry.peers), party
end


requests["matchmaker.enter"] = function(peer, value)
  local name = field(value, "queue", "string")
  local queue = queues.find(name)
  if not queue then
    fail("NoSuchQueue", "there is no queue %s", name)
  end
  local properties = value.properties == nil and {} or field(value, "properties", "table")
  group_of(peer)
  local answer, reason = true
  if queue.rules.on_enter then
    answer, reason = queue.rules.on_enter(peer, properties)
    if not answer then
      fail("Refused", "%s", type(reason) == "string" and reason or "refused")
    end
  end
  properties = answer == true and rules.declared(queue.rules, properties) or answer
  local peers, party = group_of(peer) -- on_enter may have waited
  return { ticket = parties.check(queues.enter(queue, peers, properties, party)).id }
end


requests["matchmaker.cancel"] = function(peer)
  local ticket = tickets.of(peer.id)
  return ticket ~= nil and queues.cancel(ticket, "cancelled")
end

-- Parties --------------------------------------------------------------------------------------

local function own_party(peer)
  local party = parties.of(peer.id)
  if not party then
    fail("NoParty", "you are in no party")
  end
  return party
end

local function led_party(peer)
  local party = own_party(peer)
  if party.members[1] ~= peer.id then
    fail("NotLeader", "the leader of the party does this")
  end
  return party
end


requests["party.make"] = function(peer)
  return parties.describe(parties.check(parties.make(peer.id, PARTY_SIZE)))
end


requests["party.invite"] = function(peer, value)
  local party, name = own_party(peer), field(value, "name", "string")
  local found
  for _, id in ipairs(core.peers()) do
    if core.peer_name(id) == name then
      found = id
      break
    end
  end
  if not found then
    fail("NoSuchPeer", "nobody here has the name %s", name)
  end
  return parties.check(parties.invite(party, peer.id, found))
end


requests["party.join"] = function(peer, value)
  local party = parties.find(field(value, "code", "string"))
  if not party then
    fail("NoParty", "there is no party with this code")
  end
  parties.check(parties.join(party, peer.id))
  return parties.describe(party)
end


requests["party.leave"] = function(peer)
  return parties.check(parties.leave(own_party(peer), peer.id, "left"))
end


requests["party.promote"] = function(peer, value)
  return parties.check(parties.promote(led_party(peer), field(value, "id", "number")))
end


requests["party.kick"] = function(peer, value)
  return parties.check(parties.leave(led_party(peer), field(value, "id", "number"), "kicked"))
end


-- Raises a fault if a client makes too many requests. This bounds how fast clients guess codes of parties,
-- send invitations, and make rooms.
local function check_rate(peer)
  local now = core.now()
  local debt = debts[peer] or { count = 0, at = now }
  debts[peer] = debt
  debt.count, debt.at = math.max(0, debt.count - (now - debt.at) * RATE), now
  if debt.count > BURST - 1 then
    fail("RateLimited", "more than %d requests of the matchmaker a second; wait a moment", RATE)
  end
  debt.count = debt.count + 1
end

for name, handler in next, requests do
  requests[name] = function(peer, value)
    check_rate(peer)
    return handler(peer, value)
  end
end


--- Returns the function that handles a request of a client; nil if it is a message of the game.
---@param name string
---@return fun(peer: perigee.Peer, value: any)?
return function(name)
  return live.version.has_queues and requests[name] or nil
end
