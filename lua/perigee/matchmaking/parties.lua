--- Parties: peers that stay together. A party has a leader, a code with which others join it, and a room for
--- its chat. It belongs to the host, so it survives reloads, and lasts while it has members.

local core = require "perigee.core"
local faults = require "perigee.host.faults"
local joins = require "perigee.host.joins"
local journal = require "perigee.host.journal"
local queues = require "perigee.matchmaking.queues"
local registry = require "perigee.host.registry"
local rooms = require "perigee.api.rooms"
local tickets = require "perigee.matchmaking.tickets"

local SIZE_MAX = 20
local INVITES_MAX, KICKS_MAX = 50, 50
local CODE_LETTERS, CODE_LENGTH = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789", 6
local KIND = "party" -- kind of the rooms of parties

---@class perigee.PartyEntry
---@field id integer
---@field code string
---@field size integer most members
---@field members integer[] peers, the leader first
---@field invited table<integer, true>
---@field kicked string[] keys of the last players who were kicked, and who need an invitation to come back
---@field room integer
---@field object perigee.Party

local parties = {
  object_of = nil, ---@type fun(party: perigee.PartyEntry): perigee.Party
  SIZE_MAX = SIZE_MAX,
}

local by_code = {} ---@type table<string, perigee.PartyEntry>
local of_peer = {} ---@type table<integer, perigee.PartyEntry>
local of_room = {} ---@type table<integer, perigee.PartyEntry>
local last_id = 0


---@return boolean
function parties.is_party(value)
  return type(value) == "table" and getmetatable(value) == "party"
end


--- Returns the party that a script has as an object.
---@param object perigee.Party
---@return perigee.PartyEntry
function parties.entry_of(object)
  return object._party
end


--- Returns the party of a peer.
---@param peer integer
---@return perigee.PartyEntry?
function parties.of(peer)
  return of_peer[peer]
end


--- Returns the party with a code; upper and lower case are the same.
---@param code string
---@return perigee.PartyEntry?
function parties.find(code)
  return by_code[code:upper()]
end


--- Returns a party as clients see it.
---@param party perigee.PartyEntry
---@return table
function parties.describe(party)
  local members = {}
  for i, peer in ipairs(party.members) do
    members[i] = { id = peer, name = core.peer_name(peer) }
  end
  return { id = party.id, code = party.code, leader = party.members[1], members = members, size = party.size,
    room = core.room_name(party.room) }
end

local function notify_changed(party)
  local described = parties.describe(party)
  for _, peer in ipairs(party.members) do
    tickets.notify(peer, "party.changed", described)
  end
end

-- Sets the members of a party; restores the previous members if the running handler fails.
local function set_members(party, members)
  local is_member = {}
  for _, peer in ipairs(members) do
    is_member[peer] = true
    journal.set(of_peer, peer, party)
  end
  for _, peer in ipairs(party.members) do
    if not is_member[peer] then
      journal.set(of_peer, peer, nil)
    end
  end
  journal.set(party, "members", members)
end

local function without(list, value)
  local rest = {}
  for _, element in ipairs(list) do
    rest[#rest + 1] = element ~= value and element or nil
  end
  return rest
end

local function new_code()
  local code
  repeat
    local bytes = core.random_bytes(CODE_LENGTH)
    code = bytes:gsub(".", function(byte)
      local i = byte:byte() % #CODE_LETTERS + 1
      return CODE_LETTERS:sub(i, i)
    end)
  until not by_code[code]
  return code
end

-- Cancels the party's ticket, because its members change and a ticket is valid only for unchanged members.
local function cancel_ticket(party)
  for _, peer in ipairs(party.members) do
    local ticket = tickets.of(peer)
    if ticket and ticket.party == party then
      queues.cancel(ticket, "the party has changed")
    end
  end
end


--- Makes a party of one peer.
---@param peer integer
---@param size integer
---@return perigee.PartyEntry? party
---@return string? problem
---@return string? code
function parties.make(peer, size)
  if of_peer[peer] then
    return nil, "the peer is in a party already", "InParty"
  end
  local code = new_code()
  local room, problem, why = rooms.api.create(KIND .. ":" .. code, nil, { hidden = true })
  if not room then
    return nil, problem, why
  end
  last_id = last_id + 1
  local party = { id = last_id, code = code, size = size, members = {}, invited = {}, kicked = {},
    room = room.id }
  journal.set(by_code, code, party)
  journal.set(of_room, party.room, party)
  set_members(party, { peer })
  joins.request(peer, party.room)
  notify_changed(party)
  return party
end


--- Invites a peer, which may then join without the code.
---@param party perigee.PartyEntry
---@param by integer the peer that invites
---@param peer integer
---@return boolean? ok
---@return string? problem
---@return string? code
function parties.invite(party, by, peer)
  local count = 0
  for invited in next, party.invited do
    if core.peer_name(invited) then
      count = count + 1
    else
      party.invited[invited] = nil
    end
  end
  if of_peer[peer] == party then
    return nil, "the peer is a member already", "InParty"
  elseif count >= INVITES_MAX then
    return nil, "the party has invited too many", "RateLimited"
  end
  journal.set(party.invited, peer, true)
  tickets.notify(peer, "party.invited", {
    party = party.id, code = party.code, from = { id = by, name = core.peer_name(by) },
  })
  return true
end


-- Returns the list of kicked players without one player, and whether it was in the list.
local function without_kicked(party, peer)
  local key = tickets.key_of(registry.peers[peer])
  local rest = without(party.kicked, key)
  return rest, #rest < #party.kicked, key
end


-- Returns whether another device of a peer's account is a member.
local function has_player(party, peer)
  local key = tickets.key_of(registry.peers[peer])
  for _, member in ipairs(party.members) do
    if tickets.key_of(registry.peers[member]) == key then
      return true
    end
  end
  return false
end


--- Adds a peer to a party.
---@param party perigee.PartyEntry
---@param peer integer
---@return boolean? ok
---@return string? problem
---@return string? code
function parties.join(party, peer)
  if of_peer[peer] then
    return nil, "the peer is in a party already", "InParty"
  elseif by_code[party.code] ~= party then
    return nil, "the party is over", "NoParty"
  elseif has_player(party, peer) then
    return nil, "the player is in the party already, on another device", "InParty"
  elseif #party.members >= party.size then
    return nil, ("the party has its %d members"):format(party.size), "PartyFull"
  end
  local kicked, was_kicked = without_kicked(party, peer)
  if was_kicked and not party.invited[peer] then
    return nil, "the leader of the party has removed the peer", "Refused"
  end
  cancel_ticket(party)
  journal.set(party, "kicked", kicked)
  journal.set(party.invited, peer, nil)
  local members = { unpack(party.members) }
  members[#members + 1] = peer
  set_members(party, members)
  joins.request(peer, party.room)
  notify_changed(party)
  return true
end


--- Removes a peer from its party. A party without members ends. The next member leads it in the place of
--- the leader.
---@param party perigee.PartyEntry
---@param peer integer
---@param reason string
---@return boolean? ok
---@return string? problem
---@return string? code
function parties.leave(party, peer, reason)
  if of_peer[peer] ~= party then
    return nil, "the peer is not in this party", "NoParty"
  end
  cancel_ticket(party)
  if reason == "kicked" then
    local kicked, _, key = without_kicked(party, peer)
    kicked[#kicked + 1] = key
    if #kicked > KICKS_MAX then
      table.remove(kicked, 1)
    end
    journal.set(party, "kicked", kicked)
    journal.set(party.invited, peer, nil)
  end
  set_members(party, without(party.members, peer))
  if core.room_has(party.room, peer) then
    core.leave(peer, party.room, core.codes.ConnectionClosed, reason)
  end
  tickets.notify(peer, "party.left", { party = party.id, reason = reason })
  if #party.members == 0 then
    journal.set(by_code, party.code, nil)
    journal.set(of_room, party.room, nil)
    core.room_delete(party.room)
  else
    notify_changed(party)
  end
  return true
end


--- Makes a member the leader.
---@param party perigee.PartyEntry
---@param peer integer
---@return boolean? ok
---@return string? problem
---@return string? code
function parties.promote(party, peer)
  if of_peer[peer] ~= party then
    return nil, "the peer is not in this party", "NoParty"
  end
  set_members(party, { peer, unpack(without(party.members, peer)) })
  notify_changed(party)
  return true
end


--- Returns whether a peer may join a room. Only members of a party may join the party's room.
---@param peer integer
---@param room integer
---@return boolean
function parties.may_join(peer, room)
  local party = of_room[room]
  return not party or of_peer[peer] == party
end


--- Handles the end of a peer.
---@param peer integer
function parties.forget_peer(peer)
  local party = of_peer[peer]
  if party then
    parties.leave(party, peer, "gone")
    core.commit()
  end
end


--- Raises a failure of the functions above as a fault, for clients.
---@param result any
---@param problem string?
---@param code string?
function parties.check(result, problem, code)
  if not result then
    error(faults.new(code or "Internal", { message = problem }))
  end
  return result
end

return parties
