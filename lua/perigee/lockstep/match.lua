--- A match in lockstep on the server: its members, their slots, and the state with which they begin.
--- turns.lua, pace.lua, hashes.lua and snapshots.lua contain the other parts of a match.
---
--- A match has no clock, timer or socket: `now` (seconds) is an argument, and packets and calls go through
--- `out`, which host.lua provides. Tests therefore need no server.

local hashes = require "perigee.lockstep.hashes"
local pace = require "perigee.lockstep.pace"
local snapshots = require "perigee.lockstep.snapshots"
local turns = require "perigee.lockstep.turns"
local wire = require "perigee.lockstep.wire"

local ENTER_SECONDS = 1 -- least average seconds between two ENTERs of a peer
local ENTERS = 2 -- most ENTERs of a peer that may arrive together

--- A member of the match: a player or a spectator.
---@class perigee.LockstepMember
---@field id integer id of the peer
---@field name string
---@field slot integer wire.SPECTATOR for a spectator
---@field gives boolean whether the member can give snapshots
---@field start integer number of the newest START for the member
---@field turn integer the newest turn that the member has simulated, according to its packets
---@field inputs table<integer, string> inputs for turns that are not closed, by turn
---@field first integer? first turn for which the member has sent an input
---@field last integer? last turn for which the member has sent an input
---@field delay integer input delay in turns
---@field patience number seconds that turns will still wait for the member
---@field is_absent boolean whether turns do not wait for the member until it sends an input in time
---@field counts boolean whether its hashes count: it needed no snapshot, or its state is proven right
---@field is_odd boolean whether the member's last hash differed from the majority's hash
---@field waits boolean whether the member waits for a snapshot
---@field waits_since number? time at which the wait for the newest snapshot began
---@field heard_at number time of the newest INPUT
---@field failed_at number? time at which a request for a snapshot to this member failed last

--- A slot of the match. After its player leaves, a client that has the slot's key gets it again.
---@class perigee.LockstepSeat
---@field key string
---@field member perigee.LockstepMember?
---@field left_at number? time at which the last player left
---@field last string newest input in a closed turn
---@field shown perigee.LockstepMember? player of the slot in the newest closed turn, which clients know

--- The functions through which a match acts.
---@class perigee.LockstepOut
---@field send fun(peer: integer, type: integer, bytes: string)
---@field cast fun(type: integer, bytes: string) sends to all members at once, unreliably
---@field random fun(): integer an unpredictable u32
---@field latency fun(peer: integer): number round-trip time in seconds; 0: not known
---@field closed fun(turn: integer, bytes: string) reports a closed turn
---@field agreed fun(turn: integer, hash: integer) reports the majority's hash of a turn
---@field desync fun(report: table)
---@field request_snapshot? fun(turn: integer) requests a snapshot from the script; nil: the script gives none
---@field warn fun(text: string)
---@field members_changed fun()
---@field is_scarce fun(): boolean whether all matches together use too much memory

---@class perigee.Match
---@field room integer
---@field settings perigee.LockstepSettings
---@field out perigee.LockstepOut
---@field id integer
---@field seed integer
---@field hash_every integer field of START
---@field max_input integer field of START
---@field closed integer the newest closed turn
---@field due number? time of the next close; nil: no turn will close
---@field members table<integer, perigee.LockstepMember> by peer id
---@field count integer number of members
---@field seats table<integer, perigee.LockstepSeat> by slot
local Match = {}
Match.__index = Match

for _, part in ipairs { hashes, pace, snapshots, turns } do
  for name, method in next, part do
    Match[name] = method
  end
end

local matches = {}


local function random_key(out)
  return wire.u32(out.random()) .. wire.u32(out.random()) .. wire.u32(out.random())
    .. wire.u32(out.random())
end


--- Returns a match without members.
---@param room integer
---@param settings perigee.LockstepSettings
---@param out perigee.LockstepOut
---@return perigee.Match
function matches.new(room, settings, out)
  local self = setmetatable({
    room = room, settings = settings, out = out, members = {}, count = 0, seats = {},
    speed = 1, is_paused = false, starts = 0, entered = {}, input_bytes = 0, spent = 0, spent_at = 0,
  }, Match)
  self:_begin()
  return self
end


-- Begins the match at turn 1, with another seed.
function Match:_begin()
  repeat
    self.id = self.out.random()
  until self.id ~= 0
  self.seed = self.out.random()
  -- Settings that START has cannot change during the match.
  self.hash_every, self.max_input = self.settings.hash_every, self.settings.max_input
  self.is_started, self.is_over, self.due = false, false, nil
  self:_begin_turns()
  self:_begin_hashes()
  self:_begin_snapshots()
end

-- Seats -------------------------------------------------------------------------------------

local function sit(self, slot, key, member)
  local seat = self.seats[slot]
  self.seats[slot] = {
    key = key, member = member, last = seat and seat.last or "", shown = seat and seat.shown,
  }
  member.slot = slot
end


-- Returns the slot that has a key, and its seat; nothing for an unknown key.
local function find_seat(self, key)
  if key == wire.NO_SEAT then
    return nil
  end
  for slot, seat in next, self.seats do
    if seat.key == key then
      return slot, seat
    end
  end
end


-- Returns a slot that no member has had; otherwise the slot that has been free for the longest time.
local function find_free(self)
  local free, oldest
  for slot = 0, self.settings.players - 1 do
    local seat = self.seats[slot]
    if not seat then
      return slot
    elseif not seat.member and (not oldest or seat.left_at < oldest) then
      free, oldest = slot, seat.left_at
    end
  end
  return free
end


local function take_seat(self, member, key)
  local slot = find_seat(self, key)
  if slot then
    return sit(self, slot, key, member)
  end
  slot = find_free(self)
  if slot then
    sit(self, slot, random_key(self.out), member)
  end
end


-- Returns the member that must leave, because another peer enters with the key of this member's slot.
local function find_holder(self, member, enter)
  local has_slot = member and member.slot ~= wire.SPECTATOR
  if enter.watches or has_slot then
    return nil
  end
  local _, seat = find_seat(self, enter.seat)
  return seat and seat.member
end


local function free_seat(self, member, now)
  local seat = self.seats[member.slot]
  if seat and seat.member == member then
    seat.member, seat.left_at = nil, now
  end
  member.slot = wire.SPECTATOR
end

-- Entering and leaving ------------------------------------------------------------------------


-- Returns how a member begins, and the turn of the state that it already has; nothing if no state exists for
-- it. The members in `without` cannot give a snapshot.
local function beginning(self, enter, without, now)
  if self.closed == 0 then
    return wire.FRESH, 0
  elseif enter.match == self.id and enter.turn >= self.first_kept - 1 and enter.turn <= self.closed then
    return enter.turn == 0 and wire.FRESH or wire.GO_ON, enter.turn
  elseif self:_can_get_snapshot(now, without) then
    return wire.FROM_SNAPSHOT, 0
  elseif self.first_kept == 1 then
    return wire.FRESH, 0
  end
end


--- Returns the pace of a member, in the form for START.
---@param member perigee.LockstepMember
---@return perigee.LockstepPace
function Match:_pace_of(member)
  return {
    interval = math.floor(1e6 / self.settings.turn_rate + 0.5),
    speed = self.is_started and not self.is_paused and self.speed or 0, delay = member.delay,
  }
end


--- Makes a member begin with a state. Sends START and the turns that the member needs.
function Match:_send_start(member, how, turn, now)
  local seat = self.seats[member.slot]
  self.starts = self.starts + 1
  member.start = self.starts
  self.out.send(member.id, wire.START, wire.start(self.room, {
    start = member.start, match = self.id, slot = member.slot, seat = seat and seat.key or wire.NO_SEAT,
    seed = self.seed, how = how, turn = turn, hash_every = self.hash_every,
    max_input = self.max_input, pace = self:_pace_of(member),
  }))
  self:_forget_inputs(member)
  member.turn, member.is_odd = turn, false
  self:_forget_hashes_of(member)
  self:_set_counts(member, how ~= wire.FROM_SNAPSHOT)
  member.waits = how == wire.FROM_SNAPSHOT
  member.waits_since = member.waits and now or nil
  member.entered_at = not member.waits and now or nil -- a snapshot delays the first INPUT
  if not member.waits then
    self:_fill(member, turn + 1)
  end
end


-- Returns whether a peer may send ENTER again. The rate is limited, because the answer costs more than the
-- request.
local function may_enter(self, peer, now)
  local oldest = now - ENTERS * ENTER_SECONDS
  for id, at in next, self.entered do
    if at <= oldest then
      self.entered[id] = nil
    end
  end
  local at = (self.entered[peer] or oldest) + ENTER_SECONDS
  if at > now then
    return false
  end
  self.entered[peer] = at
  return true
end


local function new_member(self, peer, name, now)
  return {
    id = peer, name = name, slot = wire.SPECTATOR, inputs = {}, turn = 0, doubts = 0,
    heard_at = now, delay = self:_first_delay(peer), patience = self:_first_patience(now), refilled_at = now,
    slacks = {}, window_at = now, late_windows = 0,
    early_windows = pace.FIRST_EARLY, least_slack = math.huge,
  }
end


--- Adds a peer to the match. `enter` is its ENTER. If the peer may not enter, returns nil and the name of an
--- error code.
---@param peer integer
---@param name string
---@param enter table
---@param now number
---@return true?, string? code
function Match:enter(peer, name, enter, now)
  if enter.version ~= wire.VERSION then
    return nil, "VersionMismatch"
  elseif not may_enter(self, peer, now) then
    return nil, "RateLimited"
  end
  local member = self.members[peer]
  local holder = find_holder(self, member, enter)
  local without = { [member or 0] = true, [holder or 0] = true }
  local how, turn = beginning(self, enter, without, now)
  local others = self.count - (member and 1 or 0) - (holder and 1 or 0)
  if not how and others > 0 then
    return nil, "Unsupported" -- the other members continue the match, but cannot give its state
  end
  if member then
    self:_set_counts(member, false)
    member.waits = false
  else
    member = new_member(self, peer, name, now)
    self.members[peer], self.count = member, self.count + 1
    self.out.members_changed()
  end
  if holder then
    self.out.send(holder.id, wire.END, wire.number(self.room, self.id))
    self:leave(holder.id, now)
    member.patience = math.min(member.patience, self:_first_patience(now))
  end
  member.gives, member.is_absent = enter.gives, false
  if enter.watches then
    free_seat(self, member, now)
  elseif member.slot == wire.SPECTATOR then
    take_seat(self, member, enter.seat)
  end
  if not how then -- no member has the state
    self:_begin()
  end
  self:_send_start(member, how or wire.FRESH, turn or 0, now)
  if member.waits then
    self:_want_snapshot(now)
  end
  self:_check_start(now)
  return true
end


--- Removes a peer from the match.
---@param peer integer
---@param now number
function Match:leave(peer, now)
  local member = self.members[peer]
  if not member then
    return
  end
  self:_set_counts(member, false)
  self:_take_patience(member, now)
  self:_forget_inputs(member)
  free_seat(self, member, now)
  self.members[peer], self.count = nil, self.count - 1
  self.out.members_changed()
  self:_forget_hashes_of(member)
  self:_forget_donor(member, now)
  if self.count == 0 then
    self.due = nil
  end
end

-- Functions for the script ---------------------------------------------------------------------


--- Returns the number of bytes of the turns, inputs and states that the match keeps.
---@return integer
function Match:held_bytes()
  return self.kept_bytes + self.input_bytes + (self.cached and #self.cached.bytes or 0)
    + (self.request and self.request.size or 0)
end


--- Returns the number of slots with a player.
---@return integer
function Match:players()
  local count = 0
  for _, seat in next, self.seats do
    count = seat.member and count + 1 or count
  end
  return count
end


--- Begins the turns.
---@param now number
function Match:start(now)
  self.is_started = true
  self:_schedule(now)
  self:_change_pace(now)
end


-- Begins the match if it has enough players. Continues a started match whose turns were stopped.
function Match:_check_start(now)
  local start = self.settings.start
  if not self.is_started and start > 0 and self:players() >= start then
    self:start(now)
  elseif not self.due then
    self:_schedule(now)
  end
end


--- Begins another match with the same players, at turn 1 and with another seed.
---@param now number
function Match:restart(now)
  local was_started = self.is_started
  self:_begin()
  for _, member in next, self.members do
    self:_send_start(member, wire.FRESH, 0, now)
  end
  if was_started then
    self:start(now)
  end
end


--- Ends the match.
function Match:stop()
  self.is_over, self.due = true, nil
  for id in next, self.members do
    self.out.send(id, wire.END, wire.number(self.room, self.id))
  end
  self.members, self.count, self.seats, self.input_bytes = {}, 0, {}, 0
  self.out.members_changed()
end


--- Applies other settings to the running match.
---@param settings perigee.LockstepSettings
---@param now number
function Match:configure(settings, now)
  local had = self.settings
  self.settings = settings
  if had.turn_rate ~= settings.turn_rate or had.input_delay ~= settings.input_delay
    or had.max_input_delay ~= settings.max_input_delay then
    self:_change_pace(now)
  end
end


--- Returns the time at which the match must act next; nil if it waits for packets.
---@return number?
function Match:wake_at()
  local at = self.due and math.max(self.due, self.wake or self.due)
  for _, other in ipairs { self:_snapshot_due() or false, self:_trees_due() or false } do
    if other and (not at or other < at) then
      at = other
    end
  end
  return at
end


--- Does all due work.
---@param now number
function Match:tick(now)
  self:_check_snapshots(now)
  self:_check_trees(now)
  self:_check_turn(now)
end

return matches
