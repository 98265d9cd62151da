--- Every end has one reason: on the wire if the client can still read it, in on_leave and on_disconnect, and
--- in the log.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local game = {
    on_start = function() perigee.rooms.create "lobby" end,
    on_stop = function(reason) print("stop: " .. tostring(reason)) end,
    on_leave = function(room, peer, reason)
      print(peer.name .. " left " .. room.name .. ": " .. tostring(reason))
    end,
    on_disconnect = function(peer, reason)
      print(peer.name .. " ended: " .. tostring(reason))
    end,
    on_message = {},
  }
  local on = game.on_message

  local function find(name)
    for _, peer in pairs(perigee.rooms.get("lobby"):peers()) do
      if peer.name == name then return peer end
    end
  end

  function on.kick(peer, value) find(value.name):kick(value.reason) end
  on["long kick"] = function(peer, name) find(name):kick(("long "):rep(20000)) end
  function on.remove(peer, name)
    perigee.rooms.get("lobby"):kick(find(name), "out")
  end
  function on.farewell(peer, name)
    local other = find(name)
    for i, priority in ipairs { "critical", "high", "low" } do
      other:send("farewell", i, { priority = priority })
    end
    other:kick "enough"
  end
  on["plain kick"] = function(peer, name) find(name):kick() end
  function on.again(peer) return peer.connected end
  return game
]]

describe("the end of a connection", function()
  local perigee, ann, bob, room

  before_each(function()
    perigee = server.start { game = GAME }
    ann, bob = perigee:client "ann", perigee:client "bob"
    room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  local function ended(name, reason)
    local told = {}
    perigee:wait_log(name .. " ended: " .. reason)
    for _, line in ipairs(perigee.err) do
      told[#told + 1] = line:match(name .. " (left lobby: %w+)") or line:match(name .. " (ended: %w+)")
    end
    assert.same({ "left lobby: " .. reason, "ended: " .. reason }, told)
    perigee:wait_log(function(fields, line)
      return not line:find(name .. " ended", 1, true)
        and fields.name == name
        and line:find(reason, 1, true)
    end)
    ann:expect_next("PEER_LEFT", { room = room, peer = bob.id })
    ann:expect_quiet()
  end

  it("by BYE is ConnectionClosed", function()
    bob:control "BYE"
    ended("bob", "ConnectionClosed")
    bob:expect_end()
  end)

  it("by closing is ConnectionClosed", function()
    bob:close()
    ended("bob", "ConnectionClosed")
  end)

  it("by closing one half is ConnectionClosed", function()
    bob:half_close()
    ended("bob", "ConnectionClosed")
    bob:expect_end()
  end)

  it("by a reset is ConnectionReset", function()
    bob:reset()
    ended("bob", "ConnectionReset")
  end)

  it("by a reset in the middle of a packet is ConnectionReset", function()
    bob:write(packet.header({ type = 4 }, 5000) .. "half"):wrote()
    bob:reset()
    ended("bob", "ConnectionReset")
  end)

  it("by a bad packet is Protocol", function()
    bob:write(packet.header({ type = 5, priority = 77 }, 8))
    bob:expect_closing "Protocol"
    ended("bob", "Protocol")
  end)

  it("by a packet that is too large is PayloadTooLarge", function()
    bob:write(packet.header({ type = 5 }, 1e9))
    bob:expect_closing "PayloadTooLarge"
    ended("bob", "PayloadTooLarge")
  end)

  it("by the script is Kicked, and the peer is told why", function()
    ann:send(0, "kick", { name = "bob", reason = "bad manners" })
    local closing = bob:expect("CLOSING", { code = "Kicked" })
    assert.equal("bad manners", closing.text)
    bob:expect_end()
    ended("bob", "Kicked")
  end)

  it("by the script may lack a reason", function()
    ann:send(0, "plain kick", "bob")
    bob:expect_closing "Kicked"
    ended("bob", "Kicked")
  end)

  it("by the script comes after all that the script sent before", function()
    ann:send(0, "farewell", "bob")
    for i = 1, 3 do
      bob:expect_next("MESSAGE", { message = "farewell", value = i })
    end
    bob:expect_next("CLOSING", { code = "Kicked" })
    bob:expect_end()
  end)

  it("may have a reason longer than the wire can carry", function()
    ann:send(0, "long kick", "bob")
    local closing = bob:expect("CLOSING", { code = "Kicked" })
    assert.is_true(#closing.text > 100)
    ended("bob", "Kicked")
  end)

  it("gives all that came before it to the others", function()
    for i = 1, 100 do
      bob:broadcast(room, tostring(i))
    end
    bob:control "BYE"
    for i = 1, 100 do
      ann:expect_next("BROADCAST", { data = tostring(i) })
    end
    ann:expect_next("PEER_LEFT", { peer = bob.id })
  end)

  it("is no end when only the room is left; what comes for the room then is refused", function()
    local function remove_me(ref)
      return packet.encode {
        channel = 2,
        type = 0,
        flags = packet.REQUEST,
        ref = ref,
        payload = packet.message(room, "remove", "bob"),
      }
    end
    bob:write(remove_me(1) .. remove_me(2))
    bob:expect_answer("MESSAGE", 1)
    bob:expect_error("NotInRoom", 2)
  end)

  it("is no end when only the room is left", function()
    ann:send(0, "remove", "bob")
    bob:expect("LEFT", { room = room, code = "Kicked", flags = 0 })
    ann:expect_next("PEER_LEFT", { room = room, peer = bob.id })
    perigee:wait_log "bob left lobby: Kicked"
    assert.is_true(bob:question(0, "again"))
    bob:join "lobby"
    bob:leave(room)
    perigee:wait_log "bob left lobby: ConnectionClosed"
    assert.equal(0, perigee:count_log "bob ended")
  end)

  it("comes once, also when all end at once", function()
    local crowd = {}
    for i = 1, 40 do
      crowd[i] = perigee:client("member" .. i)
      crowd[i]:join "lobby"
    end
    for i, client in ipairs(crowd) do
      if i % 2 == 0 then
        client:close()
      else
        client:reset()
      end
    end
    for i = 1, 40 do
      perigee:wait_log("member" .. i .. " ended: ")
    end
    ann:expect_many(40, "PEER_LEFT")
    bob:expect_many(40, "PEER_LEFT")
    for i = 1, 40 do
      assert.equal(1, perigee:count_log("member" .. i .. " ended: "))
    end
  end)
end)

describe("the end of the server", function()
  after_each(server.stop_all)

  it("by SIGTERM tells everyone, runs on_stop, and exits with 0", function()
    local perigee = server.start { game = GAME, text = true }
    local ann, bob, silent = perigee:client "ann", perigee:text "bob", perigee:raw()
    ann:join "lobby"
    bob:join "lobby"
    perigee:kill "sigterm"
    ann:expect("CLOSING", { code = "Unavailable", retry = 1 })
    bob:expect_match "^! Unavailable: the server is shutting down; try again in 1 s$"
    for _, client in ipairs { ann, bob, silent } do
      client:expect "END"
    end
    perigee:check_end()
    assert.equal(1, perigee:count_log "stop: ")
  end)

  it("by SIGINT is the same", function()
    local perigee = server.start()
    local ann = perigee:client()
    perigee:kill "sigint"
    ann:expect_closing "Unavailable"
    perigee:check_end()
  end)

  it("sends first what the script says in on_stop", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return { on_stop = function() perigee.send(perigee.to.all, "good night") end }
      ]],
    }
    local ann = perigee:client()
    perigee:kill "sigterm"
    ann:expect_next("MESSAGE", { message = "good night" })
    ann:expect_closing "Unavailable"
    perigee:check_end()
  end)

  it("does not wait for those who read nothing, for longer than it must", function()
    local perigee = server.start { flags = { channel_capacity = 65536 } }
    local ann, bob = perigee:client "ann", perigee:client("bob", { recv_buffer = 4096 })
    local room = ann:join "lobby"
    bob:join "lobby"
    bob:stall()
    for _ = 1, 200 do
      ann:broadcast(room, ("x"):rep(60000))
    end
    ann:fence()
    perigee:kill "sigterm"
    ann:expect("CLOSING", { code = "Unavailable" })
    perigee:check_end()
  end)
end)
