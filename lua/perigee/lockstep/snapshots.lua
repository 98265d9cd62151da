--- The state of a match for who comes late: from the script where it gives one, else from a member,
--- and then the turns since. Methods of perigee.Match.
---
--- Members may give anything. So who has got a snapshot does not count until its hash has been
--- found right; where it is wrong, the giver is not asked again.

local wire = require "perigee.lockstep.wire"

local PATIENCE = 5 -- seconds in which a giver has to have given all
local FRESH_SECONDS = 10 -- for which a snapshot is given to others too
local TRIES = 3 -- for one member

local snapshots = {}


function snapshots:_begin_snapshots()
  self.asked = nil -- what is being waited for: request, donor (nil: the script), until_when, pieces
  self.cached = nil -- the newest: turn, bytes, donor, at
  self.last_request = self.last_request or 0
  for _, member in next, self.members do
    member.waits, member.has_lied, member.tries = false, nil, nil
  end
end


-- The member that is best asked: it has simulated the most.
local function find_donor(self, except)
  local best
  for _, member in next, self.members do
    local can = member.counts and member.gives and not member.has_lied and member ~= except
      and member.turn >= self.first_kept - 1 and member.turn > 0
    if can and (not best or member.turn > best.turn
      or member.turn == best.turn and member.id < best.id) then
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


--- Whether there is somebody to ask.
---@param except perigee.LockstepMember? that needs it
---@return boolean
function snapshots:_can_get_snapshot(except)
  return self.out.ask_snapshot ~= nil or find_donor(self, except) ~= nil
end

-- Giving --------------------------------------------------------------------------------------


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


local function list_waiting(self)
  local list = {}
  for _, member in next, self.members do
    list[#list + 1] = member.waits and member or nil
  end
  return list
end


-- Nobody gives the state. The turns from the first on do as well; without them, those who wait are
-- out of it, and where nobody else is there all begin anew.
local function give_up(self, now)
  local waiting = list_waiting(self)
  if self.first_kept > 1 and #waiting == self.count then
    self.out.warn("nobody can give the state of the match; it begins anew")
    return self:restart(now)
  end
  for _, member in ipairs(waiting) do
    if self.first_kept == 1 then
      self:_send_start(member, wire.FRESH, 0)
    else
      self.out.send(member.id, wire.END, wire.number(self.room, self.id))
      self:leave(member.id, now)
    end
  end
end

-- Asking --------------------------------------------------------------------------------------


local function ask(self, now)
  self.last_request = self.last_request % 0xffffffff + 1
  local donor = not self.out.ask_snapshot and find_donor(self) or nil
  if donor then
    self.asked = { request = self.last_request, donor = donor, until_when = now + PATIENCE,
      pieces = {}, size = 0 }
    self.out.send(donor.id, wire.SNAPSHOT_ASK, wire.number(self.room, self.last_request))
  elseif self.out.ask_snapshot then
    self.asked = { request = self.last_request, until_when = now + PATIENCE }
    self.out.ask_snapshot(self.last_request)
  else
    give_up(self, now)
  end
end


--- Somebody waits for one.
---@param now number
function snapshots:_want_snapshot(now)
  local found = cached(self, now)
  if found then
    give_all(self, found)
  elseif not self.asked then
    ask(self, now)
  end
end


-- What was asked for will not come from there.
local function ask_another(self, now)
  local donor = self.asked and self.asked.donor
  if donor then
    donor.has_lied = true
  else
    self.out.ask_snapshot = nil -- until the game is loaded again
  end
  self.asked = nil
  for _, member in next, self.members do
    if member.waits then
      return ask(self, now)
    end
  end
end


local function take_whole(self, turn, bytes, donor, now)
  self.asked = nil
  self.cached = { turn = turn, bytes = bytes, donor = donor, at = now }
  give_all(self, self.cached)
end


-- Whether a piece goes on where the one before ended.
local function fits(self, asked, piece)
  if #asked.pieces == 0 then
    asked.turn, asked.whole = piece.turn, piece.size
  end
  return piece.turn == asked.turn and piece.size == asked.whole and piece.offset == asked.size
    and piece.size <= self.settings.snapshot_limit and piece.turn <= self.closed
    and piece.turn >= self.first_kept - 1 and #piece.data > 0
end


--- SNAPSHOT has come.
---@param peer integer
---@param piece table as wire.read_piece has it
---@param now number
function snapshots:piece(peer, piece, now)
  local asked = self.asked
  if not asked or not asked.donor or asked.donor.id ~= peer or asked.request ~= piece.tag then
    return
  elseif not fits(self, asked, piece) then
    return ask_another(self, now)
  end
  asked.pieces[#asked.pieces + 1] = piece.data
  asked.size = asked.size + #piece.data
  if asked.size == asked.whole then
    take_whole(self, asked.turn, table.concat(asked.pieces), asked.donor, now)
  end
end


--- The script has answered: the state after `turn`, or nil when it has none to give.
---@param request integer
---@param turn integer
---@param bytes string?
---@param now number
function snapshots:script_gives(request, turn, bytes, now)
  if not self.asked or self.asked.request ~= request then
    return
  elseif bytes and turn >= self.first_kept - 1 then
    take_whole(self, turn, bytes, nil, now)
  else
    ask_another(self, now)
  end
end

-- Going wrong ---------------------------------------------------------------------------------


--- Has a member begin with the newest state that there is.
---@param member perigee.LockstepMember
---@param now number
function snapshots:_send_anew(member, now)
  self:_send_start(member, wire.FROM_SNAPSHOT, 0)
  self:_want_snapshot(now)
end


-- The hash of one who has got a snapshot differs from what most have. Whether the giver or the
-- getter is wrong cannot be told; after some tries it is the getter.
function snapshots:_snapshot_was_wrong(member)
  member.tries = (member.tries or 0) + 1
  if member.tries >= TRIES then
    member.is_odd = true
    self.out.warn(("%s gets no snapshot that it has the right hash with"):format(member.name))
    return
  end
  if member.donor then
    member.donor.has_lied = true
  end
  self.cached, member.wants_anew = nil, true
end


--- When a giver has taken too long, or somebody needs another snapshot; nil: neither.
---@return number?
function snapshots:_snapshot_due()
  for _, member in next, self.members do
    if member.wants_anew then
      return 0
    end
  end
  return self.asked and self.asked.until_when
end


function snapshots:_check_snapshots(now)
  if self.asked and now >= self.asked.until_when then
    ask_another(self, now)
  end
  for _, member in next, self.members do
    if member.wants_anew then
      member.wants_anew = nil
      self:_send_anew(member, now)
    end
  end
end


--- A member goes; what it was to give will not come.
function snapshots:_forget_donor(member, now)
  if self.asked and self.asked.donor == member then
    ask_another(self, now)
  end
end

return snapshots
