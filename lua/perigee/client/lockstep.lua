--- Lockstep (docs/lockstep.md) for a client. The engine is in libperigee (clients/c/lockstep.c). This file
--- passes its events to the functions of a game.

local _, bit = pcall(require, "bit") -- LuaJIT has `bit`; only trees of hashes need it
local describe = require "perigee.util.describe"
local json = require "perigee.client.json"

local WATCHES, GIVES_SNAPSHOTS, GIVES_INPUTS = 1, 2, 4 -- PerigeeLockstepFlags
local TREES = 64 -- number of newest trees that a match keeps
local TREE_BYTES = 16 * 1024 -- largest size of a tree as JSON
local NO_SEAT = ("\0"):rep(16)

--- The functions of a game for lockstep. Only `step` is required.
---@class perigee.client.LockstepGame
---@field step fun(turn: integer, entries: perigee.LockstepEntry[]) simulates one turn
---@field start? fun(match: perigee.client.Lockstep) creates the state before turn 1 from `match.seed`
---@field hash? fun(): integer|table returns a number of 32 bits, or a tree of such numbers
---@field snapshot? fun(): string returns the state as bytes
---@field restore? fun(bytes: string, match: perigee.client.Lockstep) restores the result of `snapshot`
---@field on_continue? fun(match: perigee.client.Lockstep) a new session goes on with the present state
---@field input? fun(turn: integer): string? returns the input for a turn; a game without it calls `send`
---@field on_missed? fun(missed: table) reports { turn, data } of an input that came too late for its turn
---@field on_desync? fun(report: table) reports { turn, is_odd, slots }: hashes of a turn differ
---@field on_waiting? fun(report: table) reports { turn, slots }: the match waits for slots
---@field on_pace? fun(match: perigee.client.Lockstep)
---@field on_end? fun(message: string?, code: string?) nil if the server has ended the match
---@field watches? boolean true: the client only watches and has no slot
---@field seat? string `seat` of an earlier match object, to get the same slot again

--- A match in which this client takes part.
---@class perigee.client.Lockstep
---@field id integer number of the match; 0 before the match begins
---@field slot integer? slot of this client; nil if it only watches
---@field seat string
---@field seed integer
---@field turn integer newest simulated turn
---@field delay integer number of turns between sending an input and its turn
---@field speed number factor of the pace; 0 while the match is paused
---@field interval number seconds between two turns at speed 1
---@field is_ready boolean whether the state of the match exists
local Lockstep = {}
Lockstep.__index = Lockstep

local lockstep = {}


--- Takes part in the match of a room.
---@param client table a client of perigee.client or perigee.testing
---@param room perigee.client.Room
---@param game perigee.client.LockstepGame
---@return perigee.client.Lockstep
function lockstep.open(client, room, game)
  local seat = game.seat or NO_SEAT
  local self = setmetatable({
    id = 0, seat = seat, seed = 0, turn = 0, delay = 0, speed = 0, interval = 1, is_ready = false,
    _client = client, _room = room, _game = game, _trees = {},
  }, Lockstep)
  room._match = self
  self:enter()
  return self
end


function Lockstep:_call(name, ...)
  return self._client:_call("lockstep_" .. name, self._room.id, ...)
end


--- Takes part in the match, or requests the state again.
function Lockstep:enter()
  local game = self._game
  local flags = (game.watches and WATCHES or 0) + (game.snapshot and GIVES_SNAPSHOTS or 0)
    + (game.input and GIVES_INPUTS or 0)
  self:_call("enter", flags, self.seat)
end


-- Detaches the match object from its room; its methods do nothing from now on.
function Lockstep:_close()
  self.is_ready = false
  if self._room._match == self then self._room._match = nil end
end


--- Leaves the match.
function Lockstep:exit()
  if self._room._match ~= self then return end
  self:_call "exit"
  self:_close()
end


-- Detaches the match object and reports the end of the match to the game.
function Lockstep:_lose(message, code)
  self:_close()
  if self._game.on_end then self._game.on_end(message, code) end
end


--- Sends an input for the next turn that has none. If the input arrives too late for that turn, a later turn
--- gets it. Each input uses one turn.
---@param data string
function Lockstep:send(data)
  if self.id ~= 0 and #data > self._max_input then
    error(("%san input of %d bytes; the kind's max_input is %d"):format(describe.where(), #data,
      self._max_input), 0)
  end
  if self._room._match == self then self:_call("input", data) end
end

-- State -------------------------------------------------------------------------------------

-- Computes FNV-1a over the names and numbers of a tree, in the order of the names.
local function fold(tree, hash)
  if type(tree) == "number" then
    for shift = 0, 24, 8 do
      hash = bit.bxor(hash, bit.band(bit.rshift(bit.tobit(tree), shift), 0xff))
      hash = bit.tobit(bit.tobit(hash * 0x193) + bit.lshift(hash, 24)) -- times 0x01000193
    end
    return hash
  end
  local names = {}
  for name in pairs(tree) do names[#names + 1] = tostring(name) end
  table.sort(names)
  for _, name in ipairs(names) do
    for i = 1, #name do
      hash = bit.bxor(hash, name:byte(i))
      hash = bit.tobit(bit.tobit(hash * 0x193) + bit.lshift(hash, 24))
    end
    hash = fold(tree[name] == nil and tree[tonumber(name)] or tree[name], hash)
  end
  return hash
end


--- Returns the hash of a state, which is a number of 32 bits or a tree of such numbers.
---@param value integer|table
---@return integer
function lockstep.hash_of(value)
  return (type(value) == "table" and fold(value, bit.tobit(0x811c9dc5)) or value) % 0x100000000
end


-- Returns the hash of the state after a turn. Returns 0 if the server does not compare the hashes of that
-- turn.
local function hash_at(self, turn)
  local hash = self._game.hash
  if not hash or turn % self._hash_interval ~= 0 then return 0 end
  local value = hash()
  if type(value) == "table" then
    self._trees[turn] = value
    self._trees[turn - TREES * self._hash_interval] = nil
  end
  return lockstep.hash_of(value)
end


-- Reports that the game has simulated a turn, with the hash of its state, unless the game has left the match
-- meanwhile.
local function done(self, turn)
  if self.is_ready then self:_call("done", turn, hash_at(self, turn)) end
end


local function learn(self)
  local facts = self:_call "match"
  if not facts then return end
  self.id, self.seed, self.seat, self.slot = facts.id, facts.seed, facts.seat, facts.slot
  self.delay, self.speed, self.interval = facts.delay, facts.speed, facts.interval
  self._max_input, self._hash_interval = facts.max_input, facts.hash_interval
end

-- Events ------------------------------------------------------------------------------------

local TAKE = {}


function TAKE.match(self, event)
  local game = self._game
  learn(self)
  self.turn, self.is_ready = event.turn, true
  if event.how ~= "goes_on" then self._trees = {} end
  if event.how == "fresh" and game.start then game.start(self) end
  if event.how == "goes_on" and game.on_continue then game.on_continue(self) end
  if event.how ~= "snapshot" then return end
  if game.restore then game.restore(event.data, self) end
  done(self, event.turn)
end


function TAKE.turn(self, event)
  self._game.step(event.turn, event.entries)
  self.turn = event.turn
  done(self, event.turn)
end


function TAKE.pace(self)
  learn(self)
  if self._game.on_pace then self._game.on_pace(self) end
end


function TAKE.input_wanted(self)
  local facts = self:_call "match"
  for turn = facts and facts.next_input or 1, facts and facts.last_input or 0 do
    local data = self._game.input(turn) or ""
    if #data > self._max_input then
      self:exit()
      return self:_lose(("an input of %d bytes; the kind's max_input is %d"):format(#data, self._max_input),
        "PayloadTooLarge")
    end
    self:_call("input", data)
  end
end


function TAKE.input_missed(self, event)
  if self._game.on_missed then self._game.on_missed { turn = event.turn, data = event.data } end
end


function TAKE.snapshot_wanted(self, event)
  local give = self._game.snapshot
  self:_call("snapshot", event.number, self.is_ready and give and give() or "")
end


function TAKE.tree_wanted(self, event)
  local tree = self._trees[event.number]
  local text = tree and json.encode(tree) or "{}"
  self:_call("tree", event.number, #text <= TREE_BYTES and text or "{}")
end


function TAKE.desync(self, event)
  local report = { turn = event.turn, is_odd = event.is_odd, slots = event.slots }
  if self._game.on_desync then self._game.on_desync(report) end
end


function TAKE.waiting(self, event)
  if self._game.on_waiting then self._game.on_waiting { turn = event.turn, slots = event.slots } end
end


function TAKE.match_ended(self, event)
  if event.message == "" then return self:_lose() end
  self:_lose(event.message, event.code)
end


--- Handles an event of libperigee about the match of a room. Returns true, so that the program does not get
--- the event.
---@param event table
---@return boolean
function lockstep.take(_, event)
  local self = event.room and event.room._match
  if self then TAKE[event.type](self, event) end
  return true
end

return lockstep
