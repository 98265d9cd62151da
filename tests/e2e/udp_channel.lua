--- The client's side of one connection by UDP, written from docs/protocol.md (section 16) alone. Alone, it
--- has the methods of a luv stream that tests/e2e/stream.lua uses, so every kind of client can use it. It is
--- simple: it does not limit its rate, and sends again what is not acknowledged soon.
local bit = require "bit"
local packet = require "tests.e2e.packet"
local udp_wire = require "tests.e2e.udp_wire"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local UdpChannel = {}
UdpChannel.__index = UdpChannel

local TICK_MS = 20
local AGAIN_MS = 200 -- an acknowledgement comes within 25 ms
local FIRST_REPEAT_MS = 250 -- pause before the first repetition of a request
local PIECE = 1000 -- bytes of the stream in a datagram

local ITEM = { PACKET = 0, LATEST = 1, STREAM = 2, CHALLENGE = 3, RESPONSE = 4, PROBE = 5, CLOSE = 6 }
UdpChannel.ITEM = ITEM

local number = udp_wire.number


--- Repeats a request until another answer than CHALLENGE comes, and returns that answer.
function UdpChannel:shake_hands(o)
  local extension = { client_key = self.client_key, flags = self.flags, peer = o.peer, size = 102 }
  self.sequence = o.sequence or number(udp_wire.random(2), 1, 2)
  local function request()
    extension.cookie = self.cookie
    if o.key then
      extension.proof = udp_wire.proof(o.key, self.cookie or udp_wire.ZEROS, self.client_key)
    end
    self:send_raw(udp_wire.request { hash = o.hash, sequence = self.sequence, extension = extension })
  end
  local answer
  local pause, due = FIRST_REPEAT_MS, 0
  wait.until_true(function()
    if uv.now() >= due then
      request()
      due, pause = uv.now() + pause, 2 * pause
    end
    local bytes = table.remove(self.answers, 1)
    if not bytes then return false end
    answer = udp_wire.read_answer(bytes)
    if answer.name ~= "CHALLENGE" then return true end
    if not self.cookie then
      self.cookie = answer.cookie
      request()
    end
    return false
  end)
  return assert(answer, "no answer to a request by UDP")
end


local function new(port, o)
  local self = setmetatable({
    socket = uv.new_udp(),
    host = o.host or "127.0.0.1",
    port = port,
    flags = (o.key and udp_wire.ATTACH or 0) + (o.plain and udp_wire.PLAIN or 0),
    is_plain = o.plain,
    answers = {}, -- datagrams of the connection protocol
    sent = {}, -- all datagrams, and
    came = {}, -- those that came
    packets = {}, -- PACKET and LATEST that no test has taken: { bytes, kind, key, order }
    unacknowledged = {}, -- items by the number of their datagram
    received = {}, -- numbers
    strange = {}, -- datagrams from another address than the server's
    stream = {}, -- received pieces, by offset
    stream_in = 0,
    stream_out = 0,
    is_reading = true,
    acknowledges = true,
  }, UdpChannel)
  self:bind(o.from)
  return self
end


--- Listens at a port of its own; a second call continues from another address.
function UdpChannel:bind(from)
  local socket = uv.new_udp()
  assert(socket:bind(from or (self.host:find ":" and "::1" or "127.0.0.1"), 0))
  socket:recv_start(function(_, bytes, address)
    if not bytes or #bytes == 0 then return end
    if address.ip == self.host then
      self:take(bytes)
    else
      self.strange[#self.strange + 1] = bytes
    end
  end)
  if not self.socket:is_closing() then self.socket:close() end
  self.socket = socket
end


--- Connects: alone, or with `key` and `peer` of WELCOME attached.
---@param port integer
---@param o? table { host, key, peer, from, plain, hash, sequence, client_key; try = true: REJECTED is
--- returned }
---@return table? channel
---@return table? rejected
function UdpChannel.open(port, o)
  o = o or {}
  local self = new(port, o)
  local secret
  if o.key then
    self.client_key = o.client_key or udp_wire.random(32)
  else
    secret, self.client_key = udp_wire.key_pair()
  end
  local answer = self:shake_hands(o)
  self.answer = answer
  if answer.name == "REJECTED" then
    self.socket:close()
    if o.try then return nil, answer end
    error(("rejected by UDP: %s %s"):format(answer.code, answer.text), 0)
  end
  assert(o.key or answer.server_key, "no key in the answer to one who comes alone")
  if not o.key then secret = udp_wire.shared(secret, answer.server_key) end
  self.keys = udp_wire.keys(o.key or secret, self.cookie, self.client_key, answer.server_key)
  self.port = answer.port
  self.next = self.sequence
  self.newest = answer.sequence - 1
  self.timer = uv.new_timer()
  self.timer:start(TICK_MS, TICK_MS, function() self:tick() end)
  return self
end


-- --- Out ---

--- Sends bytes unchanged.
function UdpChannel:send_raw(bytes)
  self.sent[#self.sent + 1] = bytes
  assert(self.socket:try_send(bytes, self.host, self.port))
end


function UdpChannel:head_and_acks(count)
  local ack, bytes = self.newest, {}
  for i = 0, 7 do
    local value = 0
    for j = 0, 7 do
      if self.received[ack - 1 - i * 8 - j] then value = value + 2 ^ j end
    end
    bytes[#bytes + 1] = string.char(value)
  end
  local head = self.keys.channel .. packet.u16(count % 65536)
  return head, packet.u16(ack % 65536) .. table.concat(bytes)
end


--- Sends a datagram with these items (bytes).
function UdpChannel:send_items(items, is_again)
  if not self.acknowledges and not is_again then return end
  local count = self.next
  self.next = count + 1
  local head, acks = self:head_and_acks(count)
  local body = acks .. table.concat(items)
  if not self.is_plain then body = udp_wire.seal(self.keys.send, count, head, body) end
  self:send_raw(head .. body)
  self.ack_is_due = false
  return count
end


--- Sends one packet (its bytes) by a datagram of its own; with `key` and `order` as LATEST.
function UdpChannel:send_packet(bytes, key, order)
  if key then
    return self:send_items { packet.u8(ITEM.LATEST) .. packet.u32(key) .. packet.u16(order) .. bytes }
  end
  return self:send_items { packet.u8(ITEM.PACKET) .. bytes }
end


function UdpChannel:send_piece(piece)
  local count = self:send_items { packet.u8(ITEM.STREAM) .. packet.u32(piece.offset)
    .. packet.u16(#piece.bytes) .. piece.bytes }
  if not count then return end
  piece.at = uv.now()
  self.unacknowledged[count] = piece
end


function UdpChannel:close_with(code)
  self:send_items { packet.u8(ITEM.CLOSE) .. packet.u16(code or 0) }
end


function UdpChannel:tick()
  if self.is_over then return end
  local again = {}
  for count, piece in pairs(self.unacknowledged) do
    if piece.is_acknowledged then
      self.unacknowledged[count] = nil
    elseif uv.now() - piece.at > AGAIN_MS then
      self.unacknowledged[count] = nil
      again[#again + 1] = piece
    end
  end
  table.sort(again, function(a, b) return a.offset < b.offset end)
  for _, piece in ipairs(again) do self:send_piece(piece) end
  if self.ack_is_due then self:send_items {} end
end


-- --- In ---

function UdpChannel:take(bytes)
  self.came[#self.came + 1] = bytes
  if bytes:sub(1, 3) == "\0\0\0" then
    self.answers[#self.answers + 1] = bytes
  elseif self.keys and not self.is_deaf then
    self:take_data(bytes)
  end
end


function UdpChannel:number_of(low)
  local expected = self.newest + 1
  local count = expected - expected % 65536 + low
  if count - expected > 32768 then count = count - 65536 end
  if expected - count > 32768 then count = count + 65536 end
  return count
end


function UdpChannel:take_data(bytes)
  -- A server of another test may still send to the former owner of this port.
  if bytes:sub(1, 3) ~= self.keys.channel then return end
  assert(#bytes <= udp_wire.DATAGRAM_MAX, "a datagram is too long")
  local head = bytes:sub(1, 5)
  local count = self:number_of(number(bytes, 4, 2))
  local body = bytes:sub(6)
  if not self.is_plain then body = udp_wire.open(self.keys.receive, count, head, body) end
  if not body then error "a datagram of the server is not authentic" end
  if self.received[count] then error "the server has used a number twice" end
  self.received[count] = true
  if count > self.newest then self.newest = count end
  self:take_acks(number(body, 1, 2), body:sub(3, 10))
  if #body > 10 then
    self.ack_is_due = true
    self:take_items(body, 11)
    if self.ack_is_due and not self.is_over then self:send_items {} end
  end
end


function UdpChannel:take_acks(low, bits)
  local newest = self.next - (self.next - low) % 65536
  local function take(count)
    local piece = self.unacknowledged[count]
    if piece then piece.is_acknowledged = true end
    self.unacknowledged[count] = nil
  end
  take(newest)
  for i = 0, 63 do
    local byte = bits:byte(math.floor(i / 8) + 1)
    if bit.band(byte, bit.lshift(1, i % 8)) ~= 0 then take(newest - 1 - i) end
  end
end


local TAKE = {
  [ITEM.PACKET] = function(self, body, at)
    local size = packet.HEADER_SIZE + number(body, at + 8, 4)
    self:take_packet { bytes = body:sub(at, at + size - 1), kind = "PACKET" }
    return at + size
  end,
  [ITEM.LATEST] = function(self, body, at)
    local size = packet.HEADER_SIZE + number(body, at + 6 + 8, 4)
    self:take_packet {
      kind = "LATEST",
      key = number(body, at, 4),
      order = number(body, at + 4, 2),
      bytes = body:sub(at + 6, at + 6 + size - 1),
    }
    return at + 6 + size
  end,
  [ITEM.STREAM] = function(self, body, at)
    local offset, size = number(body, at, 4), number(body, at + 4, 2)
    assert(size > 0, "an empty piece of the stream")
    self.stream[offset] = body:sub(at + 6, at + 5 + size)
    self:read_stream()
    return at + 6 + size
  end,
  [ITEM.CHALLENGE] = function(self, body, at)
    self:take_challenge(body:sub(at, at + 7))
    return at + 8
  end,
  [ITEM.RESPONSE] = function(_, _, at) return at + 8 end,
  [ITEM.PROBE] = function(_, _, at) return at end,
  [ITEM.CLOSE] = function(self, body, at)
    self.close_code = packet.CODES[number(body, at, 2)]
    self.is_over = true
    if self.on_read and self.is_reading then self.on_read(nil, nil) end
    return #body + 1
  end,
}


function UdpChannel:take_items(body, at)
  while at <= #body do
    local kind = body:byte(at)
    at = assert(TAKE[kind], "an unknown item")(self, body, at + 1)
    assert(at <= #body + 1, "an item is cut")
  end
end


--- Answers a challenge. A test may replace this method.
function UdpChannel:take_challenge(value)
  self:send_items { packet.u8(ITEM.RESPONSE) .. value }
end


function UdpChannel:take_packet(item)
  if self.on_packet then return self.on_packet(item) end
  self.packets[#self.packets + 1] = item
end


function UdpChannel:read_stream()
  if not self.on_read or not self.is_reading then return end
  local progress = true
  while progress do
    progress = false
    for offset, bytes in pairs(self.stream) do
      local past = self.stream_in - offset
      if past >= #bytes then
        self.stream[offset] = nil
      elseif past >= 0 then
        self.stream[offset] = nil
        self.stream_in = offset + #bytes
        self.on_read(nil, bytes:sub(past + 1))
        progress = true
        break
      end
    end
  end
end


-- --- As a luv stream ---

function UdpChannel:read_start(on_read)
  self.on_read, self.is_reading = on_read, true
  self:read_stream()
end


function UdpChannel:read_stop()
  self.is_reading = false
end


function UdpChannel:write(bytes, done)
  for from = 1, #bytes, PIECE do
    local piece = { offset = self.stream_out, bytes = bytes:sub(from, from + PIECE - 1) }
    self.stream_out = self.stream_out + #piece.bytes
    self:send_piece(piece)
  end
  if done then done() end
end


function UdpChannel:write_queue_size()
  local size = 0
  for _, piece in pairs(self.unacknowledged) do
    if not piece.is_acknowledged then size = size + #piece.bytes end
  end
  return size
end


function UdpChannel:shutdown()
  self:close_with(0)
end


function UdpChannel:is_closing()
  return self.socket:is_closing()
end


--- Ends the connection without sending CLOSE.
function UdpChannel:close()
  self.is_over = true
  if self.timer and not self.timer:is_closing() then self.timer:close() end
  if not self.socket:is_closing() then self.socket:close() end
end


function UdpChannel:close_reset()
  self:close()
  return true
end


return UdpChannel
