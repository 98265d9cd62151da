--- Attacks by UDP: replays, forgeries, foreign addresses, and streams that are never complete.
--- udp_flood_spec.lua tests floods, udp_handshake_spec.lua requests.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local UdpChannel = require "tests.e2e.udp_channel"
local udp_wire = require "tests.e2e.udp_wire"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) print("came " .. peer.name) end
  function game.on_disconnect(peer, reason) print("over " .. peer.name .. " " .. reason) end
  function game.on_message.double(_, n) return 2 * n end
  function game.on_message.udp() return perigee.stats().udp end
  return game
]]

local ITEM = UdpChannel.ITEM
local PROBE = string.char(ITEM.PROBE)
local LONG_PROBE = PROBE:rep(9)
local CHALLENGE_SIZE = 5 + 10 + 9 + 16
local TIMES = 10

local function start(flags)
  return server.start { game = GAME, flags = flags }
end

local sockets = {}

-- Returns a socket of another program, which records the datagrams that it receives.
local function socket_at(address)
  local self = { socket = uv.new_udp(), came = {} }
  assert(self.socket:bind(address, 0))
  self.socket:recv_start(function(_, bytes)
    if bytes then self.came[#self.came + 1] = bytes end
  end)
  function self.send(port, bytes) assert(self.socket:try_send(bytes, "127.0.0.1", port)) end
  sockets[#sockets + 1] = self.socket
  return self
end

-- Passes the client's next output to `take` instead of the server.
local function divert(channel, take, say)
  channel.send_raw = function(_, bytes) take(bytes) end
  say()
  channel.send_raw = nil
end

-- Returns those of these datagrams that are not requests.
local function of_data(all)
  local captured = {}
  for _, bytes in ipairs(all) do
    if bytes:sub(1, 3) ~= "\0\0\0" then captured[#captured + 1] = bytes end
  end
  return captured
end

local function totals(client)
  return client:question(0, "udp")
end

-- Returns ann by UDP alone and bob by TCP, both in the lobby.
local function enter(perigee)
  local ann, bob = udp_client.alone(perigee, "ann"), perigee:client "bob"
  local room = ann:join "lobby"
  bob:join "lobby"
  ann:expect "PEER_JOINED"
  return ann, bob, room
end

local function clean_up()
  server.stop_all()
  udp_client.close_all()
  for _, socket in ipairs(sockets) do socket:close() end
  sockets = {}
  wait.until_closed()
end

describe("datagrams that were captured", function()
  after_each(clean_up)

  -- Sends all datagrams of `captured` ten times, from their own address and from another one. `bob` is
  -- connected by TCP.
  local function replay(channel, captured, bob)
    local elsewhere = socket_at "127.0.0.6"
    local before = totals(bob)
    local count = 0
    for _ = 1, TIMES do
      for _, bytes in ipairs(captured) do
        assert(channel.socket:try_send(bytes, "127.0.0.1", channel.port))
        elsewhere.send(channel.port, bytes)
        count = count + 2
      end
      bob:fence() -- waits, so that no buffer overflows
    end
    -- The server refused all of them. The other datagrams are those that ann has sent meanwhile.
    local after
    wait.for_true(function()
      after = totals(bob)
      return after.refused - before.refused >= count
    end)
    assert.is_true(after.datagrams_in - before.datagrams_in >= count)
    assert.equal(before.links, after.links)
    assert.equal(before.accepted, after.accepted)
    assert.same({}, elsewhere.came)
  end

  -- Plays a whole session: packets, LATEST, the stream, requests, joins.
  local function live(ann, bob, room)
    for i = 1, 20 do
      udp_client.broadcast(ann, room, "loose " .. i)
      udp_client.broadcast(ann, room, "latest " .. i, { key = 9, order = i })
      ann:broadcast(room, "by the stream " .. i)
      ann:question(0, "double", i)
    end
    bob:expect_many(60, "BROADCAST")
    bob:expect_quiet()
  end

  it("are not accepted again while the session goes on", function()
    local perigee = start()
    local ann, bob, room = enter(perigee)
    live(ann, bob, room)
    replay(ann.udp, of_data(ann.udp.sent), bob)
    bob:expect_quiet()
    assert.equal(84, ann:question(0, "double", 42))
    assert.equal(1, perigee:count_log '"connected"' - 1)
  end)

  it("are not accepted again of one that is attached", function()
    local perigee = start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    udp_client.attach(ann)
    local room = ann:join "lobby"
    bob:join "lobby"
    live(ann, bob, room)
    replay(ann.udp, of_data(ann.udp.sent), bob)
    bob:expect_quiet()
    ann:fence()
  end)

  it("make no session anew when theirs is over, requests included", function()
    local perigee = start()
    local ann, bob, room = enter(perigee)
    live(ann, bob, room)
    local captured = {}
    for i, bytes in ipairs(ann.udp.sent) do captured[i] = bytes end
    ann:control "BYE"
    ann:expect_end()
    perigee:wait_log "over ann"
    for _ = 1, TIMES do
      for _, bytes in ipairs(captured) do
        local is_request = bytes:sub(1, 3) == "\0\0\0"
        assert(ann.udp.socket:try_send(bytes, "127.0.0.1", is_request and perigee.port or ann.udp.port))
      end
      bob:fence()
    end
    -- Ann's cookie is valid for some time, so a replayed request may be accepted. But the new connection has
    -- other keys, with which none of ann's datagrams is authentic.
    bob:expect "PEER_LEFT"
    bob:expect_quiet()
    assert.equal(1, perigee:count_log "came ann")
    assert.is_true(totals(bob).links <= 1)
  end)
end)

describe("datagrams that were forged", function()
  after_each(clean_up)

  it("change nothing, though channel, address and number are right", function()
    local perigee = start()
    local ann, bob, room = enter(perigee)
    ann:fence()
    local before = totals(bob)
    local channel, count = ann.udp, 0
    -- Sends from ann's own address and port, as if another program could forge them.
    for _, ahead in ipairs { 0, 1, 2, 100, 1023, 1024, 30000, 32767 } do
      for _, size in ipairs { 10, 19, 26, 27, 40, 1195, 1400 } do
        local head = channel.keys.channel .. packet.u16((channel.next + ahead) % 65536)
        assert(channel.socket:try_send(head .. udp_wire.random(size), "127.0.0.1", channel.port))
        count = count + 1
      end
    end
    assert(channel.socket:try_send(channel.keys.channel, "127.0.0.1", channel.port))
    -- The window has not moved: datagrams in order are accepted.
    udp_client.broadcast(ann, room, "still here")
    bob:expect("BROADCAST", { data = "still here" })
    assert.equal(8, ann:question(0, "double", 4))
    assert.equal(count + 1, totals(bob).refused - before.refused)
    assert.equal(0, totals(bob).moved)
  end)

  it("with a bit that is another are refused, each", function()
    local perigee = start()
    local ann, bob = enter(perigee)
    local whole
    divert(ann.udp, function(bytes) whole = bytes end, function() ann.udp:send_items { LONG_PROBE } end)
    local before = totals(bob).refused
    for at = 4, #whole do
      local byte = bit.bxor(whole:byte(at), 2 ^ (at % 8))
      assert(ann.udp.socket:try_send(whole:sub(1, at - 1) .. string.char(byte) .. whole:sub(at + 1),
        "127.0.0.1", ann.udp.port))
    end
    wait.for_true(function() return totals(bob).refused == before + #whole - 3 end)
    ann.udp:send_raw(whole)
    ann:fence()
    assert.equal(before + #whole - 3, totals(bob).refused)
  end)
end)

describe("an address that is not the client's", function()
  after_each(clean_up)

  -- Sends ann's newest datagram from another program's address.
  local function steal(ann, thief, items)
    divert(ann.udp, function(bytes) thief.send(ann.udp.port, bytes) end,
      function() ann.udp:send_items(items) end)
  end

  it("is not followed when it does not answer, and gets nothing but one question", function()
    local perigee = start()
    local ann = enter(perigee)
    local thief = socket_at "127.0.0.8"
    steal(ann, thief, { LONG_PROBE })
    wait.for_true(function() return thief.came[1] end)
    for i = 1, 5 do assert.equal(2 * i, ann:question(0, "double", i)) end
    assert.equal(1, #thief.came)
    assert.equal(CHALLENGE_SIZE, #thief.came[1])
  end)

  it("gets no question that is longer than what came from it", function()
    local perigee = start()
    local ann, bob = enter(perigee)
    local thief = socket_at "127.0.0.8"
    for _, items in ipairs { {}, { PROBE }, { PROBE:rep(8) } } do steal(ann, thief, items) end
    bob:fence()
    ann:fence()
    assert.same({}, thief.came)
    steal(ann, thief, { LONG_PROBE })
    wait.for_true(function() return thief.came[1] end)
    assert.equal(CHALLENGE_SIZE, #thief.came[1])
  end)

  it("is not followed, whatever somebody says from there who has no key", function()
    local perigee = start()
    local ann, bob = enter(perigee)
    local thief = socket_at "127.0.0.8"
    steal(ann, thief, { LONG_PROBE })
    wait.for_true(function() return thief.came[1] end)
    local question = thief.came[1]
    thief.send(ann.udp.port, question) -- unchanged,
    for ahead = 0, 20 do -- as an answer that is not encrypted,
      thief.send(ann.udp.port, ann.udp.keys.channel .. packet.u16((ann.udp.next + ahead) % 65536)
        .. udp_wire.random(#question - 5))
    end
    for _, bytes in ipairs(of_data(ann.udp.sent)) do thief.send(ann.udp.port, bytes) end -- as ann's datagrams
    -- Ann answers the challenge from its own address, not from the address that was challenged.
    ann.udp:take(question)
    ann:fence()
    assert.equal(0, totals(bob).moved)
    assert.equal(10, ann:question(0, "double", 5))
    assert.equal(1, #thief.came)
  end)

  it("is not followed to an answer that comes from a third one", function()
    local perigee = start()
    local ann, bob = enter(perigee)
    local thief, third = socket_at "127.0.0.8", socket_at "127.0.0.9"
    steal(ann, thief, { LONG_PROBE })
    wait.for_true(function() return thief.came[1] end)
    local answer
    divert(ann.udp, function(bytes) answer = answer or bytes end, function() ann.udp:take(thief.came[1]) end)
    third.send(ann.udp.port, answer)
    wait.for_true(function() return totals(bob).datagrams_in > 0 end)
    bob:fence()
    assert.equal(0, totals(bob).moved)
    assert.equal(12, ann:question(0, "double", 6))
    assert.equal(0, totals(bob).moved)
  end)
end)

describe("a client whose address changes", function()
  after_each(clean_up)

  it("is followed, and nothing more goes to where it was", function()
    local perigee = start()
    local ann, bob, room = enter(perigee)
    ann.udp:bind "127.0.0.7"
    udp_client.broadcast(ann, room, "from elsewhere")
    bob:expect("BROADCAST", { data = "from elsewhere" })
    wait.for_true(function() return totals(bob).moved == 1 end)
    bob:broadcast(room, "found")
    udp_client.expect(ann, "BROADCAST", { data = "found" })
    ann.udp:bind() -- the client goes back to the first address, at another port
    wait.for_true(function() -- the next challenge comes a second after the last
      ann.udp:send_items { LONG_PROBE }
      return totals(bob).moved == 2
    end)
    assert.equal(4, ann:question(0, "double", 2))
  end)

  it("is followed though its answer takes longer than it is to the next question", function()
    local perigee = start()
    local ann, bob = enter(perigee)
    local values = {}
    ann.udp.take_challenge = function(_, value) values[#values + 1] = value end
    ann.udp:bind "127.0.0.7"
    wait.for_true(function()
      ann.udp:send_items { LONG_PROBE }
      return #values == 2
    end)
    assert.equal(values[1], values[2])
    assert.equal(0, totals(bob).moved)
    ann.udp.take_challenge = nil
    ann.udp:take_challenge(values[1])
    wait.for_true(function() return totals(bob).moved == 1 end)
    assert.equal(6, ann:question(0, "double", 3))
  end)

  it("is followed when it is attached, too", function()
    local perigee = start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    udp_client.attach(ann)
    local room = ann:join "lobby"
    bob:join "lobby"
    ann.udp:bind "127.0.0.7"
    ann.udp:send_items { LONG_PROBE }
    wait.for_true(function() return totals(bob).moved == 1 end)
    bob:broadcast(room, "by UDP")
    udp_client.expect(ann, "BROADCAST", { data = "by UDP" })
  end)
end)

describe("a stream by UDP that is never whole", function()
  after_each(clean_up)

  it("ends with the answer to PING that cannot be read", function()
    local perigee = start { ping_interval = 0.2 }
    local ann = enter(perigee)
    ann.udp.stream_out = ann.udp.stream_out + 1 -- a byte that is never sent
    perigee:wait_log "over ann PingTimeout"
  end)

  it("takes next to no memory before HELLO", function()
    local perigee = server.start { game = GAME, env = server.without_quarantine(),
      flags = { max_clients_per_address = 200 } }
    local bob = perigee:client "bob"
    local clients = {}
    for i = 1, 100 do clients[i] = udp_client.raw(perigee) end
    bob:fence()
    local before, refused = perigee:memory_kb(), totals(bob).refused
    for _, client in ipairs(clients) do
      client.udp:send_items { string.char(ITEM.STREAM) .. packet.u32(262000) .. packet.u16(1) .. "x" }
    end
    wait.for_true(function() return totals(bob).refused >= refused + #clients end)
    assert.is_true(perigee:memory_kb() - before <= 1024, perigee:memory_kb() - before)
    -- Bytes inside the window are kept, and a late HELLO is as good as any.
    local channel = clients[1].udp
    channel.stream_out = 0
    channel.send_piece, channel.held = function(self, piece) self.held = piece end, nil
    clients[1]:control("HELLO", packet.hello { name = "late" })
    channel.send_piece = nil
    local piece = channel.held
    local rest = { offset = piece.offset + 10, bytes = piece.bytes:sub(11) }
    channel:send_piece(rest)
    channel:send_piece { offset = piece.offset, bytes = piece.bytes:sub(1, 10) }
    clients[1]:expect "WELCOME"
  end)
end)

describe("a server with several ports", function()
  after_each(clean_up)

  it("has the same rules at each, and a connection at one alone", function()
    local perigee = start { udp_ports = 3 }
    local serving = perigee:udp_ports()
    local stranger = socket_at "127.0.0.4"
    for port = perigee.port, serving[#serving] do
      stranger.came = {}
      for _ = 1, 50 do stranger.send(port, udp_wire.request { extension = { size = 64 } }) end
      wait.for_true(function() return #stranger.came == 50 end)
      assert.equal("CHALLENGE", udp_wire.read_answer(stranger.came[50]).name)
      stranger.send(port, udp_wire.request { extension = "" })
      wait.for_true(function() return #stranger.came == 51 end)
      assert.equal("Unsupported", udp_wire.read_answer(stranger.came[51]).code)
    end
    -- The requests have used no port.
    local ann, bob = udp_client.alone(perigee, "ann"), udp_client.alone(perigee, "bob")
    local eve = udp_client.alone(perigee, "eve")
    for i, client in ipairs { ann, bob, eve } do
      assert.equal(serving[(i - 1) % #serving + 1], client.udp.port)
    end
    local refused = totals(bob).refused
    local other = ann.udp.port == serving[1] and serving[2] or serving[1]
    divert(ann.udp, function(bytes)
      assert(ann.udp.socket:try_send(bytes, "127.0.0.1", other))
    end, function() ann.udp:send_items { LONG_PROBE } end)
    wait.for_true(function() return totals(bob).refused == refused + 1 end)
    ann:fence()
  end)
end)
