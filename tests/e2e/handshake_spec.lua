--- A client says HELLO and gets WELCOME or REJECTED.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local ZEROS = packet.NO_UUID

describe("a handshake", function()
  after_each(server.stop_all)

  it("is answered with WELCOME, to the byte", function()
    local perigee = server.start()
    local before = os.time()
    local ann = perigee:client "ann"
    local w = ann.welcome
    assert.equal(packet.HEADER_SIZE + 95, #w.raw)
    assert.equal(0, w.priority)
    assert.equal(0, w.flags)
    assert.equal(0, w.ref)
    assert.equal(1, w.version)
    assert.is_true(w.peer > 0)
    assert.equal(ZEROS, w.resume)
    assert.equal(65536, w.max_payload)
    assert.equal(13000, w.ping_interval_ms)
    assert.equal(20, w.tick_rate)
    assert.equal(0, w.resumed)
    assert.equal(0, w.received)
    assert.is_true(w.udp_port >= perigee.port) -- an io thread has a port of its own
    assert.not_equal(ZEROS .. ZEROS, w.udp_key)
    assert.is_true(w.time_us / 1e6 >= before - 1 and w.time_us / 1e6 <= os.time() + 2)
  end)

  it("gives every session a random UUID and a peer id of its own", function()
    local perigee = server.start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    assert.not_equal(ann.id, bob.id)
    assert.not_equal(ann.welcome.session, bob.welcome.session)
    for _, client in ipairs { ann, bob } do
      assert.equal(4, math.floor(client.welcome.session:byte(7) / 16))
      assert.equal(2, math.floor(client.welcome.session:byte(9) / 64))
    end
  end)

  it("carries the ref of a HELLO with REQUEST in its answer", function()
    local perigee = server.start()
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann" }, { flags = packet.REQUEST, ref = 77 })
    ann:expect_answer("WELCOME", 77)
    local bob = perigee:raw()
    local hello = packet.hello { name = "bob", version = 2 }
    bob:control("HELLO", hello, { flags = packet.REQUEST, ref = 78 })
    bob:expect_answer("REJECTED", 78, { code = "VersionMismatch" })
    bob:expect_end()
  end)

  it("tells the settings of the server", function()
    local perigee = server.start {
      flags = { max_payload = 2000, ping_interval = 2.5, tick_rate = 33 },
    }
    local w = perigee:client().welcome
    assert.equal(2000, w.max_payload)
    assert.equal(2500, w.ping_interval_ms)
    assert.equal(33, w.tick_rate)
  end)

  it("hands name, address, transport and token to the script", function()
    local perigee = server.start {
      game = [[
        return {
          on_message = {
            who = function(peer)
              return { peer.id, peer.name, peer.address, peer.transport, peer.token, peer.session }
            end,
          },
        }
      ]],
    }
    local ann = perigee:raw():hello { name = "änn", token = ("s"):rep(500) }
    local who = ann:question(0, "who")
    assert.equal(ann.id, who[1])
    assert.equal("änn", who[2])
    assert.truthy(who[3]:find "^127%.0%.0%.1")
    assert.equal("tcp", who[4])
    assert.equal(("s"):rep(500), who[5])
    local hex = ann.welcome.session:gsub(".", function(c) return ("%02x"):format(c:byte()) end)
    assert.equal(hex, (who[6]:gsub("-", "")))
  end)

  it("takes a HELLO that comes byte by byte, and one with packets right behind it", function()
    local perigee = server.start()
    local ann = perigee:raw()
    local hello = packet.encode { type = 1, payload = packet.hello { name = "ann" } }
    for i = 1, #hello do
      ann:write(hello:sub(i, i)):wrote()
    end
    ann:expect "WELCOME"
    local bob = perigee:raw()
    bob:write(hello .. packet.encode { type = 2, payload = packet.str8 "lobby" })
    bob:expect_next "WELCOME"
    bob:expect_next "JOINED"
  end)

  it("ignores an unknown resume token: a new session", function()
    local perigee = server.start()
    local ann = perigee:raw():hello { name = "ann", resume = ("\7"):rep(16), received = 3 }
    assert.equal(0, ann.welcome.resumed)
    assert.equal(0, ann.welcome.received)
  end)

  it("is refused to another version", function()
    local ann = server.start():raw()
    ann:control("HELLO", packet.hello { name = "ann", version = 2 })
    ann:expect_rejected "VersionMismatch"
  end)

  it("is refused to another schema", function()
    local ann = server.start():raw()
    ann:control("HELLO", packet.hello { name = "ann", hash = 1 })
    ann:expect_rejected "ProtocolHashMismatch"
  end)

  it("is refused to names that are none", function()
    local perigee = server.start()
    local names = {
      empty = "",
      long = ("x"):rep(65),
      newline = "a\nb",
      zero = "a\0b",
      escape = "\27[2J",
      delete = "a\127",
      ["C1 control"] = "a\194\133",
      ["half a character"] = "caf\195",
      ["overlong slash"] = "\192\175",
      surrogate = "\237\160\128",
      ["beyond Unicode"] = "\244\144\128\128",
    }
    for what, name in pairs(names) do
      local client = perigee:raw()
      client.label = what
      client:control("HELLO", packet.hello { name = name })
      client:expect_rejected "Protocol"
    end
  end)

  it("takes every name that is one", function()
    local perigee = server.start()
    for _, name in ipairs { "a", ("x"):rep(64), "Zoë ☃ 🚀", "a b", "o'neil \"q\" \\" } do
      perigee:client(name):close()
    end
  end)
end)

describe("a first packet that is no HELLO", function()
  after_each(server.stop_all)

  local function refused(bytes, code)
    local client = server.start():raw()
    client:write(bytes)
    client:expect_closing(code)
  end

  local hello = packet.hello { name = "ann" }

  it("closes: JOIN", function()
    refused(packet.encode { type = 2, payload = packet.str8 "lobby" }, "Protocol")
  end)

  it("closes: PING", function()
    refused(packet.encode { type = 5, payload = packet.u64(1) }, "Protocol")
  end)

  it("closes: a message", function()
    local payload = packet.message(0, "hi")
    refused(packet.encode { channel = 2, type = 0, payload = payload }, "Protocol")
  end)

  it("closes: type 1 on another channel", function()
    refused(packet.encode { channel = 3, type = 1, payload = hello }, "Protocol")
  end)

  it("closes: an unknown control type", function()
    refused(packet.encode { type = 4711 }, "Protocol")
  end)

  it("closes: a HELLO that ends too early", function()
    local perigee = server.start()
    for cut = 0, #hello - 1 do
      local client = perigee:raw()
      client:control("HELLO", hello:sub(1, cut))
      client:expect_closing "Protocol"
      client:close()
    end
  end)

  it("closes: a HELLO with a byte too many", function()
    refused(packet.encode { type = 1, payload = hello .. "x" }, "Protocol")
  end)

  it("closes: a HELLO larger than a HELLO can be", function()
    local big = packet.hello { name = "ann", token = ("t"):rep(65000) }
    refused(packet.encode { type = 1, payload = big }, "PayloadTooLarge")
  end)

  it("closes: a length of 0xFFFFFFFF, without waiting for the body", function()
    refused(packet.header({ type = 1 }, 0xFFFFFFFF), "PayloadTooLarge")
  end)

  it("closes: something that is no packet at all", function()
    refused("\255\255\255\255\255\255\255\255\255\255\255\255", "Protocol")
  end)

  it("closes: a second HELLO", function()
    local ann = server.start():client()
    ann:control("HELLO", hello)
    ann:expect_closing "Protocol"
  end)
end)

describe("a client that takes too long over its HELLO", function()
  after_each(server.stop_all)

  it("is closed when it says nothing", function()
    local ann = server.start({ flags = { handshake_timeout = 0.1 } }):raw()
    ann:expect_closing "HandshakeTimeout"
  end)

  it("is closed when its header is cut in half for ever", function()
    local ann = server.start({ flags = { handshake_timeout = 0.1 } }):raw()
    ann:write(packet.header({ type = 1 }, 40):sub(1, 6))
    ann:expect_closing "HandshakeTimeout"
  end)

  it("is closed although it goes on sending a byte now and then", function()
    local perigee = server.start { flags = { handshake_timeout = 0.3 } }
    local ann = perigee:raw()
    local hello = packet.encode { type = 1, payload = packet.hello { token = ("t"):rep(200) } }
    ann:trickle(hello, 0.02)
    ann:expect_closing "HandshakeTimeout"
  end)

  it("does not hold up others", function()
    local perigee = server.start { flags = { handshake_timeout = 0.5 } }
    local slow = perigee:raw()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:broadcast(room, "x")
    ann:expect("BROADCAST", { data = "x" })
    slow:expect_closing "HandshakeTimeout"
    perigee:wait_log "HandshakeTimeout"
    ann:expect "PEER_JOINED"
    ann:expect_quiet()
  end)
end)
