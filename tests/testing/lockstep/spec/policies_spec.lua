-- The `lockstep` of a kind: settings, policies, and changes by a reload.
local players = require "player"
local testing = require "perigee.testing"

local function game(lockstep, more)
  return ([[
    local match = { auto_create = true, auto_delete = 60, lockstep = %s, on_message = {} }
    function match.on_message.stats(room) return room.lockstep:stats() end
    function match.on_message.desync(room) return room.state.desync end
    function match.on_desync(room, report) room.state.desync = report.peers[1].name end
    function match.on_message.start(room) room.lockstep:start() end
    function match.on_message.speed(room, _, speed) room.lockstep:set_speed(speed) end
    %s
    return { rooms = { match = match } }
  ]]):format(lockstep, more or "")
end

local function start(count, lockstep, network, options)
  local server = testing.server { trace = false, fuzz = false, network = network, source = game(lockstep) }
  local list = {}
  for i = 1, count do
    list[i] = players.new(server:client("p" .. i), options):play "match:1"
  end
  return server, list
end

local function assert_same(a, b)
  for turn = 1, math.min(a.turn, b.turn) do
    if a.hashes[turn] and b.hashes[turn] then assert.equal(a.hashes[turn], b.hashes[turn]) end
  end
end

local function kinds_of(one)
  local counts = {}
  local step = one._step
  function one:_step(turn, entries)
    for _, entry in ipairs(entries) do counts[entry.kind] = (counts[entry.kind] or 0) + 1 end
    return step(self, turn, entries)
  end
  return counts
end

describe("an input that is missing", function()
  for policy, kind in pairs { ["repeat"] = "repeated", empty = "missing" } do
    it("is nothing to wait for with " .. policy, function()
      local server, list = start(3, ('{ on_missing = "%s" }'):format(policy))
      server:advance(1)
      local counts = kinds_of(list[1])
      list[3].client:stall()
      server:advance(5)
      local stats = list[1].room:ask "stats"
      assert.equal(0, stats.stalls)
      assert.near(100, counts[kind], 5)
      list[3].client:resume()
      server:advance(2)
      local before = counts[kind]
      server:advance(2)
      assert.equal(before, counts[kind])
      assert_same(list[1], list[3])
    end)
  end

  it("is that of the turn before with repeat", function()
    local server, list = start(2, '{ on_missing = "repeat" }')
    server:advance(1)
    local seen = {}
    local step = list[1]._step
    function list.watch(self, turn, entries)
      for _, entry in ipairs(entries) do
        if entry.slot == 1 then seen[#seen + 1] = entry end
      end
      return step(self, turn, entries)
    end
    list[1]._step = list.watch
    server:advance(1)
    list[2].client:stall()
    server:advance(1)
    local first
    for i, entry in ipairs(seen) do
      if entry.kind == "repeated" then first = first or i end
    end
    assert.is_true(first > 1)
    for i = first, #seen do assert.equal(seen[first - 1].data, seen[i].data) end
  end)

  it("is waited for as long as wait_limit says", function()
    local server, list = start(2, "{ wait_limit = 0.3 }")
    server:advance(1)
    list[2].client:stall()
    server:advance(3)
    local stats = list[1].room:ask "stats"
    assert.is_true(stats.longest_stall <= 0.3 and stats.longest_stall > 0.25)
  end)
end)

describe("settings", function()
  local function problem_of(lockstep)
    local ok, problem = pcall(testing.server, { source = game(lockstep) })
    return not ok and tostring(problem) or nil
  end

  it("are refused where they cannot be", function()
    local function refuses(lockstep, why)
      local problem = problem_of(lockstep)
      assert.truthy(problem and problem:find(why, 1, true), problem)
    end
    refuses("{ turn_rate = 0 }", "match.lockstep.turn_rate must be a number from 1 to 240, not 0")
    refuses('{ on_missing = "skip" }',
      'match.lockstep.on_missing must be "wait", "repeat", "empty", not "skip"')
    refuses("{ players = 1.5 }", "match.lockstep.players must be a whole number from 1 to 64, not 1.5")
    refuses("{ players = 64, max_input = 1000 }",
      "match.lockstep.max_input must be at most 688 with 64 players: a turn has to fit into a packet")
    refuses("5", "match.lockstep must be a table of settings, not 5")
    for _, folder in ipairs { '"../up"', '"/tmp"', '""', '"a/../../b"', '"public"', '"public/x"', "true" } do
      refuses("{ record = " .. folder .. " }", "match.lockstep.record must be the name of a folder in the "
        .. "game's own, such as \"recordings\", and not public")
    end
  end)

  local function warns(settings, text)
    local all = ""
    for _, entry in ipairs(testing.server({ source = game(settings) }).logs) do
      all = all .. entry.text .. "\n"
    end
    assert.truthy(all:find(text, 1, true), all)
  end

  it("that nothing reads are warned of, with the nearest that is read", function()
    warns("{ turn_rat = 30 }", "nothing reads match.lockstep.turn_rat; did you mean turn_rate?")
  end)

  it("that wait for more than can play are warned of", function()
    warns("{ players = 2, start = 3 }", "match.lockstep.start is 3, more than the 2 players there can be")
  end)

  it("have players wait for each other, or for the script", function()
    local server, list = start(2, "{ start = 3 }")
    server:advance(2)
    assert.equal(0, list[1].turn)
    local third = players.new(server:client "third"):play "match:1"
    server:advance(2)
    assert.near(40, list[1].turn, 2)
    assert.is_nil(third.restored)
    assert.equal(list[1].hashes[1], third.hashes[1])

    local other = start(1, "{ start = 0 }")
    local one = players.new(other:client "one"):play "match:2"
    other:advance(1)
    assert.equal(0, one.turn)
    one.room:send "start"
    other:advance(1)
    assert.near(20, one.turn, 2)
  end)

  it("bound the hashes", function()
    local server, list = start(2, "{ hash_every = 10 }")
    server:advance(3)
    local asked = 0
    list[1]._hash = function(self)
      asked = asked + 1
      return self.state % 2 ^ 32
    end
    server:advance(5)
    assert.near(10, asked, 1)
  end)

  it("allow for matches that are fast, and for players who tell no hashes", function()
    local server, list = start(3, "{ turn_rate = 240, max_input_delay = 60 }")
    list[4] = players.new(server:client "quiet", { no_hash = true }):play "match:1"
    server:advance(1)
    list[2].flips_at = list[2].turn + 50
    server:advance(4)
    assert.equal("p2", list[1].room:ask "desync")
    assert_same(list[1], list[3])
    assert_same(list[1], list[4])
  end)

  it("take as many as there are slots at most, all in one turn", function()
    local server, list = start(0, "{ players = 64, max_input = 688 }")
    for i = 1, 64 do
      local peer = server:client { name = ("x"):rep(60) .. i }
      list[i] = players.new(peer, { input = ("y"):rep(688) }):play "match:1"
    end
    server:advance(1)
    assert.is_true(list[1].turn > 10)
    local watches = players.new(server:client "more"):play "match:1"
    server:advance(0.5)
    assert.is_nil(watches.match.slot)
    assert_same(list[1], list[64])
    assert_same(list[1], watches)
  end)

  it("bound the turns that are kept", function()
    local server, list = start(2, "{ history = 100 }", { latency = 0.01 })
    server:advance(30)
    assert.is_true(list[1].room:ask("stats").kept_bytes < 100 * 60)
    local late = players.new(server:client "late"):play "match:1"
    server:advance(3)
    assert.equal(1, late.restored)
    assert_same(list[1], late)
  end)

  it("give the state to who was away for longer than turns are kept", function()
    local server, list = start(2, "{ history = 100 }", { latency = 0.01 })
    server:advance(2)
    list[2].client:cut()
    server:advance(10)
    assert.is_true(list[2].client:reconnect())
    server:advance(2)
    assert.equal(1, list[2].restored)
    assert_same(list[1], list[2])
    assert.near(list[1].turn, list[2].turn, 2)
    -- If no member has the state any more, a match begins again.
    local id = list[1].match.id
    for _, one in ipairs(list) do one.client:cut() end
    server:advance(10)
    for _, one in ipairs(list) do assert.is_true(one.client:reconnect()) end
    server:advance(4)
    assert.not_equal(id, list[1].match.id)
    assert.equal(list[1].match.id, list[2].match.id)
    assert.is_true(list[1].turn > 20)
    assert_same(list[1], list[2])
  end)

  it("keep the delay within its bounds", function()
    local server, list = start(2, "{ input_delay = 2, max_input_delay = 3 }",
      { latency = 0.15, jitter = 0.02 })
    server:advance(20)
    assert.equal(3, list[1].match.delay)
    assert_same(list[1], list[2])
    for _, one in ipairs(list) do one.client:network { latency = 0.01, jitter = 0 } end
    server:advance(60)
    assert.equal(2, list[1].match.delay)
    assert.equal(2, list[2].match.delay)
  end)
end)

describe("a fast match with a slow network", function()
  it("has delays of many turns, and nobody is waited for", function()
    local server, list = start(3, "{ turn_rate = 100 }", { latency = 0.12, jitter = 0.02, loss = 0.05 })
    server:advance(10)
    for _, one in ipairs(list) do
      assert.is_true(one.match.delay > 20, "delay: " .. one.match.delay)
      assert_same(list[1], one)
    end
    local counts, before, turn = kinds_of(list[1]), list[1].room:ask "stats", list[1].turn
    server:advance(10)
    local stats = list[1].room:ask "stats"
    assert.is_true(list[1].turn - turn > 970, "turns: " .. list[1].turn - turn)
    assert.is_true(stats.stalled - before.stalled < 0.3)
    assert.is_nil(counts.missing)
    assert.is_true(counts.input > 2.9 * (list[1].turn - turn))
    -- When the delay grows by more turns than an INPUT can carry, the client sends the new inputs in several
    -- packets.
    for _, one in ipairs(list) do one.client:network { latency = 0.04, jitter = 0 } end
    server:advance(30)
    assert.is_true(list[1].match.delay < 15, "delay: " .. list[1].match.delay)
    for _, one in ipairs(list) do one.client:network { latency = 0.22, jitter = 0 } end
    server:advance(10)
    assert.is_true(list[1].match.delay > 40, "delay: " .. list[1].match.delay)
    counts = kinds_of(list[1])
    server:advance(5)
    assert.is_nil(counts.missing)
    assert_same(list[1], list[3])
  end)
end)

describe("a reload", function()
  it("breaks no match, and its settings hold from then on", function()
    local server, list = start(3, "{ turn_rate = 20 }", { latency = 0.03, loss = 0.05 })
    server:advance(3)
    server:reload(game("{ turn_rate = 40, wait_limit = 0.5 }"))
    server:advance(0.5)
    local turn = list[1].turn
    server:advance(5)
    assert.near(turn + 200, list[1].turn, 40)
    assert.equal(0.025, list[1].match.interval)
    assert_same(list[1], list[2])
    assert_same(list[1], list[3])
    assert.equal(0, list[1].room:ask("stats").desyncs)
  end)

  it("that takes lockstep away ends the match", function()
    local server, list = start(2, "{}")
    server:advance(1)
    server:reload(game("nil"))
    server:advance(1)
    assert.is_true(list[1].has_ended)
    server:reload(game("{}"))
    list[1]:play "match:1"
    server:advance(2)
    assert.is_true(list[1].turn > 30)
  end)

  it("whose on_upgrade fails leaves it alone", function()
    local server, list = start(2, "{}")
    server:advance(1)
    local turn = list[1].turn
    server:try_reload(game("nil",
      "function match.on_upgrade(room) local _ = room.lockstep.turn; error 'no' end"))
    server:expect_error "no"
    server:advance(2)
    assert.near(turn + 40, list[1].turn, 2)
    assert.is_nil(list[1].has_ended)
  end)

  it("that fails leaves it alone", function()
    local server, list = start(2, "{}")
    server:advance(1)
    local turn = list[1].turn
    assert.is_nil((server:try_reload(game("{ turn_rate = -1 }"))))
    server:advance(2)
    assert.near(turn + 40, list[1].turn, 2)
  end)
end)
