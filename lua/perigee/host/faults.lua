--- Faults: errors by which a handler answers its request with a code and a value of the game (perigee.fault).
--- C recognizes them by their metatable. The value becomes JSON when the fault is made. Therefore an
--- unsuitable value is an error in the line that makes the fault, and each raised fault can be sent.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local messages = require "perigee.host.messages"

local faults = {}

---@class perigee.FaultEntry
---@field code string
---@field value any
---@field json string
---@field place string "file:line: " of the call of perigee.fault, or ""

local held = setmetatable({}, { __mode = "k" }) ---@type table<perigee.Fault, perigee.FaultEntry>
local FIELDS = { "code", "value" }

local class = { __metatable = "fault" }

function class.__index(self, key)
  if key == "code" or key == "value" then
    return held[self][key]
  end
  fault.raise("a fault has no %s%s", tostring(key), fault.hint_or_names(key, FIELDS))
end

function class.__newindex()
  fault.raise "a fault's fields cannot be set"
end

function class.__tostring(self)
  return faults.text(held[self])
end

--- The metatable of faults.
faults.class = class


---@param code string
---@param value any
---@return perigee.Fault
function faults.new(code, value)
  fault.check("a fault's code", code, "string")
  if not core.is_name(code) then
    fault.raise("a fault's code is %s", core.name_rule)
  end
  local json = messages.json_of("fault " .. code, value)
  local size, most = 1 + #code + #json, core.limits().max_payload
  if size > most then
    fault.raise("fault %s: with its value it has %d bytes, and max_payload is %d", code, size, most)
  end
  local object = setmetatable({}, class)
  held[object] = { code = code, value = value, json = json, place = fault.where() }
  return object
end


--- Returns the content of a fault; nil if the error value is not a fault.
---@param problem any
---@return perigee.FaultEntry?
function faults.of(problem)
  return type(problem) == "table" and held[problem] or nil
end


--- Returns a fault in the form for text peers, such as "Cheater: {...}".
---@param entry perigee.FaultEntry
---@return string
function faults.text(entry)
  return entry.json == "null" and entry.code or entry.code .. ": " .. entry.json
end

return faults
