-- Matches in lockstep, with simulated players: tests/testing/lockstep/player.lua.
local players = require "player"
local testing = require "perigee.testing"

local ROUGH = { latency = 0.06, jitter = 0.04, loss = 0.05 } -- 80 ms +- 20 ms each way
local TURN = 0.05 -- seconds
local WAIT_LIMIT = 1

-- Starts a match. Without a simulated network, its timing is exact.
local function start(count, options, network)
  local server = testing.server { trace = false, network = network, fuzz = network ~= nil }
  local list = {}
  for i = 1, count do
    list[i] = players.new(server:client("p" .. i), options):play "match:1"
  end
  return server, list
end

local function stats_of(one)
  return one.room:ask "stats"
end

-- Compares all hashes of turns that two players have both simulated.
local function assert_same(list, from)
  local compared = 0
  for i = 2, #list do
    for turn = from or 1, math.min(list[1].turn, list[i].turn) do
      if list[1].hashes[turn] and list[i].hashes[turn] then
        compared = compared + 1
        if list[1].hashes[turn] ~= list[i].hashes[turn] then
          error(("%s differs in turn %d"):format(list[i].client.name, turn))
        end
      end
    end
  end
  assert.is_true(compared > 0)
  return compared
end

local function names(list)
  table.sort(list)
  return table.concat(list, " ")
end

describe("a match in lockstep", function()
  it("keeps 8 clients the same for 10,000 turns of a bad network", function()
    local server, list = start(8, nil, ROUGH)
    while list[1].turn < 10000 do server:advance(10) end
    assert.is_true(assert_same(list) > 7 * 9900)
    local stats = stats_of(list[1])
    assert.equal(0, stats.desyncs)
    assert.is_true(stats.longest_stall <= WAIT_LIMIT)
    for _, one in ipairs(list) do
      assert.is_true(one:median_latency() <= one.match.delay * TURN + 0.08 + TURN)
    end
    if os.getenv "LOCKSTEP_FIGURES" then
      print(require("cjson").encode(stats))
      for _, one in ipairs(list) do print(one.client.name, one.match.delay, one:median_latency()) end
    end
    local state = server:room("match:1").state
    assert.is_true(state.turns >= 10000 and state.inputs > 8 * 9000)
  end)

  it("goes at its turn rate, and without a stall where the network is good", function()
    local server, list = start(3, nil, { latency = 0.02 })
    server:advance(2)
    local first = list[1].turn
    server:advance(10)
    assert.near(200, list[1].turn - first, 1)
    assert.equal(0, stats_of(list[1]).stalls)
    assert.near(2 * TURN, list[1]:median_latency(), 0.002)
    assert_same(list)
  end)

  it("names the client that flips a bit, and the turn", function()
    local server, list = start(4, nil, ROUGH)
    list[3].flips_at = 100
    server:advance(10)
    local desyncs = server:room("match:1").state.desyncs
    assert.equal(1, #desyncs)
    assert.equal(100, desyncs[1].turn)
    assert.same({ "p3" }, desyncs[1].names)
    assert.equal("turn 100: p3 has another state than the others", desyncs[1].text)
    assert.same({ turn = 100, is_odd = true, slots = { 2 } }, list[3].desyncs[1])
    assert.same({ turn = 100, is_odd = false, slots = { 2 } }, list[1].desyncs[1])
    assert_same { list[1], list[2], list[4] }
  end)

  it("names the place too, by trees of hashes", function()
    local server, list = start(3, { tree = true })
    list[2].flips_at = 30
    server:advance(4)
    local desync = server:room("match:1").state.desyncs[1]
    assert.equal("units.sum", desync.path)
    assert.equal("turn 30: p2 has another state than the others; it begins at units.sum", desync.text)
  end)

  it("blames both of two", function()
    local server, list = start(2)
    list[1].flips_at = 10
    server:advance(3)
    local desync = server:room("match:1").state.desyncs[1]
    assert.is_true(desync.tie)
    assert.equal("p1 p2", names(desync.names))
    assert.equal(1, #server:room("match:1").state.desyncs)
  end)

  it("heals one by the state of the others", function()
    local server, list = start(3, nil, { latency = 0.03 })
    list[2].flips_at = 40
    server:advance(4)
    assert.equal(1, #server:room("match:1").state.desyncs)
    local before = list[2].restored or 0
    list[1].room:send("resync", list[2].client.id)
    server:advance(4)
    assert.equal(before + 1, list[2].restored)
    assert_same(list, list[1].turn - 40)
    list[2].flips_at = list[2].turn + 20
    server:advance(4)
    assert.equal(2, #server:room("match:1").state.desyncs)
  end)

  it("does not wait for long when one stands still, and has it back when it goes on", function()
    local server, list = start(3)
    server:advance(2)
    list[2].client:stall()
    server:advance(10)
    local stats = stats_of(list[1])
    assert.is_true(stats.longest_stall <= WAIT_LIMIT and stats.longest_stall > 0.9)
    assert.is_true(stats.stalled < 1.2)
    assert.is_true(list[1].waited > 10)
    assert.is_true(list[1].turn > 200)
    list[2].client:resume()
    server:advance(3)
    assert_same(list)
    assert.near(list[1].turn, list[2].turn, 2)
    local members = list[1].room:ask "members"
    assert.is_false(members[2].absent)
  end)

  it("gives one who dawdles no more than a tenth of the time", function()
    local server, list = start(2)
    server:advance(1)
    local before = list[1].turn
    for _ = 1, 60 do -- connected for a moment, then stalled for almost a second
      list[2].client:stall()
      server:advance(0.9)
      list[2].client:resume()
      server:advance(0.1)
    end
    assert.is_true(stats_of(list[1]).stalled <= 1 + 0.12 * 60)
    assert.is_true(list[1].turn - before > 0.85 * 60 * 20)
  end)

  it("lets one back in that was killed, into its place", function()
    local server, list = start(4, { bytes = 40000 }, ROUGH)
    server:advance(10)
    local seat, slot = list[3].match.seat, list[3].match.slot
    list[3].client:kill()
    server:advance(5)
    local again = players.new(server:client "p3b", { seat = seat }):play "match:1"
    server:advance(10)
    assert.equal(slot, again.match.slot)
    assert.equal(1, again.restored)
    assert_same({ list[1], list[2], list[4], again })
    assert.near(list[1].turn, again.turn, 3)
    assert.equal(0, stats_of(list[1]).desyncs)
    local members = list[1].room:ask "members"
    assert.equal(4, #members)
    assert.is_true(#again.latencies > 100)
  end)

  it("goes on for a session that is resumed", function()
    local server, list = start(3, nil, { latency = 0.02 })
    server:advance(3)
    list[2].client:cut()
    server:advance(8)
    assert.is_true(list[2].client:reconnect())
    server:advance(3)
    assert.is_nil(list[2].restored)
    assert_same(list)
    assert.near(list[1].turn, list[2].turn, 2)
  end)

  it("takes in who comes late, by a snapshot and the turns since", function()
    local server, list = start(2, { bytes = 100000 }, ROUGH)
    server:advance(20)
    local late = players.new(server:client "late"):play "match:1"
    server:advance(5)
    assert.equal(2, late.match.slot)
    assert.equal(1, late.restored)
    assert_same { list[1], list[2], late }
    assert.is_true(late.hashes[100] == nil)
    assert.is_true(#late.latencies > 50)
  end)

  it("has who comes late simulate all of it where nobody gives snapshots", function()
    local server, list = start(2, { no_snapshot = true })
    server:advance(20)
    local late = players.new(server:client "late"):play "match:1"
    server:advance(3)
    assert.is_nil(late.restored)
    assert.equal(list[1].hashes[1], late.hashes[1])
    assert_same { list[1], list[2], late }
    assert.near(list[1].turn, late.turn, 2)
  end)

  it("tells who is not let in, and why", function()
    local server = testing.server { trace = false }
    local client = server:client "ann"
    local ends = {}
    local game = { step = function() end, on_end = function(...) table.insert(ends, { ... }) end }
    local match = client:join "plain":lockstep(game)
    server:advance(0.1)
    assert.same({ { "rooms of this kind have no lockstep", "Unsupported" } }, ends)
    assert.is_false(match.is_ready)
  end)

  it("tells who has left the room", function()
    local server = testing.server { trace = false }
    local client = server:client "ann"
    local ends = {}
    local room = client:join "match:1"
    local match = room:lockstep {
      step = function() end, on_end = function(_, code) table.insert(ends, code) end,
    }
    server:advance(1)
    assert.is_true(match.is_ready)
    room:leave()
    server:advance(0.1)
    assert.same({ "ConnectionClosed" }, ends)
    assert.is_false(match.is_ready)
  end)

  it("lets who came too soon in a little later", function()
    local server, list = start(1)
    local match = list[1].match
    for _ = 1, 3 do match:enter() end -- the server accepts two of them at once
    server:advance(2)
    local turn = match.turn
    server:advance(1)
    assert.is_true(match.is_ready and match.turn > turn)
  end)

  it("waits where it is while nobody is there", function()
    local server, list = start(1)
    server:advance(5)
    local turn, hash = list[1].turn, list[1].state
    list[1].client:close()
    server:advance(20)
    local again = players.new(server:client "again"):play "match:1"
    server:advance(0.02)
    assert.near(turn, again.turn, 2)
    assert.equal(hash % 2 ^ 32, again.hashes[turn])
  end)

  it("has people who only watch", function()
    local server, list = start(2, nil, { latency = 0.02 })
    server:advance(5)
    local fan = players.new(server:client "fan", { watches = true }):play "match:1"
    server:advance(5)
    assert.is_nil(fan.match.slot)
    assert_same { list[1], fan }
    fan.client:stall()
    server:advance(5)
    assert.equal(0, stats_of(list[1]).stalls)
    fan.client:resume()
    server:advance(2)
    assert.near(list[1].turn, fan.turn, 2)
    fan.flips_at = fan.turn + 10
    server:advance(2)
    assert.same({ "fan" }, server:room("match:1").state.desyncs[1].names)
  end)

  it("has slots for so many, and who comes then watches", function()
    local server, list = start(9)
    server:advance(2)
    assert.is_nil(list[9].match.slot)
    list[1].client:close()
    server:advance(1)
    local other = players.new(server:client "other"):play "match:1"
    server:advance(1)
    assert.equal(0, other.match.slot)
    assert_same { list[2], list[9], other }
  end)

  it("stands still, goes faster and begins anew as the script says", function()
    local server, list = start(2, nil, { latency = 0.01 })
    server:advance(2)
    list[1].room:send "pause"
    server:advance(0.2)
    local turn = list[1].turn
    assert.equal(0, list[1].match.speed)
    server:advance(10)
    assert.equal(turn, list[1].turn)
    list[1].room:send "resume"
    list[1].room:send("speed", 4)
    server:advance(5)
    assert.near(turn + 400, list[1].turn, 10)
    assert_same(list)
    local seed = list[1].match.seed
    list[1].room:send "restart"
    server:advance(1)
    assert.not_equal(seed, list[1].match.seed)
    assert.equal(list[1].match.seed, list[2].match.seed)
    assert.is_true(list[1].turn < 100 and list[1].turn > 50)
    assert.equal(0, stats_of(list[1]).desyncs)
  end)

  it("leaves those members of the room alone that take no part", function()
    local server, list = start(2)
    local other = server:client "other"
    other:join "match:1"
    server:client({ text = true }):send "/join match:1"
    server:advance(3)
    assert.is_nil((other:recv(0.1)))
    assert_same(list)
    other:close()
    server:advance(1)
    assert_same(list)
  end)
end)
