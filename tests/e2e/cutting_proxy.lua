--- A TCP proxy that cuts each connection after a random number of bytes of both directions, anywhere in a
--- packet, by an orderly end or by a reset.

local uv = require "perigee.tools.uv" -- runs while a client waits

local cutting_proxy = {}
local Proxy = {}
Proxy.__index = Proxy


local function close(handle)
  if not handle:is_closing() then handle:close() end
end


local function cut(self, pair)
  if pair.is_cut then return end
  pair.is_cut = true
  self.open[pair] = nil
  for _, socket in ipairs { pair.client, pair.server } do
    if self.random(2) == 1 and not socket:is_closing() then
      socket:close_reset()
    else
      close(socket)
    end
  end
end


-- Passes on the bytes before the cut; then ends or resets the connection.
local function cut_after(self, pair, to, rest)
  self.cuts = self.cuts + 1
  pair.is_ending = true
  to:write(rest, function()
    if pair.is_cut then return end
    if self.random(2) == 1 then return cut(self, pair) end
    to:shutdown(function() cut(self, pair) end)
  end)
end


local function forward(self, pair, from, to)
  from:read_start(function(problem, data)
    if problem or not data then return cut(self, pair) end
    if pair.is_ending or to:is_closing() then return end
    local left = pair.left
    pair.left = left - #data
    if pair.left > 0 or self.cuts >= self.cuts_max then return to:write(data) end
    cut_after(self, pair, to, data:sub(1, math.max(left, 0)))
  end)
end


local function accept(self)
  local pair = { client = uv.new_tcp(), server = uv.new_tcp(), left = self.random(self.bytes_max) }
  self.listener:accept(pair.client)
  self.open[pair] = true
  self.connections = self.connections + 1
  pair.server:connect("127.0.0.1", self.target, function(problem)
    if problem then return cut(self, pair) end
    pair.client:nodelay(true)
    pair.server:nodelay(true)
    forward(self, pair, pair.client, pair.server)
    forward(self, pair, pair.server, pair.client)
  end)
end


--- Starts a proxy in front of a port. `random(n)` returns a number from 1 to n.
---@param target integer
---@param o table { random, cuts_max: number of connections to cut, bytes_max: most bytes before a cut }
function cutting_proxy.start(target, o)
  local self = setmetatable({
    target = target, random = o.random, cuts_max = o.cuts_max, bytes_max = o.bytes_max,
    cuts = 0, connections = 0, open = {}, listener = uv.new_tcp(),
  }, Proxy)
  assert(self.listener:bind("127.0.0.1", 0))
  assert(self.listener:listen(128, function() accept(self) end))
  self.port = self.listener:getsockname().port
  return self
end


--- Cuts all connections.
function Proxy:cut_all()
  for pair in pairs(self.open) do cut(self, pair) end
end


function Proxy:stop()
  close(self.listener)
  for pair in pairs(self.open) do
    pair.is_cut = true
    close(pair.client)
    close(pair.server)
  end
  uv.run("nowait")
end


return cutting_proxy
