--- Datagrams beside a stream: one peer with both. Unreliable packets that fit use UDP, all others use TCP or
--- the WebSocket. If UDP does not get through, all packets use the stream.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) print("transport " .. peer.transport) end
  function game.on_disconnect(peer, reason) print("over " .. peer.name .. " " .. reason) end
  function game.on_suspend(peer, reason) print("suspended " .. peer.name .. " " .. reason) end
  function game.on_message.large(peer, size) peer:send("large", ("x"):rep(size)) end
  function game.on_message.all(_, o)
    perigee.rooms.get("lobby"):broadcast("news", o.value, { key = o.key, reliable = o.reliable })
  end
  return game
]]

-- Returns ann, attached, and bob, both in the lobby.
local function enter(perigee, o)
  local ann = perigee:client "ann"
  udp_client.attach(ann, o)
  local bob = perigee:client "bob"
  local room = ann:join "lobby"
  bob:join "lobby"
  ann:expect "PEER_JOINED"
  return ann, bob, room
end

describe("an attached peer", function()
  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  it("has what may be lost by UDP, and all else by TCP", function()
    local perigee = server.start { game = GAME }
    local ann, bob, room = enter(perigee)
    perigee:wait_log "transport tcp"
    assert.is_true(ann.welcome.udp_port >= perigee.port) -- an io thread has a port of its own
    bob:broadcast(room, "loose")
    assert.equal("PACKET", udp_client.expect(ann, "BROADCAST", { data = "loose" }).kind)
    bob:broadcast(room, "kept", { flags = packet.RELIABLE })
    ann:expect("BROADCAST", { data = "kept" })
    bob:send(0, "all", { value = 1, key = "place" })
    assert.equal("LATEST", udp_client.expect(ann, "MESSAGE", { value = 1 }).kind)
    bob:send(0, "all", { value = 2, reliable = true })
    ann:expect("MESSAGE", { value = 2 })
    ann:send(0, "large", 1000)
    udp_client.expect(ann, "MESSAGE", { message = "large" })
    ann:send(0, "large", 2000)
    ann:expect("MESSAGE", { message = "large" })
    ann:fence()
    ann:expect_nothing()
    assert.same({}, ann.by_udp)
  end)

  it("is heard by UDP and by TCP", function()
    local perigee = server.start { game = GAME }
    local ann, bob, room = enter(perigee)
    udp_client.broadcast(ann, room, "by UDP")
    bob:expect("BROADCAST", { data = "by UDP", sender = ann.id })
    ann:broadcast(room, "by TCP")
    bob:expect("BROADCAST", { data = "by TCP", sender = ann.id })
  end)

  it("may be one over a WebSocket", function()
    local perigee = server.start { game = GAME }
    local ann = web_socket.client(perigee.port):hello { name = "ann" }
    udp_client.attach(ann)
    local bob = perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:broadcast(room, "loose")
    udp_client.expect(ann, "BROADCAST", { data = "loose" })
    bob:broadcast(room, "kept", { flags = packet.RELIABLE })
    ann:expect("BROADCAST", { data = "kept" })
    udp_client.broadcast(ann, room, "back")
    bob:expect("BROADCAST", { data = "back" })
  end)

  it("gets critical packets by UDP without waiting for a frame", function()
    local perigee = server.start { game = GAME, flags = { batch_hz = 1 } }
    local _, bob, room = enter(perigee)
    local ann = _
    bob:broadcast(room, "now", { priority = packet.PRIORITY.critical })
    udp_client.expect(ann, "BROADCAST", { data = "now" })
  end)

  it("loses UDP with its stream, and attaches anew with the key of its next WELCOME", function()
    local perigee = server.start { game = GAME, resume = true }
    local ann, bob, room = enter(perigee)
    local old = ann.welcome
    ann:reset()
    perigee:wait_log "suspended ann"
    wait.for_true(function() return ann.udp.is_over end)
    local again = perigee:raw()
    again:control("HELLO", packet.hello { resume = old.resume })
    again.welcome = again:expect "WELCOME"
    again.id = again.welcome.peer
    assert.equal(1, again.welcome.resumed)
    assert.not_equal(old.udp_key, again.welcome.udp_key)
    local _, rejected = udp_client.attach(again, { key = old.udp_key, try = true })
    assert.equal("Unauthorized", rejected.code)
    again:expect_next("JOINED", { room = room })
    bob:broadcast(room, "not attached yet")
    again:expect("BROADCAST", { data = "not attached yet" })
    udp_client.attach(again)
    bob:broadcast(room, "attached")
    udp_client.expect(again, "BROADCAST", { data = "attached" })
  end)

  it("has everything by TCP while UDP does not get through, and by UDP when it does again", function()
    local perigee = server.start { game = GAME }
    local ann, bob, room = enter(perigee)
    ann.udp.is_deaf, ann.udp.acknowledges = true, false
    local count = 0
    wait.for_true(function()
      count = count + 1
      bob:broadcast(room, "blocked " .. count)
      bob:fence()
      for _, event in ipairs(ann.inbox) do
        if event.name == "BROADCAST" then return true end
      end
    end)
    ann.inbox = {}
    bob:broadcast(room, "by TCP")
    ann:expect("BROADCAST", { data = "by TCP" })
    ann.udp.is_deaf, ann.udp.acknowledges = false, true
    wait.for_true(function()
      bob:broadcast(room, "again")
      bob:fence()
      return #ann.by_udp > 0
    end)
  end)

  it("has everything by TCP 3 s after UDP stopped, however often something is sent", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      local game, count = { on_message = {} }, 0
      function game.on_message.start(peer)
        perigee.every(0.05, function()
          count = count + 1
          peer:send("count", count)
        end)
      end
      return game
    ]] }
    local ann = perigee:client "ann"
    udp_client.attach(ann)
    ann.udp.is_deaf, ann.udp.acknowledges = true, false
    ann:send(0, "start")
    local first = ann:expect("MESSAGE", { message = "count" })
    assert.is_true(first.value >= 55 and first.value <= 80, "by TCP from " .. first.value)
  end)

  it("attaches again, and what came before is over", function()
    local perigee = server.start { game = GAME }
    local ann, bob, room = enter(perigee)
    local first = ann.udp
    udp_client.attach(ann)
    wait.for_true(function() return first.is_over end)
    assert.equal("Replaced", first.close_code)
    bob:broadcast(room, "to the second")
    udp_client.expect(ann, "BROADCAST", { data = "to the second" })
  end)

  it("keeps its stream when it ends UDP or breaks its rules", function()
    local perigee = server.start { game = GAME }
    local ann, bob, room = enter(perigee)
    ann.udp:close_with(0)
    ann:fence()
    wait.for_true(function()
      bob:broadcast(room, "by TCP again")
      bob:fence()
      return ann.inbox[1]
    end)
    ann:expect("BROADCAST", { data = "by TCP again" })
    ann.inbox = {}
    for _, item in ipairs { "\9", "\2\0\0\0\0\1\0x" } do
      udp_client.attach(ann)
      ann.udp:send_items { item }
      wait.for_true(function() return ann.udp.is_over end)
      assert.equal("Protocol", ann.udp.close_code)
    end
    ann:fence()
  end)

  it("is closed for a packet by UDP that no packet may be", function()
    local perigee = server.start { game = GAME, flags = { max_payload = 200 } }
    local ann, _, room = enter(perigee)
    udp_client.broadcast(ann, room, ("x"):rep(300))
    ann:expect_closing "PayloadTooLarge"
    wait.for_true(function() return ann.udp.is_over end)
  end)

  it("goes with a kick, and UDP with it", function()
    local perigee = server.start { game = [[
      local game = { on_message = {} }
      function game.on_message.kick(peer) peer:kick "enough" end
      return game
    ]] }
    local ann = perigee:client "ann"
    udp_client.attach(ann)
    ann.udp:send_packet(packet.encode { channel = 2, type = 0, payload = packet.message(0, "kick") })
    ann:expect_closing "Kicked"
    wait.for_true(function() return ann.udp.is_over end)
  end)
end)
