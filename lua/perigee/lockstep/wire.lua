--- Writes and reads the packets of lockstep on the server's side: section 17 of docs/protocol.md. No function
--- here has a state. Readers return nil for malformed packets.

local byte, char, concat, floor, sub = string.byte, string.char, table.concat, math.floor, string.sub

local wire = {
  CHANNEL = 3,
  VERSION = 1,
  SPECTATOR = 255, -- slot of a spectator
  NO_SEAT = ("\0"):rep(16),
  INPUTS_MAX = 16, -- most inputs in one INPUT
  INPUT_BYTES = 4096, -- most bytes of one input under any settings
  HASHES_MAX = 8, -- most hashes in one INPUT
  AHEAD_MAX = 64, -- number of turns after the newest closed turn for which the server accepts inputs
  PIECE = 16384, -- most bytes of a snapshot in one packet
  TREE_BYTES = 16384, -- most bytes of a tree of hashes as JSON
  TREE_DEPTH = 16,
  REPEAT_BYTES = 1000, -- most bytes of turns in a TURNS with repeated turns, so that it fits into a datagram
  REPEATS = 4, -- most turns in a TURNS packet with repeated turns
  FILL_BYTES = 256 * 1024, -- most bytes of the answer to one NEED

  ENTER = 1, INPUT = 2, NEED = 3, SNAPSHOT_UP = 4, TREE = 5, EXIT = 6,
  START = 129, TURNS = 130, PACE = 131, SNAPSHOT_ASK = 132, SNAPSHOT = 133, TREE_ASK = 134,
  DESYNC = 135, WAITING = 136, END = 137,

  -- Kinds of entries of a turn.
  GIVEN = 0, MISSING = 1, REPEATED = 2, JOINED = 3, LEFT = 4,

  -- Ways in which a member begins after START.
  FRESH = 0, FROM_SNAPSHOT = 1, GO_ON = 2,
}

--- The names of the kinds of entries.
wire.KINDS = { [0] = "input", "missing", "repeated", "joined", "left" }


---@param value integer
---@return string
local function u16(value)
  return char(value % 256, floor(value / 256))
end


---@param value integer
---@return string
local function u32(value)
  return char(value % 256, floor(value / 0x100) % 256, floor(value / 0x10000) % 256,
    floor(value / 0x1000000) % 256)
end


local function read_u32(data, at)
  local a, b, c, d = byte(data, at, at + 3)
  if not d then return nil end
  return a + b * 0x100 + c * 0x10000 + d * 0x1000000
end


local function read_u16(data, at)
  local a, b = byte(data, at, at + 1)
  return b and a + b * 256
end

wire.u16, wire.u32, wire.read_u16, wire.read_u32 = u16, u32, read_u16, read_u32


-- Turns -------------------------------------------------------------------------------------

--- Returns one entry of a turn.
---@param slot integer
---@param kind integer
---@param data string
---@return string
function wire.entry(slot, kind, data)
  return char(slot, kind) .. u16(#data) .. data
end


--- Returns the bytes of an entry of kind JOINED.
---@param id integer id of the peer
---@param name string
---@return string
function wire.joined(id, name)
  return u32(id) .. name
end


--- Returns a turn that consists of these entries.
---@param entries string[]
---@return string
function wire.turn(entries)
  return char(#entries) .. concat(entries)
end


---@param room integer
---@param match integer
---@param first integer
---@param turns string[]
---@return string
function wire.turns(room, match, first, turns)
  return u32(room) .. u32(match) .. u32(first) .. char(#turns) .. concat(turns)
end


local function read_entry(data, at)
  local slot, kind, low, high = byte(data, at, at + 3)
  if not high then return nil end
  local size = low + high * 256
  local last = at + 3 + size
  if last > #data or kind > wire.LEFT then return nil end
  local entry = { slot = slot, kind = wire.KINDS[kind], data = sub(data, at + 4, last) }
  if kind == wire.JOINED then
    if size < 4 then return nil end
    entry.id, entry.name, entry.data = read_u32(data, at + 4), sub(data, at + 8, last), ""
  end
  return entry, last + 1
end


--- Returns the entries of the turn that begins at `at`, and the position of the next turn.
---@param data string
---@param at integer
---@return perigee.LockstepEntry[]? entries
---@return integer next
function wire.read_turn(data, at)
  local count = byte(data, at)
  if not count then return nil, at end
  local entries = {}
  at = at + 1
  for i = 1, count do
    local entry, after = read_entry(data, at)
    if not entry then return nil, at end
    entries[i], at = entry, after
  end
  return entries, at
end


-- From client to server -----------------------------------------------------------------------

---@param data string
---@return table? enter version, watches, gives, seat, match, turn
function wire.read_enter(data)
  if #data ~= 30 then return nil end
  local version, flags = byte(data, 5, 6)
  if flags > 3 then return nil end
  return {
    version = version, watches = flags % 2 == 1, gives = flags >= 2,
    seat = sub(data, 7, 22),
    match = read_u32(data, 23), turn = read_u32(data, 27),
  }
end


local function read_inputs(data, at, largest)
  local first, count = read_u32(data, at), byte(data, at + 4)
  if not count or count > wire.INPUTS_MAX then return nil end
  local inputs = {}
  at = at + 5
  for i = 1, count do
    local size = read_u16(data, at)
    if not size or size > largest or at + 1 + size > #data then return nil end
    inputs[i] = sub(data, at + 2, at + 1 + size)
    at = at + 2 + size
  end
  return first, inputs, at
end


---@param data string
---@param largest integer most bytes of one input
---@return table? given start, turn, hash_turn, hashes, first, inputs
function wire.read_input(data, largest)
  local turn, hash_turn, count = read_u32(data, 9), read_u32(data, 13), byte(data, 17)
  if not count or count > wire.HASHES_MAX then return nil end
  local hashes = {}
  for i = 1, count do
    hashes[i] = read_u32(data, 14 + 4 * i)
    if not hashes[i] then return nil end
  end
  local first, inputs, after = read_inputs(data, 18 + 4 * count, largest)
  if not first or after ~= #data + 1 then return nil end
  return {
    start = read_u32(data, 5), turn = turn, hash_turn = hash_turn, hashes = hashes, first = first,
    inputs = inputs,
  }
end


--- Writes NEED, EXIT, SNAPSHOT_ASK, TREE_ASK or END: the room and, except in EXIT, one number.
---@param room integer
---@param number integer?
---@return string
function wire.number(room, number)
  return number and u32(room) .. u32(number) or u32(room)
end


---@param data string
---@return integer?
function wire.read_number(data)
  if #data ~= 8 then return nil end
  return read_u32(data, 5)
end


--- Writes a piece of a snapshot. `tag` is the number of the request in packets to the server, and the id of
--- the match in packets to clients.
---@param room integer
---@param tag integer
---@param turn integer
---@param whole string
---@param offset integer
---@return string
function wire.piece(room, tag, turn, whole, offset)
  return u32(room) .. u32(tag) .. u32(turn) .. u32(#whole) .. u32(offset)
    .. sub(whole, offset + 1, offset + wire.PIECE)
end


---@param data string
---@return { tag: integer, turn: integer, size: integer, offset: integer, data: string }?
function wire.read_piece(data)
  local offset = read_u32(data, 17)
  if not offset then return nil end
  local piece = {
    tag = read_u32(data, 5), turn = read_u32(data, 9), size = read_u32(data, 13), offset = offset,
    data = sub(data, 21),
  }
  local fits = #piece.data <= wire.PIECE and offset + #piece.data <= piece.size
  return fits and piece or nil
end


---@param data string
---@return { turn: integer, json: string }?
function wire.read_tree(data)
  if #data < 8 or #data > 8 + wire.TREE_BYTES then return nil end
  return { turn = read_u32(data, 5), json = sub(data, 9) }
end


-- From server to client -----------------------------------------------------------------------

--- The speed of a match.
---@class perigee.LockstepPace
---@field interval integer microseconds between two turns at speed 1
---@field speed number 0: paused
---@field delay integer turns from an input to its turn

local function pace(values)
  return u32(values.interval) .. u16(floor(values.speed * 100 + 0.5)) .. char(values.delay)
end


---@param room integer
---@param values perigee.LockstepPace
---@return string
function wire.pace(room, values)
  return u32(room) .. pace(values)
end


---@param room integer
---@param start table start, match, slot, seat, seed, how, turn, hash_every, max_input, pace
---@return string
function wire.start(room, start)
  return u32(room) .. u32(start.start) .. u32(start.match) .. char(start.slot) .. start.seat
    .. u32(start.seed) .. char(start.how) .. u32(start.turn) .. char(start.hash_every) .. u16(start.max_input)
    .. pace(start.pace)
end


local function slots_text(slots)
  return char(#slots, unpack(slots))
end


---@param room integer
---@param turn integer
---@param is_odd boolean
---@param slots integer[]
---@return string
function wire.desync(room, turn, is_odd, slots)
  return u32(room) .. u32(turn) .. char(is_odd and 1 or 0) .. slots_text(slots)
end


---@param room integer
---@param turn integer
---@param slots integer[]
---@return string
function wire.waiting(room, turn, slots)
  return u32(room) .. u32(turn) .. slots_text(slots)
end


return wire
