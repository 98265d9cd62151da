--- Text peers, frames of WebSockets, notifications for pages during development, and HTTP.
local frames = require "tests.e2e.frames"
local HttpClient = require "tests.e2e.http_client"
local packet = require "tests.e2e.packet"
local Story = require "tests.e2e.capture.story"
local TextClient = require "tests.e2e.text_client"
local uv = require "luv"
local web_socket = require "tests.e2e.web_socket"

local stories = {}


stories["text"] = function(threads)
  local story = Story.start(threads, { game = Story.GAME, text = true, flags = { batch_hz = 0 } })
  local perigee = story.perigee
  local function text_peer(label)
    local client = TextClient.connect(perigee.text_port)
    return story.capture:lines(client, label)
  end
  local ann = text_peer "ann"
  ann:greeted()
  local page = story.capture:frames(web_socket.raw(perigee.port), "page")
  page:text "/name pia"
  local function page_hears(text)
    page:expect(function(event) return event.name == "TEXT" and event.payload:sub(1, #text) == text end)
  end
  page_hears "* you are now pia"
  local function each(line, answer)
    ann:line(line)
    ann:expect_line(answer)
  end
  each("/rooms", "* rooms: notes (0)")
  each("/name ann", "* you are now ann")
  each("/name refused", "! Rejected: that is taken")
  ann:line "/name failing"
  ann:expect_match "^! Internal"
  ann:line "/name !x"
  ann:expect_match "^! Protocol"
  each("/send fault 5", "! Fault: 5")
  each("/send fault", "! Fault")
  ann:line "hello"
  ann:expect_match "^! NotInRoom"
  each("/join hall", "* joined hall, nobody else is here")
  page:text "/join hall"
  page_hears "* joined hall: ann"
  ann:expect_line "* pia joined hall"
  local bob = story:client "bob"
  local hall, joined = bob:join "hall"
  local page_id = joined.members[2].id
  ann:expect_line "* bob joined hall"
  page_hears "* bob joined hall"
  ann:line "hello \1there"
  bob:expect "BROADCAST"
  page_hears "ann: "
  bob:broadcast(hall, "ann: not \255 mine")
  ann:expect "LINE"
  page_hears "bob: "
  ann:line "/send echo {\"a\":1}"
  ann:line "/send nothing 1"
  ann:expect_match "^! Unsupported"
  bob:send(hall, "shout", "hear")
  ann:expect_match "^shouted"
  page_hears "shouted"
  bob:expect("MESSAGE", { message = "shouted" })
  bob:send(hall, "relay", "raw: bytes")
  ann:expect "LINE"
  page_hears "raw"
  bob:send(0, "rename", "robert")
  ann:expect_line "* bob is now robert"
  page_hears "* bob is now"
  bob:send(hall, "put_out", "ann")
  ann:expect_line "* left hall (Kicked: out)"
  page_hears "* ann left hall"
  for _, line in ipairs { "/join nowhere", "/join shut", "/join broken",
    "/join_with hall {", '/join_with vault {"password": "guess"}', "/leave hall", "/nothing" } do
    ann:line(line)
    ann:expect "LINE"
  end
  ann:line "/rooms"
  ann:expect_match "^%* rooms: .+, hall %(2%)"
  page:text "/leave hall"
  page_hears "* left hall"
  bob:expect("PEER_LEFT", { peer = page_id })
  bob:send(0, "fetch", "robert")
  bob:expect("JOINED", { room_name = "hall:2" })
  page:text "/join hall:2"
  page_hears "* joined"
  bob:send(0, "kick", "pia")
  page:expect "CLOSE"
  page:expect "END"
  bob:expect("PEER_LEFT", { peer = page_id })
  ann:line "/quit"
  ann:expect "END"
  local last = text_peer "a request of HTTP"
  last:write "GET / HTTP/1.1\r\n"
  last:expect "END"
  local long = text_peer "a line that is too long"
  long:write(("x"):rep(65537))
  long:expect "END"
  return story
end


stories["frames"] = function(threads)
  local story = Story.start(threads, { game = Story.GAME, flags = { batch_hz = 0 } })
  local hello = packet.encode { type = 1, payload = packet.hello { name = "ann" } }
  local function page(label, ...)
    local client = story.capture:frames(web_socket.raw(story.perigee.port), label)
    for _, bytes in ipairs { ... } do client:write(bytes) end
    return client
  end
  local function ends(label, ...) page(label, ...):expect "END" end
  local encode, PING, CLOSE = frames.encode, frames.PING, frames.CLOSE
  local TEXT, BINARY = frames.TEXT, frames.BINARY
  local ann = page("ann", encode(PING, "are you there"), encode(BINARY, hello))
  ann:expect "PONG"
  ann:expect "BINARY"
  ann:frame(BINARY, packet.encode { channel = 2, type = 0, flags = packet.REQUEST, ref = 1,
    payload = packet.message(0, "echo", ("x"):rep(300)) }) -- a length in two bytes
  ann:expect "BINARY"
  ann:frame(BINARY, packet.encode { type = 11 })
  ann:expect "END"
  ends("close without a code", encode(BINARY, hello), encode(CLOSE, ""))
  ends("close with a code", encode(BINARY, hello), encode(CLOSE, frames.close(1001, "bye")))
  ends("/quit", encode(TEXT, "/quit"))
  ends("no mask", encode(BINARY, hello, { mask = false }))
  ends("a reserved bit", encode(BINARY, hello, { rsv = 4 }))
  ends("a reserved kind", encode(3, hello))
  ends("a long length", encode(BINARY, hello, { length_bytes = 8 }))
  ends("a long ping", encode(PING, ("x"):rep(126)))
  ends("a code that may not be sent", encode(CLOSE, frames.close(1005, "")))
  ends("half a packet", encode(BINARY, hello:sub(1, 20)))
  ends("text after binary", encode(BINARY, hello), encode(TEXT, "x"))
  ends("text that is not UTF-8", encode(TEXT, "\255"))
  ends("a message that is too long", encode(BINARY, "", { length = 2 ^ 20, length_bytes = 8 }))
  ends("a reason that is not UTF-8", encode(CLOSE, frames.close(1000, "\255")))
  for _, name in ipairs { "failing", "early", "rejected" } do
    local refused = packet.encode { type = 1, payload = packet.hello { name = name } }
    ends("the script: " .. name, encode(BINARY, refused))
  end
  return story
end


stories["development"] = function(threads)
  local story = Story.start(threads, {
    watch = true,
    files = {
      ["game.lua"] = "return {}", ["public/index.html"] = "<h1>hello</h1>", ["public/art.png"] = "1",
    },
  })
  story.transport = "websocket"
  local page = story:client "page"
  page:expect("DEV_ERROR", { text = "" })
  story.perigee:save("public/art.png", "2")
  page:expect("DEV_ASSET", { path = "art.png" })
  story.perigee:save("game.lua", "return {} }")
  page:expect(function(event) return event.name == "DEV_ERROR" and event.text ~= "" end)
  local another = story:client "another page"
  another:expect "DEV_ERROR"
  story.perigee:save("game.lua", "return { }")
  for _, client in ipairs { page, another } do client:expect("DEV_ERROR", { text = "" }) end
  story.transport = "tcp"
  story:client("over TCP"):fence()
  return story
end


stories["http"] = function(threads)
  local story = Story.start(threads, {
    files = {
      ["game.lua"] = "return {}", ["public/index.html"] = "<h1>hello</h1>",
      ["schema.perigee"] = "message news: string",
    },
  })
  story.perigee:save("public/folder/index.html", "")
  assert(uv.fs_utime(story.perigee.folder .. "/public/index.html", 1e9, 1e9))
  local function connect(label)
    return story.capture:answers(HttpClient.connect(story.perigee.port), label)
  end
  local kept = connect "kept"
  local function get(...)
    kept:request(...)
    kept:expect "RESPONSE"
  end
  get("GET", "/")
  get("HEAD", "/")
  get("GET", "/healthz")
  get("GET", "/folder")
  get("GET", "/nothing")
  get("GET", "/.hidden")
  for _, target in ipairs { "/perigee.js", "/lockstep.js", "/schema.js" } do get("HEAD", target) end
  get("GET", "/", { "If-Modified-Since: Sun, 09 Sep 2001 01:46:40 GMT" })
  get("GET", "/", { "Range: bytes=1-2" })
  get("GET", "/", { "Range: bytes=100-" })
  get("GET", "/ws")
  get("GET", "/ws", { "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 12" })
  get("GET", "/", { "Connection: close" })
  kept:expect "END"

  local function refused(label, bytes)
    local client = connect(label)
    client.heads[1] = false
    client:write(bytes)
    client:expect "RESPONSE"
    client:expect "END"
  end
  local HOST = "Host: localhost\r\n"
  refused("HTTP/1.0", "GET /healthz HTTP/1.0\r\n\r\n")
  refused("a bare LF", "GET / HTTP/1.1\n" .. HOST .. "\r\n")
  refused("no Host", "GET / HTTP/1.1\r\n\r\n")
  refused("a path with ..", "GET /../x HTTP/1.1\r\n" .. HOST .. "\r\n")
  refused("a name that is not the server's", "GET / HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n")
  refused("a page from elsewhere", "GET /ws HTTP/1.1\r\n" .. HOST .. "Origin: http://elsewhere.example\r\n"
    .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n\r\n")
  refused("a bad key", "GET /ws HTTP/1.1\r\n" .. HOST .. "Upgrade: websocket\r\nConnection: Upgrade\r\n"
    .. "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: short\r\n\r\n")
  refused("another method", "POST / HTTP/1.1\r\n" .. HOST .. "\r\n")
  refused("a body", "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 1\r\n\r\nx")
  refused("a long target", "GET /" .. ("x"):rep(2048) .. " HTTP/1.1\r\n" .. HOST .. "\r\n")
  refused("a long head", "GET / HTTP/1.1\r\n" .. HOST .. ("X: y\r\n"):rep(65) .. "\r\n")
  local upgraded = connect "a WebSocket"
  upgraded:request("GET", "/ws", { "Sec-WebSocket-Protocol: other, perigee.1", unpack(web_socket.FIELDS) })
  upgraded:expect "RESPONSE"
  upgraded:close()
  return story
end


-- The admin listener, whose answers have other heads.
stories["admin"] = function(threads)
  local token = "0123456789abcdef-secret"
  local story = Story.start(threads, {
    game = "return {}", env = { PERIGEE_ADMIN_TOKEN = token },
    flags = { admin = "127.0.0.1:0", handshake_timeout = 0.5 },
  })
  local port = tonumber((story.perigee:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
  local late = story.capture:answers(HttpClient.connect(port), "half of a request")
  late:write "GET / HTTP/1.1\r\n"
  local HOST, AUTH = "Host: localhost\r\n", "Authorization: Bearer " .. token .. "\r\n"
  local TYPES = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
  local function answered(label, first, fields, body)
    local client = story.capture:answers(HttpClient.connect(port), label)
    client:write(first .. "\r\n" .. fields .. "\r\n" .. (body or ""))
    client:expect "RESPONSE"
    client:close()
  end
  local function post(label, fields, body)
    fields = HOST .. AUTH .. fields .. ("Content-Length: %d\r\n"):format(#body)
    answered(label, "POST /mcp HTTP/1.1", fields, body)
  end
  answered("no token", "POST /mcp HTTP/1.1", HOST)
  answered("another name", "POST /mcp HTTP/1.1", "Host: elsewhere.example\r\n" .. AUTH)
  answered("a page from elsewhere", "POST /mcp HTTP/1.1",
    HOST .. AUTH .. "Origin: http://elsewhere.example\r\n")
  answered("HTTP/1.0", "POST /mcp HTTP/1.0", HOST .. AUTH)
  answered("another method", "PUT /mcp HTTP/1.1", HOST .. AUTH)
  answered("no Host", "POST /mcp HTTP/1.1", AUTH)
  answered("a long target", "GET /" .. ("x"):rep(2048) .. " HTTP/1.1", HOST .. AUTH)
  answered("a long head", "GET / HTTP/1.1", HOST .. AUTH .. ("X: y\r\n"):rep(65))
  answered("a body that is too long", "POST /mcp HTTP/1.1",
    HOST .. AUTH .. TYPES .. "Content-Length: 1000000000\r\n")
  post("no JSON", TYPES, "{")
  post("another type", "Accept: */*\r\n", "{}")
  post("another answer", "Content-Type: application/json\r\n", "{}")
  local PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  post("no session", TYPES, PING)
  post("a session that nobody has", TYPES .. "Mcp-Session-Id: " .. ("0"):rep(48) .. "\r\n", PING)
  local guesses = {} -- its answers come late
  for i = 1, 6 do
    guesses[i] = story.capture:answers(HttpClient.connect(port), "wrong token " .. i)
    guesses[i]:write("POST /mcp HTTP/1.1\r\n" .. HOST .. "Authorization: Bearer wrong\r\n\r\n")
  end
  for _, client in ipairs(guesses) do client:expect "END" end
  late:expect "RESPONSE"
  late:expect "END"
  return story
end

return stories
