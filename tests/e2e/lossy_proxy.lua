--- A proxy for UDP that loses, doubles and delays datagrams in both directions. The server's ACCEPTED names
--- the port for all later datagrams. The proxy replaces that port by its own, and passes the client's
--- datagrams on to the server's port.

local uv = require "luv"

local lossy_proxy = {}
local Proxy = {}
Proxy.__index = Proxy


local function close(handle)
  if not handle:is_closing() then handle:close() end
end


-- Sends a datagram on, with the faults of this line.
local function pass(self, data, send)
  if self.random() < self.loss then return end
  local copies = self.random() < self.doubled and 2 or 1
  for _ = 1, copies do
    if self.random() < self.delayed then
      local timer = uv.new_timer()
      self.timers[timer] = true
      timer:start(math.floor(1 + self.random() * self.delay_ms), 0, function()
        self.timers[timer] = nil
        close(timer)
        if not self.is_over then send(data) end
      end)
    else
      send(data)
    end
  end
end


-- Replaces the port in ACCEPTED by that of the proxy.
local function adapt(self, upstream, data)
  if data:sub(1, 4) ~= "\0\0\0\1" then return data end
  upstream.port = data:byte(7) + 256 * data:byte(8)
  return data:sub(1, 6) .. string.char(self.port % 256, math.floor(self.port / 256)) .. data:sub(9)
end


-- Returns the socket that sends a client's datagrams to the server, and the server's port for them.
local function upstream_of(self, address)
  local key = address.ip .. ":" .. address.port
  local upstream = self.upstreams[key]
  if upstream then return upstream end
  upstream = { socket = uv.new_udp(), port = self.target }
  upstream.socket:bind("127.0.0.1", 0)
  self.upstreams[key] = upstream
  self.count = self.count + 1
  upstream.socket:recv_start(function(_, data)
    if not data then return end
    pass(self, adapt(self, upstream, data), function(what)
      if not self.socket:is_closing() then self.socket:try_send(what, address.ip, address.port) end
    end)
  end)
  return upstream
end


--- Starts a proxy in front of a port. `random()` returns a number from 0 to 1.
---@param target integer
---@param o table { random, loss, doubled, delayed: shares of 1; delay_ms: at most }
function lossy_proxy.start(target, o)
  local self = setmetatable({
    random = o.random, loss = o.loss, doubled = o.doubled, delayed = o.delayed, delay_ms = o.delay_ms,
    target = target, upstreams = {}, timers = {}, count = 0, socket = uv.new_udp(), is_over = false,
  }, Proxy)
  self.socket:bind("127.0.0.1", 0)
  self.port = self.socket:getsockname().port
  self.socket:recv_start(function(_, data, address)
    if not data or not address then return end
    local upstream = upstream_of(self, address)
    local port = data:sub(1, 3) == "\0\0\0" and target or upstream.port
    pass(self, data, function(what)
      if not upstream.socket:is_closing() then upstream.socket:try_send(what, "127.0.0.1", port) end
    end)
  end)
  return self
end


function Proxy:stop()
  self.is_over = true
  close(self.socket)
  for _, upstream in pairs(self.upstreams) do close(upstream.socket) end
  for timer in pairs(self.timers) do close(timer) end
  uv.run("nowait")
end


return lossy_proxy
