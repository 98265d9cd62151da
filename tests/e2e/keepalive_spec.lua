--- Silent peers, peers that do not answer, and the latency of all others.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local TELLS_ENDS = [[
  local perigee = require "perigee"
  return {
    on_start = function() perigee.rooms.create "lobby" end,
    on_disconnect = function(peer, reason) print(peer.name .. " ended: " .. reason) end,
    on_leave = function(room, peer, reason) print(peer.name .. " left: " .. reason) end,
    on_message = {
      latency = function(peer) return peer.latency_ms or "none" end,
    },
  }
]]

describe("keepalive", function()
  after_each(server.stop_all)

  it("closes a client from which nothing comes", function()
    local perigee = server.start {
      game = TELLS_ENDS,
      flags = { idle_timeout = 0.2, ping_interval = 60 },
    }
    local ann = perigee:client()
    ann:join "lobby"
    ann:expect_closing "IdleTimeout"
    perigee:wait_log "ann ended: IdleTimeout"
    perigee:wait_log "ann left: IdleTimeout"
  end)

  it("counts any packet as activity", function()
    local perigee = server.start { flags = { idle_timeout = 0.5, ping_interval = 60 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    -- Bob is silent and ann is not. When bob's connection ends, ann must still be connected.
    while not bob.ended do
      ann:fence()
      wait.until_true(function() return bob.ended end, 0.05)
    end
    bob:expect_closing "IdleTimeout"
    ann:expect_quiet()
    ann:expect_closing "IdleTimeout"
  end)

  it("does not count a packet that never gets whole", function()
    local perigee = server.start { flags = { idle_timeout = 0.3, ping_interval = 60 } }
    local ann = perigee:client()
    ann:trickle(packet.encode { type = 4, payload = ("x"):rep(1000) }, 0.02)
    ann:expect_closing "IdleTimeout"
  end)

  it("closes a client that never answers pings, although it talks", function()
    local perigee = server.start {
      game = TELLS_ENDS,
      flags = { ping_interval = 0.2, idle_timeout = 60 },
    }
    local ann = perigee:client("ann", { pong = false })
    while not ann.ended do
      ann:control("PING", packet.u64(1))
      wait.until_true(function() return ann.ended end, 0.05)
    end
    ann:expect("CLOSING", { code = "PingTimeout" })
    assert.is_true(#ann.pings >= 1)
    perigee:wait_log "ann ended: PingTimeout"
  end)

  it("closes a client that answers pings with something else", function()
    local perigee = server.start { flags = { ping_interval = 0.2, idle_timeout = 60 } }
    local ann, bob = perigee:client("ann", { pong = false }), perigee:client("bob", { pong = false })
    local answered = 0
    wait.for_true(function()
      if #ann.pings > answered then
        answered = #ann.pings
        ann:control("PONG", packet.u64(1234567))
      end
      return ann.ended
    end)
    assert.equal(1, answered)
    ann:expect_closing "PingTimeout"
    bob:expect_closing "PingTimeout"
  end)

  it("keeps a client that answers", function()
    local perigee = server.start { flags = { ping_interval = 0.2, idle_timeout = 60 } }
    local ann = perigee:client()
    wait.for_true(function() return #ann.pings >= 4 or ann.ended end)
    assert.equal(0, ann.pings[1].priority)
    ann:expect_quiet()
  end)

  it("pings a client that talks as well as one that does not", function()
    local perigee = server.start { flags = { ping_interval = 0.2, idle_timeout = 60 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    wait.for_true(function()
      ann:fence()
      return #ann.pings >= 3 and #bob.pings >= 3
    end)
    ann:expect_quiet()
    bob:expect_quiet()
  end)

  it("shows the latency to the script", function()
    local perigee = server.start {
      game = TELLS_ENDS,
      flags = { ping_interval = 0.5, idle_timeout = 60 },
    }
    local near, far = perigee:client "near", perigee:client("far", { pong = false })
    wait.for_true(function() return far.pings[1] end)
    -- The far client answers its ping late, but before the next one.
    wait.pass(0.1)
    far.pong = true
    far:control("PONG", far.pings[1].value)
    local latency = far:question(0, "latency")
    assert.is_true(latency >= 95 and latency < 500, tostring(latency))
    latency = near:question(0, "latency")
    assert.is_true(latency >= 0 and latency < 500, tostring(latency))
  end)

  it("lets a client that reads nothing but answers nothing either go", function()
    local perigee = server.start {
      game = TELLS_ENDS,
      flags = { ping_interval = 0.1, idle_timeout = 60 },
    }
    local ann = perigee:client()
    ann:stall()
    perigee:wait_log "ann ended: PingTimeout"
    ann:close()
  end)

  it("closes idle text peers, and pings none", function()
    local perigee = server.start {
      game = TELLS_ENDS,
      text = true,
      flags = { ping_interval = 0.05, idle_timeout = 0.4 },
    }
    local ann = perigee:text "ann"
    ann:expect_match "^! IdleTimeout: "
    ann:expect_end()
    perigee:wait_log "ann ended: IdleTimeout"
  end)
end)
