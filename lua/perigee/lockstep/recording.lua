--- Recordings of matches: the entries of each turn, and the hashes of the majority. Each line is JSON. The
--- first line is the head of the match. The other lines have these forms:
---
---   {"turn":12,"entries":[{"slot":0,"kind":"input","data":"48656c6c6f"}]}   data in hexadecimal
---   {"turn":13}                                                             a turn without entries
---   {"hash":4021987221,"turn":12}

local json = require("cjson.safe").new()
local wire = require "perigee.lockstep.wire"

local FORMAT = "perigee lockstep 1"
local INTERVAL_MAX = 60 -- longest interval between two turns, seconds

local KINDS = {}
for _, kind in next, wire.KINDS do KINDS[kind] = true end

local recording = { FORMAT = FORMAT }


local function to_hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end


local function from_hex(text)
  return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end


--- Returns the first line of a recording.
---@param room string
---@param match integer
---@param seed integer
---@param rate number turns a second
---@return string
function recording.head(room, match, seed, rate)
  return json.encode { format = FORMAT, room = room, match = match, seed = seed, interval = 1 / rate }
end


---@param turn integer
---@param entries perigee.LockstepEntry[]
---@return string
function recording.turn(turn, entries)
  if #entries == 0 then return ('{"turn":%d}'):format(turn) end
  local list = {}
  for i, entry in ipairs(entries) do
    list[i] = { slot = entry.slot, kind = entry.kind, id = entry.id, name = entry.name,
      data = entry.data ~= "" and to_hex(entry.data) or nil }
  end
  return json.encode { turn = turn, entries = list }
end


---@param turn integer
---@param hash integer
---@return string
function recording.hash(turn, hash)
  return ('{"turn":%d,"hash":%d}'):format(turn, hash)
end


-- Returns whether a value is a whole number below `limit`.
local function is_whole(value, limit)
  return type(value) == "number" and value >= 0 and value < limit and value % 1 == 0
end


local function is_head(line)
  return line.format == FORMAT and type(line.room) == "string" and is_whole(line.match, 2 ^ 32)
    and is_whole(line.seed, 2 ^ 32) and type(line.interval) == "number"
    and line.interval > 0 and line.interval <= INTERVAL_MAX
end


local function is_entry(entry)
  if type(entry) ~= "table" then return false end
  local is_player = entry.kind ~= "joined" or is_whole(entry.id, 2 ^ 32) and type(entry.name) == "string"
  local data = entry.data
  local is_data = data == nil
    or type(data) == "string" and #data % 2 == 0 and #data < 2 ^ 17 and not data:find "%X"
  return is_player and is_data and KINDS[entry.kind] ~= nil and is_whole(entry.slot, wire.SPECTATOR)
end


-- Reads a line after the first one; returns false if it is invalid.
local function read_line(self, line)
  if line.hash then
    if not is_whole(line.hash, 2 ^ 32) or not is_whole(line.turn, 2 ^ 32) then return false end
    self.hashes[line.turn] = line.hash
    return true
  end
  local entries = line.entries or {}
  if line.turn ~= #self.turns + 1 or type(entries) ~= "table" then return false end
  for _, entry in ipairs(entries) do
    if not is_entry(entry) then return false end
    entry.data = from_hex(entry.data or "")
  end
  self.turns[line.turn] = entries
  return true
end


--- Reads a recording. Returns `head`, `turns` (lists of entries) and `hashes` by turn; or nil and an error.
---@param lines fun(): string?
---@return { head: table, turns: table[], hashes: table<integer, integer> }?
---@return string? problem
function recording.read(lines)
  local self, number, cut = { turns = {}, hashes = {} }, 0, nil
  for text in lines do
    if cut then return nil, ("line %d is not part of a recording"):format(cut) end
    number = number + 1
    local line = json.decode(text)
    local ok, is_good = line ~= nil, type(line) == "table"
    if number == 1 then
      is_good = is_good and is_head(line)
      self.head = line
    elseif ok then
      is_good = is_good and read_line(self, line)
    else
      cut, is_good = number, true -- the last line of a killed server may be incomplete
    end
    if not is_good then return nil, ("line %d is not part of a recording"):format(number) end
  end
  if number == 0 then return nil, "the file is empty" end
  return self
end


return recording
