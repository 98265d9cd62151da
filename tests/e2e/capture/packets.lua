--- The control channel, messages and plugin channels, over each transport; sessions that are resumed.
local packet = require "tests.e2e.packet"
local Story = require "tests.e2e.capture.story"

local REQUEST, RESPONSE, RELIABLE = packet.REQUEST, packet.RESPONSE, packet.RELIABLE
local u16, u32, u64, str8 = packet.u16, packet.u32, packet.u64, packet.str8

local stories = {}


local function talk(story)
  local ann = story:raw "ann"
  ann:control("HELLO", packet.hello { name = "ann", token = "secret" }, { flags = REQUEST, ref = 77 })
  ann.welcome = ann:expect_answer("WELCOME", 77)
  ann.id = ann.welcome.peer
  local bob = story:client "bob"
  story:client("plain"):expect "PEER_RENAMED"
  ann:list_rooms()
  ann:control "ROOM_LIST"
  ann:expect("ROOMS", { ref = 0 })
  ann:control("ROOM_QUERY", '{"limit":2}', { flags = REQUEST, ref = 78 })
  ann:expect_answer("ROOMS_META", 78)
  local hall = ann:join("hall", '{"role":"host"}')
  bob:control("JOIN", str8 "hall")
  bob:expect "JOINED"
  ann:expect "PEER_JOINED"
  for priority = 0, 3 do
    bob:broadcast(hall, "priority " .. priority, { priority = priority })
    Story.expect_any(ann, "BROADCAST")
  end
  bob:broadcast(hall, "accepted", { flags = REQUEST, ref = 9 })
  Story.expect_any(ann, "BROADCAST")
  ann:control("PING", u64(1234567))
  ann:expect("PONG", { ref = 0 })
  ann:control("PING", u64(7), { flags = REQUEST, ref = 10 })
  ann:expect_answer("PONG", 10)
  return ann, bob, hall
end


local function script_speaks(ann, bob, hall)
  ann:question(0, "echo", "question")
  ann:send(0, "send", "bob")
  for _ = 1, 4 do Story.expect_any(bob, "MESSAGE", { message = "sent" }) end
  bob:expect("MESSAGE", { message = "marked" })
  ann:send(0, "keyed", "bob")
  Story.expect_any(bob, "MESSAGE", { message = "keyed" })
  ann:send(hall, "shout", "hear")
  Story.expect_any(ann, "MESSAGE", { message = "shouted" })
  Story.expect_any(bob, "MESSAGE", { message = "shouted" })
  Story.expect_any(bob, "MESSAGE", { message = "aside" })
  ann:send(hall, "relay", "raw bytes")
  Story.expect_any(ann, "BROADCAST")
  Story.expect_any(bob, "BROADCAST")
  local ref = ann:ask(0, "ask", "bob")
  local question = bob:expect("MESSAGE", { message = "riddle" })
  bob:send_packet { channel = 2, type = 0, flags = RESPONSE, ref = question.ref,
    payload = packet.message(0, "riddle", "because") }
  ann:expect_answer("MESSAGE", ref)
  ann:send(0, "rename", "robert")
  bob:expect("PEER_RENAMED", { room = 0 })
  ann:expect "PEER_RENAMED"
  ann:send(0, "fetch", "robert")
  bob:expect("JOINED", { room_name = "hall:2" })
  ann:send(0, "packet", "robert")
  Story.expect_any(bob, "PACKET", { channel = 5000 })
  ann:send(hall, "put_out", "robert")
  bob:expect "LEFT"
  ann:expect "PEER_LEFT"
end


local function errors(ann, bob, hall)
  local function request(name, payload, code)
    ann:expect_error(code, ann:request(name, payload))
  end
  request("JOIN", str8 "\n", "Protocol")
  request("JOIN", str8 "nowhere", "NoSuchRoom")
  request("JOIN", str8 "hall", "AlreadyInRoom")
  request("JOIN", str8 "shut", "Rejected")
  request("JOIN", str8 "broken", "Internal")
  request("JOIN_WITH", str8 "hall" .. "[]", "Protocol")
  request("JOIN_WITH", str8 "vault" .. '{"password":"guess"}', "Unauthorized")
  request("JOIN_WITH", str8 "vault" .. '{"password":"swordfish"}', "Rejected")
  request("JOIN", str8 "unmade", "Internal")
  bob:join "cell"
  request("JOIN", str8 "cell", "RoomFull")
  request("LEAVE", u32(999999), "NoSuchRoom")
  request("BROADCAST", u32(999999) .. "x", "NoSuchRoom")
  bob:broadcast(hall, "x")
  bob:expect_error "NotInRoom"
  bob:expect_error("NotInRoom", bob:request("LEAVE", u32(hall)))
  bob:expect_error("NotInRoom", bob:ask(hall, "echo", 1))
  ann:expect_error("Unsupported", ann:ask(0, "nothing", 1))
  ann:expect_error("Internal", ann:ask(0, "fail"))
  ann:expect_answer("FAULT", ann:ask(0, "fault", { line = 3 }))
  ann:send(0, "fault")
  ann:expect("FAULT", { ref = 0 })
  local mute = ann:join "mute"
  request("BROADCAST", u32(mute) .. "x", "Internal")
  for i = 1, 8 do
    local ref = ann:request("JOIN", str8("hall:full" .. i))
    local answer = ann:expect(function(event) return event.ref == ref end)
    if answer.name == "ERROR" then break end -- ServerFull: max_rooms
  end
  request("CHANNEL_OPEN", str8 " ", "Protocol")
  request("CHANNEL_OPEN", str8 "refused", "Rejected")
  request("CHANNEL_OPEN", str8 "failing", "Internal")
  request("CHANNEL_OPEN", str8 "script", "ChannelTaken")
  request("CHANNEL_CLOSE", u16(1500), "ChannelNotFound")
  for _, channel in ipairs { 3, 4, 1500, 2500, 3000 } do
    ann:send_packet { channel = channel, type = 1, payload = u32(hall) }
    ann:expect_error "ChannelNotFound"
  end
  for _, kind in ipairs { 12, 129, 140, 65535 } do
    ann:send_packet { type = kind, flags = REQUEST, ref = 500, payload = "anything" }
    ann:expect_error("Unsupported", 500)
  end
  ann:send_packet { channel = 2, type = 0, payload = u32(0) .. "{" }
  ann:expect_error "Protocol"
  ann:send_packet { channel = 2, type = 9, flags = REQUEST, ref = 501, payload = u32(0) }
  ann:expect_error("Unsupported", 501)
end


local function plugin_channel(story, ann, bob)
  local plugin = story:client("plugin", { serves = { [1001] = true } })
  local ref = plugin:request("CHANNEL_OPEN", str8 "chess")
  local channel = plugin:expect_answer("CHANNEL_OPENED", ref).opened
  plugin:expect_error("ChannelTaken", plugin:request("CHANNEL_OPEN", str8 "chess"))
  for i = 2, 17 do
    local answer = plugin:request("CHANNEL_OPEN", str8("chess" .. i))
    if i < 17 then
      plugin:expect_answer("CHANNEL_OPENED", answer)
    else
      plugin:expect_error("ServerFull", answer)
    end
  end
  ann:send_packet { channel = channel, type = 5, flags = REQUEST, ref = 300, priority = 1, payload = "e2e4" }
  plugin:expect("PACKET", { type = 5 })
  plugin:send_packet { channel = channel, type = 6, flags = RESPONSE, ref = 300,
    payload = u32(ann.id) .. "e7e5" }
  ann:expect("PACKET", { type = 6 })
  plugin:send_packet { channel = channel, type = 7, payload = u32(bob.id) .. "hello" }
  Story.expect_any(bob, "PACKET", { type = 7 })
  plugin:send_packet { channel = channel, type = 7, flags = REQUEST, ref = 2, payload = u32(999999) }
  plugin:expect_error("ChannelNotFound", 2)
  local tool = '{"name":"move","description":"Moves","channel":"chess"}'
  plugin:expect_answer("TOOL_ADD", plugin:request("TOOL_ADD", tool))
  plugin:expect_answer("TOOL_REMOVE", plugin:request("TOOL_REMOVE", '{"name":"move"}'))
  plugin:expect_error("Rejected", plugin:request("TOOL_REMOVE", '{"name":"move"}'))
  plugin:expect_error("Protocol", plugin:request("TOOL_ADD", "{"))
  plugin:control("CHANNEL_CLOSE", u16(channel))
  plugin:fence()
  ann:send_packet { channel = channel, type = 5, payload = "e2e4" }
  ann:expect_error "ChannelNotFound"
  ann:send_packet { channel = 1000, type = 1, flags = REQUEST, ref = 301, payload = "to the script" }
  ann:expect_error("Unsupported", 301)
end


-- Handshakes that are refused, and packets that end a connection.
local function endings(story)
  local function refused(label, hello, code)
    local client = story:raw(label)
    client:control("HELLO", packet.hello(hello), { flags = REQUEST, ref = 3 })
    client:expect_answer("REJECTED", 3, { code = code })
    client:expect_end()
  end
  refused("another version", { name = "x", version = 2 }, "VersionMismatch")
  refused("another schema", { name = "x", hash = 1 }, "ProtocolHashMismatch")
  refused("no name", { name = "" }, "Protocol")
  refused("refused by the script", { name = "rejected" }, "Rejected")
  refused("not yet", { name = "early" }, "Unavailable")
  refused("a handler that fails", { name = "failing" }, "Internal")

  local hello = packet.encode { type = 1, payload = packet.hello { name = "x" } }
  local function closed(label, bytes, code)
    local client = story:raw(label)
    client:write(bytes)
    client:expect("CLOSING", { code = code })
    client:expect "END"
  end
  closed("a bad priority", packet.encode { type = 1, priority = 4 }, "Protocol")
  if story.transport == "tls" then return end -- each of these connections takes too long over TLS
  closed("no HELLO", packet.encode { type = 10 }, "Protocol")
  closed("HELLO that is too short", packet.encode { type = 1, payload = "\1" }, "Protocol")
  closed("a second HELLO", hello .. hello, "Protocol")
  closed("bad flags", packet.encode { type = 1, flags = 8 }, "Protocol")
  closed("both flags", packet.encode { type = 1, flags = 6 }, "Protocol")
  closed("too large before WELCOME", packet.header({ type = 1 }, 4097), "PayloadTooLarge")
  closed("too large", hello .. packet.header({ type = 4 }, 65537), "PayloadTooLarge")
  closed("a short message", hello .. packet.encode { channel = 2, type = 0, payload = "abc" }, "Protocol")
  for kind = packet.CLIENT.JOIN, packet.CLIENT.BYE do
    local label = ("type %d with one byte"):format(kind)
    closed(label, hello .. packet.encode { type = kind, payload = "\9" }, "Protocol")
  end
end


local function packets_over(transport)
  return function(threads)
    local story = Story.start(threads, { game = Story.GAME, flags = { batch_hz = 0, tls_dev = true } })
    story.transport = transport
    local ann, bob, hall = talk(story)
    script_speaks(ann, bob, hall)
    errors(ann, bob, hall)
    plugin_channel(story, ann, bob)
    ann:send(0, "kick", "robert")
    bob:expect("CLOSING", { code = "Kicked" })
    bob:expect "END"
    ann:send(0, "delete", "hall")
    ann:fence()
    ann:expect_error("NoSuchRoom", ann:request("JOIN", str8 "nowhere"))
    ann:broadcast(hall, "x")
    ann:expect_error "NoSuchRoom"
    ann:leave(hall)
    ann:control("BYE")
    ann:expect "END"
    endings(story)
    return story
  end
end

for _, transport in ipairs { "tcp", "tls", "websocket", "udp" } do
  stories["packets over " .. transport] = packets_over(transport)
end


stories["sessions"] = function(threads)
  local story = Story.start(threads, { game = Story.GAME, resume = true, flags = { batch_hz = 0 } })
  local ann, bob = story:client "ann", story:client "bob"
  local hall = ann:join "hall"
  bob:join "hall"
  ann:expect "PEER_JOINED"
  bob:broadcast(hall, "counted", { flags = RELIABLE })
  ann:expect "BROADCAST"
  bob:expect("ACK", { count = 1 })
  local function resume(label, old, received)
    local client = story:raw(label)
    return client:hello { name = "anybody", resume = old.welcome.resume, received = received }
  end

  -- Resumes a session on another connection while the old one still exists.
  local again = resume("bob again", bob, 0)
  bob:expect("CLOSING", { code = "Replaced" })
  bob:expect "END"
  again:expect "JOINED"
  again:expect "ACK"

  -- Resumes a session after the loss of its connection, with packets that were sent meanwhile.
  again:reset()
  story.perigee:wait_log "suspended"
  ann:send(0, "send", "bob")
  ann:send(0, "rename", "robert")
  ann:expect "PEER_RENAMED"
  local third = resume("bob a third time", again, 0)
  third:expect "PEER_RENAMED"
  third:expect "JOINED"
  third:expect "ACK"
  third:expect("MESSAGE", { message = "marked" })

  -- Impossible counts.
  local wrong = story:raw "a count that cannot be"
  wrong:control("HELLO", packet.hello { name = "x", resume = third.welcome.resume, received = 99 })
  wrong:expect_rejected "Protocol"
  third:control("ACK", u32(99))
  third:expect("CLOSING", { code = "Protocol" })
  third:expect "END"
  ann:expect "PEER_LEFT"
  story:client("a token that nobody has"):control "BYE"
  return story
end

return stories
