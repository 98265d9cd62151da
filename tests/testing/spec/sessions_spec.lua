--- Sessions that outlive their connections, on a simulated network: the game's handlers, the clients' events,
--- and many connections that are cut at random bytes.

local testing = require "perigee.testing"

local SOURCE = [[
  local perigee = require "perigee"
  local game = { config = { tick_rate = 50 }, on_message = {} }
  function game.on_start() perigee.rooms.create("hall") end
  function game.on_connect(peer)
    peer.state.up, peer.state.down, peer.state.seen, peer.state.wrong = 0, 0, 0, 0
  end
  local function note(text) perigee.state.log = (perigee.state.log or "") .. text .. ";" end
  function game.on_suspend(peer, reason)
    note(("suspend %s %s %s"):format(peer.name, reason, tostring(peer.connected)))
  end
  function game.on_resume(room, peer, gap)
    note(("resume %s %s %.0f %d %d"):format(room.name, peer.name, gap.seconds, gap.lost, gap.resent))
  end
  function game.on_leave(_, peer, reason) note(("leave %s %s"):format(peer.name, reason)) end
  function game.on_disconnect(peer, reason) note(("disconnect %s %s"):format(peer.name, reason)) end
  function game.on_message.say(peer, n)
    perigee.rooms.get("hall"):broadcast("said", n, { reliable = n %% 2 == 0 })
  end
  function game.on_message.kick(_, _) for _, p in ipairs(perigee.rooms.get("hall"):peers()) do
    if p.name == "bob" then p:kick "out" end
  end end
  function game.on_message.quiz(peer) peer:send("solved", peer:ask("sum", 1, 10), { reliable = true }) end
  function game.on_message.up(peer, n)
    if n ~= peer.state.up + 1 then peer.state.wrong = peer.state.wrong + 1 end
    peer.state.up = n
  end
  function game.on_message.seen(peer, n) peer.state.seen = n end
  function game.on_message.flow(peer) peer.state.flow = true end
  function game.on_tick()
    for _, peer in ipairs(perigee.rooms.get("hall"):peers()) do
      local state = peer.state
      while state.flow and state.down < 200 and state.down - state.seen < 60 do
        state.down = state.down + 1
        local options = { reliable = true, priority = "high" }
        if state.down %% 3 == 0 then
          perigee.rooms.get("hall"):broadcast("down", state.down, options)
        else
          peer:send("down", state.down, options)
        end
        if state.down %% 7 == 0 then break end
      end
    end
  end
  return game
]]
SOURCE = SOURCE:gsub("%%%%", "%%")

describe("a session whose connection is lost", function()
  local server, ann, bob

  before_each(function()
    server = testing.server { source = SOURCE }
    ann, bob = server:clients(2)
    ann:join "hall"
    bob:join "hall"
  end)

  after_each(function() server:close() end)

  local function log() return server:state().log end

  it("waits, and goes on", function()
    local id, session = bob.id, bob.session
    bob:cut()
    server:advance(3)
    assert.equal("suspend bob ConnectionReset false;", log())
    for n = 1, 4 do ann:send("say", n) end
    server:advance(1)
    assert.is_true(bob:reconnect())
    assert.same({ id, session }, { bob.id, bob.session })
    bob:expect("said", 2)
    bob:expect("said", 4)
    bob:expect_nothing("said")
    assert.equal("suspend bob ConnectionReset false;resume hall bob 4 2 2;", log())
    assert.equal("hall", bob:room("hall").name)
    assert.equal("ann", bob:room("hall").members[ann.id])
    ann:expect_event("message")
    for _, event in ipairs(ann:received()) do
      assert.is_nil(tostring(event.type):match "peer_")
    end
  end)

  it("is over when nobody comes", function()
    bob:kill()
    server:advance(31)
    assert.equal("suspend bob ConnectionClosed false;leave bob ConnectionClosed;"
      .. "disconnect bob ConnectionClosed;", log())
    ann:expect_event("peer_left", { name = "bob" })
    assert.is_false(bob:reconnect())
    assert.is_nil(bob:room "hall")
    bob:expect_event("lost")
  end)

  it("is over at once where none waits, and the client hears of it", function()
    local short = testing.server {
      files = { ["game.lua"] = "return { config = { resume_timeout = 0 } }" },
    }
    local cid = short:client "cid"
    local id = cid.id
    assert.is_false(cid:reconnect())
    assert.is_true(cid.id ~= id)
    assert.equal(0, cid:expect_event("lost").dropped)
  end)

  it("is over when the game says so", function()
    bob:cut()
    server:advance(1)
    ann:send "kick"
    server:advance(1)
    assert.equal("suspend bob ConnectionReset false;leave bob Kicked;disconnect bob Kicked;", log())
    assert.is_false(bob:reconnect())
  end)

  it("is taken over by another connection", function()
    bob:vanish()
    assert.is_true(bob:reconnect())
    server:advance(1)
    assert.equal("suspend bob Replaced true;resume hall bob 0 0 0;", log())
  end)

  it("survives a reload", function()
    bob:cut()
    server:advance(0.1)
    for n = 1, 2 do ann:send("say", n) end
    server:advance(1)
    server:reload()
    server:advance(1)
    assert.is_true(bob:reconnect())
    bob:expect("said", 2)
    server:advance(1)
    assert.equal("suspend bob ConnectionReset false;resume hall bob 2 1 1;", log())
  end)

  it("goes on answering", function()
    bob:on_ask("sum", function(value) return value + 1 end)
    bob:stall()
    ann:send("say", 2)
    bob:resume()
    bob:send("quiz", nil, { reliable = true })
    bob:cut()
    server:advance(2)
    assert.is_true(bob:reconnect())
    bob:expect("solved", 2)
  end)
end)

describe("reliable messages", function()
  local MESSAGES = 200

  local function flow(seed)
    local server = testing.server { source = SOURCE, seed = seed }
    local ann = server:client { name = "ann", latency = 0.02, jitter = 0.03, loss = 0.2 }
    ann:join "hall"
    ann:send("flow", nil, { reliable = true })
    local state, sent, got, wrong = seed * 7919 + 1, 0, 0, 0
    local function random(n)
      state = (state * 16807) % 2147483647
      return state % n
    end
    ann:on("message", function(event)
      if event.value ~= got + 1 then wrong = wrong + 1 end
      got = event.value
      if got % 20 == 0 then ann:send("seen", got, { reliable = true }) end
    end)
    for _ = 1, 2000 do
      if sent == MESSAGES and got == MESSAGES then break end
      for _ = 1, random(8) do
        if sent < MESSAGES and ann.connected and ann:send("up", sent + 1, { reliable = true }) then
          sent = sent + 1
        end
      end
      server:advance(random(60) / 1000)
      local what = random(12)
      if what == 0 then ann:cut() elseif what == 1 then ann:kill() end
      if what < 3 then
        server:advance(random(40) / 1000)
        assert(ann:reconnect())
      elseif what == 3 and random(10) == 0 then
        server:reload()
      end
    end
    server:advance(2)
    local peer = server:peer(ann)
    assert.same({ MESSAGES, MESSAGES, 0 }, { sent, got, wrong }, "seed " .. seed)
    assert.same({ MESSAGES, 0 }, { peer.state.up, peer.state.wrong }, "seed " .. seed)
    server:close()
  end

  it("arrive once and in order with any seed", function()
    local count = tonumber(os.getenv "PERIGEE_SEEDS") or 20
    for seed = 1, count do flow(seed) end
  end)
end)
