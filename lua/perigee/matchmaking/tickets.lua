--- The tickets of players, the messages to the players of a ticket, and penalties. A player has one ticket at
--- a time, also on several devices of one account. The ticket lasts from entering a queue until the match has
--- begun, or until the ticket ends; the server notifies the player of either.

local core = require "perigee.core"
local registry = require "perigee.host.registry"

local RELIABLE = { reliable = true }

--- A ticket, with the data that the host stores about it.
---@class perigee.QueueTicket : perigee.MatchTicket
---@field queue perigee.Queue
---@field properties table as the script gave them
---@field party perigee.PartyEntry? party whose members are its players
---@field rules perigee.QueueRules the rules that `values` are for
---@field match table? match of the ticket, which is not certain before it has `seats`; nil: the ticket waits
---@field is_cancelled boolean? the ticket was cancelled while on_match ran
---@field knows_match boolean? the players have been notified of the match
---@field team integer? number of the team that the ticket has in its match
---@field reported integer? position that its players know
---@field object perigee.Ticket?

local tickets = {}

local of_peer = {} ---@type table<integer, perigee.QueueTicket>
local of_player = {} ---@type table<string, perigee.QueueTicket> by key of the player
local penalties = {} ---@type table<string, number> times at which they end, by key of a player


--- Returns the key of a player: the id of its account; without an account, a text with its peer id.
---@param peer perigee.Peer
---@return string
function tickets.key_of(peer)
  local account = peer.account
  return account and account.id or "peer " .. peer.id
end


--- Sends a message of the matchmaker, or of a party, to a peer that may have gone.
---@param peer integer
---@param event string its name
---@param value any
function tickets.notify(peer, event, value)
  if core.peer_name(peer) then
    registry.peers[peer]:send(event, value, RELIABLE)
  end
end


--- Sends a message of the matchmaker to all players of a ticket.
---@param ticket perigee.QueueTicket
---@param event string
---@param value table
function tickets.notify_all(ticket, event, value)
  for _, player in ipairs(ticket.players) do
    tickets.notify(player.peer, "matchmaker." .. event, value)
  end
end


--- Returns the ticket of a peer.
---@param peer integer
---@return perigee.QueueTicket?
function tickets.of(peer)
  return of_peer[peer]
end


--- Returns the ticket of a player, whose peer may be another device of the same account.
---@param key string
---@return perigee.QueueTicket?
function tickets.of_player(key)
  return of_player[key]
end


--- Records the ticket for each of its players.
---@param ticket perigee.QueueTicket
function tickets.give(ticket)
  for _, player in ipairs(ticket.players) do
    of_peer[player.peer], of_player[player.key] = ticket, ticket
  end
end


--- Forgets the ticket of one player.
---@param ticket perigee.QueueTicket
---@param player perigee.MatchPlayer
function tickets.forget_player(ticket, player)
  if of_peer[player.peer] == ticket then
    of_peer[player.peer], of_player[player.key] = nil, nil
  end
end


--- Forgets the ticket of each of its players.
---@param ticket perigee.QueueTicket
function tickets.forget(ticket)
  for _, player in ipairs(ticket.players) do
    tickets.forget_player(ticket, player)
  end
end


--- Ends a ticket that is not in a matcher, and notifies its players.
---@param ticket perigee.QueueTicket
---@param reason string
function tickets.finish(ticket, reason)
  tickets.forget(ticket)
  tickets.notify_all(ticket, "cancelled", { queue = ticket.queue.name, ticket = ticket.id, reason = reason })
end


--- Forbids a player to enter a queue for a while.
---@param key string
---@param seconds number
function tickets.punish(key, seconds)
  local now = core.now()
  for other, ends in next, penalties do
    if ends <= now then
      penalties[other] = nil
    end
  end
  if seconds > 0 then
    penalties[key] = math.max(penalties[key] or 0, now + seconds)
  end
end


--- Returns the seconds until a player may enter a queue.
---@param key string
---@return number
function tickets.penalty(key)
  return math.max(0, (penalties[key] or 0) - core.now())
end

return tickets
