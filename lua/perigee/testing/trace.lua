--- All input, output and log lines of a server, with virtual times. The same seed gives the same trace, byte
--- for byte. Passwords and tokens are masked.

local secrets = require "perigee.util.secrets"

---@class perigee.testing.Trace
local Trace = {}
Trace.__index = Trace

local trace = {}

local FIELDS = 4 -- fields of an entry: time, who, what, text
local HIDDEN_MIN = 4 -- bytes; a shorter text would be masked everywhere


---@return perigee.testing.Trace
function trace.new()
  return setmetatable({ _count = 0, _hidden = {} }, Trace)
end


--- Masks a text wherever it occurs.
---@param secret? string
function Trace:hide(secret)
  if secret and #secret >= HIDDEN_MIN then table.insert(self._hidden, secret) end
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


-- Returns the text of an entry without secrets. `before` is the text of the client's entry before it: the
-- line after /login is a password.
local function mask(self, text, before)
  if before and before:find "^/login " then return secrets.MASK .. "\n" end
  return secrets.mask(secrets.hide(text, self._hidden))
end


--- Returns the trace as text, one entry per line.
---@return string
function Trace:text()
  local out, inputs = {}, {}
  for i = 1, self._count, FIELDS do
    local at, who, what, text = self[i], self[i + 1], self[i + 2], self[i + 3]
    local before = what == "<" and inputs[who] or nil
    if what == "<" then inputs[who] = text end
    out[#out + 1] = ("%10.3f %s %s %s\n"):format(at / 1000, who, what, quote(mask(self, text, before)))
  end
  return table.concat(out)
end


return trace
