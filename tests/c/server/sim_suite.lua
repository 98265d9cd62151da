--- Tests perigee.sim from inside a tool. A function that raises an error is a failure.

local sim = require "perigee.sim"

local suite = {}

local GAME = [[
local perigee = require "perigee"
local game = { config = { tick_rate = 20, batch_hz = 0 } }
function game.on_start()
  perigee.state.deep = { 1, 2, { three = 3 } }
  perigee.state.loop = perigee.state
  perigee.rooms.create("duel:1")
  print("started", perigee.now())
end
function game.on_stop(reason) print("stopping", reason) end
game.on_message = {
  echo = function(peer, value) peer:send("echo", value) end,
  keys = function(peer)
    local seen, values = {}, { x = 1, y = 2, zeta = 3, alpha = 4, [3] = 5, [1] = 6, [2.5] = 7 }
    values[true], values[peer] = 8, 9
    for key in pairs(values) do seen[#seen + 1] = tostring(key) end
    for key in next, values do seen[#seen + 1] = tostring(key) end
    peer:send("keys", seen)
  end,
  random = function(peer) peer:send("random", math.random(1e9)) end,
  later = function(peer) perigee.after(1.5, function() peer:send("later", os.clock()) end) end,
  endless = function() local function again() perigee.after(0, again) end again() end,
  runaway = function() while true do end end,
  fail = function() error "on purpose" end,
  hold = function() perigee.state.fn = function() end end,
  show = function(peer) print({}, print, {}) end,
}
game.rooms = { duel = {
  on_join = function(room, peer) room.state.last, room.state.here = peer, room end,
  on_tick = function(room) room.state.ticks = (room.state.ticks or 0) + 1 end,
} }
return game
]]

local function open(options)
  options = options or {}
  options.files = options.files or { ["game.lua"] = GAME }
  return assert(sim.open(options))
end

local function expect(got, wanted)
  if got ~= wanted then
    error(("expected %s, got %s"):format(tostring(wanted), tostring(got)), 2)
  end
end

local function expect_error(pattern, fn, ...)
  local ok, text = pcall(fn, ...)
  if ok or not tostring(text):find(pattern) then
    error(("expected an error like %q, got %s"):format(pattern, tostring(text)), 2)
  end
end

local function texts(lines, level)
  local list = {}
  for _, line in ipairs(lines) do
    if not level or line.level == level then
      list[#list + 1] = line.text
    end
  end
  return table.concat(list, "\n")
end

-- Returns a text peer that has joined duel:1.
local function join(id)
  local client = sim.connect(id, "lines", "10.0.0.1")
  sim.iterate(id, sim.now(id))
  sim.write(id, client, "/join duel:1\n")
  sim.iterate(id, sim.now(id))
  sim.read(id, client)
  return client
end

local function say(id, client, line)
  sim.write(id, client, line .. "\n")
  sim.iterate(id, sim.now(id))
  return (sim.read(id, client))
end

function suite.serves_a_game_on_its_own_clock()
  local id = open()
  expect(sim.now(id), 0)
  expect(sim.due(id), 50)
  local client = join(id)
  expect(say(id, client, "/send echo 5"), "echo 5\n")
  expect(say(id, client, "/send later"), "")
  sim.iterate(id, 1499)
  expect(sim.read(id, client), "")
  sim.iterate(id, 1500)
  expect(sim.read(id, client), "later 1.5\n")
  expect(sim.now(id), 1500)
  expect(texts(sim.log(id)):match "started    1000", "started    1000")
  expect(#sim.log(id), 0)
  expect(sim.stats(id).peers, 1)
  sim.close(id)
end

function suite.goes_through_keys_in_order()
  local id = open()
  local client = join(id)
  local order = '"1","2.5","3","alpha","x","y","zeta","true","peer 1 (guest-1)"'
  expect(say(id, client, "/send keys"), "keys [" .. order .. "," .. order .. "]\n")
  expect(say(id, client, '/send echo {"b":1,"a":{"d":1.5,"c":[{"f":1,"e":2}]}}'),
    'echo {"a":{"c":[{"e":2,"f":1}],"d":1.5},"b":1}\n')
  expect(say(id, client, '/send echo {"b":0.1,"a":123456789012345678}'),
    'echo {"a":1.2345678901234568e+17,"b":0.1}\n')
  sim.close(id)
end

local function play(seed, shuffle)
  local id = open { seed = seed, shuffle = shuffle }
  local bytes, client = {}, join(id)
  for _, name in ipairs { "keys", "random", "keys", "random", "show", "fail", "later" } do
    bytes[#bytes + 1] = say(id, client, "/send " .. name)
  end
  sim.iterate(id, 2000)
  local all = table.concat(bytes) .. sim.read(id, client) .. texts(sim.log(id))
  sim.close(id)
  return all
end

function suite.same_seed_gives_the_same_bytes_and_lines()
  expect(play(1), play(1))
  expect(play(1, true), play(1, true))
  assert(play(1) ~= play(2))
  assert(play(1, true) ~= play(1, false))
  assert(play(1, true) ~= play(3, true))
end

function suite.servers_live_side_by_side()
  local first, second = open { config = { log_level = "error" } }, open { seed = 2 }
  local a, b = join(first), join(second)
  expect(say(first, a, "/send echo 1") .. say(second, b, "/send echo 2"), "echo 1\necho 2\n")
  expect(#sim.log(first), 0)
  assert(#sim.log(second) > 0)
  sim.iterate(first, 5000)
  expect(sim.now(second), 0)
  sim.close(first)
  expect(say(second, b, "/send echo 3"), "echo 3\n")
  sim.close(second)
end

function suite.settings_are_those_of_the_game_and_the_caller()
  local id = open { config = { max_clients = 1, text_port = false, watch = true } }
  join(id)
  local client = sim.connect(id, "lines", "10.0.0.2")
  sim.iterate(id, 0)
  local bytes, ending = sim.read(id, client)
  expect(bytes .. tostring(ending), "! ServerFull: the server is full\nend")
  sim.close(id)
  local none, problem = sim.open { files = { ["game.lua"] = GAME }, config = { max_clint = 1 } }
  expect(none, nil)
  assert(problem:find "there is no config%.max_clint; did you mean config%.max_clients%?", problem)
end

function suite.looks_inside()
  local id = open()
  say(id, join(id), "/send hold")
  sim.iterate(id, 50)
  sim.iterate(id, 100)
  local room = sim.inspect(id, "room", "duel:1")
  expect(room.name, "duel:1")
  expect(room.count, 1)
  expect(room.state.ticks, 2)
  expect(room.state.last.peer, 1)
  expect(room.state.here.room, "duel:1")
  expect(sim.inspect(id, "room", "none"), nil)
  local state = sim.inspect(id, "state")
  expect(state.loop, state)
  expect(state.deep[3].three, 3)
  expect(state.fn, "function game/game.lua:24")
  expect_error("no function none", sim.inspect, id, "none")
  expect_error("name must be a string", sim.inspect, id, "room", {})
  sim.close(id)
end

function suite.reloads()
  local id = open()
  local client = join(id)
  local report = assert(sim.reload(id, { ["game.lua"] = GAME:gsub('"echo", value', '"new", value') }))
  assert(report:find "version 2", report)
  expect(say(id, client, "/send echo 1"), "new 1\n")
  local none, problem = sim.reload(id, { ["game.lua"] = "return 5 +" })
  expect(none, nil)
  assert(problem:find "game/game.lua:1", problem)
  expect(say(id, client, "/send echo 1"), "new 1\n")
  sim.close(id)
end

function suite.checks()
  expect((sim.check { files = { ["game.lua"] = GAME } }), true)
  local none, problem, lines = sim.check { files = { ["game.lua"] = "print 'here'\nerror 'x'" } }
  expect(none, nil)
  assert(problem:find "game/game.lua:2: x", problem)
  assert(texts(lines):find "here")
  local _, missing = sim.check { game = "nowhere at all" }
  assert(missing:find "there is no such game", missing)
end

function suite.stops_as_a_server_does()
  local id = open()
  local client = join(id)
  sim.stop(id)
  sim.iterate(id, 10)
  local bytes, ending = sim.read(id, client)
  expect(bytes .. ending, "! Unavailable: the server is shutting down; try again in 1 s\nend")
  assert(texts(sim.log(id)):find "stopping    SIGTERM")
  local late = sim.connect(id, "lines", "10.0.0.1")
  sim.iterate(id, 20)
  expect(select(2, sim.read(id, late)), "reset")
  sim.close(id)
end

function suite.faults_of_the_game_stay_its_own()
  local id = open { config = { handler_budget = 0.01 } }
  local client = join(id)
  say(id, client, "/send fail")
  say(id, client, "/send runaway")
  local errors = texts(sim.log(id), "error")
  assert(errors:find "on purpose" and errors:find "budget", errors)
  expect(say(id, client, "/send echo 1"), "echo 1\n")
  expect(sim.stats(id).errors, 2)
  sim.write(id, client, "/send endless\n")
  expect_error("never comes to rest", sim.iterate, id, 10)
  sim.close(id)
end

function suite.wrong_use_is_an_error()
  local id = open()
  local client = sim.connect(id, "packets", "10.0.0.1")
  sim.iterate(id, 10)
  expect_error("that time has passed", sim.iterate, id, 9)
  expect_error("whole number", sim.iterate, id, 10.5)
  expect_error("no simulated server 77", sim.iterate, 77, 0)
  expect_error("no simulated client 99", sim.write, id, 99, "x")
  expect_error("not an id", sim.read, id, -1)
  expect_error("bad argument #2", sim.connect, id, "frames", "10.0.0.1")
  expect_error("no option", sim.open, { gaem = "x" })
  expect_error("must be a text", sim.open, { game = {} })
  for _, seed in ipairs { -1, 2 ^ 60, 0 / 0 } do
    expect_error("a seed is from 0 to 2%^53", sim.open, { seed = seed })
  end
  expect_error("a value is", sim.open, { config = { max_clients = {} } })
  expect_error("texts by path", sim.reload, id, { ["game.lua"] = 5 })
  expect_error("no simulated client", sim.order, id, { client, 99 })
  sim.close(id)
  expect_error("no simulated server", sim.close, id)
end

-- The server stays open; the end of the tool frees it.
function suite.servers_may_be_forgotten()
  local id = open()
  join(id)
  sim.write(id, sim.connect(id, "packets", "10.0.0.1"), "half a pack")
  sim.iterate(id, 10)
  sim.connect(id, "packets", "10.0.0.1")
end

return function()
  local names, failed = {}, 0
  for name in pairs(suite) do
    names[#names + 1] = name
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local ok, text = xpcall(suite[name], debug.traceback)
    failed = failed + (ok and 0 or 1)
    print((ok and "ok      " or "FAILED  ") .. name .. (ok and "" or "\n" .. text))
  end
  return failed
end
