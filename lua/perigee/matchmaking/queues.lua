--- The queues of the game, and how tickets enter and leave them. cycles.lua makes matches of the tickets, and
--- seats.lua brings the players of a match into its room. Tickets belong to the host, so that they survive a
--- reload; the rules and handlers of a queue are those of the live version.

local core = require "perigee.core"
local cycles = require "perigee.matchmaking.cycles"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local matcher = require "perigee.matchmaking.matcher"
local rules = require "perigee.matchmaking.rules"
local sorted_keys = require "perigee.util.sorted_keys"
local tickets = require "perigee.matchmaking.tickets"

--- The options of a queue (rules.lua).
---@class perigee.QueueRules : perigee.MatchRules
---@field name string
---@field room string kind of the rooms
---@field timeout number seconds
---@field fill boolean
---@field penalty number seconds
---@field on_enter function?
---@field on_match function?
---@field where string place of the declaration

local queues = {}

local all = {} ---@type table<string, perigee.Queue>
local last_id = 0

-- Declarations -------------------------------------------------------------------------------


--- Declares a queue of the version that is being loaded.
---@param found perigee.QueueRules
function queues.declare(found)
  if not live.loading then
    fault.raise("perigee.matchmaker(%q) belongs to the top level of the game, not into a handler", found.name)
  elseif queues.loading[found.name] then
    fault.raise("the matchmaker %s is declared twice; require it from the file that declares it", found.name)
  end
  queues.loading[found.name] = found
end


--- Begins the queues of a version.
---@param version perigee.Version
function queues.begin(version)
  version.queues = {}
  queues.loading = version.queues
end


--- Raises an error if a queue of a checked version names a kind that does not exist.
---@param version perigee.Version
function queues.check(version)
  version.has_queues = next(version.queues) ~= nil
  for _, name in ipairs(sorted_keys(version.queues)) do
    local found = version.queues[name]
    local settings = version.settings[found.room]
    if not settings then
      error(("%sperigee.matchmaker(%q): the game has no room kind %s%s"):format(found.where, name, found.room,
        fault.hint_or_names(found.room, sorted_keys(version.kinds))), 0)
    elseif settings.capacity and settings.capacity < found.max then
      error(("%sperigee.matchmaker(%q): a match has up to %d players, and %s.capacity is %d"):format(
        found.where, name, found.max, found.room, settings.capacity), 0)
    end
  end
end


--- Returns the queue of this name.
---@param name string
---@return perigee.Queue?
function queues.find(name)
  return live.version.queues[name] and all[name]
end

-- Tickets ------------------------------------------------------------------------------------

local function players_of(found, peers, roles)
  local players = {}
  for i, peer in ipairs(peers) do
    players[i] = { peer = peer.id, key = tickets.key_of(peer), roles = found.roles and roles[i] or nil }
  end
  return players
end

-- Returns the reason why peers cannot enter, as a sentence and a code; nil if they can.
local function refusal(found, peers)
  local most = found.max / found.teams
  if #peers == 0 then
    return "the party is over", "NoParty"
  elseif #peers > most then
    return ("a team has %d players, and these are %d"):format(most, #peers), "PartyTooLarge"
  end
  local is_there = {} -- by key of a player
  for _, peer in ipairs(peers) do
    local key = tickets.key_of(peer)
    local penalty = tickets.penalty(key)
    if rawget(peer, "_kept") or not core.peer_name(peer.id) then
      return "a peer is gone", "ConnectionClosed"
    elseif peer.is_bot then
      return "a bot stays in its room", "Unsupported"
    elseif tickets.of(peer.id) then
      return ("%s is in a queue already"):format(peer.name), "Queued"
    elseif tickets.of_player(key) or is_there[key] then
      return ("%s is in a queue already, on another device"):format(peer.name), "Queued"
    elseif penalty > 0 then
      return ("%s may enter again in %d s"):format(peer.name, math.ceil(penalty)), "Penalty"
    end
    is_there[key] = true
  end
end


--- Adapts a ticket to the present rules of its queue. Returns false if these rules do not accept the ticket.
---@param ticket perigee.QueueTicket
---@return boolean
function queues.adapt(ticket)
  local found = ticket.queue.rules
  if ticket.rules == found then
    return true
  end
  local values, roles = rules.read_properties(found, ticket.properties, #ticket.players, tickets.key_of)
  if not values or #ticket.players > found.max / found.teams then
    return false
  end
  ticket.rules, ticket.values = found, values
  for i, player in ipairs(ticket.players) do
    player.roles = found.roles and roles[i] or nil
  end
  return true
end

local function withdraw(ticket)
  ticket.queue.matcher:remove(ticket.id)
  tickets.forget(ticket)
end

-- Puts a ticket into its queue.
local function insert(ticket)
  ticket.queue.matcher:add(ticket)
  tickets.give(ticket)
  cycles.schedule(ticket.queue)
end


--- Puts peers into a queue with one ticket. If the running handler fails, removes the ticket.
---@param queue perigee.Queue
---@param peers perigee.Peer[]
---@param properties table
---@param party perigee.PartyEntry? the party that these peers are
---@return perigee.QueueTicket? ticket
---@return string? problem
---@return string? code
function queues.enter(queue, peers, properties, party)
  local found = queue.rules
  if queues.find(queue.name) ~= queue then
    return nil, "the queue is closed", "NoSuchQueue"
  end
  local problem, code = refusal(found, peers)
  if problem then
    return nil, problem, code
  end
  local values, roles = rules.read_properties(found, properties, #peers, tickets.key_of)
  if not values then
    return nil, roles --[[@as string]], "Protocol"
  end
  last_id = last_id + 1
  local ticket = {
    id = last_id, entered = core.now(), queue = queue, properties = properties, values = values,
    rules = found, players = players_of(found, peers, roles), party = party,
  }
  insert(ticket)
  journal.push(withdraw, ticket)
  cycles.notify_queued(ticket, queue.matcher.count)
  return ticket
end


-- Puts a ticket back to its old place. Ends it if the game has changed meanwhile and has no place for it.
local function put_back(ticket)
  ticket.match, ticket.team = nil, nil
  if queues.find(ticket.queue.name) ~= ticket.queue then
    tickets.finish(ticket, "the queue is closed")
  elseif not queues.adapt(ticket) then
    tickets.finish(ticket, "the game has changed")
  else
    insert(ticket)
    return true
  end
end


--- Puts the tickets of a match that did not begin back to their old places.
---@param list perigee.QueueTicket[]
---@param are_apart boolean whether these tickets may not meet again in this version of the game
function queues.put_back(list, are_apart)
  for _, ticket in ipairs(list) do
    if are_apart then
      ticket.apart = ticket.apart or {}
      for _, other in ipairs(list) do
        ticket.apart[other.id] = other ~= ticket or nil
      end
    end
    local is_known = ticket.knows_match
    ticket.knows_match = nil
    if put_back(ticket) and is_known then
      cycles.notify_queued(ticket, 1)
    end
  end
end


-- Undoes the cancelling of a ticket whose match is not certain yet.
local function revive(ticket)
  ticket.is_cancelled = nil
  tickets.give(ticket)
end


--- Ends a ticket whose players have not been notified of a match; returns false for any other ticket. If the
--- running handler fails, the ticket stays.
---@param ticket perigee.QueueTicket
---@param reason string
---@return boolean
function queues.cancel(ticket, reason)
  local match = ticket.match
  if match and not match.seats and not ticket.is_cancelled then
    ticket.is_cancelled = true
    journal.push(revive, ticket)
  elseif not match and ticket.queue.matcher:remove(ticket.id) then
    journal.push(insert, ticket)
  else
    return false
  end
  tickets.finish(ticket, reason)
  return true
end

-- Versions -----------------------------------------------------------------------------------

-- Gives a queue the rules of another version. Tickets whose properties do not suit them end. Tickets that
-- could not meet may meet again, because on_match may have changed.
local function renew(queue, found)
  local waiting = queue.matcher and queue.matcher.order or {}
  queue.rules, queue.matcher = found, matcher.new(found)
  for _, ticket in ipairs(waiting) do
    if not ticket.is_gone then
      ticket.apart = nil
      put_back(ticket)
    end
  end
end


--- Gives the queues the rules of the version that is live now, and ends those that it does not have.
---@param version perigee.Version
function queues.take(version)
  for _, name in ipairs(sorted_keys(version.queues)) do
    all[name] = all[name] or cycles.new_queue(name)
    renew(all[name], version.queues[name])
  end
  for _, name in ipairs(sorted_keys(all)) do
    if not version.queues[name] then
      for _, ticket in ipairs(all[name].matcher.order) do
        if not ticket.is_gone then
          tickets.finish(ticket, "the queue is closed")
        end
      end
      all[name].matcher = matcher.new(all[name].rules) -- for a cycle that is not over
      all[name] = nil
    end
  end
  cycles.publish()
end


--- Returns figures of the live version's queues, by name.
---@return table<string, table>
function queues.stats()
  local stats = {}
  for name, queue in next, all do
    local players = 0
    for _, bucket in next, queue.matcher.buckets do
      players = players + bucket.players
    end
    stats[name] = { tickets = queue.matcher.count, players = players, matches = queue.matches,
      wait = cycles.estimate(queue) }
  end
  return stats
end


function cycles.publish()
  cycles.set_figures(queues.stats())
end

return queues
