--- peer:join: its outcome, for handlers that wait for it and for handlers that do not.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local duel = { auto_create = true, capacity = 2 }
  local hall = { auto_create = true }
  function duel.on_create(room, options)
    if room.name == "duel:bad" then error "no such duel" end
    room.state.size = options.size
  end
  function duel.on_join(room, peer)
    if peer.name == "slow" then perigee.sleep(0.02) end
    if room.name == "duel:closed" then return false, "closed" end
    if room.name == "duel:broken" then error "broken" end
    peer:send("size", room.state.size)
  end
  function hall.on_create(room)
    local peer = perigee.state.peer
    if room.name == "hall:wait" then peer:join(room, nil, { wait = true }) end
  end
  local game = { rooms = { duel = duel, hall = hall }, on_message = {} }
  local on = game.on_message
  function game.on_connect(peer)
    perigee.state.peer = peer
    if peer.token == "wait" then
      peer:join("hall", nil, { wait = true })
    elseif peer.token ~= "" then
      peer:join(peer.token)
      perigee.sleep(0.01)
      peer:send("welcome", peer.name)
    end
  end
  function on.enter(peer, value)
    local ok, reason, code = peer:join(value.room, { size = value.size }, { wait = value.wait })
    return { ok = ok, reason = reason, code = code, rooms = #peer:rooms() }
  end
  function on.elsewhere(peer)
    local other = perigee.state.peer
    local ok, reason, code = other:join("duel:1", nil, { wait = true })
    return { ok = ok, reason = reason, code = code }
  end
  function on.wrong(peer, how) peer:join("duel:1", nil, how) end
  function on.deleted(peer)
    local room = perigee.rooms.get "duel:1"
    room:delete()
    perigee.sleep(0)
    local _, reason, code = peer:join(room)
    return { reason = reason, code = code, count = room.count }
  end
  return game
]]

describe("peer:join with wait", function()
  local perigee, ann

  before_each(function()
    perigee = server.start { game = GAME }
    ann = perigee:client "ann"
  end)

  after_each(server.stop_all)

  local function enter(client, room)
    return client:question(0, "enter", { room = room, wait = true, size = 7 })
  end

  it("returns true when the peer is in", function()
    for _, client in ipairs { ann, perigee:client "slow" } do
      assert.same({ ok = true, rooms = 1 }, enter(client, "duel:1"))
      client:expect_next("JOINED", { room_name = "duel:1" })
      client:expect_next("MESSAGE", { message = "size", value = 7 })
    end
  end)

  it("returns why the peer is not let in", function()
    assert.same({ reason = "closed", code = "Rejected", rooms = 0 }, enter(ann, "duel:closed"))
    local failed = { reason = "a handler failed; the log has the error", code = "Internal", rooms = 0 }
    assert.same(failed, enter(ann, "duel:broken"))
    assert.same(failed, enter(ann, "duel:bad"))
    assert.same({ reason = "there is no such room", code = "NoSuchRoom", rooms = 0 }, enter(ann, "none"))
    enter(ann, "hall")
    assert.equal("AlreadyInRoom", enter(ann, "hall").code)
  end)

  it("returns that a room was deleted that still has members", function()
    enter(ann, "duel:1")
    assert.same({ reason = "there is no such room", code = "NoSuchRoom", count = 1 },
      perigee:client("bob"):question(0, "deleted"))
  end)

  it("ends when the peer goes", function()
    local slow = perigee:client "slow"
    local ref = ann:ask(0, "elsewhere")
    perigee:client("watcher"):fence()
    slow:reset()
    local answer = ann:expect_answer("MESSAGE", ref).value
    assert.same({ reason = "the peer is gone", code = "ConnectionClosed" }, answer)
  end)

  it("is an error in on_connect, and where it would never end", function()
    local bob = perigee:raw()
    bob:control("HELLO", packet.hello { name = "bob", token = "wait" })
    bob:expect_rejected "Internal"
    perigee:wait_log "game.lua:23: peer:join cannot wait here, because the peer is not let in yet"
    ann:send(0, "enter", { room = "hall:wait" })
    ann:expect_error "Internal"
    perigee:wait_log "game.lua:16: peer:join cannot wait here, because nobody joins a room before its"
  end)

  it("names options that it does not have", function()
    ann:expect_error("Internal", ann:ask(0, "wrong", { wiat = true }))
    perigee:wait_log "peer:join has no option wiat; it has wait"
    ann:expect_error("Internal", ann:ask(0, "wrong", { wait = 1 }))
    perigee:wait_log "wait must be a boolean, not a number"
  end)
end)

describe("peer:join without wait", function()
  after_each(server.stop_all)

  it("is a command, and a refusal is logged with its line while the game is made", function()
    local perigee = server.start { game = GAME, watch = true }
    local ann = perigee:client "ann"
    for _ = 1, 3 do
      assert.is_true(ann:question(0, "enter", { room = "duel:closed" }).ok)
    end
    perigee:wait_log "game.lua:31: peer:join: ann did not get into duel:closed: closed (Rejected)"
    assert.equal(1, perigee:count_log "did not get into")
  end)

  it("says nothing of refusals on a server that only runs", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    assert.is_true(ann:question(0, "enter", { room = "duel:closed" }).ok)
    ann:fence()
    assert.equal(0, perigee:count_log "did not get into")
  end)

  it("in on_connect is carried out after WELCOME, also when that waits", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "ann", token = "duel:1" })
    ann:expect_next "WELCOME"
    ann:expect_next("JOINED", { room_name = "duel:1" })
    ann:expect_next("MESSAGE", { message = "size" })
    ann:expect_next("MESSAGE", { message = "welcome" })
  end)
end)
