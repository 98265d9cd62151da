--- Clients by UDP: alone, as `Client` over the UdpChannel, or attached to a client of another transport.
--- `by_udp` contains the decoded contents of separate datagrams, each with its `kind`.
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local Stream = require "tests.e2e.stream"
local UdpChannel = require "tests.e2e.udp_channel"
local wait = require "tests.e2e.wait"

local udp_client = {}

local channels = setmetatable({}, { __mode = "k" }) -- clients in use


local function listen(client, channel)
  channels[channel] = true
  client.udp, client.by_udp = channel, {}
  channel.on_packet = function(item)
    local event, from = packet.decode(item.bytes)
    assert(event and from == #item.bytes + 1, "not one packet")
    event.kind, event.key, event.order = item.kind, item.key, item.order
    client.by_udp[#client.by_udp + 1] = event
  end
  return client
end


--- Returns a client by UDP alone that has sent nothing yet.
---@param o? table as for `UdpChannel.open`, and `pong` as for `Client.connect`
function udp_client.raw(perigee, o)
  local channel, rejected = UdpChannel.open(perigee.port, o)
  if not channel then return nil, rejected end
  local client = Stream.adopt(Client, channel)
  client.pings, client.next_ref = {}, 1
  client.pong = not o or o.pong ~= false
  return listen(client, channel)
end


--- Returns a client by UDP alone that has sent HELLO.
function udp_client.alone(perigee, name, o)
  return udp_client.raw(perigee, o):hello { name = name or "ann" }
end


--- Attaches a client that has its WELCOME.
---@param o? table as for `UdpChannel.open`
---@return table? client
---@return table? rejected
function udp_client.attach(client, o)
  o = o or {}
  o.key, o.peer = o.key or client.welcome.udp_key, o.peer or client.id
  local channel, rejected = UdpChannel.open(client.welcome.udp_port, o)
  if not channel then return nil, rejected end
  return listen(client, channel)
end


--- Waits for a packet that comes by a datagram, and removes it.
function udp_client.expect(client, name, fields)
  return wait.for_true(function()
    for i, event in ipairs(client.by_udp) do
      local is_it = event.name == name
      for key, value in pairs(fields or {}) do is_it = is_it and event[key] == value end
      if is_it then return table.remove(client.by_udp, i) end
    end
    client:check_fault(2)
  end)
end


--- Broadcasts by a datagram.
function udp_client.broadcast(client, room, data, o)
  o = o or {}
  return client.udp:send_packet(packet.encode {
    type = packet.CLIENT.BROADCAST,
    payload = packet.u32(room) .. data,
    flags = o.flags,
    priority = o.priority,
  }, o.key, o.order)
end


--- Closes all channels; for after_each, when the servers have ended.
function udp_client.close_all()
  for channel in pairs(channels) do channel:close() end
  wait.until_closed()
end


return udp_client
