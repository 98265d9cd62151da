--- The speed of a match, and the input delay of each player. Methods of perigee.Match.
---
--- The input delay of a player follows from its *slack*: the time from the arrival of its inputs to the close
--- of their turns. The delay grows if many inputs arrive too late, or if some inputs arrive too late
--- repeatedly. If all inputs arrive more than a turn too early for a while, the delay shrinks by the excess.
--- Its first value follows from the player's round-trip time; if that time is unknown, the first INPUT
--- measures it.

local wire = require "perigee.lockstep.wire"

local WINDOW = 1 -- seconds of one measurement
local MARGIN = 0.1 -- turns of slack to aim for
local SPARE = 0.5 -- turns of slack that remain when the delay has shrunk by one
local EARLY_WINDOWS = 10 -- number of successive windows with only early inputs after which the delay shrinks
local FIRST_WINDOWS = 1 -- the same number for a new player; it is low, because START may have taken long
local LATE_WINDOWS = 2 -- number of successive windows with late inputs after which the delay grows
local MANY = 0.5 -- if this share of inputs is late, the delay grows at once
local FEW = 0.1 -- share of late inputs that should remain after such growth
local SPEED_MIN, SPEED_MAX = 0.1, 8

local pace = {
  SPEED_MIN = SPEED_MIN, SPEED_MAX = SPEED_MAX,
  FIRST_EARLY = EARLY_WINDOWS - FIRST_WINDOWS, -- early windows that a new player is
                                               -- credited with
}


local function clamp(self, delay)
  local settings = self.settings
  return math.max(settings.input_delay, math.min(settings.max_input_delay, delay))
end


-- Returns the delay for a round-trip time: the turns of the round trip, plus one turn for lost packets.
local function delay_for(self, latency)
  return clamp(self, math.ceil(latency / self:interval()) + 1)
end


--- Returns the input delay with which a peer begins.
---@param peer integer
---@return integer
function pace:_first_delay(peer)
  local latency = self.out.latency(peer)
  return latency > 0 and delay_for(self, latency) or clamp(self, 0)
end


local function send_pace(self, member)
  self.out.send(member.id, wire.PACE, wire.pace(self.room, self:_pace_of(member)))
end


local function set_delay(self, member, delay)
  delay = clamp(self, delay)
  if delay ~= member.delay then
    member.delay = delay
    send_pace(self, member)
  end
  member.late_windows, member.early_windows = 0, 0
end


--- Measures the round trip from START to the first INPUT, which answers START.
---@param member perigee.LockstepMember
---@param now number
function pace:_note_answer(member, now)
  local entered_at = member.entered_at
  member.entered_at = nil
  if entered_at and self.out.latency(member.id) == 0 then
    set_delay(self, member, math.max(member.delay, delay_for(self, now - entered_at)))
  end
end


-- Adapts the delay at the end of a window. `slacks` is sorted and in turns.
local function judge(self, member, slacks)
  local late = 0
  while slacks[late + 1] and slacks[late + 1] < 0 do
    late = late + 1
  end
  if late > #slacks * MANY then
    local few = slacks[math.floor(#slacks * FEW) + 1]
    return set_delay(self, member, member.delay + math.max(1, math.ceil(MARGIN - few)))
  end
  local is_early = slacks[1] > 1 + SPARE
  member.late_windows = late > 0 and member.late_windows + 1 or 0
  member.least_slack = math.min(member.early_windows > 0 and member.least_slack or slacks[1], slacks[1])
  member.early_windows = is_early and member.early_windows + 1 or 0
  if member.late_windows >= LATE_WINDOWS then
    set_delay(self, member, member.delay + 1)
  elseif member.early_windows >= EARLY_WINDOWS then
    set_delay(self, member, member.delay - math.floor(member.least_slack - SPARE))
  end
end


--- Stores the slack of a member's newest input, which is for `turn`.
---@param member perigee.LockstepMember
---@param turn integer
---@param now number
function pace:_note_slack(member, turn, now)
  if not self.due then
    return
  end
  local next_turn, interval = self.closed + 1, self:interval()
  local base = turn > next_turn and math.max(self.due, now) or self.due
  local closes = base + (turn - next_turn) * interval
  member.slacks[#member.slacks + 1] = (closes - now) / interval
  if now - member.window_at >= WINDOW then
    local slacks = member.slacks
    member.slacks, member.window_at = {}, now
    table.sort(slacks)
    judge(self, member, slacks)
  end
end


--- Sends the changed pace to all members.
---@param now number
function pace:_change_pace(now)
  for _, member in next, self.members do
    member.delay = clamp(self, member.delay)
    member.slacks, member.window_at = {}, now
    send_pace(self, member)
  end
end


--- Stops the closing of turns.
---@param now number
function pace:pause(now)
  if not self.is_paused then
    self.is_paused = true
    self:_schedule(now)
    self:_change_pace(now)
  end
end


--- Continues after a pause.
---@param now number
function pace:resume(now)
  if self.is_paused then
    self.is_paused = false
    self:_schedule(now)
    self:_change_pace(now)
  end
end


--- Sets the speed, as a multiple of `turn_rate`.
---@param speed number
---@param now number
function pace:set_speed(speed, now)
  self.speed = math.floor(speed * 100 + 0.5) / 100 -- rounded as in packets
  self:_schedule(now)
  self:_change_pace(now)
end

return pace
