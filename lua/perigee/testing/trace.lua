--- All input, output and log lines of a server, with virtual times. The same seed gives the same trace, byte
--- for byte.

---@class perigee.testing.Trace
local Trace = {}
Trace.__index = Trace

local trace = {}

local FIELDS = 4 -- fields of an entry: time, who, what, text


---@return perigee.testing.Trace
function trace.new()
  return setmetatable({ _count = 0 }, Trace)
end


--- Adds an entry.
---@param at integer milliseconds
---@param who string the client's label, or "log"
---@param what string "<" for input of the server, ">" for output, or a word
---@param text string
function Trace:add(at, who, what, text)
  local count = self._count
  self[count + 1], self[count + 2], self[count + 3], self[count + 4] = at, who, what, text
  self._count = count + FIELDS
end


-- Returns bytes on one line, with all special characters escaped.
local function quote(text)
  return (text:gsub("[%c\128-\255\\]", function(char)
    return ("\\x%02x"):format(char:byte())
  end))
end


--- Returns the trace as text, one entry per line.
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
