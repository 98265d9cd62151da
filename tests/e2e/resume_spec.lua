--- Sessions that outlive their connection, by a client that was written from docs/protocol.md alone; and
--- their effect on perigee.client and on the game.
local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local game = { config = {}, on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_suspend(peer, reason) print("suspended " .. peer.name .. " " .. reason) end
  function game.on_resume(room, peer, gap)
    print(("resumed %s %s %d %d"):format(room.name, peer.name, gap.lost, gap.resent))
  end
  function game.on_disconnect(peer, reason) print("over " .. peer.name .. " " .. reason) end
  function game.on_message.all(_, n)
    perigee.rooms.get("lobby"):broadcast("news", n, { reliable = n > 0 })
  end
  function game.on_message.double(_, n) return 2 * n end
  return game
]]

local function resume(s, old, received)
  local new = s:raw()
  new:control("HELLO", packet.hello { resume = old.welcome.resume, received = received or 0 })
  new.welcome = new:expect "WELCOME"
  new.id, new.label = new.welcome.peer, old.label
  return new
end

describe("a session", function()
  after_each(server.stop_all)

  it("is resumed: WELCOME, JOINED for each room, ACK, what waited", function()
    local s = server.start { game = GAME, resume = true }
    local ann, bob = s:client "ann", s:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:reset()
    s:wait_log "suspended"
    ann:send(0, "all", 1)
    ann:send(0, "all", 0)
    ann:send(0, "all", 2)
    ann:expect("MESSAGE", { message = "news", value = 2 })
    local again = resume(s, bob)
    assert.equal(1, again.welcome.resumed)
    assert.equal(bob.id, again.id)
    assert.equal(bob.welcome.session, again.welcome.session)
    assert.not_equal(bob.welcome.resume, again.welcome.resume)
    local joined = again:expect_next("JOINED", { room = room })
    assert.equal(1, #joined.members)
    again:expect_next "ACK"
    again:expect_next("MESSAGE", { message = "news", value = 1 })
    again:expect_next("MESSAGE", { message = "news", value = 2 })
    s:wait_log "resumed lobby bob 1 2"
    again:expect_quiet()
  end)

  it("has the answers of its reliable requests once more", function()
    local s = server.start { game = GAME, resume = true }
    local bob = s:client "bob"
    local o = { flags = packet.REQUEST + packet.RELIABLE, ref = 1 }
    bob:control("JOIN", packet.str8 "nowhere", o)
    o.ref = 2
    bob:control("ROOM_LIST", nil, o)
    bob:expect_answer("ERROR", 1, { code = "NoSuchRoom", flags = packet.RESPONSE + packet.RELIABLE })
    bob:expect_answer("ROOMS", 2)
    bob:reset()
    s:wait_log "suspended"
    local again = resume(s, bob)
    again:expect_next "ACK"
    again:expect_next("ERROR", { ref = 1, code = "NoSuchRoom" })
    again:expect_next("ROOMS", { ref = 2 })
    again = resume(s, again, 1)
    again:expect_next "ACK"
    again:expect_next("ROOMS", { ref = 2 })
    again:expect_quiet()
  end)

  it("is new with a token that nobody gave out, or gave out before", function()
    local s = server.start { game = GAME, resume = true }
    local bob = s:client "bob"
    bob:reset()
    s:wait_log "suspended"
    local again = resume(s, bob)
    again:expect_next "ACK"
    again:list_rooms() -- the client has the next token
    local thief = s:raw()
    thief:control("HELLO", packet.hello { name = "eve", resume = bob.welcome.resume })
    assert.equal(0, thief:expect("WELCOME").resumed)
    again:expect_quiet()
  end)

  it("is taken over while its connection stands", function()
    local s = server.start { game = GAME, resume = true }
    local bob = s:client "bob"
    local again = resume(s, bob)
    assert.equal(1, again.welcome.resumed)
    bob:expect("CLOSING", { code = "Replaced" })
    bob:expect_end()
  end)

  it("is over when nobody comes in time", function()
    local s = server.start { game = GAME, resume = true, flags = { resume_timeout = 0.2 } }
    local ann, bob = s:client "ann", s:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:reset()
    ann:expect("PEER_LEFT", { room = room, peer = bob.id })
    s:wait_log "over bob ConnectionReset"
    assert.equal(1, s:count_log "suspended bob ConnectionReset")
  end)

  it("is over with an ACK that cannot be", function()
    local s = server.start { game = GAME, resume = true }
    local bob = s:client "bob"
    bob:control("ACK", packet.u32(1))
    bob:expect("CLOSING", { code = "Protocol" })
    s:wait_log "over bob Protocol"
  end)
end)

describe("perigee.client", function()
  after_each(server.stop_all)

  local QUICK = { first = 0.01, max = 0.05 }

  -- Connects; returns a function that cuts the connection.
  local function connect(s, options)
    local proxy = cutting_proxy.start(s.port, { random = math.random, cuts_max = 0, bytes_max = 1 })
    local c = assert(client.connect("127.0.0.1:" .. proxy.port, options))
    return c, function() proxy:cut_all() end
  end

  it("comes back by itself, and calls made meanwhile wait", function()
    local s = server.start { game = GAME, resume = true }
    local c, cut = connect(s, { name = "ann", reconnect = QUICK })
    local room = assert(c:join "lobby")
    local id, types = c.id, {}
    for _, kind in ipairs { "disconnected", "reconnecting", "resumed", "lost", "closed" } do
      c:on(kind, function() types[#types + 1] = kind end)
    end
    cut()
    repeat client.sleep(0.005) until not c.connected
    assert.equal(42, (c:ask("double", 21)))
    assert.same({ "disconnected", "reconnecting", "resumed" }, types)
    assert.same({ id, true, room }, { c.id, room.joined, c:room "lobby" })
    c:close()
  end)

  it("begins anew when its session is over", function()
    local s = server.start { game = GAME, resume = true, flags = { resume_timeout = 0.01 } }
    local c, cut = connect(s, { name = "ann", reconnect = { first = 0.5 } })
    local room, lost = assert(c:join "lobby"), nil
    c:on("lost", function(event) lost = event end)
    cut()
    local deadline = client.now() + 10
    repeat client.sleep(0.01) until lost and room.joined or client.now() > deadline
    assert.equal("lost", lost and lost.type)
    assert.same({ true, true, room }, { c.connected, room.joined, c:room "lobby" })
    c:close()
  end)

  it("gives up after a while, or at once", function()
    local s = server.start { game = GAME, resume = true }
    local c = assert(client.connect("127.0.0.1:" .. s.port,
      { name = "ann", reconnect = { first = 0.01, max = 0.02, patience = 0.2 } }))
    local other, cut = connect(s, { name = "bob", reconnect = false })
    cut()
    local event
    repeat event = other:recv(5) until not event or event.type == "closed"
    assert.matches("^Connection", event.code)
    s:kill "sigkill"
    repeat event = c:recv(5) until not event or event.type == "closed"
    assert.is_truthy(event)
    assert.is_false(c.connected)
    local sent, message, code = c:send "x"
    assert.same({ nil, "closed" }, { sent, message })
    assert.matches("^Connection", code) -- closed, or reset where the server had not read everything
    s.code, s.signal = 0, 0
  end)
end)
