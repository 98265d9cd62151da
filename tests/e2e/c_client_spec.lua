--- The client in C against the real server; its side of the stories is tests/c/client/live.c.

local cutting_proxy = require "tests.e2e.cutting_proxy"
local exchange = require "tests.e2e.exchange"
local lossy_proxy = require "tests.e2e.lossy_proxy"
local random = require "tests.random"
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
local game = { rooms = { duel = { capacity = 1, auto_create = true, auto_delete = 1 } },
  channels = { shout = true }, on_message = {} }
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

local SCHEMA = [[
  message sum = 7 { a: u16, b: u16 } -> u32
  message quiz = 8
  message riddle = 9: u16 -> u16
  message solved = 10: u16
]]

local SCHEMA_GAME = [[
local game = { on_message = {} }
function game.on_message.sum(_, terms) return terms.a + terms.b end
function game.on_message.quiz(peer)
  peer:send("solved", (peer:ask("riddle", 258)), { reliable = true })
end
function game.on_message.plain(peer, value) peer:send("plain", value, { reliable = true }) end
return game
]]

local HALL = [[return { rooms = { hall = { auto_create = true } } }]]

local function address(port) return "127.0.0.1:" .. port end

local function expect_good(process, seconds)
  if process:wait_exit(seconds) ~= 0 then process:fail("the client's side failed") end
end

-- `line(port)` starts the proxy, and `is_done()` returns whether the proxy has made all its faults.
local function run_exchange(transport, line, is_done)
  local s = server.start { game = exchange.game(1, MESSAGES), resume = true, watch = true }
  local between = line(s.port)
  local live = server.spawn(LIVE, { "cuts", address(between.port), transport, tostring(MESSAGES) },
    { stdin = true })
  live:wait_out "^(in)$"
  between.cuts_max = CUTS
  s:save("game.lua", exchange.game(2, MESSAGES))
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
    random = random.from(SEED), cuts_max = 0, bytes_max = math.floor(MESSAGES * 60 / CUTS),
  })
end

local function bad_line(port)
  local chance = random.from(SEED)
  return lossy_proxy.start(port, {
    random = function() return chance(1000000) / 1000000 end,
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

    for name, resume in pairs { ["keeps sessions"] = true, ["keeps none"] = false } do
      it("finds a server again that " .. name .. ", ends and comes back", function()
        local s = server.start { game = GAME, resume = resume }
        local live = server.spawn(LIVE, { "restart", address(s.port), transport })
        live:wait_out "^(in)$"
        s:stop()
        live:wait_out "^(out)$"
        server.start { game = GAME, resume = resume, flags = { port = s.port } }
        expect_good(live, 60)
      end)
    end

    it("sends the messages of a schema as bytes", function()
      local s = server.start { files = { ["game.lua"] = SCHEMA_GAME, ["schema.perigee"] = SCHEMA } }
      local hash = server.perigee { "schema", s.folder, "--hash" }
      assert.equal(0, hash:wait_exit())
      expect_good(server.spawn(LIVE, { "schema", address(s.port), transport, hash.out[1] }), 60)
    end)

    it("knows all members of a room whose list does not fit in one packet", function()
      local s = server.start { game = HALL, flags = { max_payload = 256 } }
      expect_good(server.spawn(LIVE, { "crowd", address(s.port), transport }), 60)
    end)
  end)
end

describe("what is reliable", function()
  after_each(server.stop_all)

  for _, transport in ipairs { "tcp", "attached" } do
    it("arrives once and in order by " .. transport .. ", however often the line is cut", function()
      local proxy = run_exchange(transport, cut_line, function(proxy) return proxy.cuts == CUTS end)
      assert.equal(CUTS, proxy.cuts)
    end)
  end

  it("arrives once and in order by udp, over a line that loses, doubles and reorders", function()
    local proxy = run_exchange("udp", bad_line, function() return true end)
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

-- Three players play from the first turn on, and dora enters in the middle of the match. Then bob flips a
-- bit.
local function play(port, transport, turns, least_inputs, least_of_dora)
  local live = server.spawn(LOCKSTEP, { address(port), transport, tostring(turns) })
  expect_good(live, 60)
  local players = {}
  for i, line in ipairs(live.out) do
    local slot, how, inputs, late, odd, odd_slot =
      line:match "^slot (%d+) how (%d+) inputs (%d+) late (%d+) odd (%d) (%-?%d+)$"
    players[i] = { slot = slot, how = how, inputs = tonumber(inputs), odd = odd, odd_slot = odd_slot }
    -- Hashes may be lost, too, so the first reported turn may be a later one.
    assert.is_true(tonumber(late) <= 10)
  end
  assert.equal(4, #players)
  for i, player in ipairs(players) do
    assert.equal(i == 4 and "1" or "0", player.how) -- dora got a snapshot
    assert.equal(i == 2 and "1" or "0", player.odd)
    assert.equal(players[2].slot, player.odd_slot)
    assert.is_true(player.inputs >= (i == 4 and least_of_dora or least_inputs))
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
    play(line.port, "udp", 150, 300, 0) -- over this line, dora may need long to enter
    line:stop()
  end)
end)
