--- Peers by UDP alone: the same rooms, messages, sessions and ends as over TCP, and unreliable packets in
--- datagrams of their own.
local Client = require "tests.e2e.client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local udp_wire = require "tests.e2e.udp_wire"
local UdpChannel = require "tests.e2e.udp_channel"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) print("transport " .. peer.transport) end
  function game.on_disconnect(peer, reason) print("over " .. peer.name .. " " .. reason) end
  function game.on_suspend(peer, reason) print("suspended " .. peer.name .. " " .. reason) end
  function game.on_message.double(_, n) return 2 * n end
  local noted
  function game.on_message.note(peer, text)
    noted = #text
    print("note " .. peer.name .. " " .. text:sub(1, 20))
  end
  function game.on_message.noted() return noted end
  function game.on_message.news(_, o)
    perigee.rooms.get("lobby"):broadcast("news", o.value, {
      key = o.key, reliable = o.reliable, priority = o.priority,
    })
  end
  function game.on_message.large(peer, size) peer:send("large", ("x"):rep(size)) end
  function game.on_message.kick(peer) peer:kick "enough" end
  return game
]]

local function start(o)
  o = o or {}
  o.game = o.game or GAME
  return server.start(o)
end

describe("a peer by UDP alone", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("joins, hears and is heard, by datagrams where that may be lost", function()
    local perigee = start()
    local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
    perigee:wait_log "transport udp"
    assert.equal(0, ann.welcome.udp_port)
    assert.equal(udp_wire.ZEROS, ann.welcome.udp_key)
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect("PEER_JOINED", { peer = bob.id })
    bob:broadcast(room, "one")
    local event = udp_client.expect(ann, "BROADCAST", { data = "one", sender = bob.id })
    assert.equal("PACKET", event.kind)
    udp_client.broadcast(ann, room, "two")
    bob:expect("BROADCAST", { data = "two", sender = ann.id })
    ann:broadcast(room, "three") -- the stream carries it
    bob:expect("BROADCAST", { data = "three" })
    bob:broadcast(room, "four", { flags = packet.RELIABLE })
    ann:expect("BROADCAST", { data = "four" })
    ann:fence()
    assert.same({}, ann.by_udp)
  end)

  it("asks and is answered by the stream", function()
    local perigee = start()
    local ann = udp_client.alone(perigee, "ann")
    assert.equal(42, ann:question(0, "double", 21))
    assert.same({}, ann.by_udp)
  end)

  it("sends and gets messages by datagrams, what is large by the stream", function()
    local perigee = start()
    local ann = udp_client.alone(perigee, "ann")
    ann.udp:send_packet(packet.encode {
      channel = 2, type = 0, payload = packet.message(0, "note", "quick"),
    })
    perigee:wait_log "note ann quick"
    ann:send(0, "large", 1000)
    assert.equal(1000, #udp_client.expect(ann, "MESSAGE", { message = "large" }).value)
    for _, size in ipairs { 1168, 60000 } do
      ann:send(0, "large", size)
      assert.equal(size, #ann:expect("MESSAGE", { message = "large" }).value)
    end
    ann:send(0, "note", ("y"):rep(60000))
    assert.equal(60000, ann:question(0, "noted"))
  end)

  it("gets what has a key as LATEST, with orders that count up", function()
    local perigee = start()
    local ann = udp_client.alone(perigee, "ann")
    ann:join "lobby"
    local orders = {}
    for i = 1, 3 do
      ann:send(0, "news", { value = i, key = "place" })
      local event = udp_client.expect(ann, "MESSAGE", { message = "news", value = i })
      assert.equal("LATEST", event.kind)
      orders[i] = event.order
      ann.by_key = ann.by_key or event.key
      assert.equal(ann.by_key, event.key)
    end
    assert.equal((orders[1] + 1) % 65536, orders[2])
    assert.equal((orders[2] + 1) % 65536, orders[3])
    ann:send(0, "news", { value = 4, key = "another" })
    assert.not_equal(ann.by_key, udp_client.expect(ann, "MESSAGE", { value = 4 }).key)
  end)

  it("is not heard twice when it sends LATEST late", function()
    local perigee = start()
    local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    for _, order in ipairs { 65535, 0, 65535, 1, 0 } do
      udp_client.broadcast(ann, room, "order " .. order, { key = 9, order = order })
    end
    udp_client.broadcast(ann, room, "other key", { key = 8, order = 65535 })
    for _, data in ipairs { "order 65535", "order 0", "order 1", "other key" } do
      assert.equal(data, bob:expect("BROADCAST").data)
    end
    ann:fence()
    bob:expect_quiet()
  end)

  it("is told of a kick, and then of the end", function()
    local perigee = start()
    local ann = udp_client.alone(perigee, "ann")
    ann:send(0, "kick")
    ann:expect_closing "Kicked"
    assert.equal("Kicked", ann.udp.close_code)
    perigee:wait_log "over ann Kicked"
  end)

  it("has figures of its own, and the server of all", function()
    local perigee = start { game = [[
      local perigee = require "perigee"
      local game = { on_message = {} }
      function game.on_message.mine(peer) return peer:stats().udp or false end
      function game.on_message.all() return perigee.stats().udp end
      return game
    ]] }
    local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
    ann:fence()
    local mine = ann:question(0, "mine")
    assert.is_true(mine.passes)
    assert.is_true(mine.rtt_ms > 0 and mine.rtt_ms < 5000)
    assert.is_true(mine.datagrams_in >= 2 and mine.datagrams_in <= #ann.udp.sent)
    assert.is_true(mine.bytes_out > 0)
    assert.is_false(bob:question(0, "mine"))
    udp_client.attach(bob)
    assert.is_true(bob:question(0, "mine").passes)
    local all = ann:question(0, "all")
    assert.same({ 2, 2, 1, 2, 0 },
      { all.links, all.accepted, all.attached, all.challenged, all.rejected })
    perigee:stop()
    assert.equal(1, perigee:count_log '"message":"UDP"')
  end)

  it("says BYE, or only CLOSE, and is gone", function()
    local perigee = start()
    local ann, bob, eve = udp_client.alone(perigee, "ann"), udp_client.alone(perigee, "bob"),
      udp_client.alone(perigee, "eve")
    ann:control "BYE"
    perigee:wait_log "over ann ConnectionClosed"
    ann:expect_end()
    assert.equal("ConnectionClosed", ann.udp.close_code)
    bob.udp:close_with(0)
    perigee:wait_log "over bob ConnectionClosed"
    eve.udp:close_with(5)
    perigee:wait_log "over eve ConnectionReset"
  end)

  it("is told when the server stops", function()
    local perigee = start()
    local ann = udp_client.alone(perigee, "ann")
    perigee:kill "sigterm"
    ann:expect_closing "Unavailable"
    perigee:stop()
  end)

  it("has to say HELLO in time", function()
    local perigee = start { flags = { handshake_timeout = 0.1 } }
    local ann = udp_client.raw(perigee)
    ann:expect_closing "HandshakeTimeout"
  end)

  it("is closed for what breaks the protocol", function()
    local perigee = start()
    local function breaks(...)
      local ann = udp_client.alone(perigee, "ann")
      ann.udp:send_items { ... }
      ann:expect_closing "Protocol"
    end
    breaks "\7"
    breaks "\255"
    breaks("\0" .. packet.encode({ type = 4, payload = "1234" }):sub(1, -2))
    breaks("\0" .. packet.encode { type = 4, flags = packet.RELIABLE, payload = "1234" })
    breaks("\0" .. packet.encode { type = 1, payload = packet.hello { name = "x" } })
    breaks("\2\0\0\0\0\0\0")
    breaks("\3\0\0\0")
    breaks("\6")
  end)

  it("has its packets passed over before WELCOME", function()
    local perigee = start()
    local ann = udp_client.raw(perigee)
    udp_client.broadcast(ann, 1, "too early")
    ann:hello { name = "ann" }
    ann:expect_quiet()
  end)

  it("comes back after silence, and what was reliable with it", function()
    local perigee = start { resume = true, flags = { ping_interval = 0.2 } }
    local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann.udp.is_deaf, ann.udp.acknowledges = true, false
    perigee:wait_log "suspended ann PingTimeout"
    bob:send(0, "news", { value = "missed", reliable = true })
    bob:fence()
    local again = udp_client.raw(perigee)
    again:control("HELLO", packet.hello { resume = ann.welcome.resume })
    again.welcome = again:expect "WELCOME"
    assert.equal(1, again.welcome.resumed)
    assert.equal(ann.id, again.welcome.peer)
    again:expect_next("JOINED", { room = room })
    again:expect_next "ACK"
    again:expect_next("MESSAGE", { value = "missed" })
    bob:broadcast(room, "and now")
    udp_client.expect(again, "BROADCAST", { data = "and now" })
  end)

  it("is followed to another address once that has been checked", function()
    local perigee = start()
    local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    ann.udp:bind "127.0.0.7"
    udp_client.broadcast(ann, room, "from elsewhere")
    bob:expect("BROADCAST", { data = "from elsewhere" })
    ann:fence()
    bob:broadcast(room, "found")
    udp_client.expect(ann, "BROADCAST", { data = "found" })
    assert.equal(4, ann:question(0, "double", 2))
  end)

  it("that takes nothing is bounded, and on_backpressure is told", function()
    local perigee = start { game = [[
      local perigee = require "perigee"
      local game = { on_message = {} }
      local dropped = 0
      function game.on_start() perigee.rooms.create "lobby" end
      function game.on_backpressure(room, peer, info)
        if room.name ~= "lobby" or peer.name ~= "slow" then error "not the slow one" end
        dropped = dropped + info.dropped
      end
      function game.on_message.dropped() return dropped end
      return game
    ]], flags = { channel_capacity = 100, ping_interval = 0 } }
    local slow, bob, eve = udp_client.alone(perigee, "slow"), perigee:client "bob", perigee:client "eve"
    local room = slow:join "lobby"
    bob:join "lobby"
    eve:join "lobby"
    slow.udp.is_deaf, slow.udp.acknowledges = true, false
    local data = ("z"):rep(1000)
    for _ = 1, 40 do
      for _ = 1, 50 do bob:broadcast(room, data) end
      eve:expect_many(50, "BROADCAST")
    end
    wait.for_true(function() return eve:question(0, "dropped") > 1000 end)
    assert.is_true(perigee:count_log "messages dropped" >= 1)
  end)
end)

describe("a flood of connections by UDP", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("by a client that opens many connections ends at max_clients_per_address", function()
    local perigee = start { flags = { max_clients_per_address = 4 } }
    for _ = 1, 4 do assert.is_truthy(UdpChannel.open(perigee.port)) end
    local channel, rejected = UdpChannel.open(perigee.port, { try = true })
    assert.is_nil(channel)
    assert.equal("ServerFull", rejected.code)
    assert.is_nil((Client.connect(perigee.port):expect_rejected "ServerFull").nothing)
  end)
end)
