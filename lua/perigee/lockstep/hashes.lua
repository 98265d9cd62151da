--- Compares the hashes of the members' states turn by turn, and reports the members that differ from the
--- majority. If the clients have trees of hashes, also reports where they differ. Methods of perigee.Match.

local json = require("cjson.safe").new()
local wire = require "perigee.lockstep.wire"

local KEPT = 256 -- number of the newest hashed turns whose hashes are compared
local NAME_MAX = 64 -- most bytes of a name in a tree
local PATIENCE = 2 -- seconds that the match waits for the hashes of a turn, or for trees
local TREES_MAX = 4 -- most differing clients that get a request for a tree

json.decode_max_depth(wire.TREE_DEPTH)

--- Hashes of one turn.
---@class perigee.LockstepHashes
---@field of table<integer, integer> hashes of the members that vote, by peer id
---@field count integer number of these hashes
---@field others table<integer, integer> hashes of spectators, and of members without a proven state
---@field agreed integer? the majority's hash; nil: not known yet
---@field is_tie boolean? whether the votes are tied, so that no majority exists
---@field by_script integer? the script's hash

local hashes = {}


function hashes:_begin_hashes()
  self.hashes, self.oldest_hash, self.decided_hash = {}, 1, 0
  self.has_hashes = false
  self.trees = nil -- the current exchange of trees
  self.has_script_hashes = false -- whether the script gives hashes; they then replace the majority's
  self.desyncs = 0
  self.voting = 0
  for _, member in next, self.members do
    member.counts, member.is_odd = false, false
  end
end


-- Returns whether a member votes on the right hash. The hash that most players have is right. Spectators have
-- no vote, because their number is unlimited.
local function votes(member)
  return member.counts and member.slot ~= wire.SPECTATOR
end


--- Sets whether a member's state counts as right. Must not be called while the member changes its slot.
function hashes:_set_counts(member, counts)
  local had_vote = votes(member)
  member.counts = counts
  self.voting = self.voting + (votes(member) and 1 or 0) - (had_vote and 1 or 0)
end


function hashes:_forget_hashes_of(member)
  member.hashed = nil
  for _, of_turn in next, self.hashes do
    of_turn.others[member.id] = nil
    if of_turn.of[member.id] then
      of_turn.of[member.id], of_turn.count = nil, of_turn.count - 1
    end
  end
end


local function of_turn(self, turn)
  local found = self.hashes[turn]
  if not found then
    found = { of = {}, count = 0, others = {} }
    self.hashes[turn] = found
  end
  return found
end

-- Members that differ --------------------------------------------------------------------------------


-- Returns the slots of members, each once, because all spectators have the same slot.
local function slots_of(members)
  local slots, has = {}, {}
  for _, member in ipairs(members) do
    if not has[member.slot] then
      has[member.slot] = true
      slots[#slots + 1] = member.slot
    end
  end
  table.sort(slots)
  return slots
end


-- Notifies the differing members. If a player is among them, also notifies all other members.
local function notify(self, turn, odd)
  local slots = slots_of(odd)
  local has_player = slots[1] ~= wire.SPECTATOR
  for id, member in next, self.members do
    if has_player or member.is_odd then
      self.out.send(id, wire.DESYNC, wire.desync(self.room, turn, member.is_odd, slots))
    end
  end
end


-- Reports the differing members to all members and to the script.
local function report(self, turn, found, odd)
  self.desyncs = self.desyncs + 1
  local ids = {}
  for i, member in ipairs(odd) do
    self:_set_counts(member, false)
    member.is_odd, ids[i] = true, member.id
  end
  notify(self, turn, odd)
  local of_members = {}
  for id, hash in next, found.of do
    of_members[id] = hash
  end
  for id, hash in next, found.others do
    of_members[id] = hash
  end
  for _, member in ipairs(odd) do
    self:_forget_hashes_of(member) -- forgets its hashes of turns that have not been compared
  end
  self:_request_trees({
    turn = turn, odd = ids, hash = found.agreed, hashes = of_members, is_tie = found.is_tie or false,
  })
end


-- Compares a hash that arrives after the majority's hash is known.
local function compare(self, member, turn, hash, found)
  if hash ~= found.agreed and member.counts then
    report(self, turn, found, { member })
  elseif hash ~= found.agreed then
    self:_snapshot_was_wrong(member)
  elseif not member.counts then
    self:_set_counts(member, true)
    member.tries = nil
  end
end


-- Returns the most frequent hash, and whether another hash is equally frequent.
local function tally(found)
  local counts, best, most, is_tie = {}, nil, 0, false
  for _, hash in next, found.of do
    counts[hash] = (counts[hash] or 0) + 1
  end
  for hash, count in next, counts do
    if count > most or count == most and hash < best then
      best, is_tie = hash, count == most
      most = count
    elseif count == most then
      is_tie = true
    end
  end
  return best, is_tie
end


-- Returns the members whose hashes differ, but whose states counted as right before.
local function find_odd(self, found)
  local odd = {}
  for id, hash in next, found.of do
    odd[#odd + 1] = hash ~= found.agreed and self.members[id] or nil
  end
  for id, hash in next, found.others do
    local member = self.members[id]
    local differs = hash ~= found.agreed and not found.is_tie
    odd[#odd + 1] = differs and member and member.counts and member or nil
  end
  return odd
end


local function agree(self, turn, found)
  local best, is_tie = tally(found)
  if found.by_script or not is_tie then
    found.agreed = found.by_script or best
    self.out.agreed(turn, found.agreed)
  else
    found.is_tie = true
  end
  local odd = find_odd(self, found)
  if #odd > 0 then
    report(self, turn, found, odd)
  end
  for id, hash in next, found.is_tie and {} or found.others do
    local member = self.members[id]
    if member and not member.is_odd then
      compare(self, member, turn, hash, found)
    end
  end
end


local function check_complete(self, turn, found)
  local is_complete = found.count >= self.voting and found.count > 0
  local is_open = not found.agreed and not found.is_tie
  if is_open and is_complete and (found.by_script or not self.has_script_hashes) then
    agree(self, turn, found)
  end
end


local function take(self, member, turn, hash)
  local found = of_turn(self, turn)
  if member.is_odd or found.is_tie then
    -- The member differs, and counts again after it has got another state; or the turn has a tie, which is
    -- final.
    return
  elseif found.agreed then
    compare(self, member, turn, hash, found)
  elseif not votes(member) then
    found.others[member.id] = found.others[member.id] or hash
    local is_alone = self.voting == 0 and not self.has_script_hashes -- no other hash can differ
    if is_alone then
      found.agreed = hash
      compare(self, member, turn, hash, found)
    end
  elseif not found.of[member.id] then
    found.of[member.id], found.count = hash, found.count + 1
    check_complete(self, turn, found)
  end
end


--- Handles the hashes of a member: the hash of `turn`, and the hashes of the hashed turns before it.
---@param member perigee.LockstepMember
---@param turn integer
---@param list integer[]
function hashes:_take_hashes(member, turn, list)
  local every = self.hash_every
  if turn > self.closed or turn % every ~= 0 then
    return
  end
  self.has_hashes = true
  for i = #list, 1, -1 do
    local at = turn - (i - 1) * every
    if at >= self.oldest_hash and at > (member.hashed or 0) then
      take(self, member, at, list[i])
    end
  end
  member.hashed = math.max(member.hashed or 0, turn)
end


--- Handles the hash of the script's own simulation.
---@param turn integer
---@param hash integer
function hashes:script_hash(turn, hash)
  self.has_script_hashes = true
  if turn % self.hash_every == 0 and turn >= self.oldest_hash and turn <= self.closed then
    local found = of_turn(self, turn)
    found.by_script = hash
    check_complete(self, turn, found)
  end
end


-- Compares the hashes of turns that closed long ago, using the hashes that have arrived.
function hashes:_decide_hashes()
  local every = self.hash_every
  local turn = self.closed - self.closed % every
  local late = turn - math.min(math.ceil(PATIENCE / self:interval() / every), KEPT - 1) * every
  while self.decided_hash < late do
    self.decided_hash = self.decided_hash + every
    local found = self.hashes[self.decided_hash]
    local is_open = found and not found.agreed and not found.is_tie
    if is_open and (found.count > 0 or found.by_script) then
      agree(self, self.decided_hash, found)
    end
  end
  while self.oldest_hash <= turn - KEPT * every do
    self.hashes[self.oldest_hash] = nil
    self.oldest_hash = self.oldest_hash + 1
  end
end

-- Trees of hashes ---------------------------------------------------------------------------


local function is_tree(value)
  if type(value) ~= "table" then
    return type(value) == "number"
  end
  for name, inner in next, value do
    local is_name = type(name) == "string" and #name <= NAME_MAX and not name:find "%c" -- logs show names
    if not is_name or not is_tree(inner) then
      return false
    end
  end
  return true
end


local function names_of(a, b)
  local names = {}
  for name in next, a do
    names[#names + 1] = name
  end
  for name in next, b do
    names[#names + 1] = a[name] == nil and name or nil
  end
  table.sort(names)
  return names
end


-- Returns the path of names to the first difference; nil if the trees are equal or a tree is missing.
local function find_path(a, b)
  if type(a) ~= "table" or type(b) ~= "table" then
    return nil
  end
  for _, name in ipairs(names_of(a, b)) do
    if type(a[name]) == "table" and type(b[name]) == "table" then
      local inner = find_path(a[name], b[name])
      if inner then
        return name .. "." .. inner
      end
    elseif a[name] ~= b[name] then
      return name
    end
  end
end


-- Returns a member with the majority's hash.
local function find_right(self, desync)
  for id, hash in next, desync.hashes do
    if hash == desync.hash and self.members[id] and self.members[id].counts then
      return id
    end
  end
end


function hashes:_request_trees(desync)
  local right = find_right(self, desync) or desync.is_tie and desync.odd[2]
  if self.trees or not right then
    self.out.desync(desync)
    return
  end
  local targets, wanted = { right }, 1
  for i = 1, math.min(#desync.odd, TREES_MAX) do
    if desync.odd[i] ~= right then
      targets[#targets + 1], wanted = desync.odd[i], wanted + 1
    end
  end
  for _, id in ipairs(targets) do
    self.out.send(id, wire.TREE_ASK, wire.number(self.room, desync.turn))
  end
  self.trees = { desync = desync, right = right, wanted = wanted, by_id = {}, targets = targets }
end


local function finish_trees(self)
  local trees = self.trees
  self.trees = nil
  for _, id in ipairs(trees.targets) do
    local path = id ~= trees.right and find_path(trees.by_id[trees.right], trees.by_id[id])
    if path then
      trees.desync.path = path
      break
    end
  end
  self.out.desync(trees.desync)
end


--- Handles TREE.
---@param peer integer
---@param given { turn: integer, json: string }
function hashes:tree(peer, given)
  local trees = self.trees
  local is_target = false
  for _, id in ipairs(trees and trees.targets or {}) do
    is_target = is_target or id == peer
  end
  if not is_target or given.turn ~= trees.desync.turn or trees.by_id[peer] ~= nil then
    return
  end
  local tree = json.decode(given.json)
  trees.by_id[peer] = type(tree) == "table" and is_tree(tree) and tree or false
  trees.wanted = trees.wanted - 1
  if trees.wanted == 0 then
    finish_trees(self)
  end
end


--- Returns the time at which the wait for trees ends (0: not set yet); nil if no trees are expected.
---@return number?
function hashes:_trees_due()
  return self.trees and (self.trees.at or 0)
end


function hashes:_check_trees(now)
  local trees = self.trees
  if trees and not trees.at then
    trees.at = now + PATIENCE
  elseif trees and now >= trees.at then
    finish_trees(self)
  end
end

return hashes
