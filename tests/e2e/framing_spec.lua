--- Packets after the handshake: the rules of the header, malformed payloads, unknown types.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local PING = packet.CLIENT.PING

describe("a header that breaks a rule", function()
  after_each(server.stop_all)

  -- Sends one bad header to a server. The server must close `ann`, and bob must notice nothing.
  local function closes(bytes, code)
    local perigee = server.start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:write(bytes)
    ann:expect_closing(code)
    perigee:wait_log(code)
    bob:expect_quiet()
  end

  it("closes: priority 4", function()
    closes(packet.header({ type = PING, priority = 4 }, 8), "Protocol")
  end)

  it("closes: priority 255", function()
    closes(packet.header({ type = PING, priority = 255 }, 8), "Protocol")
  end)

  it("closes: each unknown flag bit", function()
    local perigee = server.start()
    for _, flag in ipairs { 8, 16, 32, 64, 128, 255 } do
      local client = perigee:client()
      client:write(packet.header({ type = PING, flags = flag }, 8))
      client:expect_closing "Protocol"
    end
  end)

  it("closes: REQUEST and RESPONSE together", function()
    local flags = packet.REQUEST + packet.RESPONSE
    closes(packet.header({ type = PING, flags = flags, ref = 1 }, 8), "Protocol")
  end)

  it("closes: a length of 0xFFFFFFFF", function()
    closes(packet.header({ type = PING }, 0xFFFFFFFF), "PayloadTooLarge")
  end)

  it("closes: a length one over max_payload", function()
    closes(packet.header({ channel = 5, type = 1 }, 65537), "PayloadTooLarge")
  end)

  it("closes at the header, after all that came before it was done", function()
    local perigee = server.start()
    local ann = perigee:client()
    local value = packet.u64(99)
    ann:write(
      packet.encode { type = PING, payload = value } .. packet.header({ type = 1, priority = 9 }, 0)
    )
    ann:expect_next("PONG", { value = value })
    ann:expect_closing "Protocol"
  end)
end)

describe("a packet that keeps the rules", function()
  after_each(server.stop_all)

  it("may be as large as max_payload", function()
    local perigee = server.start { flags = { max_payload = 3000 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    local data = ("x"):rep(3000 - 4)
    ann:broadcast(room, data):fence()
    -- A relayed packet is four bytes longer than the received one.
    bob:expect("BROADCAST", { data = data })
    ann:broadcast(room, data .. "x")
    ann:expect "PEER_JOINED"
    ann:expect_closing "PayloadTooLarge"
  end)

  it("may come byte by byte", function()
    local ann = server.start():client()
    local bytes = packet.encode { type = PING, payload = packet.u64(7) }
    for i = 1, #bytes do
      ann:write(bytes:sub(i, i)):wrote()
    end
    ann:expect("PONG", { value = packet.u64(7) })
  end)

  it("may come with a thousand others in one piece", function()
    local ann = server.start():client()
    local pings = {}
    for i = 1, 1000 do
      pings[i] = packet.encode { type = PING, payload = packet.u64(i) }
    end
    ann:write(table.concat(pings))
    for i, pong in ipairs(ann:expect_many(1000, "PONG")) do
      assert.equal(packet.u64(i), pong.value)
    end
  end)

  it("may carry any priority, RELIABLE, and a ref without REQUEST", function()
    local ann = server.start():client()
    for priority = 0, 3 do
      ann:send_packet {
        type = PING,
        priority = priority,
        flags = packet.RELIABLE,
        ref = 9,
        payload = packet.u64(priority),
      }
      ann:expect("PONG", { value = packet.u64(priority) })
    end
  end)
end)

describe("a payload that is not what its type says", function()
  after_each(server.stop_all)

  local MALFORMED = {
    { "JOIN without a name", "JOIN", "" },
    { "JOIN with a name cut short", "JOIN", "\5lobb" },
    { "JOIN with a byte too many", "JOIN", "\5lobby!" },
    { "LEAVE with three bytes", "LEAVE", "\1\0\0" },
    { "LEAVE with five bytes", "LEAVE", "\1\0\0\0\0" },
    { "BROADCAST without a room", "BROADCAST", "\1\0\0" },
    { "PING with seven bytes", "PING", "1234567" },
    { "PING with nine bytes", "PING", "123456789" },
    { "PONG with no bytes", "PONG", "" },
    { "ACK with three bytes", "ACK", "\0\0\0" },
    { "CHANNEL_OPEN cut short", "CHANNEL_OPEN", "\9chess" },
    { "CHANNEL_CLOSE with one byte", "CHANNEL_CLOSE", "\1" },
    { "ROOM_LIST with a payload", "ROOM_LIST", "x" },
    { "BYE with a payload", "BYE", "x" },
  }

  it("closes, whatever the type", function()
    local perigee = server.start()
    for _, case in ipairs(MALFORMED) do
      local what, name, payload = unpack(case)
      local client = perigee:client()
      client.label = what
      client:control(name, payload)
      client:expect_closing "Protocol"
    end
  end)

  it("closes: a message without a room", function()
    local ann = server.start():client()
    ann:send_packet { channel = 2, type = 0, payload = "\0\0\0" }
    ann:expect_closing "Protocol"
  end)
end)

describe("a control packet that is unknown", function()
  after_each(server.stop_all)

  it("gets Unsupported, and the connection stays", function()
    local ann = server.start():client()
    for _, kind in ipairs { 0, 12, 64, 128, 141, 65535 } do
      ann:send_packet { type = kind, payload = "whatever" }
      ann:expect_error "Unsupported"
    end
    ann:expect_quiet()
  end)

  it("gets Unsupported when it is one that only servers send", function()
    local ann = server.start():client()
    for kind = 129, 140 do
      ann:send_packet { type = kind }
      ann:expect_error "Unsupported"
    end
    ann:expect_quiet()
  end)

  it("has its request answered", function()
    local ann = server.start():client()
    ann:send_packet { type = 500, flags = packet.REQUEST, ref = 41 }
    ann:expect_error("Unsupported", 41)
  end)
end)

describe("control packets without an answer of their own", function()
  after_each(server.stop_all)

  it("PING is answered with its value", function()
    local ann = server.start():client()
    ann:control("PING", "\255\254\253\252\251\250\249\248")
    local pong = ann:expect "PONG"
    assert.equal("\255\254\253\252\251\250\249\248", pong.value)
    assert.equal(0, pong.priority)
  end)

  it("a PONG that nobody asked for and an ACK are taken", function()
    local ann = server.start():client()
    ann:control("PONG", packet.u64(123))
    ann:control("ACK", packet.u32(5))
    ann:expect_quiet()
  end)

  it("BYE ends the connection in order", function()
    local perigee = server.start { flags = { log_level = "info" } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = bob:join "lobby"
    ann:join "lobby"
    ann:control "BYE"
    ann:expect_end()
    bob:expect "PEER_JOINED"
    bob:expect("PEER_LEFT", { room = room, peer = ann.id })
  end)
end)
