--- The queues of the game: tickets of peers, and the cycles in which the matcher makes matches of them.
--- seats.lua brings the players of a match into its room. Tickets belong to the host, so that they survive a
--- reload; the rules and handlers of a queue are those of the live version.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local journal = require "perigee.host.journal"
local live = require "perigee.host.live"
local matcher = require "perigee.matchmaking.matcher"
local registry = require "perigee.host.registry"
local rules = require "perigee.matchmaking.rules"
local sorted_keys = require "perigee.util.sorted_keys"
local tasks = require "perigee.host.tasks"
local timers = require "perigee.host.timers"

local CYCLE = 0.2 -- seconds between two cycles
local SEARCHES = 20 -- searches of a cycle between two pauses, in which others run
local REPORT_EVERY = 5 -- seconds between two reports of a ticket's position
local MESSAGES = 100 -- tickets that get a message between two pauses
local WAITS = 20 -- matched tickets whose waiting times make the estimate
local RELIABLE = { reliable = true }

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

---@class perigee.Queue
---@field name string
---@field rules perigee.QueueRules
---@field matcher table
---@field timer table? entry of the next cycle
---@field is_running boolean a cycle is running
---@field waits number[] waiting times of the last matched tickets, in seconds
---@field reported number time of the last report of positions
---@field matches integer matches made so far
---@field object perigee.Matchmaker?

--- A ticket with what the host keeps of it.
---@class perigee.QueueTicket : perigee.MatchTicket
---@field queue perigee.Queue
---@field properties table as the script gave them
---@field match table? the match that has reserved seats for it (seats.lua); nil: it waits
---@field object perigee.Ticket?

local queues = {
  on_match = nil, ---@type fun(queue: perigee.Queue, match: perigee.FoundMatch) seats.lua takes a match
  review = nil, ---@type fun(queue: perigee.Queue) seats.lua offers the matches that lack players
}

local all = {} ---@type table<string, perigee.Queue>
local of_peer = {} ---@type table<integer, perigee.QueueTicket>
local penalties = {} ---@type table<string, number> times at which they end, by key of a player
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

-- Peers --------------------------------------------------------------------------------------


--- Returns what identifies a player: the account, otherwise the peer.
---@param peer perigee.Peer
---@return string
function queues.key_of(peer)
  local account = peer.account
  return account and account.id or "peer " .. peer.id
end


--- Sends a message of the matchmaker, or of a party, to a peer that may have gone.
---@param peer integer
---@param event string its name
---@param value any
function queues.notify(peer, event, value)
  if core.peer_name(peer) then
    registry.peers[peer]:send(event, value, RELIABLE)
  end
end

local function notify_all(ticket, event, value)
  for _, player in ipairs(ticket.players) do
    queues.notify(player.peer, "matchmaker." .. event, value)
  end
end

queues.notify_all = notify_all


--- Returns the ticket of a peer.
---@param peer integer
---@return perigee.QueueTicket?
function queues.ticket_of(peer)
  return of_peer[peer]
end


--- Returns the queue of this name.
---@param name string
---@return perigee.Queue?
function queues.find(name)
  return live.version.queues[name] and all[name]
end

-- Cycles -------------------------------------------------------------------------------------

local function estimate(queue)
  local sum = 0
  for _, wait in ipairs(queue.waits) do
    sum = sum + wait
  end
  return #queue.waits > 0 and math.floor(sum / #queue.waits + 0.5) or nil
end

local function notify_queued(ticket, position)
  local queue = ticket.queue
  ticket.reported = position
  notify_all(ticket, "queued", {
    queue = queue.name, ticket = ticket.id, position = position, estimate = estimate(queue),
  })
end

-- Notes that a ticket no longer waits or has seats.
local function forget(ticket)
  for _, player in ipairs(ticket.players) do
    queues.forget_player(ticket, player.peer)
  end
end

queues.forget = forget


--- Notes that one player has left a ticket.
---@param ticket perigee.QueueTicket
---@param peer integer
function queues.forget_player(ticket, peer)
  if of_peer[peer] == ticket then
    of_peer[peer] = nil
  end
end

-- Ends a ticket that is not in the matcher.
local function finish(ticket, reason)
  forget(ticket)
  notify_all(ticket, "cancelled", { queue = ticket.queue.name, ticket = ticket.id, reason = reason })
end

queues.finish = finish

local run -- the function of a cycle
local stats_of -- queues.stats

-- Gives the figures to the core, for `perigee queues` and the control API. Each change of a queue is followed
-- by a cycle, which does this.
local function publish()
  local stats, list = stats_of(), {}
  for i, name in ipairs(sorted_keys(stats)) do
    local queue = stats[name]
    list[i] = ('{"name":"%s","tickets":%d,"players":%d,"matches":%d,"wait":%s}'):format(name, queue.tickets,
      queue.players, queue.matches, queue.wait or "null")
  end
  core.set_queues(('{"count":%d,"queues":[%s]}'):format(#list, table.concat(list, ",")))
end

local function has_work(queue)
  return queue.matcher.count > 0 or next(queue.matcher.open) ~= nil
end

local function schedule(queue)
  if queue.timer or queue.is_running or not has_work(queue) then
    return
  end
  queue.timer = { fn = run, label = "matchmaker " .. queue.name, args = { n = 1, queue }, is_host = true,
    on_failure = function()
      queue.timer, queue.is_running = nil, false
      schedule(queue)
    end }
  timers.begin(queue.timer, CYCLE)
  queue.timer.owned = false -- a queue survives the version that began it
end

queues.schedule = schedule

-- Lets others run after each so many messages.
local function pause_after(sent)
  if sent % MESSAGES == 0 then
    tasks.sleep(0)
  end
end

-- Ends the tickets that have waited too long. The list is sorted by age.
local function end_old(queue, now)
  local limit, old = queue.rules.timeout, {}
  for _, ticket in ipairs(queue.matcher.order) do
    if now - ticket.entered < limit then
      break
    end
    old[#old + 1] = ticket
  end
  for i, ticket in ipairs(old) do
    if queue.matcher:remove(ticket.id) then
      forget(ticket)
      notify_all(ticket, "timeout", { queue = queue.name, ticket = ticket.id })
    end
    pause_after(i)
  end
end

local function report_positions(queue, now)
  if now - queue.reported < REPORT_EVERY then
    return
  end
  queue.reported = now
  local position, moved, places = 0, {}, {}
  for _, ticket in ipairs(queue.matcher.order) do
    if not ticket.is_gone then
      position = position + 1
      if ticket.reported ~= position then
        moved[#moved + 1], places[#places + 1] = ticket, position
      end
    end
  end
  for i, ticket in ipairs(moved) do
    if not ticket.is_gone then
      notify_queued(ticket, places[i])
    end
    pause_after(i)
  end
end

local function note_waits(queue, match, now)
  for _, ticket in ipairs(match.tickets) do
    local waits = queue.waits
    waits[#waits + 1] = now - ticket.entered
    if #waits > WAITS then
      table.remove(waits, 1)
    end
  end
end


function run(queue)
  queue.timer, queue.is_running = nil, true
  local is_complete
  queues.review(queue)
  repeat
    local now = core.now()
    local found
    found, is_complete = queue.matcher:run(now, SEARCHES)
    for _, match in ipairs(found) do
      note_waits(queue, match, now)
      queue.matches = queue.matches + 1
      queues.on_match(queue, match)
    end
    if not is_complete then
      tasks.sleep(0)
    end
  until is_complete
  end_old(queue, core.now())
  report_positions(queue, core.now())
  publish()
  queue.is_running = false
  schedule(queue)
end

-- Tickets ------------------------------------------------------------------------------------

local function players_of(found, peers, roles)
  local players = {}
  for i, peer in ipairs(peers) do
    players[i] = { peer = peer.id, key = queues.key_of(peer), roles = found.roles and roles[i] or nil }
  end
  return players
end

-- Returns why peers cannot enter: a sentence and a code.
local function refusal(found, peers)
  local most = found.max / found.teams
  if #peers > most then
    return ("a team has %d players, and these are %d"):format(most, #peers), "PartyTooLarge"
  end
  for _, peer in ipairs(peers) do
    local ends = penalties[queues.key_of(peer)]
    if rawget(peer, "_kept") or not core.peer_name(peer.id) then
      return "a peer is gone", "ConnectionClosed"
    elseif peer.is_bot then
      return "a bot stays in its room", "Unsupported"
    elseif of_peer[peer.id] then
      return ("%s is in a queue already"):format(peer.name), "Queued"
    elseif ends and ends > core.now() then
      return ("%s may enter again in %d s"):format(peer.name, math.ceil(ends - core.now())), "Penalty"
    end
  end
end


--- Gives a ticket what the present rules of its queue ask for. Returns false if its properties lack that.
---@param ticket perigee.QueueTicket
---@return boolean
function queues.adapt(ticket)
  local found = ticket.queue.rules
  if ticket.rules == found then
    return true
  end
  local values, roles = rules.read_properties(found, ticket.properties, #ticket.players, queues.key_of)
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
  forget(ticket)
end

-- Puts a ticket into its queue.
local function insert(ticket)
  ticket.match, ticket.team = nil, nil
  ticket.queue.matcher:add(ticket)
  for _, player in ipairs(ticket.players) do
    of_peer[player.peer] = ticket
  end
  schedule(ticket.queue)
end


--- Makes peers wait for a match together. If the running handler fails, they do not.
---@param queue perigee.Queue
---@param peers perigee.Peer[]
---@param properties table
---@return perigee.QueueTicket? ticket
---@return string? problem
---@return string? code
function queues.enter(queue, peers, properties)
  local found = queue.rules
  if queues.find(queue.name) ~= queue then
    return nil, "the queue is closed", "NoSuchQueue"
  end
  local problem, code = refusal(found, peers)
  if problem then
    return nil, problem, code
  end
  local values, roles = rules.read_properties(found, properties, #peers, queues.key_of)
  if not values then
    return nil, roles --[[@as string]], "Protocol"
  end
  last_id = last_id + 1
  local ticket = {
    id = last_id, entered = core.now(), queue = queue, properties = properties, values = values,
    rules = found, players = players_of(found, peers, roles),
  }
  insert(ticket)
  journal.push(withdraw, ticket)
  notify_queued(ticket, queue.matcher.count)
  return ticket
end


-- Puts a ticket back to its old place. Ends it if the game has changed meanwhile and has no place for it.
local function put_back(ticket)
  if queues.find(ticket.queue.name) ~= ticket.queue then
    finish(ticket, "the queue is closed")
  elseif not queues.adapt(ticket) then
    finish(ticket, "the game has changed")
  else
    insert(ticket)
    return true
  end
end


--- Puts the tickets of a match that did not begin back to their old places.
---@param tickets perigee.QueueTicket[]
---@param are_apart boolean whether these tickets may not meet again
function queues.put_back(tickets, are_apart)
  for _, ticket in ipairs(tickets) do
    if are_apart then
      ticket.apart = ticket.apart or {}
      for _, other in ipairs(tickets) do
        ticket.apart[other.id] = other ~= ticket or nil
      end
    end
    if put_back(ticket) then
      notify_queued(ticket, 1)
    end
  end
end


--- Ends a waiting ticket; returns false if the ticket is not waiting. If the running handler fails, the
--- ticket stays.
---@param ticket perigee.QueueTicket
---@param reason string
---@return boolean
function queues.cancel(ticket, reason)
  if ticket.match or not ticket.queue.matcher:remove(ticket.id) then
    return false
  end
  journal.push(insert, ticket)
  finish(ticket, reason)
  return true
end


--- Forbids a player to enter a queue for a while.
---@param key string
---@param seconds number
function queues.punish(key, seconds)
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

-- Versions -----------------------------------------------------------------------------------

local function new_queue(name)
  return { name = name, waits = {}, reported = 0, matches = 0, is_running = false }
end

-- Gives a queue the rules of another version. Tickets whose properties do not suit them end.
local function renew(queue, found)
  local waiting = queue.matcher and queue.matcher.order or {}
  queue.rules, queue.matcher = found, matcher.new(found)
  for _, ticket in ipairs(waiting) do
    if not ticket.is_gone then
      put_back(ticket)
    end
  end
  queues.review(queue)
end


--- Gives the queues the rules of the version that is live now, and ends those that it does not have.
---@param version perigee.Version
function queues.take(version)
  for _, name in ipairs(sorted_keys(version.queues)) do
    all[name] = all[name] or new_queue(name)
    renew(all[name], version.queues[name])
  end
  for _, name in ipairs(sorted_keys(all)) do
    if not version.queues[name] then
      for _, ticket in ipairs(all[name].matcher.order) do
        if not ticket.is_gone then
          finish(ticket, "the queue is closed")
        end
      end
      all[name].matcher = matcher.new(all[name].rules) -- for a cycle that is not over
      all[name] = nil
    end
  end
  publish()
end


--- Returns figures of the live version's queues, by name.
---@return table<string, table>
function stats_of()
  local stats = {}
  for name, queue in next, all do
    local players = 0
    for _, bucket in next, queue.matcher.buckets do
      players = players + bucket.players
    end
    stats[name] = { tickets = queue.matcher.count, players = players, matches = queue.matches,
      wait = estimate(queue) }
  end
  return stats
end

queues.stats = stats_of

return queues
