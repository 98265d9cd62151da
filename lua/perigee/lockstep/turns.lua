--- The turns of a match: receives inputs, closes and sends turns, and sends missing turns again. Methods of
--- perigee.Match.

local wire = require "perigee.lockstep.wire"

local HISTORY_BYTES = 4 * 1024 * 1024 -- most bytes of kept turns
local SCARCE_BYTES = 16 * 1024 -- most bytes of kept turns while all matches together use too much memory
local TURN_BYTES = 32 -- memory of a turn in addition to its bytes
local REFILL = 0.1 -- seconds of patience that a member regains per second
local FILL_SECONDS = 0.2 -- least seconds between two answers to a member's NEED
local ANEW_SECONDS = 1 -- least seconds between two answers if the answer is a snapshot
local AGAIN_SECONDS = 0.02 -- shortest time between two TURNS with the same content
local SLOTS = 64 -- most slots
local EPSILON = 0.0005 -- seconds; times are in milliseconds
-- Share of the allowed wait after which the wait ends, because timers on a busy machine are late by some
-- milliseconds.
local WAITED = 0.99

local turns = {}


function turns:_begin_turns()
  self.closed = 0
  self.kept, self.first_kept, self.kept_bytes = {}, 1, 0
  for _, seat in next, self.seats do
    seat.last, seat.shown = "", nil
  end
  self.repeated_at, self.wake = nil, nil
  self.stalls, self.stalled, self.longest_stall, self.late_inputs = 0, 0, 0, 0
end


--- Returns the seconds between two turns at the current speed.
---@return number
function turns:interval()
  return 1 / (self.settings.turn_rate * self.speed)
end


-- Schedules the next turn one interval from now, if the match is running and has members.
function turns:_schedule(now)
  local is_going = self.is_started and not self.is_paused and not self.is_over and self.count > 0
  self.due, self.wake = is_going and now + self:interval() or nil, nil
end

-- Inputs ------------------------------------------------------------------------------------


-- Returns whether an input for a turn arrives too early. While memory is scarce, the server accepts inputs
-- only for turns within the member's input delay.
local function is_early(self, member, turn)
  return turn > self.closed + wire.AHEAD_MAX
    or turn > self.closed + member.delay + 1 and self.out.is_scarce()
end


-- Stores the input for one turn, unless it is too late, too early or a duplicate.
local function take_input(self, member, turn, data, now)
  if turn <= self.closed or member.inputs[turn] or is_early(self, member, turn) then
    return
  end
  member.inputs[turn], member.is_absent = data, false
  self.input_bytes = self.input_bytes + #data + TURN_BYTES
  if turn == self.closed + 1 and self.due and now > self.due then
    member.late = now - self.due
  end
end


--- Forgets the inputs of a member for turns that are not closed.
---@param member perigee.LockstepMember
function turns:_forget_inputs(member)
  for _, data in next, member.inputs do
    self.input_bytes = self.input_bytes - #data - TURN_BYTES
  end
  member.inputs, member.first, member.last = {}, nil, nil
end


--- Handles INPUT.
---@param peer integer
---@param given table result of wire.read_input
---@param now number
function turns:input(peer, given, now)
  local member = self.members[peer]
  if not member or member.waits or given.start ~= member.start or given.turn > self.closed then
    return
  end
  member.turn, member.heard_at = math.max(member.turn, given.turn), now
  self:_note_answer(member, now)
  if #given.hashes > 0 then
    self:_take_hashes(member, given.hash_turn, given.hashes)
  end
  if member.slot == wire.SPECTATOR then
    return
  end
  for i = 1, #given.inputs do
    take_input(self, member, given.first + i - 1, given.inputs[i], now)
  end
  local last = given.first + #given.inputs - 1
  if #given.inputs > 0 and last > (member.last or 0) and last <= self.closed + wire.AHEAD_MAX then
    member.first = member.first or given.first
    self.late_inputs = self.late_inputs + (last <= self.closed and 1 or 0)
    member.last = last
    self:_note_slack(member, last, now)
  end
  if self.due and now >= self.due - EPSILON then
    self:_check_turn(now)
  end
end

-- Closing -----------------------------------------------------------------------------------


local function owes(member, turn)
  return member.first and turn >= member.first and not member.inputs[turn]
end


-- Returns the members that a turn waits for (nil: none), and the longest patience of these members in
-- seconds.
local function find_missing(self, turn)
  local missing, longest = nil, 0
  for _, seat in next, self.seats do
    local member = seat.member
    if member and not member.is_absent and owes(member, turn) then
      missing = missing or {}
      missing[#missing + 1] = member
      longest = math.max(longest, member.patience)
    end
  end
  return missing, longest
end


-- Adds the entries LEFT and JOINED for a slot whose player has changed since the previous turn. Several
-- changes add at most one LEFT and one JOINED.
local function add_changes(entries, slot, seat)
  local member = seat.member
  if member == seat.shown then
    return
  end
  if seat.shown then
    entries[#entries + 1] = wire.entry(slot, wire.LEFT, "")
  end
  if member then
    entries[#entries + 1] = wire.entry(slot, wire.JOINED, wire.joined(member.id, member.name))
  end
  seat.shown = member
end


-- Returns the entry of a slot in a turn, or nil.
local function entry_of(self, slot, seat, turn)
  local member = seat.member
  local data = member.inputs[turn]
  if data then
    member.inputs[turn], seat.last = nil, data
    self.input_bytes = self.input_bytes - #data - TURN_BYTES
    return data ~= "" and wire.entry(slot, wire.GIVEN, data) or nil
  elseif not owes(member, turn) then
    return nil
  elseif self.settings.on_missing == "repeat" then
    return wire.entry(slot, wire.REPEATED, seat.last)
  end
  return wire.entry(slot, wire.MISSING, "")
end


local function keep(self, turn, bytes)
  self.kept[turn], self.kept_bytes = bytes, self.kept_bytes + #bytes + TURN_BYTES
  local limit = self.out.is_scarce() and SCARCE_BYTES or HISTORY_BYTES
  while turn - self.first_kept >= self.settings.history or self.kept_bytes > limit do
    local first = self.first_kept
    self.kept_bytes = self.kept_bytes - #self.kept[first] - TURN_BYTES
    self.kept[first], self.first_kept = nil, first + 1
  end
end


-- Sends the newest turns to all members, with some earlier ones.
local function cast(self, now)
  local first, size = self.closed, #self.kept[self.closed]
  while first > self.first_kept and self.closed - first + 1 < wire.REPEATS
    and size + #self.kept[first - 1] <= wire.REPEAT_BYTES do
    first = first - 1
    size = size + #self.kept[first]
  end
  local list = {}
  for turn = first, self.closed do
    list[#list + 1] = self.kept[turn]
  end
  self.out.cast(wire.TURNS, wire.turns(self.room, self.id, first, list))
  self.repeated_at = now
end


-- Returns the seconds that the next turn has waited for a member. Subtracts them from the member's patience,
-- and adds the patience that the member has regained since the last call.
local function charge_patience(self, member, now)
  local is_waited_for = self.due and not member.is_absent and owes(member, self.closed + 1)
  local late = is_waited_for and math.max(0, now - self.due) or member.late or 0
  local patience = member.patience + (now - member.refilled_at) * REFILL - late
  member.patience = math.max(0, math.min(self.settings.wait_limit, patience))
  member.refilled_at, member.late = now, nil
  return is_waited_for and late or 0
end


--- Returns the patience with which a new member begins: the full patience minus the part that former members
--- of the slot have used. Otherwise a client could delay turns by connecting again and again.
---@param now number
---@return number seconds
function turns:_first_patience(now)
  return math.max(0, self.settings.wait_limit - math.max(0, self.spent - (now - self.spent_at) * REFILL))
end


--- Stores the patience of a member that leaves.
---@param member perigee.LockstepMember
---@param now number
function turns:_take_patience(member, now)
  charge_patience(self, member, now)
  local spent = self.settings.wait_limit - math.min(member.patience, self:_first_patience(now))
  self.spent, self.spent_at = spent, now
end


local function note_stall(self, now)
  local stall = now - self.due
  if stall > 2 * EPSILON then
    self.stalls, self.stalled = self.stalls + 1, self.stalled + stall
    self.longest_stall = math.max(self.longest_stall, stall)
  end
  -- The next turns make up for a short delay. A long delay shifts all later turns.
  local interval = self:interval()
  self.due = stall > interval / 2 and now + interval or self.due + interval
end


local function close(self, now)
  local turn = self.closed + 1
  for _, seat in next, self.seats do
    local member = seat.member
    if member and charge_patience(self, member, now) > 0 then
      member.is_absent = true
    end
  end
  local entries = {}
  for slot = 0, SLOTS - 1 do
    if self.seats[slot] then
      add_changes(entries, slot, self.seats[slot])
    end
  end
  for slot = 0, SLOTS - 1 do
    local seat = self.seats[slot]
    local entry = seat and seat.member and entry_of(self, slot, seat, turn)
    if entry then
      entries[#entries + 1] = entry
    end
  end
  local bytes = wire.turn(entries)
  keep(self, turn, bytes)
  self.closed, self.wake = turn, nil
  note_stall(self, now)
  cast(self, now)
  self:_decide_hashes()
  self.out.closed(turn, bytes)
end


-- Makes a turn wait: notifies the members, and sends the newest turns again, because some members may have
-- missed them.
local function wait(self, missing, until_when, now)
  local pause = math.max(self:interval(), AGAIN_SECONDS)
  local again = (self.repeated_at or self.due) + pause
  if now >= again - EPSILON then
    local slots = {}
    for i, member in ipairs(missing) do
      slots[i] = member.slot
    end
    if self.closed > 0 then
      cast(self, now)
    end
    self.repeated_at, again = now, now + pause
    self.out.cast(wire.WAITING, wire.waiting(self.room, self.closed + 1, slots))
  end
  self.wake = math.min(until_when, again)
end


-- Closes the next turn if it is due and no more inputs are expected.
function turns:_check_turn(now)
  if not self.due or now < self.due - EPSILON then
    return
  end
  local missing, patience = find_missing(self, self.closed + 1)
  local until_when = self.due + patience * WAITED - EPSILON
  local is_waiting = missing and self.settings.on_missing == "wait" and now < until_when - EPSILON
  if is_waiting then
    wait(self, missing, until_when, now)
  else
    close(self, now)
  end
end

-- Missing turns -----------------------------------------------------------------------------


--- Sends a member the turns from `from` on reliably, as many as fit into one answer.
function turns:_fill(member, from)
  local sent, list, size, first = 0, {}, 0, from
  local function flush()
    if #list > 0 then
      self.out.send(member.id, wire.TURNS, wire.turns(self.room, self.id, first, list))
      first, list, size = first + #list, {}, 0
    end
  end
  for turn = from, self.closed do
    local bytes = self.kept[turn]
    if sent + #bytes > wire.FILL_BYTES then
      break
    end
    if #list == 255 or size + #bytes > wire.PIECE then
      flush()
    end
    list[#list + 1], size, sent = bytes, size + #bytes, sent + #bytes
  end
  flush()
end


--- Handles NEED.
---@param peer integer
---@param turn integer
---@param now number
function turns:need(peer, turn, now)
  local member = self.members[peer]
  if not member or member.waits or turn < 1 or turn > self.closed
    or now < (member.fill_at or now) then
    return
  end
  if turn >= self.first_kept then
    member.fill_at = now + FILL_SECONDS
    self:_fill(member, turn)
  else
    member.fill_at = now + ANEW_SECONDS
    self:_send_anew(member, now)
  end
end

return turns
