--- The state of a match for members that enter later. The script gives it if it can; otherwise a member gives
--- it. The receiver then gets the turns that followed this state. Methods of perigee.Match.
---
--- A member may give a wrong snapshot. Therefore the receiver of a snapshot does not vote until its hash has
--- been proven right. If the hash is wrong, another member gives a snapshot. As the receiver may have lied,
--- the first giver may give snapshots again, but members with fewer wrong snapshots come first.

local wire = require "perigee.lockstep.wire"

local PATIENCE = 5 -- most seconds that a giver may take for a piece
local WHOLE_SECONDS = 30 -- most seconds that a giver may take for all pieces
local FRESH_SECONDS = 10 -- seconds during which other members get the same snapshot
local TRIES = 3 -- wrong snapshots after which a member gets no more
local REQUEST_SECONDS = 1 -- least seconds between two requests to members
local RESYNC_SECONDS = 5 -- least seconds between two resyncs of a member by the script
local SILENT_SECONDS = 3 -- seconds without INPUT after which a member is silent; INPUTs come every second

local snapshots = {}


function snapshots:_begin_snapshots()
  self.request = nil -- the open request: number, donor (nil: the script), until_when, pieces
  self.cached = nil -- the newest snapshot: turn, bytes, donor, at
  self.last_request = self.last_request or 0
  self.request_at = nil -- time from which a member may get the next request
  for _, member in next, self.members do
    member.waits, member.doubts, member.tries, member.tried = false, 0, nil, nil
    member.failed_at = nil -- time of the last request without an answer
    member.anew_at = nil -- time for its next snapshot
  end
end


local function list_waiting(self)
  local list = {}
  for _, member in next, self.members do
    list[#list + 1] = member.waits and member or nil
  end
  return list
end


-- Counts the waiting members that got a wrong snapshot from this member.
local function count_tried(waiting, member)
  local count = 0
  for _, other in ipairs(waiting) do
    count = count + (other.tried and other.tried[member] and 1 or 0)
  end
  return count
end


-- Returns the start of the longest wait among these members.
local function waiting_since(waiting)
  local since = math.huge
  for _, member in ipairs(waiting) do
    since = math.min(since, member.waits_since)
  end
  return since
end


-- Returns the rank of a member for requests. Rank 0 is the best. Members that did not answer a request have
-- rank 1. Silent members have rank 2, because a sleeping page or a lost connection would not answer.
local function rank(member, now)
  return now - member.heard_at > SILENT_SECONDS and 2 or member.failed_at and 1 or 0
end


-- Returns the best member to request a snapshot from: connected, with a proven state, and with the most
-- simulated turns. Excludes members that gave a wrong snapshot to every waiting member, and members that
-- failed to give a snapshot during this wait.
local function find_donor(self, now, without)
  local best
  local waiting = list_waiting(self)
  local since = waiting_since(waiting)
  local function is_better(a, b)
    local tried_a, tried_b = count_tried(waiting, a), count_tried(waiting, b)
    local rank_a, rank_b = rank(a, now), rank(b, now)
    if tried_a ~= tried_b then
      return tried_a < tried_b
    elseif rank_a ~= rank_b then
      return rank_a < rank_b
    elseif a.doubts ~= b.doubts then
      return a.doubts < b.doubts
    elseif a.turn ~= b.turn then
      return a.turn > b.turn
    end
    return a.id < b.id
  end
  for _, member in next, self.members do
    -- Without hashes, no state can be proven.
    local can = member.gives and (member.counts or not self.has_hashes and not member.waits)
      and not (without and without[member]) and member.turn >= self.first_kept - 1 and member.turn > 0
      and (member.failed_at or -1) < since
      and (#waiting == 0 or count_tried(waiting, member) < #waiting)
    if can and (not best or is_better(member, best)) then
      best = member
    end
  end
  return best
end


local function cached(self, now)
  local found = self.cached
  if found and found.turn >= self.first_kept - 1 and now - found.at <= FRESH_SECONDS then
    return found
  end
end


--- Returns whether the script or a member can give a snapshot.
---@param now number
---@param without? table<perigee.LockstepMember, true> members that are not asked
---@return boolean
function snapshots:_can_get_snapshot(now, without)
  return self.out.request_snapshot ~= nil or find_donor(self, now, without) ~= nil
end

-- Giving snapshots ----------------------------------------------------------------------------


local function give(self, member, found)
  local offset = 0
  repeat
    self.out.send(member.id, wire.SNAPSHOT,
      wire.piece(self.room, self.id, found.turn, found.bytes, offset))
    offset = offset + wire.PIECE
  until offset >= #found.bytes
  member.waits, member.turn, member.donor = false, found.turn, found.donor
  self:_fill(member, found.turn + 1)
end


local function give_all(self, found)
  for _, member in next, self.members do
    if member.waits then
      give(self, member, found)
    end
  end
end


-- Returns whether a member has a state from which the kept turns continue.
local function is_played(self)
  for _, member in next, self.members do
    if not member.waits and member.turn >= self.first_kept - 1 then
      return true
    end
  end
  return false
end


-- Handles the case that no member gives the state. If the match has kept all turns since the first, the
-- waiting members begin at turn 1. Otherwise they leave the match; if no other member plays, the match begins
-- again.
local function give_up(self, now)
  local waiting = list_waiting(self)
  if self.first_kept > 1 and not is_played(self) then
    self.out.warn("nobody can give the state of the match; it begins anew")
    return self:restart(now)
  end
  for _, member in ipairs(waiting) do
    if self.first_kept == 1 then
      self:_send_start(member, wire.FRESH, 0, now)
    else
      self.out.send(member.id, wire.END, wire.number(self.room, self.id))
      self:leave(member.id, now)
    end
  end
end

-- Requesting snapshots ------------------------------------------------------------------------


local function send_request(self, now)
  self.last_request = self.last_request % 0xffffffff + 1
  local donor = not self.out.request_snapshot and find_donor(self, now) or nil
  if donor then
    self.request = { number = self.last_request, donor = donor, pieces = {}, size = 0,
      until_when = now + PATIENCE, latest = now + WHOLE_SECONDS }
    self.request_at = now + REQUEST_SECONDS
    self.out.send(donor.id, wire.SNAPSHOT_ASK, wire.number(self.room, self.last_request))
  elseif self.out.request_snapshot then
    self.request = { number = self.last_request, until_when = now + PATIENCE }
    self.out.request_snapshot(self.last_request)
  else
    give_up(self, now)
  end
end


--- Gives a snapshot to the members that wait, or requests one.
---@param now number
function snapshots:_want_snapshot(now)
  local found = cached(self, now)
  if found then
    give_all(self, found)
  elseif not self.request and now >= (self.request_at or now) then
    send_request(self, now)
  end
end


-- Abandons the open request, and requests a snapshot from another member if a member still waits.
local function request_another(self, now)
  local donor = self.request and self.request.donor
  if donor then
    donor.failed_at = now
  else
    self.out.request_snapshot = nil -- the script gets no more requests until the game is loaded again
  end
  self.request = nil
  for _, member in next, self.members do
    if member.waits then
      return send_request(self, now)
    end
  end
end


local function take_whole(self, turn, bytes, donor, now)
  self.request = nil
  self.cached = { turn = turn, bytes = bytes, donor = donor, at = now }
  give_all(self, self.cached)
end


-- Returns whether a piece continues the previous one.
local function fits(self, request, piece)
  if #request.pieces == 0 then
    request.turn, request.whole = piece.turn, piece.size
  end
  return piece.turn == request.turn and piece.size == request.whole and piece.offset == request.size
    and piece.size <= self.settings.snapshot_limit and piece.turn <= self.closed
    and piece.turn >= self.first_kept - 1 and #piece.data > 0
end


--- Handles SNAPSHOT_UP, a piece of a snapshot.
---@param peer integer
---@param piece table result of wire.read_piece
---@param now number
function snapshots:piece(peer, piece, now)
  local request = self.request
  if not request or not request.donor or request.donor.id ~= peer or request.number ~= piece.tag then
    return
  elseif not fits(self, request, piece) or self.out.is_scarce() then
    return request_another(self, now)
  end
  request.pieces[#request.pieces + 1] = piece.data
  request.size = request.size + #piece.data
  request.until_when = math.min(now + PATIENCE, request.latest)
  if request.size == request.whole then
    take_whole(self, request.turn, table.concat(request.pieces), request.donor, now)
  end
end


--- Handles the answer of the script: the state after `turn`, or nil if the script has none.
---@param request integer
---@param turn integer
---@param bytes string?
---@param now number
function snapshots:script_gives(request, turn, bytes, now)
  if not self.request or self.request.number ~= request then
    return
  elseif bytes and turn >= self.first_kept - 1 then
    take_whole(self, turn, bytes, nil, now)
  else
    request_another(self, now)
  end
end

-- Wrong snapshots -----------------------------------------------------------------------------


--- Makes a member begin with the newest state.
---@param member perigee.LockstepMember
---@param now number
function snapshots:_send_anew(member, now)
  self:_send_start(member, wire.FROM_SNAPSHOT, 0, now)
  self:_want_snapshot(now)
end


-- Handles a member whose hash differs from the majority's after it got a snapshot. Either the giver or the
-- receiver is at fault. After TRIES wrong snapshots, the receiver counts as the culprit.
function snapshots:_snapshot_was_wrong(member)
  member.tries = (member.tries or 0) + 1
  if member.tries >= TRIES then
    member.is_odd = true
    self.out.warn(("%s gets no snapshot that it has the right hash with"):format(member.name))
    return
  end
  local donor = member.donor
  if donor then
    donor.doubts = donor.doubts + 1
    member.tried = member.tried or {}
    member.tried[donor] = true
  end
  self.cached, member.anew_at = nil, 0
end


--- Replaces the state of a member by a snapshot, at most once in RESYNC_SECONDS, because each snapshot costs
--- another member work.
---@param peer integer
---@param now number
function snapshots:resync(peer, now)
  local member = self.members[peer]
  if member and self.closed > 0 and not member.anew_at then
    member.anew_at = math.max(now, member.resync_at or now)
    member.resync_at = member.anew_at + RESYNC_SECONDS
    self.cached = nil -- the cached snapshot may be wrong
    self:_check_snapshots(now)
  end
end


--- Returns the time at which a giver has taken too long, the next request is possible, or a member needs
--- another snapshot, whichever is first. Returns nil if no check is due.
---@return number?
function snapshots:_snapshot_due()
  local due = self.request and self.request.until_when
  for _, member in next, self.members do
    local at = member.anew_at or member.waits and not self.request and self.request_at
    if at and (not due or at < due) then
      due = at
    end
  end
  return due
end


function snapshots:_check_snapshots(now)
  if self.request and now >= self.request.until_when then
    request_another(self, now)
  end
  self.cached = cached(self, now)
  for _, member in next, self.members do
    if member.anew_at and now >= member.anew_at then
      member.anew_at = nil
      local has_none = member.tries ~= nil -- its last snapshot was wrong
      if has_none or self:_can_get_snapshot(now, { [member] = true }) then
        self:_send_anew(member, now)
      end
    end
  end
  if not self.request and #list_waiting(self) > 0 then
    self:_want_snapshot(now)
  end
end


--- Abandons the request to a member that leaves.
function snapshots:_forget_donor(member, now)
  if self.request and self.request.donor == member then
    request_another(self, now)
  end
end

return snapshots
