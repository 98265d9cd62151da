--- Everything that went in and out of a server, and what it logged, with the virtual time: the same
--- for the same seed, byte for byte.

---@class perigee.testing.Trace
local Trace = {}
Trace.__index = Trace

local trace = {}

local FIELDS = 4 -- of an entry: time, whose, what, text


---@return perigee.testing.Trace
function trace.new()
  return setmetatable({ _count = 0 }, Trace)
end


--- Adds an entry.
---@param at integer milliseconds
---@param who string the client's label, or "log"
---@param what string "<" for what the server read, ">" for what it wrote, or a word
---@param text string
function Trace:add(at, who, what, text)
  local count = self._count
  self[count + 1], self[count + 2], self[count + 3], self[count + 4] = at, who, what, text
  self._count = count + FIELDS
end


-- Bytes in which everything can be seen, on one line.
local function quote(text)
  return (text:gsub("[%c\128-\255\\]", function(char)
    return ("\\x%02x"):format(char:byte())
  end))
end


--- The trace as text, an entry a line.
---@return string
function Trace:text()
  local out = {}
  for i = 1, self._count, FIELDS do
    out[#out + 1] = ("%10.3f %s %s %s\n"):format(self[i] / 1000, self[i + 1], self[i + 2],
      quote(self[i + 3]))
  end
  return table.concat(out)
end


return trace
