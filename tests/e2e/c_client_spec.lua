--- The client in C against the real server; its side of the stories is tests/c/client/live.c.

local cutting_proxy = require "tests.e2e.cutting_proxy"
local lossy_proxy = require "tests.e2e.lossy_proxy"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local LIVE = assert(os.getenv "PERIGEE_CLIENT_LIVE", "run by ctest")
local LOCKSTEP = assert(os.getenv "PERIGEE_CLIENT_LOCKSTEP", "run by ctest")

local IS_FULL = os.getenv "PERIGEE_FULL" ~= nil
local MESSAGES = IS_FULL and 10000 or 1000
local CUTS = IS_FULL and 200 or 20
local SEED = tonumber(os.getenv "PERIGEE_SEED") or 4

local GAME = [[
local perigee = require "perigee"
local game = { rooms = { duel = { capacity = 1, auto_create = true, auto_delete = 1 } }, on_message = {} }
function game.on_start() perigee.rooms.create("lobby") end
function game.on_connect(peer)
  if peer.name == "eve" then return false, "no eve" end
end
function game.on_join(room, peer) peer:send("entering", room.name, { reliable = true }) end
function game.on_message.double(_, value) return value * 2 end
function game.on_message.where(_, _, room) return room and room.name end
function game.on_message.quiz(peer) peer:send("result", (peer:ask("sum", { 1, 2 }, 5))) end
function game.on_message.kick(peer) peer:kick("enough") end
function game.on_message.out(peer, _, room) room:kick(peer) end
function game.on_message.put(peer) peer:join "duel:2" end
function game.on_message.relay(_, value, room) room:relay(value) end
function game.on_packet(peer, packet)
  if packet.request then return packet.payload:reverse() end
  peer:send_packet(packet.channel, packet.type + 1, packet.payload:upper())
end
return game
]]

-- Half of what the server sends is for the peer alone and half for its room, at all priorities.
local CUT_GAME = [[
local perigee = require "perigee"
-- version %d
local game = { config = { tick_rate = 100, handler_budget = 10 }, on_message = {} }
local MESSAGES, AHEAD, BURST = %d, 500, 50
local PRIORITIES = { "critical", "high", "normal", "low" }
function game.on_start() perigee.rooms.create("lobby") end
function game.on_connect(peer) peer.state.up, peer.state.down, peer.state.seen = 0, 0, 0 end
function game.on_message.up(peer, n)
  if n ~= peer.state.up + 1 then perigee.state.wrong = (perigee.state.wrong or 0) + 1 end
  peer.state.up = n
end
function game.on_message.seen(peer, n) peer.state.seen = n end
function game.on_message.count(peer) return { peer.state.up, perigee.state.wrong or 0 } end
local function say(peer, lobby, n)
  local options = { reliable = true, priority = PRIORITIES[n %% 4 + 1] }
  if n %% 2 == 0 then peer:send("down", n, options) else lobby:broadcast("down", n, options) end
end
function game.on_tick()
  local lobby = perigee.rooms.get "lobby"
  for _, peer in ipairs(lobby:peers()) do
    local state = peer.state
    local last = math.min(MESSAGES, state.seen + AHEAD, state.down + BURST)
    for n = state.down + 1, last do say(peer, lobby, n) end
    state.down = math.max(state.down, last)
  end
end
return game
]]

local function random_from(seed)
  local state = seed
  return function(n)
    state = (state * 16807) % 2147483647
    return state % n + 1
  end
end

local function address(port) return "127.0.0.1:" .. port end

local function expect_good(process, seconds)
  if process:wait_exit(seconds) ~= 0 then process:fail("the client's side failed") end
end

-- The exchange of CUT_GAME; `line(port)` starts what is between, and `is_done()` says when that has
-- done its worst.
local function exchange(transport, line, is_done)
  local s = server.start { game = CUT_GAME:format(1, MESSAGES), resume = true, watch = true }
  local between = line(s.port)
  local live = server.spawn(LIVE, { "cuts", address(between.port), transport, tostring(MESSAGES) },
    { stdin = true })
  live:wait_out "^(in)$"
  between.cuts_max = CUTS
  s:save("game.lua", CUT_GAME:format(2, MESSAGES))
  s:wait_log "reloaded"
  local seconds = IS_FULL and 300 or 60
  live:wait_out("^(sent)$", seconds)
  wait.for_true(function() return is_done(between) or live.code end, seconds)
  if not live.code then live.stdin:write "go\n" end
  expect_good(live, seconds)
  between:stop()
  return between
end

local function cut_line(port)
  return cutting_proxy.start(port, {
    random = random_from(SEED), cuts_max = 0, bytes_max = math.floor(MESSAGES * 60 / CUTS),
  })
end

local function bad_line(port)
  local random = random_from(SEED)
  return lossy_proxy.start(port, {
    random = function() return random(1000000) / 1000000 end,
    loss = 0.1, doubled = 0.05, delayed = 0.25, delay_ms = 20,
  })
end

for _, transport in ipairs { "tcp", "attached", "udp" } do
  describe("the client in C by " .. transport, function()
    after_each(server.stop_all)

    it("talks with a server", function()
      local s = server.start { game = GAME, resume = true }
      expect_good(server.spawn(LIVE, { "all", address(s.port), transport }), 60)
    end)

    it("finds a server again that ends and comes back", function()
      local s = server.start { game = GAME, resume = true }
      local live = server.spawn(LIVE, { "restart", address(s.port), transport })
      live:wait_out "^(in)$"
      s:stop()
      live:wait_out "^(out)$"
      server.start { game = GAME, resume = true, flags = { port = s.port } }
      expect_good(live, 60)
    end)
  end)
end

describe("what is reliable", function()
  after_each(server.stop_all)

  for _, transport in ipairs { "tcp", "attached" } do
    it("arrives once and in order by " .. transport .. ", however often the line is cut", function()
      local proxy = exchange(transport, cut_line, function(proxy) return proxy.cuts == CUTS end)
      assert.equal(CUTS, proxy.cuts)
    end)
  end

  it("arrives once and in order by udp, over a line that loses, doubles and reorders", function()
    local proxy = exchange("udp", bad_line, function() return true end)
    assert.equal(1, proxy.count)
  end)
end)

describe("what may be lost", function()
  after_each(server.stop_all)

  it("goes by UDP beside TCP, and by TCP where there is no UDP", function()
    local s = server.start { game = GAME, resume = true }
    expect_good(server.spawn(LIVE, { "datagrams", address(s.port), "attached" }), 30)
    s:stop()
    local figures = s:wait_log(function(fields) return fields.attached end)
    assert.equal(2, tonumber(figures.attached))
    assert.is_true(tonumber(figures.datagrams_in) >= 50)
    local without = server.start { game = GAME, resume = true, flags = { udp_ports = 0 } }
    expect_good(server.spawn(LIVE, { "all", address(without.port), "attached" }), 60)
  end)
end)

local MATCH = [[
local match = { auto_create = true, lockstep = { turn_rate = 100, players = 4, start = 3 } }
function match.on_desync() end
return { rooms = { match = match } }
]]

-- Three players from the first turn on, and dora from the middle of the match; bob flips a bit once she is
-- there.
local function play(port, transport, turns, least_inputs)
  local live = server.spawn(LOCKSTEP, { address(port), transport, tostring(turns) })
  expect_good(live, 60)
  local players = {}
  for i, line in ipairs(live.out) do
    local slot, how, inputs, late, odd, odd_slot =
      line:match "^slot (%d+) how (%d+) inputs (%d+) late (%d+) odd (%d) (%-?%d+)$"
    players[i] = { slot = slot, how = how, inputs = tonumber(inputs), odd = odd, odd_slot = odd_slot }
    -- Hashes may be lost, too: then a later turn is the first that is found.
    assert.is_true(tonumber(late) <= 10)
  end
  assert.equal(4, #players)
  for i, player in ipairs(players) do
    assert.equal(i == 4 and "1" or "0", player.how) -- dora got a snapshot
    assert.equal(i == 2 and "1" or "0", player.odd)
    assert.equal(players[2].slot, player.odd_slot)
    assert.is_true(player.inputs >= least_inputs)
  end
end

describe("lockstep", function()
  after_each(server.stop_all)

  for _, transport in ipairs { "tcp", "attached", "udp" } do
    it("has all clients in the same state by " .. transport .. ", and names the one that is not", function()
      local s = server.start { resume = true, game = MATCH }
      play(s.port, transport, 300, 300)
    end)
  end

  it("fills gaps over a line that loses, doubles and reorders", function()
    local s = server.start { resume = true, game = MATCH }
    local line = bad_line(s.port)
    play(line.port, "udp", 150, 0) -- an input that comes too late is none
    line:stop()
  end)
end)
