--- perigee.protocol: values that a game adds to its protocol hash, besides its messages. The server refuses
--- clients that were made for other values.

local core = require "perigee.core"
local fault = require "perigee.util.fault"
local live = require "perigee.host.live"
local messages = require "perigee.host.messages"
local schema = require "perigee.schema"

local declared -- JSON texts by name, of the version that is being loaded

local protocol = {}


--- Begins the declarations of a version.
function protocol.begin()
  declared = {}
end


--- Adds a value to the protocol hash.
---@param name string
---@param value any
function protocol.declare(name, value)
  fault.check("the name of a protocol", name, "string")
  if not core.is_name(name) then
    fault.raise("the name of a protocol is %s", core.name_rule)
  elseif not live.loading then
    fault.raise "a protocol is declared while the game is loaded: at the top level, not in a handler"
  elseif declared[name] then
    fault.raise("the protocol %s is declared twice", name)
  end
  declared[name] = messages.sorted_json("the protocol " .. name, value)
end


--- Ends the declarations of a version, after its configuration. Sets the version's protocol: its schema,
--- whose hash then includes the declarations and the setting `protocol`.
---@param version perigee.Version
function protocol.finish(version)
  local text = core.config_protocol()
  if text ~= "" then
    declared[""] = messages.sorted_json("config.protocol", text)
  end
  version.declared = declared
  version.protocol = schema.declare(version.schema, declared)
end

return protocol
