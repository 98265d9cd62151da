--- Attacks by lines, HTTP and WebSocket frames, on the text port and on the game's port.
local frames = require "tests.e2e.frames"
local packets = require "tests.e2e.attack.packets"
local web_socket = require "tests.e2e.web_socket"

local web = {}

local COMMANDS = { "/join ", "/leave ", "/name ", "/send ", "/rooms", "/quit", "/nothing ", "" }
local TARGETS = {
  "/", "/ws", "/healthz", "/perigee.js", "/schema.js", "/game.lua", "/../game.lua", "/%2e%2e/game.lua",
  "/a\0b", "*", "http://localhost/", "/" .. ("x"):rep(3000), "/index.html?a=b", "//", "/.secret", "/%ff",
  "/%",
}
local FIELDS = {
  "Connection: close", "Connection: keep-alive", "Content-Length: 5", "Content-Length: -1",
  "Content-Length: 5, 5", "Content-Length: 18446744073709551616", "Transfer-Encoding: chunked",
  "Host: evil.example", "Host: localhost", "Origin: https://evil.example", "Origin: null", "If-None-Match: *",
  "Range: bytes=0-", "Range: bytes=5-1,-3", "Range: bytes=18446744073709551615-",
  "X: " .. ("y"):rep(9000), " folded", "NoColon", ": empty", "A\0: b",
  "Expect: 100-continue", "Upgrade: websocket", "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT",
}


local function line_of(a)
  local dice = a.dice
  local command = dice:pick(COMMANDS)
  if command == "/send " then
    return command .. dice:pick { "echo", "nap", "oops", "into", "out", "kick", "flood", "make", "nobody" }
      .. " " .. dice:json()
  end
  if command == "/join " or command == "/leave " then return command .. packets.room_name(a) end
  return command .. dice:name()
end


--- Sends lines on the text port.
function web.says_lines(a)
  local sink = a:sink(a.perigee.text_port)
  for _ = 1, a.dice:number(1, 40) do
    local line = line_of(a)
    if a.dice:chance(8) then line = a.dice:spoil(line) end
    if a.dice:chance(2) then line = ("x"):rep(a.dice:pick { 1023, 1024, 1025, 65536, 70000 }) end
    a:send(sink, line .. a.dice:pick { "\n", "\n", "\n", "\r\n", "\r", "\0\n", "" })
    if a.dice:chance(40) then a:pause(40) end
    if sink.ended then return end
  end
  a:pause(200)
  a:finish(sink)
end


-- Returns a request with some faults.
local function request(a)
  local dice = a.dice
  local method = dice:pick { "GET", "GET", "HEAD", "POST", "get", "OPTIONS", "PRI" }
  local version = dice:pick { "1.1", "1.1", "1.1", "1.0", "2.0", "1.1 ", "9" }
  local lines = { ("%s %s HTTP/%s"):format(method, dice:pick(TARGETS), version) }
  if dice:chance(90) then lines[2] = "Host: 127.0.0.1" end
  for _ = 1, dice:number(0, 6) do lines[#lines + 1] = dice:pick(FIELDS) end
  if dice:chance(3) then lines[#lines + 1] = ("Z: 1\r\n"):rep(80) .. "Z: 2" end
  local text = table.concat(lines, dice:chance(95) and "\r\n" or "\n") .. "\r\n\r\n"
  return dice:chance(15) and dice:spoil(text) or text
end


--- Sends requests, one after the other or all at once, to any of the ports that take them.
function web.requests(a)
  local ports = { a.perigee.port, a.perigee.port, a.target.admin_port, a.perigee.text_port }
  local sink = a:sink(a.dice:pick(ports), a.dice:chance(3) and { tls = {} } or nil)
  for _ = 1, a.dice:number(1, 6) do
    a:send(sink, request(a))
    if a.dice:chance(50) then a:pause(50) end
    if sink.ended then return end
  end
  if a.dice:chance(30) then a:pause(2500) end
  a:finish(sink)
end


local function upgrade(a)
  local fields = { "GET /ws HTTP/1.1", "Host: localhost" }
  for _, field in ipairs(web_socket.FIELDS) do fields[#fields + 1] = field end
  if a.dice:chance(10) then fields[#fields + 1] = a.dice:pick(FIELDS) end
  local text = table.concat(fields, "\r\n") .. "\r\n\r\n"
  return a.dice:chance(8) and a.dice:spoil(text) or text
end


local function frame(a)
  local dice = a.dice
  local opcode = dice:pick { 0, 1, 1, 2, 2, 2, 2, 8, 9, 10, 3, 15 }
  local payload = opcode == 2 and packets.any(a) or opcode == 1 and line_of(a) or dice:bytes(130)
  if opcode == 8 and dice:chance(80) then
    local code = dice:pick { 1000, 1001, 1005, 1006, 1015, 999, 3000, 4999, 5000 }
    payload = frames.close(code, dice:name():sub(1, 120))
  end
  local o = {}
  if dice:chance(5) then o.fin = false end
  if dice:chance(2) then o.rsv = dice.roll(7) end
  if dice:chance(3) then o.mask = dice:pick { false, "\0\0\0\0" } end
  if dice:chance(3) then o.length_bytes, o.length = 8, dice:edge() end
  if dice:chance(1) then o.length_bytes, o.high_bit = 8, true end
  if dice:chance(3) then o.cut = dice.roll(20) end
  return frames.encode(opcode, payload, o)
end


--- Opens a WebSocket, as a binary client or a text peer, and sends frames, right and wrong.
function web.sends_frames(a)
  local sink = a:sink(a.perigee.port)
  a:send(sink, upgrade(a))
  if a.dice:chance(50) then a:pause(30) end
  local way = a.dice.roll(5)
  if way <= 3 then sink:write(frames.encode(frames.BINARY, packets.hello(a))) end
  if way == 4 then sink:write(frames.encode(frames.TEXT, line_of(a))) end
  local right = way <= 3 and frames.BINARY or frames.TEXT
  for _ = 1, a.dice:number(1, 30) do
    if a.dice:chance(70) then
      sink:write(frames.encode(right, right == frames.BINARY and packets.any(a) or line_of(a)))
    else
      a:send(sink, frame(a))
    end
    if a.dice:chance(20) then a:pause() end
    if sink.ended then return end
  end
  a:finish(sink)
end


--- Sends one message in very many pieces, with others between them. The message may never end.
function web.sends_fragments(a)
  local sink = a:sink(a.perigee.port)
  sink:write(upgrade(a)):write(frames.encode(frames.BINARY, packets.hello(a)))
  local list = frames.fragments(frames.BINARY, packets.any(a) .. packets.any(a), a.dice.roll(4))
  for i = 1, a.dice:chance(70) and #list or a.dice.roll(#list) do
    sink:write(list[i])
    if a.dice:chance(5) then sink:write(frames.encode(frames.PING, "x")) end
    if a.dice:chance(5) then a:pause(20) end
    if sink.ended then return end
  end
  a:pause(300)
  a:finish(sink)
end


--- Speaks another protocol than that of the port.
function web.mistakes_the_port(a)
  local ports = { a.perigee.port, a.perigee.text_port, a.target.admin_port }
  local sink = a:sink(a.dice:pick(ports))
  a:send(sink, a.dice:pick {
    "\22\3\1\2\0\1\0\1\252\3\3" .. a.dice:bytes(300), "\22", "SSH-2.0-x\r\n", a.dice:bytes(500),
    packets.hello(a), "\0", "", request(a), frames.encode(frames.TEXT, "hello"),
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  })
  a:pause(a.dice:pick { 0, 100, 2500 })
  a:finish(sink)
end


return web
