--- The entries of the core's timers: by id, by the room with which they end, and by the request whose answer
--- they wait for. timers.lua calls their functions; tasks.lua resumes waiting ones.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local new_table = require "table.new"
local sorted_keys = require "perigee.util.sorted_keys"

local REF_MAX = 65535
local FIELDS = 15 -- number of fields of the entry of a waiting coroutine

--- An action for the time when a timer fires.
---@class perigee.TimerEntry
---@field id integer id of the core's timer; a rollback that sets the timer again changes it
---@field version integer version of the code that it calls
---@field owned boolean whether it ends with that version
---@field due number time at which it fires, by core.now
---@field room perigee.Room? room with which it ends
---@field fn function|string?
---@field label string name in error messages
---@field interval number? seconds between two firings; nil: it fires once
---@field what string? "timer" or "task"; nil: an entry of the host
---@field args table? arguments of fn, with their number in n
---@field co thread? waiting coroutine; such an entry also has the next fields
---@field event userdata? the coroutine's event, for C
---@field peer integer? peer of that event
---@field room_id integer? room of that event
---@field is_awaited boolean? whether it waits for values, not only for a time
---@field drop function? drops the effects of the transaction within which it waits
---@field is_bound boolean? whether it must continue, because its transaction is being written
---@field requested integer? the peer whose answer it waits for
---@field request_ref integer? the number of the request

local timers = {} ---@type table<integer, perigee.TimerEntry>
local by_room = {} -- room id -> set of the ids of its timers
local requests = {} -- peer id -> ref -> entry that waits for the answer
local last_ref = 0

--- `timers` has all entries by id. Do not change it.
local pending = { timers = timers }


--- Returns an entry without fields. It has room for the fields of a waiting coroutine, because growing the
--- table would take a third of the time of a wait.
---@return perigee.TimerEntry
function pending.new()
  return new_table(0, FIELDS)
end


---@param entry perigee.TimerEntry
function pending.add(entry)
  timers[entry.id] = entry
  local room = entry.room and entry.room.id
  if room then
    by_room[room] = by_room[room] or {}
    by_room[room][entry.id] = true
  end
end


---@param entry perigee.TimerEntry
function pending.remove(entry)
  timers[entry.id] = nil
  local of_room = entry.room and by_room[entry.room.id]
  if of_room then
    of_room[entry.id] = nil
  end
  local of_peer = entry.requested and requests[entry.requested]
  if of_peer then
    of_peer[entry.request_ref] = nil
    if not next(of_peer) then
      requests[entry.requested] = nil
    end
  end
end


--- Sets the timer of an entry, and adds the entry. The time of its call is charged to the handler that waits,
--- or to its room.
---@param entry perigee.TimerEntry
---@param delay number seconds
---@return boolean owned whether the entry ends with its version of the game
function pending.set(entry, delay)
  local peer, room = 0, entry.room and entry.room.id or 0
  if entry.co then
    peer, room = entry.peer, entry.room_id
  end
  local id, owned = core.timer_set(delay, entry.interval or 0, peer, room, entry.co ~= nil)
  entry.id, entry.due = id, core.now() + delay
  pending.add(entry)
  return owned
end


--- Cancels the timer of an entry, and removes the entry. If its coroutine waits within a transaction, drops
--- what the transaction has done so far.
---@param entry perigee.TimerEntry
function pending.cancel(entry)
  core.timer_cancel(entry.id)
  pending.remove(entry)
  if entry.drop then
    entry.drop()
  end
end


--- Returns the entries of a room, or those without a room.
---@param room perigee.Room?
---@return table<integer, perigee.TimerEntry>
function pending.of_room(room)
  local found = {}
  if room then
    for id in next, by_room[room.id] or {} do
      found[id] = timers[id]
    end
    return found
  end
  for id, entry in next, timers do
    found[id] = not entry.room and entry or nil
  end
  return found
end


--- Returns the ids of the entries that end with a room, and forgets this set of ids.
---@param room integer
---@return table<integer, true>? ids
function pending.take_room(room)
  local ids = by_room[room]
  by_room[room] = nil
  return ids
end

-- Requests ---------------------------------------------------------------------------------


--- Returns a number that no open request to this peer has.
---@param peer integer
---@return integer ref
function pending.take_ref(peer)
  local open = requests[peer] or {}
  for _ = 1, REF_MAX do
    last_ref = last_ref % REF_MAX + 1
    if not open[last_ref] then
      return last_ref
    end
  end
  fault.raise "there are too many open requests to this peer"
end


--- Registers an entry for the answer to its request, until the entry is removed.
---@param entry perigee.TimerEntry with requested and request_ref
function pending.listen(entry)
  requests[entry.requested] = requests[entry.requested] or {}
  requests[entry.requested][entry.request_ref] = entry
end


--- Returns the entry that waits for the answer to a request.
---@param peer integer
---@param ref integer
---@return perigee.TimerEntry?
function pending.request(peer, ref)
  return requests[peer] and requests[peer][ref]
end


--- Returns the entries that wait for answers of a peer.
---@param peer integer
---@return perigee.TimerEntry[]
function pending.requests_to(peer)
  local entries = {}
  for _, entry in next, requests[peer] or {} do
    entries[#entries + 1] = entry
  end
  return entries
end


--- Returns the peers from which answers are due.
---@return integer[] peers
function pending.peers_requested()
  return sorted_keys(requests)
end

return pending
