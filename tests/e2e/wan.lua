--- Two hosts with a wide area network between them (tests/wan/emulator.c). A test can start programs on both.
local Process = require "tests.e2e.process"

local wan = {}

local Wan = {}
Wan.__index = Wan

--- Returns whether tests can have hosts of their own on this machine: they need root and /dev/net/tun.
---@return boolean
function wan.is_possible()
  local tun = io.open("/dev/net/tun", "r+")
  if tun then tun:close() end
  return tun ~= nil
end


--- Returns the path of a program of tests/wan.
---@param name string
---@return string
function wan.program(name)
  return (os.getenv "PERIGEE_WAN" or "build/dev/tests") .. "/wan_" .. name
end


--- Starts the network, which ends with the test.
---@param conditions table<string, number> what tests/wan/emulator.c takes: { loss = 10, delay = 50 }
---@return table wan { server, client: hosts }
function wan.start(conditions)
  local args = {}
  for name, value in pairs(conditions) do
    args[#args + 1] = "--" .. name
    args[#args + 1] = tostring(value)
  end
  local process = Process.spawn(wan.program "emulator", args, { stdin = true })
  local self = setmetatable({ process = process }, Wan)
  for _, name in ipairs { "server", "client" } do
    local address, namespace = process:wait_out("^" .. name .. " (%S+) (%S+)$")
    self[name] = { address = address, namespace = namespace }
  end
  return self
end


--- Starts a program on a host.
---@param host table `server` or `client` of it
---@param path string
---@param args string[]
---@param o? table as Process.spawn takes
---@return table process
function Wan.spawn(_, host, path, args, o)
  local all = { "--net=" .. host.namespace, path }
  for _, value in ipairs(args) do
    all[#all + 1] = value
  end
  return Process.spawn("/usr/bin/nsenter", all, o)
end


function Wan:stop()
  self.process.stdin:close()
  self.process:wait_exit()
end


return wan
