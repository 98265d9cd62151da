--- Checks and completes the options of a new client: its name, token and address, and its network.

local failure = require "perigee.testing.failure"
local link = require "perigee.testing.link"

local OPTIONS = {
  name = "string", token = "string", sign_in = "table", sign_up = "table",
  text = "boolean", address = "string", schema = "boolean",
}
for _, key in ipairs(link.KEYS) do OPTIONS[key] = "number" end

-- Largest values in seconds, if timing varies, for clients without their own conditions.
local FUZZ_LATENCY, FUZZ_JITTER = 0.08, 0.04

local client_options = {}


-- Removes the network conditions from the options and returns them.
local function take_network(server, options)
  local network, has_own = {}, false
  for key, value in pairs(server._network) do network[key], has_own = value, true end
  for _, key in ipairs(link.KEYS) do
    if options[key] ~= nil then network[key], has_own = options[key], true end
    options[key] = nil
  end
  if server._fuzz and not has_own then
    local numbers = server:_new_random()
    if numbers:pick(4) > 1 then -- one client in four gets no latency and acts at once
      network.latency = numbers:fraction() * FUZZ_LATENCY
      network.jitter = numbers:fraction() * FUZZ_JITTER
    end
  end
  link.check(network)
  return network
end


--- Returns the options of a client: name, token, text, address, schema, and network. The option `network`
--- contains the network conditions.
---@param server perigee.testing.Server
---@param options? string|table a name, or a table of options
---@return table
function client_options.complete(server, options)
  if type(options) == "string" then options = { name = options } end
  failure.check("a client", options or {}, "table")
  local complete = {}
  for key, value in pairs(options or {}) do complete[key] = value end
  local network = take_network(server, complete)
  failure.check_options("a client", complete, OPTIONS)
  complete.network = network
  if not complete.name and not complete.text then complete.name = "guest" end
  return complete
end


return client_options
