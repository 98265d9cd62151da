--- perigee.party: parties for scripts. lua/perigee/meta/matchmaking.lua describes them.

local class = require "perigee.util.class"
local fault = require "perigee.util.fault"
local parties = require "perigee.matchmaking.parties"
local registry = require "perigee.host.registry"

local SIZE = 8 -- members of a party, unless its maker says otherwise

local party_class = { __metatable = "party" }
local methods, getters, api = {}, {}, {}

local function check_peer(what, peer)
  if not registry.is_peer(peer) then
    fault.raise("%s takes a peer, not %s", what, fault.kind(peer))
  elseif rawget(peer, "_kept") then
    return nil, "the peer is gone", "ConnectionClosed"
  end
  return true
end

local function object_of(party)
  party.object = party.object or setmetatable({ _party = party, _id = party.id }, party_class)
  return party.object
end


for _, field in ipairs { "id", "code", "size" } do
  getters[field] = function(self)
    return self._party[field]
  end
end

function getters.name(self)
  return self._party.code
end

function getters.leader(self)
  local leader = self._party.members[1]
  return leader and registry.peers[leader]
end

function getters.room(self)
  return registry.rooms[self._party.room]
end

function getters.count(self)
  return #self._party.members
end


function methods:peers()
  return registry.list(self._party.members, registry.peers)
end


function methods:has(peer)
  check_peer("party:has", peer)
  return parties.of(peer.id) == self._party
end


function methods:invite(peer)
  local ok, problem, code = check_peer("party:invite", peer)
  if not ok then
    return nil, problem, code
  end
  return parties.invite(self._party, self._party.members[1], peer.id)
end


function methods:join(peer)
  local ok, problem, code = check_peer("party:join", peer)
  if not ok then
    return nil, problem, code
  end
  return parties.join(self._party, peer.id)
end


function methods:leave(peer)
  check_peer("party:leave", peer)
  return parties.leave(self._party, peer.id, "left")
end


function methods:kick(peer)
  check_peer("party:kick", peer)
  return parties.leave(self._party, peer.id, "kicked")
end


function methods:promote(peer)
  check_peer("party:promote", peer)
  return parties.promote(self._party, peer.id)
end

class.define(party_class, methods, getters)


function api.make(peer, options)
  local ok, problem, code = check_peer("perigee.party.make", peer)
  if not ok then
    return nil, problem, code
  end
  local size = SIZE
  if options ~= nil then
    fault.check("the options of perigee.party.make", options, "table")
    for key in next, options do
      if key ~= "size" then
        fault.raise("perigee.party.make has no option %s; it has size", tostring(key))
      end
    end
    size = options.size or SIZE
    fault.check_whole("size", size, 1, parties.SIZE_MAX)
  end
  local party
  party, problem, code = parties.make(peer.id, size)
  if not party then
    return nil, problem, code
  end
  return object_of(party)
end


function api.of(peer)
  check_peer("perigee.party.of", peer)
  local party = parties.of(peer.id)
  return party and object_of(party)
end


function api.find(code)
  fault.check("the code of a party", code, "string")
  local party = parties.find(code)
  return party and object_of(party)
end

return api
