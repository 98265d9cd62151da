--- Recordings of matches: what everybody did in each turn, and the hashes that were agreed on. A line of
--- JSON each: first what the match is, then
---
---   {"turn":12,"entries":[{"slot":0,"kind":"input","data":"48656c6c6f"}]}   data in hexadecimal
---   {"turn":13}                                                             nobody did anything
---   {"hash":4021987221,"turn":12}

local json = require("cjson.safe").new()

local FORMAT = "perigee lockstep 1"

local recording = { FORMAT = FORMAT }


local function to_hex(bytes)
  return (bytes:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
end


local function from_hex(text)
  return (text:gsub("%x%x", function(digits) return string.char(tonumber(digits, 16)) end))
end


--- The first line.
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


local function read_turn(self, line)
  if line.turn ~= #self.turns + 1 then return false end
  local entries = line.entries or {}
  for _, entry in ipairs(entries) do entry.data = from_hex(entry.data or "") end
  self.turns[line.turn] = entries
  return true
end


--- What is in a recording: `head`, `turns` (lists of entries) and `hashes` by turn; nil and what is wrong.
---@param lines fun(): string?
---@return { head: table, turns: table[], hashes: table<integer, integer> }?
---@return string? problem
function recording.read(lines)
  local self, number, cut = { turns = {}, hashes = {} }, 0, nil
  for text in lines do
    if cut then return nil, ("line %d is none of a recording"):format(cut) end
    number = number + 1
    local line = json.decode(text)
    local ok, is_good = line ~= nil, type(line) == "table"
    if number == 1 then
      is_good = is_good and line.format == FORMAT
      self.head = line
    elseif is_good and line.hash then
      self.hashes[line.turn] = line.hash
    elseif ok then
      is_good = is_good and line.turn ~= nil and read_turn(self, line)
    else
      cut, is_good = number, true -- the last line of a server that was killed may be half of one
    end
    if not is_good then return nil, ("line %d is none of a recording"):format(number) end
  end
  if number == 0 then return nil, "the file is empty" end
  return self
end


return recording
