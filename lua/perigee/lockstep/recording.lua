--- Recordings of matches: what everybody did in each turn, and the hashes that were agreed on. A line of
--- JSON each: first what the match is, then
---
---   {"turn":12,"entries":[{"slot":0,"kind":"input","data":"48656c6c6f"}]}   data in hexadecimal
---   {"turn":13}                                                             nobody did anything
---   {"hash":4021987221,"turn":12}

local cjson = require "cjson"

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
---@param match perigee.client.Lockstep
---@return string
function recording.head(room, match)
  return cjson.encode {
    format = FORMAT, room = room, match = match.id, seed = match.seed, interval = match.interval,
  }
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
  return cjson.encode { turn = turn, entries = list }
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
  local self, number = { turns = {}, hashes = {} }, 0
  for text in lines do
    number = number + 1
    local ok, line = pcall(cjson.decode, text)
    local is_good = ok and type(line) == "table"
    if number == 1 then
      is_good = is_good and line.format == FORMAT
      self.head = line
    elseif is_good and line.hash then
      self.hashes[line.turn] = line.hash
    else
      is_good = is_good and line.turn ~= nil and read_turn(self, line)
    end
    if not is_good then return nil, ("line %d is none of a recording"):format(number) end
  end
  if number == 0 then return nil, "the file is empty" end
  return self
end


--- Plays a recording with a simulation: a table with start, step and hash, as room:lockstep takes.
---@param self table as recording.read has it
---@param simulation table
---@return integer compared
---@return { turn: integer, hash: integer, recorded: integer }? wrong the first hash that differs
function recording.play(self, simulation)
  local compared = 0
  if simulation.start then
    simulation.start { id = self.head.match, seed = self.head.seed, interval = self.head.interval }
  end
  for turn, entries in ipairs(self.turns) do
    simulation.step(turn, entries)
    local recorded = self.hashes[turn]
    if recorded then
      local hash = simulation.hash() % 2 ^ 32
      compared = compared + 1
      if hash ~= recorded then return compared, { turn = turn, hash = hash, recorded = recorded } end
    end
  end
  return compared
end


return recording
