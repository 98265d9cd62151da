--- Peers over WebSockets: the same rooms, messages, limits and ends as over TCP.
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local function binary(perigee, name, o)
  return web_socket.client(perigee.port, o):hello { name = name }
end

local function text(perigee)
  local ws = web_socket.raw(perigee.port)
  ws:text "/rooms"
  ws:expect("TEXT", { payload = "* rooms: lobby (0)" })
  ws.inbox = {}
  return ws
end

local function expect_line(ws, line)
  ws:expect("TEXT", { payload = line })
end

describe("a binary peer over a WebSocket", function()
  after_each(server.stop_all)

  it("meets those over TCP", function()
    local perigee = server.start { text = true }
    local ann, bob = binary(perigee, "ann"), perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect("PEER_JOINED", { peer = bob.id })
    ann:broadcast(room, "from ann")
    bob:expect_next("BROADCAST", { sender = ann.id, data = "from ann" })
    bob:broadcast(room, "from bob")
    ann:expect_next("BROADCAST", { sender = bob.id, data = "from bob" })
    ann:expect_quiet()
    perigee:wait_log(function(line) return line.name == "ann" and line.transport == "ws" end)
  end)

  it("is told to scripts as what it is", function()
    local perigee = server.start {
      text = true,
      game = [[return { on_message = {
        how = function(peer) return peer.transport end,
        text = function(peer) peer:send("how", peer.transport) end,
      } }]],
    }
    assert.equal("ws", binary(perigee, "ann"):question(0, "how"))
    assert.equal("tcp", perigee:client("bob"):question(0, "how"))
    local ws = web_socket.raw(perigee.port)
    ws:text "hello"
    expect_line(ws, 'how "text"')
  end)

  it("gets everything in order, whatever the bursts", function()
    local perigee = server.start { flags = { batch_hz = 0, channel_capacity = 20000 } }
    local ann, bob, tom = binary(perigee, "ann"), binary(perigee, "bob"), perigee:client "tom"
    local room = ann:join "lobby"
    bob:join "lobby"
    tom:join "lobby"
    local number = 0
    for _, burst in ipairs { 1, 2, 16, 64, 256, 1000 } do
      local list = {}
      for i = 1, burst do
        number = number + 1
        list[i] = packet.encode {
          type = packet.CLIENT.BROADCAST,
          payload = packet.u32(room) .. ("%d"):format(number) .. ("x"):rep(number % 200),
        }
      end
      for from = 1, burst, 50 do
        ann:write(table.concat(list, "", from, math.min(burst, from + 49)))
      end
    end
    for _, member in ipairs { bob, tom } do
      for i, event in ipairs(member:expect_many(number, "BROADCAST")) do
        assert.equal(("%d"):format(i) .. ("x"):rep(i % 200), event.data)
      end
    end
    ann:fence()
  end)

  it("gets packets larger than what is written at a time", function()
    local perigee = server.start { flags = { max_payload = 1024 * 1024 } }
    local ann, bob = binary(perigee, "ann"), binary(perigee, "bob")
    local room = ann:join "lobby"
    bob:join "lobby"
    for i = 1, 5 do
      ann:broadcast(room, ("%d"):format(i):rep(200000 * i))
    end
    for i = 1, 5 do
      assert.equal(200000 * i, #bob:expect("BROADCAST").data)
    end
  end)

  it("that reads slowly loses what it may lose, and nothing else", function()
    local perigee = server.start {
      flags = { channel_capacity = 100, batch_hz = 0, ping_interval = 60 },
      game = [[return {
        on_start = function() require("perigee").rooms.create "lobby" end,
        on_backpressure = function(room, peer, dropped) print("dropped for " .. peer.name) end,
      }]],
    }
    local ann = binary(perigee, "ann")
    local slow = binary(perigee, "slow", { recv_buffer = 4096 })
    local bob = binary(perigee, "bob")
    local room = ann:join "lobby"
    slow:join "lobby"
    bob:join "lobby"
    slow:stall()
    local sent = 0
    wait.for_true(function()
      for _ = 1, 20 do
        sent = sent + 1
        ann:broadcast(room, ("%08d"):format(sent) .. ("x"):rep(8000))
      end
      ann:fence()
      return perigee:count_log "dropped for slow" > 0
    end)
    assert.equal(sent, #bob:expect_many(sent, "BROADCAST"))
    slow:resume_reading()
    slow:list_rooms() -- its answer comes after everything else, and each packet was whole
    local last, count = 0, 0
    for _, event in ipairs(slow.inbox) do
      if event.name == "BROADCAST" then
        local number = tonumber(event.data:sub(1, 8))
        assert.is_true(number > last)
        assert.equal(8008, #event.data)
        last, count = number, count + 1
      end
    end
    assert.is_true(count > 0 and count < sent)
    ann:broadcast(room, "the end")
    slow:expect("BROADCAST", { data = "the end" })
  end)

  it("that does not read is closed where that is the rule", function()
    local perigee = server.start {
      flags = { channel_capacity = 50, overflow = "disconnect", batch_hz = 0, ping_interval = 60 },
    }
    local ann = binary(perigee, "ann")
    local slow = binary(perigee, "slow", { recv_buffer = 4096 })
    local room = ann:join "lobby"
    slow:join "lobby"
    slow:stall()
    wait.for_true(function()
      for _ = 1, 20 do
        ann:broadcast(room, ("x"):rep(8000))
      end
      ann:fence()
      return perigee:count_log "SlowConsumer" > 0
    end)
    slow:resume_reading()
    slow:expect("CLOSING", { code = "SlowConsumer" })
    wait.for_true(function() return slow.ended end)
    assert.equal(4021, slow.close_frame.code)
  end)

  it("is pinged, and closed when it does not answer", function()
    local perigee = server.start { flags = { ping_interval = 0.2, idle_timeout = 60, resume_timeout = 0 } }
    local ann = web_socket.client(perigee.port, { pong = false }):hello { name = "ann" }
    ann:expect("CLOSING", { code = "PingTimeout" })
    ann:expect_end()
    assert.equal(4003, ann.close_frame.code)
    assert.equal("no PONG before the next PING", ann.close_frame.reason)
  end)

  it("keeps to the rate limit", function()
    local perigee = server.start { flags = { rate_limit = 10, rate_limit_kick = true } }
    local ann = binary(perigee, "ann")
    ann:write(packet.encode({ type = 5, payload = packet.u64(1) }):rep(100))
    ann:expect("CLOSING", { code = "RateLimited" })
    wait.for_true(function() return ann.ended end)
    assert.equal(4016, ann.close_frame.code)
  end)

  it("waits while a script decides, and what it sent meanwhile is not lost", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_start = function() perigee.rooms.create "lobby" end,
          on_connect = function() perigee.sleep(0.1) return true end,
        }
      ]],
    }
    local ann = web_socket.client(perigee.port)
    local room = packet.encode { type = 2, payload = packet.str8 "lobby", flags = 2, ref = 1 }
    local ping = packet.encode { type = 5, payload = packet.u64(7) }
    local hello = packet.encode { type = 1, payload = packet.hello { name = "ann" } }
    ann:write(hello .. room)
    ann:write(ping)
    ann:expect "WELCOME"
    ann:expect "JOINED"
    ann:expect("PONG", { value = packet.u64(7) })
  end)

  it("is told that the server stops", function()
    local perigee = server.start()
    local ann = binary(perigee, "ann")
    ann:join "lobby"
    perigee:kill "sigterm"
    ann:expect("CLOSING", { code = "Unavailable" })
    ann:expect_end()
    assert.equal(1001, ann.close_frame.code)
    perigee:stop()
  end)

  it("is refused where there are too many", function()
    local perigee = server.start { flags = { max_clients = 1 } }
    binary(perigee, "ann")
    local bob = web_socket.client(perigee.port)
    bob:control("HELLO", packet.hello { name = "bob" })
    bob:expect_rejected "ServerFull"
    assert.equal(1013, bob.close_frame.code)
  end)

  it("that vanishes is a reset", function()
    local perigee = server.start { flags = { resume_timeout = 0 } }
    local ann, bob = binary(perigee, "ann"), binary(perigee, "bob")
    ann:close() -- sends no close frame
    perigee:wait_log(function(line)
      return line.message == "disconnected" and line.name == "ann" and line.reason == "ConnectionReset"
    end)
    bob.tcp:write(frames.encode(frames.CLOSE, frames.close(1001)))
    perigee:wait_log(function(line)
      return line.message == "disconnected" and line.name == "bob" and line.reason == "ConnectionClosed"
    end)
  end)

  it("may not begin a message and leave it", function()
    local perigee = server.start { flags = { ping_interval = 60, idle_timeout = 60 } }
    local ann, bob = binary(perigee, "ann"), binary(perigee, "bob")
    local part = frames.encode(frames.CONTINUATION, "", { fin = false })
    ann.tcp:write(frames.encode(frames.BINARY, packet.header({ type = 5 }, 8), { fin = false }))
    local closing
    wait.for_true(function()
      if not ann.ended then ann.tcp:write(part) end
      for _, event in ipairs(ann.inbox) do
        if event.name == "CLOSING" then closing = event end
      end
      return closing
    end, 30)
    assert.equal("IdleTimeout", closing.code)
    assert.truthy(closing.text:find("not finished", 1, true))
    bob:fence()
  end)
end)

describe("a text peer over a WebSocket", function()
  after_each(server.stop_all)

  it("meets all others", function()
    local perigee = server.start { text = true }
    local ann, bob, tom = text(perigee), perigee:text "bob", binary(perigee, "tom")
    ann:text "/name ann"
    ann:text "/join lobby"
    expect_line(ann, "* joined lobby, nobody else is here")
    bob:join "lobby"
    local room = tom:join "lobby"
    expect_line(ann, "* bob joined lobby")
    expect_line(ann, "* tom joined lobby")
    ann:text "hello"
    bob:expect_line "ann: hello"
    tom:expect("BROADCAST", { data = "hello" })
    tom:broadcast(room, "from tom")
    bob:line "from bob"
    expect_line(ann, "tom: from tom")
    expect_line(ann, "bob: from bob")
  end)

  it("gets a message for each line", function()
    local perigee = server.start {
      game = [[return {
        on_start = function() require("perigee").rooms.create "lobby" end,
        on_message = { text = function(peer, line, room)
          room:relay "one\ntwo\n"
          room:relay "not \255 UTF-8"
          room:relay ""
          for i = 1, 300 do peer:send("count", i) end
        end },
      }]],
    }
    local ann = text(perigee)
    ann:text "/join lobby"
    expect_line(ann, "* joined lobby, nobody else is here")
    ann:text "go"
    expect_line(ann, "one")
    expect_line(ann, "two")
    expect_line(ann, "not ? UTF-8")
    for i = 1, 300 do
      expect_line(ann, "count " .. i)
    end
  end)

  it("that reads slowly gets whole messages", function()
    local perigee = server.start { flags = { channel_capacity = 100, batch_hz = 0, max_payload = 20000 } }
    local ann = text(perigee)
    local slow = web_socket.raw(perigee.port, { recv_buffer = 4096 })
    slow:text "/join lobby"
    slow:expect("TEXT", { payload = "* joined lobby, nobody else is here" })
    ann:text "/join lobby"
    ann:expect(function(event) return event.payload:match "^%* joined lobby: " end)
    slow:stall()
    wait.for_true(function()
      for _ = 1, 20 do
        ann:text(("x"):rep(8000))
      end
      ann:fence()
      return perigee:count_log "messages dropped" > 0
    end)
    slow:resume_reading()
    slow:fence()
    for _, event in ipairs(slow.inbox) do
      if event.name == "TEXT" and event.payload:find "xxx" then
        assert.truthy(event.payload:match "^guest%-%d+: x+$")
        assert.equal(8000, #event.payload:match "x+$")
      end
    end
  end)

  it("is told why it is closed", function()
    local perigee = server.start { flags = { idle_timeout = 0.3 } }
    local ann = text(perigee)
    expect_line(ann, "! IdleTimeout: nothing came for too long")
    ann:expect_closed(4002)
  end)
end)

describe("WebSockets that mean harm", function()
  after_each(server.stop_all)

  it("do not fill the server with answers to pings that they do not read", function()
    local perigee = server.start { env = server.without_quarantine(), flags = { ping_interval = 60 } }
    local ann = binary(perigee, "ann")
    local rude = web_socket.raw(perigee.port, { recv_buffer = 4096 })
    rude:stall()
    local before = perigee:memory_kb()
    local flood = frames.encode(frames.PING, ("x"):rep(125)):rep(2000)
    for _ = 1, 60 do
      rude:write(flood):wrote()
      ann:fence()
    end
    assert.is_true(perigee:memory_kb() - before < 8192)
    rude:resume_reading()
    wait.for_true(function() return #rude.inbox > 100 end)
  end)

  it("do not fill the server with messages that they do not end", function()
    local MIB = 1024 * 1024
    local perigee = server.start { flags = { max_payload = 4 * MIB, ping_interval = 60, max_clients = 100 } }
    local ann = binary(perigee, "ann")
    local part = frames.encode(frames.BINARY, packet.header({ channel = 3000, type = 1 }, 4 * MIB)
      .. ("x"):rep(4 * MIB - 100), { fin = false, mask = "\0\0\0\0" })
    local crowd, refused = {}, nil
    wait.for_true(function()
      local client = binary(perigee, "crowd")
      crowd[#crowd + 1] = client
      client.tcp:write(part)
      client:wrote()
      for _, one in ipairs(crowd) do
        if one.ended then refused = one end
      end
      assert.is_true(#crowd < 40)
      return refused
    end)
    refused:expect("CLOSING", { code = "ServerFull" })
    assert.equal(1013, refused.close_frame.code)
    ann:fence()
    for _, one in ipairs(crowd) do
      one:close()
    end
    local bob = binary(perigee, "bob")
    bob:fence()
  end)
end)
