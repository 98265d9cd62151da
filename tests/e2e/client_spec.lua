--- The tests' own client, checked against bytes copied from docs/protocol.md and a small server, so that its
--- faults are not taken for faults of Perigee.
local uv = require "luv"
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local Stream = require "tests.e2e.stream"
local TextClient = require "tests.e2e.text_client"
local wait = require "tests.e2e.wait"

local function hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function unhex(text)
  return (text:gsub("%s", ""):gsub("%x%x", function(x) return string.char(tonumber(x, 16)) end))
end

describe("the codec of the tests", function()
  it("writes a header as the page has it", function()
    local bytes = packet.encode {
      channel = 0x0102,
      type = 0x0304,
      priority = 3,
      flags = packet.REQUEST,
      ref = 0x0506,
      payload = "hi",
    }
    assert.equal("02010403030206050200000068" .. "69", hex(bytes))
  end)

  it("writes a HELLO as the page has it", function()
    local bytes = packet.hello { name = "ann", token = "t", hash = 258, received = 7 }
    local expected = "0100" .. "0201000000000000" .. "03616e6e" .. "010074"
    assert.equal(expected .. ("00"):rep(16) .. "07000000", hex(bytes))
  end)

  it("writes a message as the page has it", function()
    assert.equal('\5\0\0\0["move",{"x":1}]', packet.message(5, "move", { x = 1 }))
    assert.equal('\0\0\0\0["go",null]', packet.message(0, "go", nil))
  end)

  it("reads a WELCOME", function()
    local payload = "0100" .. "2a000000" .. ("11"):rep(16) .. ("00"):rep(16)
      .. "0100000000000000" .. "00000100" .. "c8320000" .. "1400" .. "00" .. "00000000" .. "0000"
      .. ("00"):rep(32)
    local event, after = packet.decode(unhex("0000810000040900" .. "5f000000" .. payload))
    assert.equal("WELCOME", event.name)
    assert.equal(107, #event.raw)
    assert.equal(108, after)
    assert.equal(42, event.peer)
    assert.equal(("\17"):rep(16), event.session)
    assert.equal(1, event.time_us)
    assert.equal(65536, event.max_payload)
    assert.equal(13000, event.ping_interval_ms)
    assert.equal(20, event.tick_rate)
    assert.equal(9, event.ref)
  end)

  it("reads a JOINED with members", function()
    local payload = "01000000" .. "016c" .. "02000000" .. "0100" .. "03000000" .. "03626f62"
    local event = packet.decode(unhex("0000820002000000" .. "14000000" .. payload))
    assert.same({ { id = 3, name = "bob" } }, event.members)
    assert.equal("l", event.room_name)
  end)

  it("waits for the rest of a packet that came in half", function()
    local whole = packet.encode { type = 6, payload = "12345678" }
    for cut = 0, #whole - 1 do
      assert.is_nil((packet.decode(whole:sub(1, cut))))
    end
    assert.equal("12345678", packet.decode(whole).value)
  end)

  it("refuses packets that break the page", function()
    local function refuses(text, bytes)
      local ok, err = pcall(packet.decode, unhex(bytes))
      assert.is_false(ok)
      assert.truthy(err:find(text, 1, true), err)
    end
    refuses("priority 4", "000006000400000000000000")
    refuses("flags 0x08", "000006000008000000000000")
    refuses("REQUEST and RESPONSE", "000006000006000000000000")
    refuses("ref 1", "000006000000010000000000")
    refuses("control type 99", "000063000000000000000000")
    refuses("ends inside a field", "000087000000000001000000" .. "05")
    refuses("longer than its fields", "000083000000000007000000" .. "01000000060000")
    refuses("code 99", "000083000000000006000000" .. "010000006300")
  end)
end)

describe("the client of the tests", function()
  local listener, peer, got

  before_each(function()
    listener, peer, got = uv.new_tcp(), nil, ""
    listener:bind("127.0.0.1", 0)
    listener:listen(8, function()
      peer = uv.new_tcp()
      listener:accept(peer)
      peer:read_start(function(_, bytes) got = got .. (bytes or "") end)
    end)
  end)

  after_each(function()
    Stream.close_all()
    listener:close()
    if peer and not peer:is_closing() then peer:close() end
    wait.until_closed()
  end)

  local function connect(class)
    local client = class.connect(listener:getsockname().port)
    wait.for_true(function() return peer end)
    return client
  end

  it("sends what it is told and finds its answer among other packets", function()
    local client = connect(Client)
    local ref = client:request("JOIN", packet.str8 "lobby")
    wait.for_true(function() return #got >= 18 end)
    assert.equal("000002000202010006000000" .. "056c6f626279", hex(got))
    peer:write(packet.encode { type = 134, payload = packet.u32(1) .. packet.u32(2) })
    peer:write(packet.encode {
      type = 135,
      flags = packet.RESPONSE,
      ref = ref,
      payload = packet.u16(11) .. packet.str16 "no",
    })
    assert.equal("no", client:expect_error("NoSuchRoom", ref).text)
    assert.equal(2, client:expect_next("PEER_LEFT").peer)
    client:expect_nothing()
  end)

  it("answers pings", function()
    connect(Client)
    peer:write(packet.encode { type = 5, priority = 0, payload = "abcdefgh" })
    wait.for_true(function() return #got >= 20 end)
    assert.equal("000006000200000008000000" .. hex "abcdefgh", hex(got))
  end)

  it("takes several of a kind and leaves the rest in order", function()
    local client = connect(Client)
    for i = 1, 6 do
      local kind = i % 2 == 0 and 134 or 1234
      local channel = kind == 134 and 0 or 5
      local payload = packet.u32(1) .. packet.u32(i)
      peer:write(packet.encode { channel = channel, type = kind, payload = payload })
    end
    local events = client:expect_many(2, "PEER_LEFT")
    assert.same({ 2, 4 }, { events[1].peer, events[2].peer })
    client:expect_next("PACKET", { payload = packet.u32(1) .. packet.u32(1) })
    assert.equal(6, client:expect("PEER_LEFT").peer)
    client:expect_next("PACKET", { payload = packet.u32(1) .. packet.u32(3) })
    client:expect_next("PACKET", { payload = packet.u32(1) .. packet.u32(5) })
  end)

  it("says what came instead of what was expected", function()
    local client = connect(Client)
    peer:write(packet.encode { type = 131, payload = packet.u32(7) .. packet.u16(6) })
    client:expect("LEFT", { room = 7 })
    peer:write(packet.encode { type = 131, payload = packet.u32(8) .. packet.u16(6) })
    local ok, err = pcall(client.expect, client, "LEFT", { room = 7 }, 0.05)
    assert.is_false(ok)
    assert.truthy(err:find("expected LEFT room=7; instead came:", 1, true), err)
    assert.truthy(err:find('LEFT code="Kicked" flags=0 priority=2 ref=0 room=8', 1, true), err)
  end)

  it("fails a test when the server breaks the protocol", function()
    local client = connect(Client)
    peer:write(packet.encode { type = 77 })
    local ok, err = pcall(client.expect, client, "PONG")
    assert.is_false(ok)
    assert.truthy(err:find("breaks the protocol: control type 77", 1, true), err)
  end)

  it("sees how a connection ends", function()
    local client = connect(Client)
    peer:close()
    assert.equal("end of stream", client:expect_end().reason)
    client = connect(Client)
    peer:close_reset()
    assert.equal("ECONNRESET", client:expect_end().reason)
  end)

  it("has text peers that speak lines", function()
    local client = connect(TextClient)
    client:line "hello"
    wait.for_true(function() return got == "hello\n" end)
    assert.equal("hello\n", got)
    peer:write "* a\n* b"
    client:expect_line "* a"
    client:expect_nothing()
    peer:write "\n"
    client:expect_line "* b"
  end)
end)
