--- A fake server for client_spec, in the same loop as the client. It answers HELLO with WELCOME, and
--- everything else as the test says.

local uv = require "perigee.tools.uv" -- runs while a client waits
local packet = require "tests.e2e.packet"

local fake_server = {}

local FakeServer = {}
FakeServer.__index = FakeServer

local started = {}


local u16, u32, str8, str16 = packet.u16, packet.u32, packet.str8, packet.str16

--- Names of control packets. The methods of these names answer them; `message` and `packet` answer others.
local NAMES = {
  "hello", "join", "leave", "broadcast", "ping", "pong", "ack", "open_channel", "close_channel",
  "list_rooms", "bye",
}


-- Returns the packet at the beginning of `data` and the rest; nil if the packet is incomplete.
local function read(data)
  if #data < packet.HEADER_SIZE then return nil, data end
  local c1, c2, n1, n2, _, flags, r1, r2, l1, l2, l3 = data:byte(1, packet.HEADER_SIZE)
  local stop = packet.HEADER_SIZE + l1 + 256 * l2 + 65536 * l3
  if #data < stop then return nil, data end
  return { channel = c1 + 256 * c2, number = n1 + 256 * n2, flags = flags, ref = r1 + 256 * r2,
    payload = data:sub(packet.HEADER_SIZE + 1, stop) }, data:sub(stop + 1)
end


local function take(connection, data)
  local got
  connection.unread = connection.unread .. data
  while true do
    got, connection.unread = read(connection.unread)
    if not got then return end
    local name = got.channel == 0 and NAMES[got.number] or "packet"
    if got.channel == 2 then name = "message" end
    table.insert(connection.got, name)
    local handler = connection[name]
    if handler then handler(connection, got) end
  end
end


--- Accepts a connection, which inherits from the server and has a peer of its own.
local function accept(server)
  local peer = uv.new_tcp()
  server._listener:accept(peer)
  server.peer = peer
  server.peers[#server.peers + 1] = peer
  local connection = setmetatable({ peer = peer, unread = "" }, { __index = server })
  if server.accepted then return connection:accepted() end
  peer:read_start(function(_, data)
    if data then return take(connection, data) end
    server.saw_end = true
    connection:drop()
  end)
end


--- Starts a server. `behaviour` adds or replaces methods that answer packets. `got` lists the received
--- packets.
function fake_server.start(behaviour)
  local self = setmetatable({ got = {}, peers = {} }, FakeServer)
  for name, fn in pairs(behaviour or {}) do self[name] = fn end
  self._listener = uv.new_tcp()
  assert(self._listener:bind("127.0.0.1", 0))
  assert(self._listener:listen(128, function() accept(self) end))
  self.address = "127.0.0.1:" .. self._listener:getsockname().port
  started[#started + 1] = self
  return self
end


--- Closes all servers.
function fake_server.stop_all()
  for _, server in ipairs(started) do
    for _, peer in ipairs(server.peers) do
      if not peer:is_closing() then peer:close() end
    end
    if not server._listener:is_closing() then server._listener:close() end
  end
  started = {}
  uv.run("nowait")
end


--- Sends a packet to the connection, or to the newest one. The default channel is the control channel.
function FakeServer:send(number, payload, fields)
  fields = fields or {}
  fields.type, fields.payload = number, payload
  self.peer:write(packet.encode(fields))
end


--- Answers a request.
function FakeServer:answer(request, number, payload)
  self:send(number, payload, { channel = request.channel, flags = 4, ref = request.ref })
end


--- Sends a message or, with a ref, a request.
function FakeServer:say(body, ref, room_id)
  self:send(0, u32(room_id or 0) .. body, { channel = 2, flags = ref and 2 or 0, ref = ref })
end


--- Sends WELCOME. Fields: id, token (the character that the resume token is made of), ping (ms), resumed,
--- received.
function FakeServer:welcome(fields)
  fields = fields or {}
  self:send(129, u16(1) .. u32(fields.id or 42) .. ("\171"):rep(16) .. (fields.token or "\0"):rep(16)
    .. packet.u64(1e6) .. u32(1000) .. u32(fields.ping or 13000) .. u16(20)
    .. (fields.resumed and "\1" or "\0") .. u32(fields.received or 0) .. u16(0) .. ("\0"):rep(32))
end


function FakeServer:joined(request, id, name, peers)
  local list = {}
  for _, peer in ipairs(peers or {}) do list[#list + 1] = u32(peer[1]) .. str8(peer[2]) end
  local payload = u32(id) .. str8(name) .. u32(42) .. u16(#list) .. table.concat(list)
  if request then return self:answer(request, 130, payload) end
  self:send(130, payload)
end


function FakeServer:error(request, code, message)
  local payload = u16(code) .. str16(message)
  if request then return self:send(135, payload, { flags = 4, ref = request.ref }) end
  self:send(135, payload)
end


function FakeServer:closing(code, message, retry)
  self:send(137, u16(code) .. str16(message) .. (retry and u16(retry) or ""))
end


function FakeServer:relay(room_id, sender, data)
  self:send(132, u32(room_id) .. u32(sender) .. data)
end


--- Ends the connection.
function FakeServer:drop()
  if not self.peer:is_closing() then self.peer:close() end
end


-- The answers to packets, which tests may replace.

function FakeServer:hello() self:welcome() end


function FakeServer:bye() self:drop() end


function FakeServer:join(request)
  self:joined(request, 7, request.payload:sub(2), { { 3, "bob" } })
end


function FakeServer:ping(request) self:send(6, request.payload) end


return fake_server
