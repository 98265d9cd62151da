--- The figures of perigee.stats() and peer:stats() agree with the bytes on the wire.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local seen = {}
  return {
    on_start = function() perigee.rooms.create "lobby" end,
    on_connect = function(peer) seen[peer.name] = peer end,
    on_message = {
      peer = function(_, name) return seen[name]:stats() end,
      server = function() return perigee.stats() end,
      room = function(_, bytes) perigee.rooms.get "lobby":relay(bytes) end,
      tell = function(_, name) seen[name]:send("told", 1, { reliable = true }) end,
    },
  }
]]

describe("the figures", function()
  after_each(server.stop_all)

  it("count packets and bytes each way, of rooms too", function()
    local perigee = server.start { game = GAME }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    bob:join "lobby"
    local before, all = ann:question(0, "peer", "bob"), ann:question(0, "server")
    for _ = 1, 10 do ann:send(0, "room", ("x"):rep(100)) end
    bob:expect_many(10, "BROADCAST")
    bob:send(0, "room", "y")
    bob:expect "BROADCAST"
    local after, all_after = ann:question(0, "peer", "bob"), ann:question(0, "server")
    local HEAD = packet.HEADER_SIZE + 8
    assert.equal(11, after.packets_out - before.packets_out)
    assert.equal(10 * (HEAD + 100) + HEAD + 1, after.bytes_out - before.bytes_out)
    assert.equal(1, after.packets_in - before.packets_in)
    assert.equal(packet.HEADER_SIZE + #packet.message(0, "room", "y"), after.bytes_in - before.bytes_in)
    assert.is_true(all_after.bytes_out - all.bytes_out >= after.bytes_out - before.bytes_out)
    assert.equal(13, all_after.packets_in - all.packets_in) -- the requests for the figures are among them
    assert.same({ 0, 0, 0, 0, 0 }, { after.queued, after.queued_bytes, after.dropped, after.resent,
      after.late_answers })
    assert.is_true(after.last_activity >= 0 and after.last_activity < 5)
  end)

  it("go on over a lost connection, and count what is sent again", function()
    local perigee = server.start { game = GAME, resume = true }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:question(0, "tell", "bob")
    bob:expect("MESSAGE", { message = "told" })
    local before = ann:question(0, "peer", "bob")
    bob:reset()
    perigee:wait_log "suspended"
    assert.equal(before.packets_out, ann:question(0, "peer", "bob").packets_out)
    local again = perigee:raw()
    again:control("HELLO", packet.hello { resume = bob.welcome.resume })
    again:expect("MESSAGE", { message = "told" })
    local after = ann:question(0, "peer", "bob")
    assert.equal(1, after.resent)
    assert.equal(1, ann:question(0, "server").resent)
    assert.is_true(after.packets_out >= before.packets_out + 3) -- WELCOME, ACK and the message `told`
    assert.equal(before.packets_in + 1, after.packets_in)
  end)

  it("tell what waits for one that does not read", function()
    local perigee = server.start { game = GAME }
    local ann, slow = perigee:client "ann", perigee:client("slow", { recv_buffer = 4096 })
    slow:join "lobby"
    slow:stall()
    local figures
    wait.for_true(function()
      for _ = 1, 50 do ann:send(0, "room", ("x"):rep(30000)) end
      figures = ann:question(0, "peer", "slow")
      return figures.queued >= 10
    end)
    assert.is_true(figures.queued_bytes >= 9 * 30000)
    local all = ann:question(0, "server")
    assert.is_true(all.queued >= figures.queued and all.queued_bytes >= figures.queued_bytes)
  end)

  it("know the time to peers that have answered a ping", function()
    local perigee = server.start { game = GAME, flags = { ping_interval = 0.05 } }
    local ann = perigee:client "ann"
    wait.for_true(function() return ann:question(0, "peer", "ann").latency_ms > 0 end)
    local all = ann:question(0, "server")
    assert.is_true(all.latency_ms > 0 and all.latency_ms < 5000)
  end)
end)
