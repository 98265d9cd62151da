-- Effects of the simulated network on players.
local testing = require "perigee.testing"

local function start(options)
  options = options or {}
  options.fuzz = false
  return testing.server(options)
end

describe("latency", function()
  it("holds up what goes and what comes", function()
    local server = start()
    local ann = server:client { name = "ann", latency = 0.1 }
    assert.near(0.2, server:now(), 0.001)
    assert.near(0.2, ann:ping(), 0.001)
    ann:network { latency = 0.5 }
    assert.near(1, ann:ping(), 0.001)
    assert.near(0, server:client("bob"):ping(), 0.001)
  end)

  it("varies with jitter, and nothing is overtaken", function()
    local server = start { network = { latency = 0.05, jitter = 0.05 } }
    local ann = server:client "ann"
    local seen = {}
    for i = 1, 50 do
      local seconds = ann:ping()
      assert.is_true(seconds >= 0.1 and seconds <= 0.203)
      seen[seconds] = true
      ann:send("say", i)
    end
    server:advance(1)
    local values, different = ann:received "said", 0
    for i = 1, 50 do assert.equal(i, values[i]) end
    for _ in pairs(seen) do different = different + 1 end
    assert.is_true(different > 10)
  end)
end)

describe("loss", function()
  local function moves(ann, room, count)
    for x = 1, count do
      room:send("move", { x = x })
      ann:sleep(0.05)
    end
  end

  it("takes about its share, either way", function()
    local server = start()
    local ann, bob = server:clients(2)
    local room = ann:join "hall"
    bob:join "hall"
    ann:network { loss = 0.5 }
    moves(ann, room, 200)
    assert.near(100, #bob:received "moved", 30)
    ann:network { loss = 0 }
    bob:network { loss = 0.5 }
    bob:clear()
    moves(ann, room, 200)
    assert.near(100, #bob:received "moved", 30)
  end)

  it("spares what is reliable, questions, and the control channel", function()
    local server = start { network = { loss = 1 } }
    local ann, bob = server:clients(2)
    local hers, his = ann:join "hall", bob:join "hall"
    ann:expect_event "peer_joined"
    assert.equal(5, ann:ask("echo", 5))
    hers:send("reliable", 1)
    bob:expect_nothing "sure"
    hers:send("reliable", 2, { reliable = true })
    bob:expect("sure", 2)
    his:broadcast "lost"
    his:broadcast("kept", { reliable = true })
    ann:expect_broadcast "kept"
    server:advance(60)
    assert.is_true(ann.connected)
  end)
end)

describe("a narrow line", function()
  it("takes its time by the byte", function()
    local server = start()
    local ann = server:client "ann"
    ann:network { bandwidth = 1000 }
    local before = server:now()
    assert.equal(1000, #ann:ask("echo", ("x"):rep(1000), 60))
    assert.near(2, server:now() - before, 0.3)
  end)
end)

describe("a slow reader", function()
  it("loses what does not fit, and is counted", function()
    local server = start { config = { channel_capacity = 20 } }
    local ann, bob = server:clients(2)
    local room = ann:join "hall"
    bob:join "hall"
    bob:network { read_rate = 1000 }
    room:send("flood", { count = 100, size = 200 })
    server:advance(0.1)
    room:send("flood", { count = 100, size = 200 })
    server:advance(0.1)
    assert.equal(20, server:queued(bob))
    server:advance(120)
    local received, dropped = #bob:received "drop", server:dropped(bob)
    assert.is_true(received > 20 and dropped > 20)
    assert.equal(200, received + dropped)
    assert.equal(dropped, server:state().told.bob)
    assert.equal(200, #ann:received "drop")
    assert.equal(0, server:queued(bob))
  end)

  it("gets a bounded number of bytes a second", function()
    local server = start()
    local ann, bob = server:clients(2)
    local room = ann:join "hall"
    bob:join "hall"
    bob:clear()
    bob:network { read_rate = 1000 }
    room:send("flood", { count = 100, size = 100 })
    server:advance(5)
    assert.near(5000 / 145, #bob:received "drop", 8)
  end)
end)

describe("a client that", function()
  local server, ann, bob

  before_each(function()
    server = start { config = { resume_timeout = 0 } }
    ann, bob = server:clients(2)
    ann:join "hall"
    bob:join "hall"
  end)

  local function ending() return server:state().endings.bob end

  it("is cut has been reset", function()
    bob:cut()
    ann:expect("left", { name = "bob", reason = "ConnectionReset" })
    assert.equal("ConnectionReset", bob.reason.code)
    assert.equal("ConnectionReset", ending())
  end)

  it("is killed has closed", function()
    bob:kill()
    ann:expect("left", { name = "bob", reason = "ConnectionClosed" })
    assert.is_false(bob.connected)
  end)

  it("closes has said BYE", function()
    bob:close()
    assert.equal("ConnectionClosed", ending())
  end)

  it("vanishes is found out by the second ping that it owes an answer to", function()
    server:advance(20 - server:now())
    bob:vanish()
    bob:room("hall"):send("move", { x = 1 })
    ann:expect("left", { name = "bob", reason = "PingTimeout" }, 60)
    assert.near(39, server:now(), 0.5)
    assert.is_false(bob.connected) -- the client also misses the server's pongs
    ann:expect_nothing "moved"
  end)

  it("stalls does nothing, and all of it afterwards", function()
    bob:stall()
    bob:room("hall"):send("move", { x = 1 })
    ann:room("hall"):send("move", { x = 2 })
    ann:expect_nothing "moved"
    bob:expect_nothing "moved"
    bob:resume()
    ann:expect("moved", { x = 1 })
    bob:expect("moved", { x = 2 })
  end)

  it("stalls does not read what was on its way either", function()
    bob:network { latency = 0.1 }
    ann:room("hall"):send("move", { x = 1 })
    server:advance(0.05)
    bob:stall()
    ann:room("hall"):send("move", { x = 2 })
    bob:expect_nothing("moved", 1)
    bob:resume()
    assert.equal(1, bob:expect("moved", nil, 0).x)
    bob:expect("moved", { x = 2 }, 0.1)
  end)

  it("is killed while it stalls does not send any more", function()
    bob:stall()
    bob:room("hall"):send("move", { x = 1 })
    bob:kill()
    ann:expect("left", { name = "bob", reason = "ConnectionClosed" })
    assert.same({}, ann:received "moved")
  end)

  it("is told of the end closes its own side", function()
    local here = start { source = [[
      return { on_message = { out = function(peer) peer:kick() end } }]] }
    local cid = here:client { name = "cid", latency = 0.1 }
    cid:send "out"
    cid:expect_closed "Kicked"
    here:advance(0.1)
    assert.matches("cid end \n +0.500 cid < end\n", here:trace())
  end)

  it("stalls for long is given up", function()
    bob:stall()
    ann:expect("left", { name = "bob", reason = "PingTimeout" }, 60)
    bob:resume()
    bob:expect_closed "PingTimeout"
  end)
end)

describe("a condition", function()
  it("that there is not is refused", function()
    local ok, problem = pcall(start, { network = { lag = 1 } })
    assert.is_false(ok)
    assert.matches('there is no network condition "lag"; there are latency, jitter', problem)
    assert.has_error(function() start():client { name = "ann", loss = 2 } end)
    assert.has_error(function() start():client("ann"):network { latency = -1 } end)
  end)
end)
