--- `perigee test`: its tests, its output, and its end. The specs in tests/testing, which testing_own_spec.lua
--- runs, test perigee.testing itself.
local server = require "tests.e2e.server"
local uv = require "luv"

local SECONDS = 60

-- A game in which the client that is later in `pairs`, or sends later, wins.
local RACE = [[
  local arena = { auto_create = true, on_message = {} }
  function arena.on_message.take(room, peer)
    if room.state.owner then return end
    room.state.owner = peer.name
    room:broadcast("owner", peer.name)
  end
  return { rooms = { arena = arena } }
]]

local RACE_SPEC = [[
  local testing = require "perigee.testing"
  it("gives it to ann", function()
    local ann, bob = testing.server():clients(2)
    local hers, his = ann:join "arena", bob:join "arena"
    hers:send "take"
    his:send "take"
    ann:expect("owner", "ann")
  end)
]]

local GOOD = [[
  local testing = require "perigee.testing"
  describe("the relay", function()
    it("carries", function()
      local ann, bob = testing.server():clients(2)
      ann:join "lobby"
      bob:join("lobby"):broadcast "hello"
      ann:expect_broadcast "hello"
    end)
  end)
]]

local LOBBY = "return { rooms = { lobby = { auto_create = true, auto_delete = 1 } } }"

local function text_of(process)
  return table.concat(process.out, "\n") .. "\n" .. table.concat(process.err, "\n")
end

-- Runs `perigee test` in a folder with these files. Returns the exit code and all that was printed.
local function run(files, ...)
  local process = server.perigee({ "test", ... }, { cwd = server.folder(files) })
  local code = process:wait_exit(SECONDS)
  return code, text_of(process)
end

local function spec(body)
  return 'local testing = require "perigee.testing"\nit("works", function()\n' .. body .. "\nend)"
end

describe("perigee test", function()
  after_each(server.stop_all)

  it("finds the specs of a folder and of a file", function()
    local files = {
      ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = GOOD, ["spec/helper.lua"] = "error 'no spec'",
      ["one.lua"] = LOBBY, ["one_spec.lua"] = GOOD,
    }
    local code, text = run(files)
    assert.equal(0, code, text)
    assert.matches("1 success / 0 failures / 0 errors", text)
    code, text = run(files, "one.lua")
    assert.equal(0, code, text)
    code, text = run(files, ".", "spec/a_spec.lua", "one_spec.lua")
    assert.equal(0, code, text)
    assert.matches("2 successes", text)
  end)

  it("knows the game that a spec is of", function()
    local own = spec "assert.equal(3, testing.server():state().three)"
    local game = [[local perigee = require "perigee"
      return { on_start = function() perigee.state.three = 3 end }]]
    local files = {
      ["game.lua"] = "return {}", ["a b/game.lua"] = game, ["a b/a_spec.lua"] = own,
      ["one.lua"] = game, ["one_spec.lua"] = own, ["spec/none_spec.lua"] = spec [[
        assert.is_nil(testing.server():state().three)]],
    }
    for _, name in ipairs { "a b/a_spec.lua", "./one_spec.lua", "spec/none_spec.lua" } do
      local code, text = run(files, name)
      assert.equal(0, code, text)
    end
  end)

  it("a client's flush returns", function()
    local code, text = run { ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = spec [[
      assert.is_true(testing.server():client("ann"):flush())]] }
    assert.equal(0, code, text)
  end)

  it("says where specs go when there are none", function()
    local code, text = run { ["game.lua"] = LOBBY }
    assert.equal(1, code)
    assert.matches("perigee: this game has no specs: write one in spec/game_spec.lua", text)
    code, text = run({ ["one.lua"] = LOBBY }, "one.lua")
    assert.equal(1, code)
    assert.matches("one.lua has no specs: write one in one_spec.lua", text)
    code, text = run {}
    assert.equal(1, code)
    assert.matches("perigee: %.: there is no game.lua in this folder; `perigee new NAME` makes a game", text)
    code, text = run({}, "arena")
    assert.equal(1, code)
    assert.matches("perigee: arena: there is no such game; give a folder with a game.lua", text)
    code, text = run({ ["game.lua"] = LOBBY }, ".", "x_spec.lua")
    assert.equal(1, code)
    assert.matches("there is no file x_spec.lua", text)
  end)

  it("knows its command line", function()
    for _, arguments in ipairs {
      { "--sed", "1" }, { "--seed" }, { "--seed", "x" }, { "--fuzz", "0" }, { "--fuzz", "1.5" },
      { "--seed", "1", "--fuzz", "2" }, { "--fuzz-seed", "-1" }, { "--seed", "99999999999" },
      { "--filter", "[" }, { "--filter-out=%" }, { "--output", "nope" },
    } do
      local code, text = run({}, unpack(arguments))
      assert.equal(2, code, text)
      assert.matches("usage: perigee test", text)
    end
    for _, arguments in ipairs { { "test", "--help" }, { "help", "test" } } do
      local process = server.perigee(arguments)
      assert.equal(0, process:wait_exit())
      assert.matches("%-%-fuzz%-seed N", text_of(process))
    end
  end)

  it("runs only the tests that are wanted", function()
    local files = {
      ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = GOOD, ["spec/b_spec.lua"] = spec "error 'b'",
    }
    local code, text = run(files, "--filter", "relay")
    assert.equal(0, code, text)
    code = run(files, "--filter-out=works")
    assert.equal(0, code)
    code, text = run(files, "--filter", "nothing like it")
    assert.equal(1, code)
    assert.matches("there is no such test", text)
    code, text = run(files, "--list")
    assert.equal(0, code)
    assert.matches("the relay carries", text)
  end)

  it("says what was expected, what came instead, when, and how to see it again", function()
    local code, text = run({
      ["game.lua"] = RACE,
      ["spec/a_spec.lua"] = spec [[
        local ann, bob = testing.server():clients(2)
        ann:join("arena"):send("take")
        bob:join "arena"
        ann:expect("owner", "bob")]],
    }, "--seed", "5")
    assert.equal(1, code)
    assert.matches('spec/a_spec.lua:6: ann did not get the message "owner" with "bob", in 5 s', text)
    assert.matches('closest: owner "ann" at 0%.%d+ s: the value is "ann", expected "bob"', text)
    assert.matches('\n +0%.%d+  owner "ann"', text)
    assert.matches("The seed was 5; the same again: perigee test %-%-seed 5", text)
  end)

  it("ends a test in which time stands still, at its line", function()
    local code, text = run {
      ["game.lua"] = [[
        local perigee = require "perigee"
        local function again() perigee.after(0, again) end
        return { on_message = { again = again } }]],
      ["spec/a_spec.lua"] = spec [[
        local ann = testing.server():client "ann"
        ann:send "again"
        ann:sleep(1)]],
      ["spec/b_spec.lua"] = spec [[
        local server = testing.server()
        server:spawn(function() while true do server:sleep(0) end end)
        server:advance(1)]],
    }
    assert.equal(1, code)
    assert.matches("spec/a_spec.lua:5: the game never comes to rest: at 0 s", text)
    assert.matches("spec/b_spec.lua:5: time stands still at 0.000 s", text)
  end)

  it("says of a server that is over that it is", function()
    local code, text = run {
      ["game.lua"] = LOBBY,
      ["spec/a_spec.lua"] = spec [[
        local server = testing.server()
        local ann = server:client "ann"
        server:close()
        for _, name in ipairs { "room", "rooms", "state", "peer", "stats", "reload", "stop", "advance",
          "client", "expect_log" } do
          local argument = name == "peer" and ann or name == "advance" and 1 or "lobby"
          local ok, problem = pcall(server[name], server, argument)
          assert.is_false(ok, name)
          assert.matches("spec/a_spec.lua:%d+: the server is closed", problem, nil, nil, name)
        end]],
    }
    assert.equal(0, code, text)
  end)

  it("points into nested values, and at what was looked at before", function()
    local _, text = run {
      ["game.lua"] = [[return { on_message = { say = function(peer, value) peer:send("said", value) end } }]],
      ["spec/a_spec.lua"] = spec [[
        local ann = testing.server():client "ann"
        ann:send("say", { pos = { x = 1, y = 2 } })
        ann:expect("said", { pos = { y = 3 } })]],
    }
    assert.matches("pos%.y is 2, expected 3", text)
    assert.matches("said { pos = { x = 1, y = 2 } }", text)
  end)

  it("tells those who send to the game what is for the room", function()
    local _, text = run {
      ["game.lua"] = RACE,
      ["spec/a_spec.lua"] = spec [[
        local ann = testing.server():client "ann"
        ann:join "arena"
        ann:send "take"
        ann:expect "owner"]],
    }
    assert.matches("a message about a room is sent with room:send", text)
    assert.matches("! Unsupported", text)
  end)

  it("says why somebody was refused", function()
    local _, text = run {
      ["game.lua"] = LOBBY,
      ["spec/a_spec.lua"] = spec [[testing.server():client("ann"):join "cellar"]],
    }
    assert.matches('spec/a_spec.lua:3: ann cannot join "cellar": .* %(NoSuchRoom%)', text)
  end)

  it("fails a test whose game raised an error, unless it asked for it", function()
    local game = [[return { on_message = { go = function() error "oh" end } }]]
    local body = [[
        local server = testing.server()
        server:client("ann"):send "go"
        server:advance(1)]]
    local code, text = run { ["game.lua"] = game, ["spec/a_spec.lua"] = spec(body) }
    assert.equal(1, code)
    assert.matches("spec/a_spec.lua:2: the game raised an error that the spec did not ask for", text)
    assert.matches("game.lua:1: oh", text)
    body = body .. '\nserver:expect_error "game.lua:1: oh"'
    code, text = run { ["game.lua"] = game, ["spec/a_spec.lua"] = spec(body) }
    assert.equal(0, code, text)
  end)

  it("finds what a spec's own text requires, wherever the command is run", function()
    local files = {
      ["duel/game.lua"] = "return {}", ["duel/rules.lua"] = "return { three = 3 }",
      ["duel/one.lua"] = "return {}",
      ["duel/a_spec.lua"] = spec [[
        local ann = testing.server { source = 'return { on_message = { three = ' ..
          'function() return require("rules").three end }, rules = require "rules" }' }:client "ann"
        assert.equal(3, ann:ask "three")]],
    }
    for _, game in ipairs { "duel", "./duel/", "duel/one.lua" } do
      local code, text = run(files, game, "duel/a_spec.lua")
      assert.equal(0, code, text)
    end
  end)

  it("tests modules of the game alone, also those that require perigee", function()
    local code, text = run {
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = [[
        local perigee = require "perigee"
        local rooms, every = perigee.rooms, perigee.every
        local duel = { auto_create = true, auto_delete = 60 }
        function duel.damage(attack, armour) return math.max(0, attack - armour) end
        function duel.hit(room, by) room:broadcast("hit", { by = by.name, damage = duel.damage(5, 2) }) end
        function duel.begin()
          local room = rooms.create "duel:1"
          return room
        end
        function duel.tick() every(1, "tick") end
        return duel]],
      ["spec/duel_spec.lua"] = [[
        local duel = require "rooms.duel"
        describe("a duel", function()
          it("takes armour off", function()
            assert.equal(3, duel.damage(5, 2))
            local said = {}
            local room = { broadcast = function(_, name, value) said = { name, value.damage } end }
            duel.hit(room, { name = "ann" })
            assert.same({ "hit", 3 }, said)
          end)
          it("begins in a server", function() duel.begin() end)
        end)]],
    }
    assert.equal(1, code, text)
    assert.matches("1 success / 0 failures / 1 error", text)
    assert.matches("rooms/duel.lua:7: perigee.rooms.create needs a server: testing.server%(%) starts", text)
  end)

  it("has one time of day, wherever the machine is", function()
    local process = server.perigee({ "test" }, { env = { TZ = "EST5" }, cwd = server.folder {
      ["game.lua"] = [[return { on_message = { time = function()
        return { os.time() - os.time(os.date "*t"), os.time { year = 2024, month = 1, day = 1, hour = 0 } }
      end } }]],
      ["spec/a_spec.lua"] = spec [[
        local ann = testing.server():client "ann"
        assert.same({ 0, 1704067200 }, ann:ask "time")]],
    } })
    if process:wait_exit(SECONDS) ~= 0 then process:fail "times differ" end
  end)

  it("fails no test because the machine is busy", function()
    local process = server.perigee({ "test" }, { cwd = server.folder {
      ["game.lua"] = [[
        return { on_message = { work = function()
          local sum = 0
          for i = 1, 2e6 do sum = sum + i % 7 end
          return sum
        end } }]],
      ["spec/a_spec.lua"] = spec [[
        local ann = testing.server():client "ann"
        print "begins" io.stdout:flush()
        for _ = 1, 60 do ann:ask "work" end]],
    } })
    process:wait_out "begins"
    for _ = 1, 6 do
      process:kill "sigstop"
      uv.sleep(200)
      process:kill "sigcont"
      uv.sleep(20)
    end
    if process:wait_exit(SECONDS) ~= 0 then process:fail "the game was told that it is late" end
  end)

  it("fails a test whose task fails, at the line of the task", function()
    local code, text = run {
      ["game.lua"] = LOBBY,
      ["spec/a_spec.lua"] = spec [[
        local server = testing.server()
        server:client("ann"):spawn(function(ann)
          ann:expect "anything"
        end)
        server:run()]],
    }
    assert.equal(1, code)
    assert.matches('spec/a_spec.lua:5: ann did not get the message "anything"', text)
  end)

  it("fails a test whose task failed after it had waited for the last time", function()
    local code, text = run {
      ["game.lua"] = LOBBY,
      ["spec/a_spec.lua"] = spec [[
        testing.server():spawn(function() error "unseen" end)]],
    }
    assert.equal(1, code)
    assert.matches("spec/a_spec.lua:3: unseen", text)
  end)

  it("names the fault of a game that does not load, and of a spec", function()
    local code, text = run { ["game.lua"] = "return {", ["spec/a_spec.lua"] = GOOD }
    assert.equal(1, code)
    assert.matches("the game does not load: ./game.lua:1:", text)
    code, text = run { ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = "it(" }
    assert.equal(1, code)
    assert.matches("spec/a_spec.lua:1:", text)
  end)

  it("gives every test a server of its own, and closes it", function()
    local code, text = run {
      ["game.lua"] = [[
        local perigee = require "perigee"
        return { on_connect = function() perigee.state.count = (perigee.state.count or 0) + 1 end }]],
      ["spec/a_spec.lua"] = [[
        local testing = require "perigee.testing"
        local before
        for i = 1, 100 do
          it("test " .. i, function()
            if before then
              assert.error_matches(function() before:advance(1) end, "the server is closed")
              assert.error_matches(function() before:client "ann" end, "the server is closed")
            end
            local server = testing.server()
            server:clients(10)
            assert.equal(10, server:state().count)
            before = server
          end)
        end]],
    }
    assert.equal(0, code, text)
  end)

  it("shows the log where it is wanted", function()
    local files = { ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = GOOD }
    local _, text = run(files)
    assert.is_nil(text:find "name=ann")
    _, text = run(files, "--log")
    assert.matches("\n +0%.000  info  connected peer=1 name=ann", text)
  end)

  it("says how busted is installed where it is missing", function()
    for name, value in pairs { LUA_PATH = "/nowhere/?.lua", LUA_CPATH = "/nowhere/?.so" } do
      local process = server.perigee({ "test" }, { env = { [name] = value } })
      assert.equal(1, process:wait_exit())
      assert.matches("apt install lua%-busted", text_of(process))
    end
  end)
end)

describe("perigee test --fuzz", function()
  after_each(server.stop_all)

  local files = { ["game.lua"] = RACE, ["spec/race_spec.lua"] = RACE_SPEC }

  it("finds what depends on order, and its seed shows it every time", function()
    assert.equal(0, (run(files)))
    local code, text = run(files, "--fuzz", "100")
    assert.equal(1, code, text)
    local seed = text:match "seed (%d+) of 100 fails: gives it to ann"
    assert.matches("the same again: perigee test %-%-fuzz%-seed " .. seed, text)
    local failure = text:match 'ann did not get the message.-got:.-owner "bob"'
    assert.is_string(failure, text)
    for _ = 1, 5 do
      local again, told = run(files, "--fuzz-seed", seed)
      assert.equal(1, again)
      assert.truthy(told:find(failure, 1, true), told)
    end
    if tonumber(seed) > 1 then assert.equal(0, (run(files, "--fuzz", tostring(seed - 1)))) end
  end)

  it("varies the order of what comes at once, and how long things take", function()
    for from, to in pairs {
      [":clients(2)"] = ":clients(2, { latency = 0 })", -- order alone
      ['his:send "take"'] = 'ann:sleep(0.03) his:send "take"', -- time alone
    } do
      local at, stop = RACE_SPEC:find(from, 1, true)
      local changed = RACE_SPEC:sub(1, at - 1) .. to .. RACE_SPEC:sub(stop + 1)
      local code, text = run({ ["game.lua"] = RACE, ["spec/race_spec.lua"] = changed }, "--fuzz", "100")
      assert.equal(1, code, to .. text)
    end
  end)

  it("finds what depends on the order of pairs", function()
    local function bug(leader)
      return {
        ["game.lua"] = [[
          local hall = { auto_create = true, on_message = {} }
          function hall.on_create(room) room.state.names = {} end
          function hall.on_join(room, peer) room.state.names[peer.name] = true end
          function hall.on_message.lead(room)
            for name in pairs(room.state.names) do return room:broadcast("leader", name) end
          end
          return { rooms = { hall = hall } }]],
        ["spec/a_spec.lua"] = spec(([[
          local ann, bob = testing.server { network = { latency = 0.01 } }:clients(2)
          bob:join "hall"
          ann:join("hall"):send "lead"
          ann:expect("leader", %q)]]):format(leader)),
      }
    end
    for _, leader in ipairs { "ann", "bob" } do
      local code, text = run(bug(leader), "--fuzz", "40")
      assert.equal(1, code, text)
    end
  end)

  it("passes what does not", function()
    local code, text = run({ ["game.lua"] = LOBBY, ["spec/a_spec.lua"] = GOOD }, "--fuzz", "50")
    assert.equal(0, code, text)
    assert.matches("50 seeds, 50 tests: all passed", text)
  end)

  it("leaves timing alone where a server asks for it", function()
    local code, text = run({
      ["game.lua"] = LOBBY,
      ["spec/a_spec.lua"] = spec [[
        local server = testing.server { fuzz = false }
        server:client "ann"
        assert.equal(0, server:now())
        testing.server():client "bob"
        assert.is_true(testing.is_fuzzing)]],
    }, "--fuzz", "5")
    assert.equal(0, code, text)
  end)
end)

describe("a trace", function()
  after_each(server.stop_all)

  it("is the same in every process", function()
    local files = {
      ["game.lua"] = [[
        local hall = { auto_create = true, on_message = {} }
        function hall.on_message.go(room, peer)
          peer.state.n = math.random(1000)
          local list = {}
          for name, x in pairs { a = 1, b = 2, c = 3, d = 4, [5] = 5, [peer.name] = 6 } do
            list[#list + 1] = tostring(name) .. x
          end
          room:broadcast("went", { n = peer.state.n, list = list, pad = { z = 1, y = 2, x = 3 } })
        end
        local units, listeners = {}, {}
        function hall.on_join(room, peer)
          for i = 1, 5 do
            units[{ x = i % 2, of = { of = { name = peer.name, index = i } } }] = true
            listeners[function() return peer.name .. i end] = i
          end
          for unit in pairs(units) do room:broadcast("unit", unit) end
          for listener in pairs(listeners) do room:broadcast("listener", listener()) end
          room:broadcast("text", ("%s %-30s| %5.1f %d%%"):format(units, listeners, 2, 3))
        end
        return { rooms = { hall = hall } }]],
      ["spec/a_spec.lua"] = spec [[
        local server = testing.server { network = { latency = 0.02, jitter = 0.03, loss = 0.1 } }
        for _, client in ipairs { server:clients(4) } do
          client:spawn(function()
            local hall = client:join "hall"
            for i = 1, 50 do hall:send("go", { i = i, j = i }) client:sleep(0.05) end
          end)
        end
        server:run()
        print("trace:" .. server:trace():gsub("\n", "|"))]],
    }
    local function trace(...)
      local code, text = run(files, ...)
      assert.equal(0, code, text)
      return assert(text:match "trace:(.-)\n")
    end
    for _, flag in ipairs { "--seed", "--fuzz-seed" } do
      local first = trace(flag, "4")
      assert.is_true(#first > 10000)
      for _ = 1, 3 do assert.equal(first, trace(flag, "4")) end
      assert.not_equal(first, trace(flag, "5"))
    end
  end)
end)
