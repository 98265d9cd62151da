--- Attacks by UDP: requests, attachments, and datagrams that are forged, repeated or out of order.
local Attacker = require "tests.e2e.attack.attacker"
local packet = require "tests.e2e.packet"
local packets = require "tests.e2e.attack.packets"
local udp_client = require "tests.e2e.udp_client"
local UdpChannel = require "tests.e2e.udp_channel"
local udp_wire = require "tests.e2e.udp_wire"
local uv = require "luv"

local datagrams = {}

local ITEM = UdpChannel.ITEM
local MOST = 1400 -- most bytes of a datagram


-- Picks one of the ports at which the server receives datagrams.
local function any_port(a)
  local ports = a.perigee:udp_ports()
  ports[#ports + 1] = a.perigee.port
  return a.dice:pick(ports)
end


local function request(a)
  local extension = {
    version = 1, flags = a.dice:pick { 0, 0, 1, 2, 3, 4, 255 }, client_key = udp_wire.random(32),
    peer = a.dice:pick(a.known.peers), proof = a.dice:bytes(32),
    size = a.dice:pick { 0, 66, 102, 102, 102, 255 },
  }
  if a.dice:chance(30) then extension.cookie = udp_wire.random(32) end
  local o = { extension = extension, sequence = a.dice.roll(65536) - 1 }
  if a.dice:chance(10) then o.hash = a.dice:pick { packet.u64(1), a.target.hash } end
  if a.dice:chance(10) then o.version = a.dice:edge() % 2 ^ 32 end
  if a.dice:chance(10) then o.type = a.dice.roll(255) end
  local bytes = udp_wire.request(o)
  return a.dice:chance(30) and a.dice:spoil(bytes) or bytes
end


--- Sends requests and other datagrams from unknown addresses.
function datagrams.come_from_nowhere(a)
  local socket = uv.new_udp()
  assert(socket:bind(Attacker.ADDRESS, 0))
  for _ = 1, a.dice:number(1, 40) do
    local bytes = a.dice:chance(70) and request(a) or a.dice:bytes(200)
    socket:try_send(bytes:sub(1, MOST), "127.0.0.1", any_port(a))
    if a.dice:chance(20) then a:pause() end
  end
  socket:close()
end


local function item(a)
  local kind = a.dice:chance(95) and a.dice.roll(7) - 1 or a.dice.roll(255)
  local bytes = packet.u8(kind)
  if kind == ITEM.LATEST then
    bytes = bytes .. packet.u32(a.dice.roll(3)) .. packet.u16(a.dice.roll(65536) - 1)
  end
  if kind <= ITEM.LATEST then
    if a.dice:chance(20) then return bytes .. packets.any(a):sub(1, 800) end
    local payload = packet.u32(a.dice:pick(a.known.rooms)) .. a.dice:bytes(100)
    return bytes .. packet.encode { type = 4, payload = payload }
  end
  if kind == ITEM.STREAM then
    local piece = a.dice:bytes(200)
    return bytes .. packet.u32(a.dice:pick { 0, 1, 100, 8000, 262144, 2 ^ 31, 2 ^ 32 - 1 })
      .. packet.u16(a.dice:chance(90) and #piece or a.dice.roll(65535)) .. piece
  end
  if kind == ITEM.CLOSE then return bytes .. packet.u16(a.dice.roll(30)) end
  return bytes .. (kind == ITEM.PROBE and "" or a.dice:bytes(8))
end


-- Sends datagrams over an established connection, some of them encrypted correctly.
local function misuse(a, channel)
  for _ = 1, a.dice:number(1, 40) do
    local way = a.dice.roll(10)
    if channel.is_over then return end
    if way <= 5 then
      local items = {}
      for i = 1, a.dice.roll(3) do items[i] = item(a) end
      channel:send_items { (table.concat(items):sub(1, 1150)) }
    elseif way == 6 then -- a datagram that was sent before
      channel:send_raw(a.dice:pick(channel.sent))
    elseif way == 7 then
      channel:send_raw(a.dice:spoil(a.dice:pick(channel.sent)):sub(1, MOST))
    elseif way == 8 then -- a number far ahead, or behind
      channel.next = channel.next + a.dice:pick { 2, 64, 500, 1024, 32767, 32768, 60000 }
    elseif way == 9 then
      channel:bind(Attacker.ADDRESS) -- another port
    else
      channel.acknowledges = a.dice:chance(50)
    end
    if a.dice:chance(30) then a:pause(40) end
  end
end


--- Connects by UDP alone, and misuses the connection.
function datagrams.come_alone(a)
  local line = a:line "udp"
  if a.dice:chance(80) then
    line:write(packets.hello(a))
    a:await(line, "WELCOME")
  end
  misuse(a, line.udp)
  a:pause(100)
end


--- Attaches to its own session or to another one, with the right key or a wrong one, perhaps several times.
function datagrams.attach(a)
  local line = a:line(a.dice:pick { "tcp", "websocket" })
  line:write(packets.hello(a))
  local welcome = a:await(line, "WELCOME")
  if not welcome then return end
  line.welcome, line.id = welcome, welcome.peer
  line:control("JOIN", packet.str8 "hall")
  for _ = 1, a.dice:pick { 1, 1, 1, 3, 10 } do
    local o = { try = true, from = Attacker.ADDRESS, plain = a.dice:chance(20) }
    if a.dice:chance(15) then o.peer = a.dice:pick(a.known.peers) end
    if a.dice:chance(10) then o.key = udp_wire.random(32) end
    local before = line.udp
    if not udp_client.attach(line, o) then return end
    if before then before:close() end
    local take = line.udp.take
    line.udp.take = function(self, bytes) pcall(take, self, bytes) end
    if a.dice:chance(30) then line:reset() end -- the stream ends first
    misuse(a, line.udp)
    if line.tcp:is_closing() then return end
  end
  a:finish(line)
end


return datagrams
