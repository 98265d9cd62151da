--- Random acts of a script and its clients upon rooms, bots, joins, settings, names and timers. Meanwhile
--- handlers fail, wait and raise faults, and the game is reloaded. Afterwards the server has lost no room and
--- no bot.
--- STEPS=20000 SEED=7 goes on for longer.
local Dice = require "tests.e2e.attack.dice"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local STEPS = tonumber(os.getenv "STEPS") or 2000
local SEED = tonumber(os.getenv "SEED") or 1
local CLIENTS, ROOMS, BOTS = 8, 6, 20

local GAME = [[
  local perigee = require "perigee"
  local random, rooms = math.random, perigee.rooms
  local duel = { auto_create = true, auto_delete = 0.05, capacity = 5, tick_rate = 100, resume = RESUME }
  local game = { rooms = { duel = duel }, on_message = {} }
  local BOT = { brain = "brains.noisy", fill = true }
  local joined = perigee.state.joined or { bots = 0, people = 0 }
  perigee.state.joined = joined

  local function once_in(count) return random(count) == 1 end
  local function one_of(list) return list[random(math.max(1, #list))] end
  local function any_name() return "duel:" .. random(ROOMS) end
  local function any_room() return one_of(rooms.all()) end
  local function any_peer(room) return room and one_of(room:peers()) end

  -- Fails, waits or raises a fault now and then.
  local function stumble()
    local kind = random(12)
    if kind == 1 then error "stumbled" elseif kind == 2 then error(perigee.fault "Stumbled") end
    if kind < 5 then perigee.sleep(random() / 100) end
  end

  function duel.on_create(room)
    stumble()
    for _ = 1, random(3) do room:bot(BOT) end
  end
  function duel.on_join(room, peer)
    stumble()
    if once_in(10) then return false, "no" end
    if once_in(10) then peer:kick() elseif once_in(20) then room:delete() end
    if once_in(8) then room:set { locked = true } end
    local who = peer.is_bot and "bots" or "people"
    joined[who] = joined[who] + 1
  end
  function duel.on_leave(room)
    if once_in(4) then room:bot(BOT) end
    stumble()
  end
  function duel.on_tick(room) if once_in(30) then room:broadcast("tick", 1, { reliable = once_in(2) }) end end
  function duel.on_broadcast() stumble() end
  function game.on_message.hit(peer, value, room)
    stumble()
    if room then room:broadcast("hit", value) end
  end

  local ACTS = {
    function()
      rooms.create(any_name(), nil, { hidden = once_in(2), password = once_in(2) and "x" or nil })
    end,
    function(room) if room then room:delete() end end,
    function(room)
      if room then room:set { locked = once_in(2), capacity = random(6), auto_delete = 0.02 } end
    end,
    function(room) if room then room:bot { name = once_in(2) and "bot " .. random(4) or nil } end end,
    function(room, peer) if peer then room:kick(peer) end end,
    function(_, peer) if peer then peer:join(any_name()) peer:relay(("x"):rep(random(70000))) end end,
    function(_, peer) if peer then peer:set_name("n" .. random(9)) end end,
    function(_, peer) if peer and peer.is_bot then peer:act("hit", 1) peer:act("text", "line") end end,
    function(_, peer) if peer then peer:join(any_name(), nil, { wait = true }) peer:relay "in" end end,
    function(room)
      local bot = room and room:bot(BOT)
      if bot then bot:act("hit", 1) bot:kick() end
    end,
    function(room)
      if not room then return end
      room:bot(BOT)
      room:set_meta("fact", random(), { public = true })
      error "undone"
    end,
    function(room) if room then room:after(random() / 50, "on_tick") end end,
    function() rooms.list { kind = "duel", open = true } end,
  }
  function game.act()
    local room = any_room()
    one_of(ACTS)(room, any_peer(room))
  end
  function game.on_start() for _ = 1, 2 do perigee.state.beat = perigee.every(0.002, "act") end end

  function game.on_message.joined() return joined end
  function game.on_message.calm()
    game.act = function() end
    for _, room in ipairs(rooms.all()) do room:delete() end
    return #rooms.all()
  end
  -- Adds as many bots to one room as the server accepts; returns their number, with those of earlier calls.
  function game.on_message.fill()
    local room = rooms.get "last" or rooms.create "last"
    local count = room.count
    while room:bot {} do count = count + 1 end
    return count
  end
  return game
]]

local BRAIN = [[
  local perigee = require "perigee"
  local noisy, random = {}, math.random
  function noisy.on_tick(bot)
    local kind = random(40)
    if kind < 4 then bot:act("hit", kind) elseif kind == 4 then bot:kick() end
    if kind == 5 then error "lost" elseif kind == 6 then perigee.sleep(0.01) end
  end
  function noisy.on_message(bot) if random(20) == 1 then bot:act("text", "heard") end end
  return noisy
]]

local function join(dice)
  return packet.str8("duel:" .. dice.roll(ROOMS)) .. dice:pick { "{}", '{"password":"x"}', '{"role":1}', "{" }
end

-- The requests of clients. Each function returns a packet's name and its payload.
local REQUESTS = {
  function(dice) return "JOIN_WITH", join(dice) end,
  function(dice) return "JOIN_WITH", join(dice) end,
  function(dice) return "LEAVE", packet.u32(dice.roll(20)) end,
  function(dice) return "BROADCAST", packet.u32(dice.roll(20)) .. "bytes" end,
  function() return "ROOM_QUERY", '{"kind":"duel","open":true}' end,
}

describe("rooms and bots in a storm", function()
  local ignored

  setup(function() -- sending to a connection that the server has closed
    ignored = uv.new_signal()
    ignored:start("sigpipe", function() end)
  end)

  teardown(function()
    ignored:close()
    wait.until_closed()
  end)

  after_each(server.stop_all)

  for _, resume in ipairs { "true", "false" } do
    it("are all there afterwards, with resume = " .. resume, function()
      local dice = Dice.new(SEED)
      local perigee = server.start {
        files = {
          ["game.lua"] = GAME:gsub("%u+", { RESUME = resume, ROOMS = ROOMS }), ["brains/noisy.lua"] = BRAIN,
        },
        flags = {
          max_bots = BOTS, rate_limit = 0, rollback_errors = 0, log_level = "error", resume_timeout = 0.1,
        },
      }
      local clients, watcher = {}, perigee:client "watcher"
      for step = 1, STEPS do
        local i = dice.roll(CLIENTS)
        local client = clients[i]
        if not client or client.ended or dice.roll(20) == 1 then
          if client then client:close() end
          clients[i] = perigee:raw()
          clients[i]:control("HELLO", packet.hello { name = "p" .. i })
        else
          client:request(dice:pick(REQUESTS)(dice))
        end
        if step % 5 == 0 then watcher:fence() end
        if step % 500 == 0 then
          perigee:save("brains/noisy.lua", BRAIN .. "-- " .. step)
          assert.equal(0, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
        end
      end
      for _, client in pairs(clients) do client:close() end
      local joined = watcher:question(0, "joined")
      assert.is_true(joined.bots > 20 and joined.people > 20)
      wait.for_true(function() return watcher:question(0, "calm") == 0 end)
      wait.for_true(function() return watcher:question(0, "fill") == BOTS end)
    end)
  end
end)
