--- The client's half of lockstep (docs/protocol.md, section 17) without any I/O: packets come in
--- through `receive`, what is to be sent goes through `io`, and so do time and timers. The clients of
--- perigee.client and perigee.testing both use it; docs/lockstep.md is the guide.

local bit = require "bit"
local cjson = require "cjson"
local wire = require "perigee.lockstep.wire"

local HASHES = 4 -- told with each INPUT
local TREES = 64 -- that are kept
local LATE = 1.5 -- turn intervals without a turn, after which INPUT is sent again
local NEED_AFTER, NEED_AGAIN = 0.5, 0.5 -- turn intervals, seconds
local PAUSED_SECONDS = 1 -- between two INPUTs of a match that is paused
local ENTER_AGAIN = 1.5 -- seconds, after one that came too soon
local INTERVAL_MIN = 0.001 -- seconds between two INPUTs
-- What is kept of what a server sends: turns that wait for those before them, bytes of a state.
local AHEAD_MAX, SNAPSHOT_MAX = 256, 64 * 1024 * 1024

--- What a game does in lockstep. All but `step` may be left out.
---@class perigee.client.LockstepGame
---@field step fun(turn: integer, entries: perigee.LockstepEntry[]) simulates one turn
---@field start? fun(match: perigee.client.Lockstep) makes the state before turn 1, from `match.seed`
---@field hash? fun(): integer|table a number of 32 bits, or a tree of them
---@field snapshot? fun(): string the state as bytes
---@field restore? fun(bytes: string, match: perigee.client.Lockstep) the other way round
---@field input? fun(turn: integer): string? what the player does in a turn; else what `send` was given
---@field on_missed? fun(missed: table) turn, data: what `input` gave came too late for its turn
---@field on_desync? fun(report: table) turn, is_odd, slots
---@field on_waiting? fun(report: table) turn, slots
---@field on_pace? fun(match: perigee.client.Lockstep)
---@field on_end? fun(message: string?, code: string?) and why, where the server has not ended it
---@field watches? boolean true: takes no slot
---@field seat? string of an earlier match object: the same slot again

--- A match that this client takes part in.
---@class perigee.client.Lockstep
---@field id integer 0: it has not begun
---@field slot integer? nil: only watches
---@field seat string
---@field seed integer
---@field turn integer the newest that was simulated
---@field delay integer turns from an input to its turn
---@field speed number 0: paused
---@field interval number seconds from turn to turn at speed 1
---@field is_ready boolean whether there is a state
local Lockstep = {}
Lockstep.__index = Lockstep

local lockstep = {}


--- Functions that a match needs of its surroundings.
---@class perigee.client.LockstepIO
---@field room perigee.client.Room
---@field send fun(kind: integer, bytes: string, reliable: boolean)
---@field ask fun(kind: integer, bytes: string): integer? a question; by what is returned its ERROR is known
---@field patience number seconds until there has to be a START
---@field after fun(seconds: number, fn: fun()): fun() the function that is returned calls it off

---@param game perigee.client.LockstepGame
---@param io perigee.client.LockstepIO
---@return perigee.client.Lockstep
function lockstep.new(game, io)
  local self = setmetatable({
    id = 0, seat = game.seat or wire.NO_SEAT, seed = 0, turn = 0, delay = 0, speed = 0, interval = 1,
    is_ready = false, _is_over = false, _max_input = wire.INPUT_BYTES,
    _game = game, _io = io, _queue = {}, _timers = {},
  }, Lockstep)
  self:_forget()
  return self
end


function Lockstep:_forget()
  self._turns = {} -- that have come and wait for those before them
  self._inputs = {} -- by turn, of turns that have not come
  self._submitted = 0 -- the newest turn with an input
  self._hashes, self._hash_turn, self._trees = {}, 0, {}
  self._pieces = nil
end


-- One timer of each name.
function Lockstep:_set(name, seconds, fn)
  self:_stop(name)
  self._timers[name] = self._io.after(seconds, function()
    self._timers[name] = nil
    fn(self)
  end)
end


function Lockstep:_stop(name)
  if self._timers[name] then self._timers[name]() end
  self._timers[name] = nil
end


--- Takes part, or again after the session was lost.
function Lockstep:enter()
  if self._is_over then return end
  local game, has_state = self._game, self.is_ready and self.turn > 0
  -- A question only so that it is known which ERROR is its; START is no answer to it.
  self._asked = self._io.ask(wire.ENTER, wire.enter(self._io.room.id, {
    watches = game.watches, gives = game.snapshot ~= nil, seat = self.seat,
    match = has_state and self.id or 0, turn = has_state and self.turn or 0,
  }))
  self:_set("enter", self._io.patience, function()
    -- Once there was a START the server says how it goes on, however long the others take.
    if self.id == 0 then self:lose("the server has sent no state in time", "timeout") end
  end)
end


--- Whether a question with this ref is its ENTER.
---@param ref integer
---@return boolean
function Lockstep:is_asking(ref)
  return self._asked == ref and not self._is_over
end


--- The server has answered ENTER by an ERROR.
---@param message string
---@param code string
function Lockstep:refuse(message, code)
  self._asked = nil
  if code == "RateLimited" then return self:_set("enter", ENTER_AGAIN, self.enter) end
  self:lose(message, code)
end


--- It is over, and not because the server said so.
---@param message string
---@param code string
function Lockstep:lose(message, code)
  if self._is_over then return end
  self:exit()
  if self._game.on_end then self._game.on_end(message, code) end
end


--- Takes part no longer.
function Lockstep:exit()
  if self._is_over then return end
  if self._io.room.joined ~= false then self._io.send(wire.EXIT, wire.number(self._io.room.id), true) end
  self:close()
end


--- It is over: nothing happens any more.
function Lockstep:close()
  self.is_ready, self._is_over = false, true
  for _, name in ipairs { "enter", "late", "need" } do self:_stop(name) end
end


--- An input, which goes into the next turn that has none, and into another if it comes too late for that.
--- Several wait for as many turns.
---@param data string
function Lockstep:send(data)
  local problem = self:_find_problem(data)
  if problem then error(problem, 2) end
  table.insert(self._queue, data)
end


-- The server would close the connection. Returns what is wrong, or nil.
function Lockstep:_find_problem(data)
  if #data <= self._max_input then return nil end
  return ("an input of %d bytes; the kind's max_input is %d"):format(#data, self._max_input)
end

-- Inputs ------------------------------------------------------------------------------------

-- Makes the inputs up to a turn.
local function submit(self, last)
  if not self.slot then return end
  self._submitted = math.max(self._submitted, self.turn)
  while self._submitted < last do
    local turn, input = self._submitted + 1, self._game.input
    local data = input and input(turn) or not input and table.remove(self._queue, 1) or ""
    -- One that was sent in the match before may be too large for this one.
    local problem = self:_find_problem(data)
    if input and problem then return self:lose(problem, "PayloadTooLarge") end
    self._inputs[turn], self._submitted = problem and "" or data, turn
  end
end


-- With the inputs from a turn on.
local function send_input(self, first)
  local inputs = {}
  while #inputs < wire.INPUTS_MAX and self._inputs[first + #inputs] do
    inputs[#inputs + 1] = self._inputs[first + #inputs]
  end
  self._io.send(wire.INPUT, wire.input(self._io.room.id, self._start, self.turn, self._hash_turn,
    self._hashes, first, inputs), false)
end


-- Seconds from turn to turn as things are; between two INPUTs of a match that is paused.
local function pause(self, turns)
  if self.speed == 0 then return PAUSED_SECONDS end
  return math.max(INTERVAL_MIN, turns * self.interval / self.speed)
end


local function speak_again(self)
  if not self.is_ready or self._io.room.joined == false then return end
  if self.speed > 0 then submit(self, self.turn + self.delay + 1) end
  if self._is_over then return end
  send_input(self, self.turn + 1) -- where the server waits, it waits for these
  self:_set("late", pause(self, 1), speak_again)
end


local function speak(self)
  local first = self._submitted + 1
  submit(self, self.turn + self.delay)
  if self._is_over then return end
  -- New ones, and those before, which may be lost: the newest, where there are more than fit.
  first = math.max(self.turn + 1, math.min(first, self._submitted + 1 - wire.INPUTS_MAX))
  repeat
    send_input(self, first)
    first = first + wire.INPUTS_MAX
  until first > self._submitted
  self:_set("late", pause(self, LATE), speak_again)
end

-- State -------------------------------------------------------------------------------------

-- FNV-1a over the names and numbers of a tree, names in order.
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


--- The hash of a state: a number of 32 bits, or a tree of them.
---@param value integer|table
---@return integer
function lockstep.hash_of(value)
  return (type(value) == "table" and fold(value, bit.tobit(0x811c9dc5)) or value) % 0x100000000
end


local function note_hash(self)
  local hash = self._game.hash
  if not hash or self.turn == 0 or self.turn % self._every ~= 0 then return end
  local value = hash()
  if type(value) == "table" then
    self._trees[self.turn] = value
    self._trees[self.turn - TREES * self._every] = nil
  end
  local is_next = self._hash_turn == self.turn - self._every
  if not is_next then self._hashes = {} end
  table.insert(self._hashes, 1, lockstep.hash_of(value))
  self._hashes[HASHES + 1] = nil
  self._hash_turn = self.turn
end


local function need(self)
  if not self.is_ready or self._turns[self.turn + 1] or not next(self._turns) then return end
  self._io.send(wire.NEED, wire.number(self._io.room.id, self.turn + 1), true)
  self:_set("need", NEED_AGAIN, need)
end


-- Where the turn has not waited for the input, what was sent goes into another, unless one stood for it:
-- behind so many that came too late before it. Returns how many did.
local function check_missed(self, turn, given, entries, late)
  local own = {}
  for _, entry in ipairs(entries) do
    if entry.slot == self.slot then own[entry.kind] = true end
  end
  if own.input then return late end
  local game = self._game
  if game.input and game.on_missed then game.on_missed { turn = turn, data = given } end
  if game.input or own.repeated then return late end
  table.insert(self._queue, late + 1, given)
  return late + 1
end


-- Simulates what has come, as far as nothing is missing.
local function advance(self)
  local before, late = self.turn, 0
  while self.is_ready and self._turns[self.turn + 1] do
    local turn = self.turn + 1
    local entries, given = self._turns[turn], self._inputs[turn]
    self._turns[turn], self._inputs[turn] = nil, nil
    self._game.step(turn, entries)
    self.turn = turn
    note_hash(self)
    if given and given ~= "" then late = check_missed(self, turn, given, entries, late) end
  end
  if not self.is_ready then return end
  if next(self._turns) and not self._timers.need then
    self:_set("need", NEED_AFTER * self.interval, need)
  elseif not next(self._turns) then
    self:_stop "need"
  end
  if self.turn > before then speak(self) end
end


local function take_pace(self, pace)
  self.interval, self.speed, self.delay = pace.interval / 1e6, pace.speed, pace.delay
end

-- What arrives ------------------------------------------------------------------------------

local TAKE = {}


TAKE[wire.START] = function(self, data)
  local start = wire.read_start(data)
  if not start or start.hash_every == 0 then return end
  self:_stop "enter"
  local went_on = start.how == wire.GO_ON and start.match == self.id and self.turn or 0
  local inputs, submitted = self._inputs, self._submitted
  self:_forget()
  if went_on > 0 then self._inputs, self._submitted = inputs, submitted end
  self.id, self.seed, self._every = start.match, start.seed, start.hash_every
  self._start, self._max_input = start.start, start.max_input
  self.slot = start.slot ~= wire.SPECTATOR and start.slot or nil
  if self.slot then self.seat = start.seat end
  self.is_ready = start.how ~= wire.FROM_SNAPSHOT
  take_pace(self, start.pace)
  if start.how == wire.FROM_SNAPSHOT then return self:_stop "late" end
  self.turn = math.max(start.turn, went_on) -- turns may have come since ENTER
  if start.how == wire.FRESH and self._game.start then self._game.start(self) end
  speak(self)
end


TAKE[wire.TURNS] = function(self, data)
  local given = wire.read_turns(data)
  if not given or given.match ~= self.id or not self.is_ready then return end
  for i, entries in ipairs(given.turns) do
    local turn = given.first + i - 1
    local is_wanted = turn > self.turn and turn <= self.turn + AHEAD_MAX
    if is_wanted and not self._turns[turn] then self._turns[turn] = entries end
  end
  advance(self)
end


TAKE[wire.PACE] = function(self, data)
  local pace = wire.read_pace(data)
  if not pace then return end
  take_pace(self, pace)
  if self.is_ready then speak(self) end
  if self._game.on_pace then self._game.on_pace(self) end
end


TAKE[wire.SNAPSHOT_ASK] = function(self, data)
  local request, give = wire.read_number(data), self._game.snapshot
  if not request then return end
  local whole, offset = self.is_ready and give and give() or "", 0
  repeat
    self._io.send(wire.SNAPSHOT_UP, wire.piece(self._io.room.id, request, self.turn, whole, offset), true)
    offset = offset + wire.PIECE
  until offset >= #whole
end


TAKE[wire.SNAPSHOT] = function(self, data)
  local piece = wire.read_piece(data)
  if not piece or piece.tag ~= self.id or self.is_ready then return end
  if piece.offset == 0 then self._pieces, self._piece_end = {}, 0 end
  local fits = self._pieces and piece.offset == self._piece_end and piece.size <= SNAPSHOT_MAX
  if not fits then return end
  table.insert(self._pieces, piece.data)
  self._piece_end = piece.offset + #piece.data
  if self._piece_end < piece.size then return end
  self.turn, self.is_ready = piece.turn, true
  if self._game.restore then self._game.restore(table.concat(self._pieces), self) end
  self._pieces = nil
  note_hash(self)
  speak(self)
end


TAKE[wire.TREE_ASK] = function(self, data)
  local turn = wire.read_number(data)
  if not turn then return end
  local tree = self._trees[turn]
  local json = tree and cjson.encode(tree) or "{}"
  if #json > wire.TREE_BYTES then json = "{}" end
  self._io.send(wire.TREE, wire.tree(self._io.room.id, turn, json), true)
end


TAKE[wire.DESYNC] = function(self, data)
  local report = wire.read_desync(data)
  if report and self._game.on_desync then self._game.on_desync(report) end
end


TAKE[wire.WAITING] = function(self, data)
  local report = wire.read_waiting(data)
  if report and self._game.on_waiting then self._game.on_waiting(report) end
end


TAKE[wire.END] = function(self)
  self:close()
  if self._game.on_end then self._game.on_end() end
end


--- A packet on the channel of lockstep, for this room.
---@param kind integer
---@param data string
function Lockstep:receive(kind, data)
  local take = TAKE[kind]
  if take and not self._is_over then take(self, data) end
end


--- Goes on when the connection has been restored with its session.
function Lockstep:resume()
  if self.is_ready then speak_again(self) end
end

return lockstep
