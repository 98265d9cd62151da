--- Ends by limits, by deadlines, and by the end of the server.
local frames = require "tests.e2e.frames"
local HttpClient = require "tests.e2e.http_client"
local packet = require "tests.e2e.packet"
local Story = require "tests.e2e.capture.story"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local u64 = packet.u64

local stories = {}


stories["limits"] = function(threads)
  local story = Story.start(threads, {
    resume = true, text = true,
    game = [[
      local perigee = require "perigee"
      local game = { on_message = {} }
      function game.on_message.flood(peer)
        for i = 1, 1100 do peer:send("x", i, { reliable = true }) end
      end
      return game
    ]],
    flags = {
      max_clients = 3, rate_limit = 5, rate_limit_kick = true, unique_names = "true", idle_timeout = 0,
    },
  })
  local slow = story:client("one that acknowledges nothing", { only = "CLOSING" })
  slow:send(0, "flood")
  slow:expect "CLOSING"
  local fast = story:client("one that sends too much", { only = "CLOSING" })
  for _ = 1, 30 do fast:control("PING", u64(1)) end
  fast:expect "CLOSING"
  fast:expect "END"
  local ann = story:client "ann"
  local twin = story:raw "a name in use"
  twin:control("HELLO", packet.hello { name = "ann" })
  twin:expect_rejected "Rejected"
  story:client "bob"
  story:client "cid"
  local fourth = story:raw "one too many"
  fourth:control("HELLO", packet.hello { name = "dan" })
  fourth:expect_rejected "ServerFull"
  local line = story.capture:lines(TextClient.connect(story.perigee.text_port), "one too many, by lines")
  line:expect "END"
  local page = story.capture:frames(web_socket.raw(story.perigee.port), "one too many, by WebSocket")
  page:frame(frames.BINARY, packet.encode { type = 1, payload = packet.hello { name = "dan" } })
  page:expect "END"
  ann:control "BYE"
  return story
end


stories["no HELLO"] = function(threads)
  local story = Story.start(threads, { flags = { handshake_timeout = 0.5 } })
  local port = story.perigee.port
  local silent = story:raw "silent"
  local page = story.capture:frames(web_socket.raw(port), "a silent WebSocket")
  local half = story.capture:answers(HttpClient.connect(port), "half of a request")
  half:write "GET / HTTP/1.1\r\n"
  local tls = story.capture:lines(TextClient.connect(port), "TLS, which is not served")
  tls:write "\22\3\1"
  story.wait_ended(silent, page, half, tls)
  return story
end


stories["silence"] = function(threads)
  local story = Story.start(threads, { flags = { ping_interval = 0, idle_timeout = 0.3 }, text = true })
  local line = story.capture:lines(TextClient.connect(story.perigee.text_port), "a silent text peer")
  local ann = story:client "ann"
  story.wait_ended(line, ann)
  return story
end


stories["pings"] = function(threads)
  local story = Story.start(threads, { flags = { ping_interval = 0.15 } })
  local deaf, liar = story:client "leaves one unanswered", story:client "answers with another value"
  wait.for_true(function() return liar.pings[1] end)
  liar:control("PONG", u64(5))
  story.wait_ended(deaf, liar)
  return story
end


stories["crowded"] = function(threads)
  local story = Story.start(threads, { text = true, flags = { max_clients_per_address = 1 } })
  local perigee = story.perigee
  story:client "the only one"
  story:raw("one too many"):expect "END"
  story.capture:lines(TextClient.connect(perigee.text_port), "by lines"):expect "END"
  -- A connection whose first byte has not arrived in time is refused with packets.
  local request
  repeat
    if request then table.remove(story.capture.connections) end
    request = story.capture:answers(HttpClient.connect(perigee.port), "by HTTP")
    request:request("GET", "/")
    local event = request:expect(function() return true end)
  until event.name == "RESPONSE"
  request:expect "END"
  local one = story:requests("by UDP")
  local cookie = one.ask({ extension = { size = 102 } }).cookie
  one.ask { extension = { cookie = cookie, client_key = Story.new_key() } }
  one.socket:close()
  return story
end


stories["stop"] = function(threads)
  local story = Story.start(threads, { game = Story.GAME, text = true, flags = { tls_dev = true } })
  local perigee = story.perigee
  local clients = {}
  for _, transport in ipairs { "tcp", "tls", "websocket", "udp" } do
    story.transport = transport
    table.insert(clients, story:client(transport))
  end
  table.insert(clients, story:raw "one by UDP that said nothing")
  local line = story.capture:lines(TextClient.connect(perigee.text_port), "text")
  line:greeted()
  local page = story.capture:frames(web_socket.raw(perigee.port), "page")
  page:text "/rooms"
  page:expect("TEXT", { payload = "* rooms: notes (0)" })
  perigee:kill "sigterm"
  story.wait_ended(line, page, unpack(clients))
  return story
end

-- With threads, the main port answers no requests any more at that time.
stories["stop, without threads"] = function(threads)
  if threads > 0 then return nil end
  local story = Story.start(threads, { game = Story.GAME })
  story.transport = "udp"
  local deaf = story:client("one by UDP for which the server waits", { only = "WELCOME" })
  deaf.udp.is_deaf, deaf.udp.acknowledges = true, false
  local late = story:requests("one that comes late")
  local cookie = late.ask({ extension = { size = 102 } }).cookie
  local ann = story:client "ann"
  story.perigee:kill "sigterm"
  ann:expect "END"
  late.ask { extension = { cookie = cookie, client_key = Story.new_key() } }
  late.socket:close()
  deaf.udp.is_deaf, deaf.udp.acknowledges = false, true
  deaf:expect "END"
  return story
end

return stories
