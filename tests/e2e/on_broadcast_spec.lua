--- A script with on_broadcast decides what a broadcast relays.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local function garbage()
    for i = 100, 200 do local _ = ("%d"):format(i):rep(10000) end
  end
  return {
    on_start = function() perigee.rooms.create "lobby" end,
    on_broadcast = function(room, peer, data)
      if data == "nil" then return nil end
      if data == "true" then return true end
      if data == "false" then return false end
      if data == "empty" then return "" end
      if data == "fail" then error "broadcast handler broke" end
      if data == "fail after sending" then
        room:broadcast("never", 1)
        error "broke later"
      end
      if data == "slow" then perigee.sleep(0.03) return "slow, changed" end
      local seconds = data:match "^keep (%S+)"
      if seconds then
        for _ = 1, 2 do
          perigee.sleep(tonumber(seconds))
          garbage()
        end
        if data:find "fail" then error "broke after a wait" end
        return true
      end
      if data == "aside" then
        room:broadcast("aside", peer.name)
        return true
      end
      return data:upper()
    end,
  }
]]

describe("on_broadcast", function()
  local perigee, ann, bob, room

  before_each(function()
    perigee = server.start { game = GAME, text = true, flags = { handler_budget = 1 } }
    ann, bob = perigee:client "ann", perigee:client "bob"
    room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  it("relays what came for nil and true", function()
    for _, data in ipairs { "nil", "true" } do
      ann:broadcast(room, data, { priority = 1, flags = packet.RELIABLE })
      local event = bob:expect_next("BROADCAST", { room = room, sender = ann.id, data = data })
      assert.equal(1, event.priority)
      assert.equal(packet.RELIABLE, event.flags)
    end
    ann:expect_quiet()
  end)

  it("drops for false, without a word", function()
    ann:broadcast(room, "false", { flags = packet.REQUEST, ref = 4 })
    ann:broadcast(room, "after")
    bob:expect_next("BROADCAST", { data = "AFTER" })
    ann:expect_quiet()
  end)

  it("relays another string instead, also an empty one", function()
    ann:broadcast(room, "shout", { priority = 3 })
    bob:expect_next("BROADCAST", { sender = ann.id, data = "SHOUT", priority = 3 })
    ann:broadcast(room, "empty")
    bob:expect_next("BROADCAST", { sender = ann.id, data = "" })
    ann:expect_quiet()
  end)

  it("that fails drops the message, and says Internal to who asked", function()
    ann:broadcast(room, "fail")
    ann:expect_quiet()
    ann:broadcast(room, "fail", { flags = packet.REQUEST, ref = 7 })
    ann:expect_error("Internal", 7)
    ann:broadcast(room, "fail after sending")
    ann:broadcast(room, "after")
    bob:expect_next("BROADCAST", { data = "AFTER" })
    perigee:wait_log "broadcast handler broke"
    perigee:wait_log "broke later"
    ann:expect_quiet()
  end)

  it("may take its time, and does not hold up what others send", function()
    ann:broadcast(room, "slow")
    bob:broadcast(room, "quick")
    ann:expect_next("BROADCAST", { data = "QUICK" })
    bob:expect_next("BROADCAST", { data = "slow, changed", sender = ann.id })
  end)

  it("relays what came after any wait, whatever the script did meanwhile", function()
    local function text(seconds, size)
      return ("keep %s \0\255"):format(seconds) .. ("x%d"):format(size):rep(size)
    end
    local sent = { text("0.09", 1500), text("0.06", 0), text("0.03", 300) } -- the last one is relayed first
    for i, data in ipairs(sent) do
      local sender = perigee:client("sender" .. i)
      sender:join "lobby"
      sender:broadcast(room, data, { priority = i, flags = packet.RELIABLE })
    end
    for i = #sent, 1, -1 do
      local event = ann:expect("BROADCAST", { room = room, data = sent[i] })
      assert.same({ i, packet.RELIABLE }, { event.priority, event.flags })
    end
    bob:broadcast(room, "keep 0 fail", { flags = packet.REQUEST, ref = 77 })
    bob:expect_error("Internal", 77)
  end)

  it("hears what was sent before its sender went", function()
    for i = 1, 50 do
      ann:broadcast(room, "words " .. i)
    end
    ann:control "BYE"
    for i = 1, 50 do
      bob:expect_next("BROADCAST", { sender = ann.id, data = "WORDS " .. i })
    end
    bob:expect_next("PEER_LEFT", { peer = ann.id })
  end)

  it("may send besides", function()
    ann:broadcast(room, "aside")
    bob:expect("BROADCAST", { data = "aside" })
    bob:expect("MESSAGE", { message = "aside", value = "ann" })
    ann:expect_next("MESSAGE", { message = "aside" })
  end)

  it("hears text peers too", function()
    local cid = perigee:text "cid"
    cid:join "lobby"
    cid:line "hello"
    bob:expect("BROADCAST", { sender = cid.id, data = "HELLO" })
    ann:broadcast(room, "hi")
    cid:expect_line "ann: HI"
  end)

  it("is not asked for broadcasts that are refused", function()
    local dan = perigee:client "dan"
    dan:broadcast(room, "fail", { flags = packet.REQUEST, ref = 2 })
    dan:expect_error("NotInRoom", 2)
    assert.equal(0, perigee:count_log "broadcast handler broke")
  end)
end)
