--- WebSocket clients: one with frames that the test makes, and a binary client like those over TCP, with its
--- packets in messages.
local bit = require "bit"
local frames = require "tests.e2e.frames"
local Client = require "tests.e2e.client"
local HttpClient = require "tests.e2e.http_client"

local web_socket = {}

web_socket.KEY = "dGhlIHNhbXBsZSBub25jZQ=="
web_socket.ACCEPT = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
web_socket.FIELDS = {
  "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: " .. web_socket.KEY,
}

local Raw = setmetatable({}, { __index = HttpClient })
Raw.__index = Raw


--- Connects and requests a WebSocket, without waiting for the answer.
---@param port integer
---@param o? table as for `Stream.open`, and `fields` instead of the usual ones, `more` besides them
function web_socket.ask(port, o)
  o = o or {}
  local self, err = HttpClient.connect(port, o)
  if not self then return nil, err end
  setmetatable(self, Raw)
  self.label = "websocket"
  local fields = {}
  for _, list in ipairs { o.fields or web_socket.FIELDS, o.more or {} } do
    for _, field in ipairs(list) do
      fields[#fields + 1] = field
    end
  end
  self.cut = function(buffer, from)
    local event, next_from = self:cut_response(buffer, from)
    if event and event.status == 101 then self.cut = frames.decode end
    return event, next_from
  end
  self:request("GET", "/ws", fields)
  return self
end


--- Returns an open WebSocket, whose events are frames.
function web_socket.raw(port, o)
  local self, err = web_socket.ask(port, o)
  if not self then return nil, err end
  local response = self:expect("RESPONSE")
  assert(response.status == 101, "status " .. response.status)
  assert(response.headers["sec-websocket-accept"] == web_socket.ACCEPT, "wrong accept")
  return self
end


--- Sends one frame.
function Raw:frame(opcode, payload, o)
  return self:write(frames.encode(opcode, payload, o))
end


--- Sends one text message.
function Raw:text(text)
  return self:frame(frames.TEXT, text)
end


--- Waits until the server has read everything, by a ping.
function Raw:fence()
  self.fences = (self.fences or 0) + 1
  local mark = "fence " .. self.fences
  self:frame(frames.PING, mark)
  self:expect("PONG", { payload = mark })
  return self
end


--- Expects a close frame with this code (nil: none), and then the end.
function Raw:expect_closed(code)
  local close = self:expect("CLOSE")
  if close.code ~= code then
    self:fail(("closed with %s (%s), not %s"):format(close.code, close.reason, code), 2)
  end
  self:expect_end()
  return close
end


local WsClient = setmetatable({}, { __index = Client })
WsClient.__index = WsClient


-- Reads frames. The concatenated bytes of their messages are the bytes that TCP would carry.
function WsClient:on_bytes(bytes)
  self.framed = self.framed .. bytes
  local from = 1
  while not self.fault do
    local ok, frame, next_from = pcall(frames.decode, self.framed, from)
    if not ok then
      self.fault = frame
      return
    end
    if not frame then break end
    from = next_from
    if frame.name == "BINARY" then
      Client.on_bytes(self, frame.payload)
      if self.buffer ~= "" then
        self.fault = self.fault or "a packet that is not whole in its message"
      end
    else
      self.close_frame = frame
    end
  end
  self.framed = self.framed:sub(from)
end


function WsClient:write(bytes)
  return Client.write(self, frames.encode(frames.BINARY, bytes))
end


--- Returns a binary client over a WebSocket that has sent nothing yet.
function web_socket.client(port, o)
  local raw, err = web_socket.raw(port, o)
  if not raw then return nil, err end
  raw.cut = nil
  local self = setmetatable(raw, WsClient)
  self.framed, self.buffer = self.buffer, ""
  self.pings, self.next_ref = {}, 1
  self.pong = not o or o.pong ~= false
  return self
end


--- Valid and invalid UTF-8 of many kinds: { text, is_good }.
web_socket.UTF8 = {}


local function add(text, is_good)
  table.insert(web_socket.UTF8, { text = text, is_good = is_good })
end


-- Encodes a character in UTF-8, without a library, so that invalid characters are possible, too.
local function character(code)
  if code < 0x80 then return string.char(code) end
  local bytes = {}
  local count = code < 0x800 and 1 or code < 0x10000 and 2 or 3
  for i = count, 1, -1 do
    bytes[i] = string.char(0x80 + code % 64)
    code = math.floor(code / 64)
  end
  local lead = bit.band(bit.bnot(bit.rshift(0x7f, count)), 0xff)
  return string.char(bit.bor(lead, code)) .. table.concat(bytes)
end


for _, code in ipairs {
  0x20, 0x7e, 0xa0, 0x7ff, 0x800, 0xfff, 0x1000, 0xd7ff, 0xe000, 0xfffd, 0xfffe, 0xffff, 0x10000,
  0x1fffe, 0x1ffff, 0x3ffff, 0x40000, 0xfffff, 0x100000, 0x10ffff,
} do
  add(character(code), true)
  add("a" .. character(code) .. "b", true)
end
for _, code in ipairs { 0xd800, 0xdb7f, 0xdb80, 0xdbff, 0xdc00, 0xdf80, 0xdfff, 0x110000, 0x13ffff } do
  add(character(code), false)
end
for _, text in ipairs {
  "\128", "\191", "\128\191\128", "\192 ", "\193 ", "\224 ", "\240 ", "\248", "\252", "\254", "\255",
  "\192\128", "\192\175", "\193\191", "\224\128\128", "\224\159\191", "\240\128\128\128",
  "\240\143\191\191", "\248\136\128\128\128", "\252\132\128\128\128\128", "\237\160\128\237\176\128",
  "\195", "\226\130", "\226", "\240\159\152", "\240\159", "\240", "\244\144\128\128", "\245\128\128\128",
  "\195(", "\226(\161", "\226\130(", "\240(\140\188", "\240\144(\188", "\240\144\140(",
} do
  add("hello " .. text, false)
end


return web_socket
