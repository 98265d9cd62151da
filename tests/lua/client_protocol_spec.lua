--- The client's encoder, decoder and state, against bytes typed from docs/protocol.md.

local commands = require "perigee.client.commands"
local json = require "perigee.client.json"
local protocol = require "perigee.client.protocol"

--- Bytes from hexadecimal digits and quoted text: x [[05 'lobby' 00]].
local function x(text)
  local digits = text:gsub("'([^']*)'", function(quoted)
    return (quoted:gsub(".", function(char) return ("%02x"):format(char:byte()) end))
  end)
  return (digits:gsub("%s", ""):gsub("%x%x", function(pair)
    return string.char(tonumber(pair, 16))
  end))
end


local WELCOME = x [[
  0000 8100 00 00 0000 5f000000
  0100 2a000000
  00112233445566778899aabbccddeeff
  00000000000000000000000000000000
  40420f0000000000 00000100 c8320000 1400 00 00000000 0000
  0000000000000000000000000000000000000000000000000000000000000000
]]
local JOINED = x [[
  0000 8200 02 04 0100 1e000000
  07000000 05 'lobby' 2a000000 0200  03000000 03 'bob'  04000000 01 'x'
]]


local function open()
  local p = protocol.new()
  p:receive(WELCOME)
  assert.equal("welcome", p:next_event().type)
  return p
end


local function in_lobby()
  local p = open()
  p:request(commands.join, "lobby")
  p:receive(JOINED)
  local event = p:next_event()
  return p, event.room, event
end


local function events_of(p, data)
  p:receive(data)
  local events = {}
  for event in p.next_event, p do events[#events + 1] = event end
  return events
end


local function event_of(p, data)
  local events = events_of(p, data)
  assert.equal(1, #events)
  return events[1]
end


describe("commands", function()
  it("HELLO", function()
    assert.equal(x [[
      0000 0100 02 00 0000 27000000
      0100 0000000000000000 03 'ann' 0300 'abc'
      00000000000000000000000000000000 00000000
    ]], commands.hello("ann", "abc"))
  end)

  it("control packets", function()
    assert.equal(x "0000 0200 02 02 0900 06000000 05 'lobby'", commands.join(9, "lobby"))
    assert.equal(x "0000 0300 02 02 ff01 04000000 07000000", commands.leave(511, 7))
    assert.equal(x "0000 0400 02 00 0000 06000000 07000000 'hi'", commands.broadcast(7, "hi"))
    assert.equal(x "0000 0500 00 00 0000 08000000 0900000000000000", commands.ping(9))
    assert.equal(x "0000 0600 00 00 0000 08000000 'abcdefgh'", commands.pong("abcdefgh"))
    assert.equal(x "0000 0800 02 02 0900 02000000 01 'p'", commands.open_channel(9, "p"))
    assert.equal(x "0000 0900 02 01 0000 02000000 e803", commands.close_channel(1000))
    assert.equal(x "0000 0a00 02 02 0900 00000000", commands.list_rooms(9))
    assert.equal(x "0000 0b00 02 00 0000 00000000", commands.bye())
  end)

  it("messages, questions and answers", function()
    local body = [=[["move",{"x":1}]]=]
    assert.equal(x "0200 0000 02 00 0000 14000000 00000000" .. body,
      commands.message(0, "move", { x = 1 }))
    assert.equal(x "0200 0000 02 02 0500 0e000000 07000000" .. [=[["a",null]]=],
      commands.ask(5, 7, "a"))
    assert.equal(x "0200 0000 02 04 0500 0e000000 07000000" .. [=[["a",true]]=],
      commands.answer({ room_id = 7, name = "a", ref = 5 }, true))
  end)

  it("priority and RELIABLE", function()
    local options = { priority = "high", reliable = true }
    assert.equal(x "0000 0400 01 01 0000 04000000 07000000", commands.broadcast(7, "", options))
    assert.equal(x "b80b 0400 01 01 0000 00000000", commands.packet(3000, 4, "", options))
    assert.has_error(function() commands.broadcast(7, "", { priority = "urgent" }) end,
      "room:broadcast: no priority \"urgent\"; there are critical, high, normal and low")
  end)

  it("packets of games and plugins", function()
    assert.equal(x "b80b 0400 02 00 0000 04000000 'data'", commands.packet(3000, 4, "data"))
    assert.equal(x "b80b 0400 02 02 0300 04000000 'data'", commands.ask_packet(3, 3000, 4, "data"))
    assert.equal(x "b80b 0400 02 04 0300 04000000 'data'",
      commands.packet(3000, 4, "data", { answers = { ref = 3, request = true } }))
  end)

  it("a request gets a ref that is not taken", function()
    local p = open()
    local _, first = p:request(commands.list_rooms)
    assert.equal(1, first)
    for _ = 2, 0xffff do
      local _, ref = p:request(commands.list_rooms)
      p:forget(ref)
    end
    local _, ref = p:request(commands.list_rooms)
    assert.equal(2, ref)
  end)
end)


describe("events", function()
  it("WELCOME", function()
    local event = event_of(protocol.new(), WELCOME)
    assert.equal("welcome", event.type)
    assert.equal(42, event.id)
    assert.equal(x "00112233445566778899aabbccddeeff", event.session)
    assert.equal(1000000, event.server_time_us)
    assert.equal(65536, event.max_payload)
    assert.equal(13000, event.ping_interval_ms)
    assert.equal(20, event.tick_rate)
    assert.is_false(event.resumed)
  end)

  it("JOINED answers the request and brings the members", function()
    local p, room, event = in_lobby()
    assert.equal(1, event.answers)
    assert.same({ id = 7, name = "lobby", joined = true, members = { [3] = "bob", [4] = "x" } },
      room)
    assert.equal(room, p.rooms[7])
  end)

  it("members come and go", function()
    local p, room = in_lobby()
    local event = event_of(p, x "0000 8500 02 00 0000 0b000000 07000000 05000000 02 'cy'")
    assert.same({ type = "peer_joined", room_id = 7, room = room, id = 5, name = "cy" }, event)
    assert.equal("cy", room.members[5])
    event = event_of(p, x "0000 8600 02 00 0000 08000000 07000000 03000000")
    assert.same({ type = "peer_left", room_id = 7, room = room, id = 3, name = "bob" }, event)
    assert.is_nil(room.members[3])
  end)

  it("members and the client itself are renamed", function()
    local p = protocol.new()
    p:hello("ann", "")
    p:receive(WELCOME)
    p:next_event()
    p:request(commands.join, "lobby")
    p:receive(JOINED)
    local room = p:next_event().room
    local event = event_of(p, x "0000 9000 02 00 0000 0c000000 07000000 03000000 03 'rob'")
    assert.same({
      type = "peer_renamed", room_id = 7, room = room, id = 3, name = "rob", before = "bob",
    }, event)
    assert.equal("rob", room.members[3])
    event = event_of(p, x "0000 9000 02 00 0000 0c000000 00000000 2a000000 03 'zoe'")
    assert.same({ type = "peer_renamed", room_id = 0, id = 42, name = "zoe", before = "ann" }, event)
    assert.equal("zoe", p.name)
    -- What is no news: the client itself as a member of its room, its name again, a room that it is not in.
    assert.same({}, events_of(p, x "0000 9000 02 00 0000 0c000000 07000000 2a000000 03 'zoe'"))
    assert.same({}, events_of(p, x "0000 9000 02 00 0000 0c000000 00000000 2a000000 03 'zoe'"))
    assert.same({}, events_of(p, x "0000 9000 02 00 0000 0a000000 63000000 03000000 01 'x'"))
    assert.is_nil(room.members[42])
  end)

  it("BROADCAST knows its sender", function()
    local p, room = in_lobby()
    local event = event_of(p, x "0000 8400 02 00 0000 0a000000 07000000 03000000 'hi'")
    assert.same({
      type = "broadcast", room_id = 7, room = room, sender = 3, name = "bob", data = "hi",
    }, event)
  end)

  it("LEFT", function()
    local p, room = in_lobby()
    local event = event_of(p, x "0000 8300 02 00 0000 06000000 07000000 0600")
    assert.equal("Kicked", event.code)
    assert.equal(room, event.room)
    assert.is_false(room.joined)
    assert.same({}, p.rooms)
  end)

  it("PING brings its own answer", function()
    local event = event_of(open(), x "0000 0500 00 00 0000 08000000 'abcdefgh'")
    assert.equal(x "0000 0600 00 00 0000 08000000 'abcdefgh'", event.answer)
  end)

  it("PONG answers its PING and no other", function()
    local p = open()
    local _, ref = p:request(commands.ping)
    assert.same({}, events_of(p, x "0000 0600 00 00 0000 08000000 'abcdefgh'"))
    local event = event_of(p, x "0000 0600 00 00 0000 08000000 0100000000000000")
    assert.equal(ref, event.answers)
    assert.same({}, events_of(p, x "0000 0600 00 00 0000 08000000 0100000000000000"))
  end)

  it("ERROR answers a request, or is news", function()
    local p = open()
    p:request(commands.join, "nowhere")
    local event = event_of(p, x "0000 8700 00 04 0100 07000000 0b00 0300 'no!'")
    assert.same({ type = "error", code = "NoSuchRoom", message = "no!", answers = 1 }, event)
    event = event_of(p, x "0000 8700 00 00 0000 04000000 0c00 0000")
    assert.same({ type = "error", code = "NotInRoom", message = "" }, event)
    event = event_of(p, x "0000 8700 00 00 0000 04000000 e703 0000")
    assert.equal("Unknown", event.code)
  end)

  it("ROOMS", function()
    local p = open()
    p:request(commands.list_rooms)
    local event = event_of(p, x [[
      0000 8b00 02 04 0100 18000000
      0200  07000000 01 'a' 02000000  08000000 03 'b:1' 00000000
    ]])
    assert.same({ { id = 7, name = "a", members = 2 }, { id = 8, name = "b:1", members = 0 } },
      event.rooms)
  end)

  it("messages: news, questions, answers", function()
    local p, room = in_lobby()
    local event = event_of(p, x "0200 0000 02 00 0000 0d000000 07000000" .. [=[["hp",12]]=])
    assert.equal("message", event.type)
    assert.equal(room, event.room)
    assert.equal("hp", event.name)
    assert.equal(12, event.value)
    event = event_of(p, x "0200 0000 02 02 0903 0f000000 00000000" .. [=[["hp",null]]=])
    assert.equal("ask", event.type)
    assert.equal(777, event.ref)
    assert.is_nil(event.value)
    assert.is_nil(event.answers)
    local _, ref = p:request(commands.ask, 0, "hp")
    assert.equal(2, ref)
    event = event_of(p, x "0200 0000 02 04 0200 0c000000 00000000" .. [=[["hp",3]]=])
    assert.equal(2, event.answers)
  end)

  it("drops the answer to a request that was given up", function()
    local p = open()
    local _, ref = p:request(commands.ask, 0, "hp")
    p:forget(ref)
    assert.same({}, events_of(p, x "0200 0000 02 04 0100 0c000000 00000000" .. [=[["hp",3]]=]))
  end)

  it("a JOINED that comes too late is news", function()
    local p = open()
    local _, ref = p:request(commands.join, "lobby")
    p:forget(ref)
    local event = event_of(p, JOINED)
    assert.equal("joined", event.type)
    assert.is_nil(event.answers)
    assert.is_true(event.room.joined)
  end)

  it("packets of the game", function()
    local event = event_of(open(), x "b80b 0400 02 01 0000 02000000 'hi'")
    assert.equal("packet", event.type)
    assert.equal(3000, event.channel)
    assert.equal(4, event.number)
    assert.equal("hi", event.payload)
    assert.is_true(event.reliable)
    assert.is_nil(event.sender)
  end)

  it("a packet answers a request, or is news", function()
    local p = open()
    local _, ref = p:request(commands.ask_packet, 3000, 4, "q")
    local data = x "b80b 0400 02 04 0100 01000000 'a'"
    assert.equal(ref, event_of(p, data).answers)
    assert.is_nil(event_of(p, data).answers)
  end)

  it("a packet on another channel, or of another peer, is no answer", function()
    local p = open()
    p:request(commands.ask, 0, "x", 1)
    assert.is_nil(event_of(p, x "b80b 0400 02 04 0100 01000000 'a'").answers)
    local _, ref = p:request(commands.ask_packet, 3000, 4, "q")
    assert.equal(2, ref)
    assert.is_nil(event_of(p, x "b90b 0400 02 04 0200 01000000 'a'").answers)
    assert.equal(ref, event_of(p, x "b80b 0400 02 04 0200 01000000 'a'").answers)
  end)

  it("a served channel's packets have a sender, and its answers a receiver", function()
    local p = open()
    p:request(commands.open_channel, "ai")
    local event = event_of(p, x "0000 8a00 02 04 0100 05000000 e803 02 'ai'")
    assert.equal(1, event.answers)
    assert.equal(1000, event.channel)
    event = event_of(p, x "e803 0100 02 00 0000 06000000 2a000000 'hi'")
    assert.equal(42, event.sender)
    assert.equal("hi", event.payload)
    assert.equal(x "2a000000 'yo'", p:address(1000, "yo", 42))
    assert.equal(x "00000000 'yo'", p:address(1000, "yo"))
    assert.equal("yo", p:address(1001, "yo", 42))
    p:stop_serving(1000)
    assert.equal("yo", p:address(1000, "yo", 42))
  end)

  it("REDIRECT, and control packets of later versions", function()
    local p = open()
    local event = event_of(p, x "0000 8c00 02 00 0000 04000000 01 'h' 611e")
    assert.same({ type = "redirect", host = "h", port = 7777 }, event)
    event = event_of(p, x "0000 fa00 02 00 0000 01000000 'z'")
    assert.same({ type = "packet", channel = 0, number = 250, payload = "z" }, event)
    assert.same({}, events_of(p, x "0000 0700 02 00 0000 04000000 01000000"))
  end)

  it("are the same however the bytes are cut", function()
    local stream = WELCOME .. JOINED .. x [[
      0000 8400 02 00 0000 0a000000 07000000 03000000 'hi'
      0000 8600 02 00 0000 08000000 07000000 03000000
      0000 8900 00 00 0000 07000000 0200 0300 'bye'
    ]]
    local whole = events_of(protocol.new(), stream)
    assert.equal(5, #whole)
    for cut = 1, #stream - 1 do
      local p = protocol.new()
      local events = events_of(p, stream:sub(1, cut))
      for _, event in ipairs(events_of(p, stream:sub(cut + 1))) do events[#events + 1] = event end
      assert.same(whole, events)
    end
    local p, events = protocol.new(), {}
    for char in stream:gmatch(".") do
      for _, event in ipairs(events_of(p, char)) do events[#events + 1] = event end
    end
    assert.same(whole, events)
  end)

  it("a long packet in many pieces is joined once", function()
    local p = open()
    p:receive(x "b80b 0400 02 00 0000 00001000")
    local piece = ("x"):rep(1024)
    for _ = 1, 1023 do assert.same({}, events_of(p, piece)) end
    assert.equal(1024 * 1024, #event_of(p, piece).payload)
  end)
end)


describe("the end", function()
  it("has the reason that CLOSING gave", function()
    local p, room = in_lobby()
    local event = event_of(p, x "0000 8900 00 00 0000 08000000 0200 0400 'idle'")
    assert.same({ type = "closing", code = "IdleTimeout", message = "idle" }, event)
    assert.same({ type = "closed", code = "IdleTimeout", message = "idle" },
      p:finish("ConnectionReset", "reset"))
    assert.is_false(room.joined)
    assert.is_nil(p:finish("ConnectionReset", "reset"))
  end)

  it("REJECTED", function()
    local p = protocol.new()
    local event = event_of(p, x "0000 8800 00 00 0000 0a000000 0700 0600 'banned'")
    assert.same({ type = "rejected", code = "Rejected", message = "banned" }, event)
    assert.equal("Rejected", p:finish("ConnectionClosed", "").code)
  end)

  local function is_protocol_error(p, data, message)
    local events = events_of(p, data)
    local last = events[#events]
    assert.same({ type = "closed", code = "Protocol", message = "the server sent " .. message },
      last)
    assert.same({}, events_of(p, WELCOME))
  end

  it("malformed headers", function()
    is_protocol_error(open(), x "0000 0500 04 00 0000 00000000", "a packet of priority 4")
    is_protocol_error(open(), x "0000 0500 00 08 0000 00000000",
      "a packet with unknown flags 0x08")
    is_protocol_error(open(), x "0000 0500 00 06 0000 00000000",
      "a packet that is both request and response")
    is_protocol_error(open(), x "0000 0500 00 00 0000 ffffffff", "a packet of 4294967295 bytes")
    is_protocol_error(protocol.new(), "HTTP/1.1 400 Bad Request\r\n", "a packet of priority 47")
  end)

  it("packets in the wrong state", function()
    is_protocol_error(protocol.new(), JOINED, "joined before welcome")
    is_protocol_error(protocol.new(), x "b80b 0400 02 00 0000 00000000", "a packet before welcome")
    is_protocol_error(open(), WELCOME, "a second welcome")
  end)

  it("control packets cut short", function()
    local packets = {
      welcome = WELCOME:sub(13), joined = JOINED:sub(13), left = ("x"):rep(6),
      peer_joined = x "07000000 05000000 02 'cy'", peer_left = ("x"):rep(8),
      error = x "0100 0300 'abc'", closing = x "0100 0300 'abc'", rejected = x "0100 0300 'abc'",
      channel_opened = x "e803 02 'ai'", rooms = x "0100 07000000 01 'a' 02000000",
      redirect = x "01 'h' 611e", peer_renamed = x "07000000 05000000 02 'cy'",
      ping = ("x"):rep(8), pong = ("x"):rep(8),
    }
    local numbers = {
      welcome = 129, joined = 130, left = 131, peer_joined = 133, peer_left = 134, error = 135,
      rejected = 136, closing = 137, channel_opened = 138, rooms = 139, redirect = 140, ping = 5,
      pong = 6, peer_renamed = 144,
    }
    local function packet(name, payload)
      return string.char(0, 0, numbers[name], 0, 2, 0, 0, 0, #payload, 0, 0, 0) .. payload
    end
    for name, payload in pairs(packets) do
      local function new() return name == "welcome" and protocol.new() or open() end
      for length = 0, #payload - 1 do
        is_protocol_error(new(), packet(name, payload:sub(1, length)), "a malformed " .. name)
      end
    end
  end)

  it("a broadcast without a sender, a plugin's packet without one", function()
    is_protocol_error(open(), x "0000 8400 02 00 0000 04000000 07000000", "a malformed broadcast")
    local p = open()
    events_of(p, x "0000 8a00 02 04 0100 05000000 e803 02 'ai'")
    is_protocol_error(p, x "e803 0100 02 00 0000 02000000 'hi'",
      "a plugin's packet without a sender")
  end)

  it("messages that are none", function()
    is_protocol_error(open(), x "0200 0000 02 00 0000 03000000 000000", "a malformed message")
    local bodies = {
      "", "1", "{}", "[]", "[1,2]", "[\"a\"", "[\"a\",1,2]", "nul", "[\"a\",NaN]",
    }
    for _, body in ipairs(bodies) do
      local size = string.char(#body + 4)
      is_protocol_error(open(), x "0200 0000 02 00 0000" .. size .. x "000000 00000000" .. body,
        "a message that is not [\"name\", value]")
    end
  end)
end)


describe("JSON", function()
  it("keeps every number", function()
    for _, text in ipairs { "9007199254740992", "0.1", "-5", "1e+300", "0.3333333333333333" } do
      assert.equal(text, json.encode(tonumber(text)))
    end
    assert.has_error(function() json.encode(0 / 0) end)
    assert.has_error(function() json.encode(math.huge) end)
  end)

  it("tells arrays from objects", function()
    assert.equal("[1,null,3]", json.encode { 1, nil, 3 })
    assert.equal("{}", json.encode {})
    assert.equal("[]", json.encode(json.raw "[]"))
    assert.equal([[{"1000":true}]], json.encode { [1000] = true })
    assert.equal([[{"1":"x","a":2}]], json.encode { "x", a = 2 })
  end)

  it("turns null into nil, at any depth", function()
    assert.same({ { a = 1 }, nil, 3 }, json.decode [=[[{"a":1,"b":null},null,3]]=])
    assert.is_nil(json.decode "null")
  end)

  it("says what it cannot hold", function()
    local loop = {}
    loop.loop = loop
    assert.has_error(function() json.encode(print) end, "JSON cannot hold a function")
    assert.has_error(function() json.encode { [print] = 1 } end,
      "JSON cannot have a function as a key")
    assert.has_error(function() json.encode(loop) end,
      "JSON nested too deep; does a table hold itself?")
    local raw, problem = json.raw "[1,"
    assert.is_nil(raw)
    assert.is_string(problem)
  end)
end)


describe("addresses", function()
  local address = require "perigee.client.address"

  it("host, host:port, [v6]:port, v6", function()
    for text, wanted in pairs {
      ["h"] = { "h", 7777 }, ["h:1"] = { "h", 1 }, ["[::1]:5"] = { "::1", 5 },
      ["[::1]"] = { "::1", 7777 }, ["::1"] = { "::1", 7777 },
      ["10.0.0.1:65535"] = { "10.0.0.1", 65535 },
    } do
      assert.same(wanted, { address.parse(text) })
    end
    assert.equal("[::1]:5", address.format("::1", 5))
    assert.equal("h:5", address.format("h", 5))
  end)

  it("says what is wrong with others", function()
    for _, text in ipairs { "", "h:", ":1", "a b", "h:x", "h:0", "h:65536", "[::1", "[]:1" } do
      local host, problem = address.parse(text)
      assert.is_nil(host)
      assert.is_string(problem)
    end
  end)
end)


describe("packets that come by UDP", function()
  local RELAYED = x "0000 8400 02 00 0000 0a000000 07000000 03000000 'hi'"

  it("are events, also in the middle of one of the stream", function()
    local p, lobby = in_lobby()
    p:receive(x "0000 8500 02 00 0000 0c0000")
    p:receive_datagram(RELAYED)
    local event = p:next_event()
    assert.same({ "broadcast", lobby, "bob", "hi", true },
      { event.type, event.room, event.name, event.data, event.by_udp })
    assert.is_nil(p:next_event())
    event = event_of(p, x "00 07000000 09000000 03 'new'")
    assert.same({ "peer_joined", "new" }, { event.type, event.name })
    assert.is_nil(event.by_udp)
  end)

  it("are passed over before WELCOME, and about rooms that are not known", function()
    local p = protocol.new()
    p:receive_datagram(RELAYED)
    assert.equal("welcome", event_of(p, WELCOME).type)
    p:receive_datagram(RELAYED)
    p:receive_datagram(x "0200 0000 02 00 0000 0b000000 07000000 '[\"a\",1]'")
    assert.is_nil(p:next_event())
    p:receive_datagram(x "0200 0000 02 00 0000 0b000000 00000000 '[\"a\",1]'")
    local event = p:next_event()
    assert.same({ "message", "a", 1 }, { event.type, event.name, event.value })
    p:receive_datagram(x "0200 0000 02 00 0000 00000000")
    event = p:next_event()
    assert.same({ "closed", "Protocol" }, { event.type, event.code })
  end)
end)


describe("a missing library", function()
  it("is one line that names the package", function()
    local dependency = require "perigee.client.dependency"
    local ok, problem = pcall(dependency, "no.such.module", "lua-such", "such")
    assert.is_false(ok)
    assert.equal("perigee.client needs the Lua module \"no.such.module\": install it with "
      .. "`apt install lua-such` or `luarocks install such`", problem)
  end)
end)
