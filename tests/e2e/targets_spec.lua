--- The receivers of a script's messages: targets and send options.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local to = perigee.to
  local game = { on_message = {} }
  local on, peers = game.on_message, {}

  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) peers[peer.name] = peer end

  function on.one(peer) perigee.send(to.one(peers.bob), "one") end
  function on.peer(peer) perigee.send(peers.bob, "peer") end
  function on.all(peer) perigee.send(to.all, "all", 1) end
  function on.all_except(peer) perigee.send(to.all_except(peer, peers.bob), "all except", 1) end
  function on.group(peer) perigee.send(to.group { peers.ann, peers.cid }, "group", 1) end
  function on.room(peer) perigee.send(perigee.rooms.get "lobby", "room", 1) end
  function on.except_one(peer)
    perigee.rooms.get("lobby"):broadcast("except one", 1, { except = peer })
    perigee.send(to.all, "all except one", 1, { except = peer })
  end
  function on.except_list(peer)
    perigee.rooms.get("lobby"):broadcast("except two", 1, { except = { peer, peers.bob } })
  end
  function on.priorities(peer)
    for _, priority in ipairs { "low", "normal", "high", "critical" } do
      peer:send("prio", priority, { priority = priority })
    end
  end
  function on.room_priorities(peer)
    for _, priority in ipairs { "low", "normal", "high", "critical" } do
      perigee.rooms.get("lobby"):broadcast("prio", priority, { priority = priority })
    end
  end
  function on.reliable(peer)
    peer:send("sure", 1, { reliable = true })
    peer:send("unsure", 1, { reliable = false })
    peer:send_packet(4000, 1, "x", { reliable = true, priority = "high" })
    perigee.rooms.get("lobby"):relay("y", { reliable = true, priority = "low" })
  end
  function on.keys(peer)
    for i = 1, 10 do
      peer:send("position", i, { key = "p" })
      peer:send("other", i, { key = "q" })
      peer:send("plain", i)
    end
  end
  function on.room_keys(peer)
    local room = perigee.rooms.get "lobby"
    for i = 1, 10 do
      room:broadcast("position", i, { key = "p" })
      room:broadcast("plain", i)
    end
  end
  function on.mixed(peer)
    local room = perigee.rooms.get "lobby"
    for i = 1, 20 do
      if i % 3 == 0 then
        room:broadcast("n", i)
      elseif i % 3 == 1 then
        peer:send("n", i)
      else
        perigee.send(to.all, "n", i)
      end
    end
  end
  function on.stale(peer)
    local gone = peers.gone
    local ok = pcall(function()
      gone:send("x")
      perigee.send(gone, "x")
      perigee.send(to.group { gone, peer }, "to the living")
    end)
    peer:send("stale", { ok = ok, connected = gone.connected })
  end
  return game
]]

describe("a target", function()
  local perigee, ann, bob, cid

  before_each(function()
    perigee = server.start { game = GAME }
    ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  -- Ann requests `what`; exactly these clients get `message`.
  local function gets(what, message, ...)
    ann:send(0, what)
    for _, client in ipairs { ... } do
      client:expect_next("MESSAGE", { message = message })
    end
    ann:fence()
    for _, client in ipairs { ann, bob, cid } do
      client:expect_quiet()
    end
  end

  it("may be one peer", function()
    gets("one", "one", bob)
    gets("peer", "peer", bob)
  end)

  it("may be all, in rooms or not", function() gets("all", "all", ann, bob, cid) end)

  it("may be all but some", function() gets("all_except", "all except", cid) end)

  it("may be a group", function() gets("group", "group", ann, cid) end)

  it("may be a room", function() gets("room", "room", ann, bob) end)

  it("may leave one or several out", function()
    ann:send(0, "except_one")
    bob:expect_next("MESSAGE", { message = "except one" })
    bob:expect_next("MESSAGE", { message = "all except one" })
    cid:expect_next("MESSAGE", { message = "all except one" })
    ann:expect_quiet()
    ann:send(0, "except_list")
    ann:expect_quiet()
    bob:expect_quiet()
  end)

  it("that went gets nothing, and harms nobody", function()
    local gone = perigee:client "gone"
    gone:close()
    local connected
    repeat
      ann:send(0, "stale")
      connected = ann:expect("MESSAGE", { message = "stale" }).value.connected
    until not connected
    ann.inbox = {}
    ann:send(0, "stale")
    ann:expect_next("MESSAGE", { message = "to the living" })
    ann:expect_next("MESSAGE", { message = "stale" })
  end)
end)

describe("send options", function()
  local perigee, ann, bob

  before_each(function()
    perigee = server.start { game = GAME, flags = { batch_hz = 10 } }
    ann, bob = perigee:client "ann", perigee:client "bob"
    ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  it("set the priority; what is urgent goes first", function()
    for _, what in ipairs { "priorities", "room_priorities" } do
      ann:send(0, what)
      for i, priority in ipairs { "critical", "high", "normal", "low" } do
        local event = ann:expect_next("MESSAGE", { message = "prio", value = priority })
        assert.equal(i - 1, event.priority)
      end
    end
  end)

  it("mark what is reliable", function()
    ann:send(0, "reliable")
    assert.equal(packet.RELIABLE, ann:expect("MESSAGE", { message = "sure" }).flags)
    assert.equal(0, ann:expect("MESSAGE", { message = "unsure" }).flags)
    local event = ann:expect("PACKET", { channel = 4000 })
    assert.same({ packet.RELIABLE, 1 }, { event.flags, event.priority })
    event = ann:expect("BROADCAST", { sender = 0 })
    assert.same({ packet.RELIABLE, 3 }, { event.flags, event.priority })
  end)

  it("replace what still waits under the same key", function()
    for _, what in ipairs { "keys", "room_keys" } do
      ann:send(0, what):fence()
      local last, plain = {}, 0
      for _, event in ipairs(ann.inbox) do
        if event.message == "plain" then
          plain = plain + 1
          assert.equal(plain, event.value)
        else
          -- A newer message came instead of older ones or after them, never before.
          assert.is_true(event.value > (last[event.message] or 0))
          last[event.message] = event.value
        end
      end
      assert.equal(10, plain)
      assert.equal(10, last.position)
      ann.inbox = {}
    end
  end)

  it("leave direct sends, the room's and everyone's in one order", function()
    ann:send(0, "mixed")
    for i = 1, 20 do
      ann:expect_next("MESSAGE", { message = "n", value = i })
    end
  end)
end)

describe("a key", function()
  after_each(server.stop_all)

  it("keeps one message of many while a frame is waited for", function()
    local perigee = server.start { game = GAME, flags = { batch_hz = 4 } }
    local ann = perigee:client()
    ann:join "lobby"
    ann:fence()
    for _, what in ipairs { "keys", "room_keys" } do
      ann:send(0, what)
      ann:expect("MESSAGE", { message = "plain", value = 10 })
      local positions = 0
      ann:fence()
      for _, event in ipairs(ann.inbox) do
        if event.message == "position" then positions = positions + 1 end
      end
      assert.equal(1, positions)
      ann.inbox = {}
    end
  end)
end)
