--- Random attacks on all ports at once, while honest clients play and the game is reloaded. The players
--- notice nothing, the server keeps no memory of the attacks, and ends in order. PERIGEE_ATTACK_SECONDS and
--- PERIGEE_ATTACK_SEED set time and seed (`scripts/soak ports`).
local Attacker = require "tests.e2e.attack.attacker"
local Dice = require "tests.e2e.attack.dice"
local game = require "tests.e2e.attack.game"
local McpClient = require "tests.e2e.mcp_client"
local Players = require "tests.e2e.attack.players"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local SECONDS = tonumber(os.getenv "PERIGEE_ATTACK_SECONDS") or 3
local SEED = tonumber(os.getenv "PERIGEE_ATTACK_SEED") or 1
local IS_LONG = SECONDS >= 60

local ATTACKERS = 24
-- Limit of seconds for an answer, on a busy machine and with sanitizers.
local BOUND = 4 * wait.DEADLINE / 15
local PATIENCE = 1.5 -- seconds that an attacker waits for an answer that may never come
local RELOAD_EVERY = 1.5
local LOG_LINES = 300 -- newest lines of the log for the report of a failure
local SETTLED_MB = 32 -- growth of resident memory after the first quarter of a long attack

local STORIES = {}
for file, weight in pairs { native = 4, web = 2, datagrams = 3, tools = 2 } do
  local names = {}
  local stories = require("tests.e2e.attack." .. file)
  for name in pairs(stories) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    STORIES[#STORIES + 1] = { weight, { name = name, play = stories[name] } }
  end
end
table.sort(STORIES, function(a, b) return a[2].name < b[2].name end)

-- Returns settings, some of which follow from the seed.
local function flags_for(threads)
  local dice = Dice.new(SEED + threads)
  return {
    io_threads = threads, tls_dev = true, udp_plain = true, max_clients = 600, channel_capacity = 2000,
    resume_timeout = 3, handshake_timeout = 2, ping_interval = 5, idle_timeout = 11,
    batch_hz = dice:pick { 60, 0, 1000 }, max_payload = dice:pick { 65536, 2048 },
    overflow = dice:pick { "drop_newest", "drop_oldest", "disconnect" },
    invalid_messages = dice:pick { "disconnect", "drop" },
    unique_names = dice:pick { "text", "true", "false" }, rate_limit = dice:pick { 500, 100, 0 },
  }
end

local function hash_of(folder)
  local process = server.perigee { "schema", folder, "--hash" }
  process:wait_exit()
  local digits = assert(process.out[1]:match "%x+$")
  return (digits:gsub("%x%x", function(byte) return string.char(tonumber(byte, 16)) end):reverse())
end

local function start(threads)
  local perigee, admin_port = McpClient.serve {
    files = {
      ["game.lua"] = game.text(1), ["schema.perigee"] = game.SCHEMA, ["public/index.html"] = "<p>Hello",
    },
    flags = flags_for(threads), text = true, resume = true, env = server.without_quarantine(),
  }
  return {
    perigee = perigee, admin_port = admin_port, hash = hash_of(perigee.folder),
    socket = server.runtime() .. "/perigee/" .. perigee.port .. ".sock", known = Attacker.new_knowledge(),
  }
end

-- Attacks until `fight.target.is_over`, with another story each time.
local function attack(fight, number)
  local dice = Dice.new(SEED * 1000 + number)
  wait.start_task(function()
    fight.attackers = fight.attackers + 1
    while not fight.target.is_over do
      local story = dice:pick_weighted(STORIES)
      fight.played[story.name] = (fight.played[story.name] or 0) + 1
            local fault = Attacker.new(fight.target, dice:child()):play(story.play)
      if fault then error(story.name .. ": " .. fault, 0) end
      wait.until_true(function() return fight.target.is_over end, 0.005)
    end
    fight.attackers = fight.attackers - 1
  end, PATIENCE)
end

-- Saves one version after the other, of which every third is broken, and reloads by a signal or a request.
local function reload(fight)
  local perigee, version = fight.target.perigee, 1
  local boss = Attacker.new(fight.target, Dice.new(SEED))
  wait.start_task(function()
    while not fight.target.is_over do
      wait.until_true(function() return fight.target.is_over end, RELOAD_EVERY)
      version = version + 1
      local is_broken = version % 3 == 0
      perigee:save("game.lua", game.text(version) .. (is_broken and "nonsense" or ""))
      if version % 2 == 0 then
        perigee:kill "sighup"
      else
        boss:play(function() boss:control_socket():write "reload\n" boss:pause(1000) end)
      end
      fight.reloads = fight.reloads + 1
    end
  end)
end

local function play(target)
  local players = Players.new(target.perigee, BOUND)
  players:start("player ann", "tcp")
  players:start("player bob", "websocket")
  players:start("player cid", "udp")
  players:start("player dot", "attached")
  players:start_traveller "player fay"
  players:start_text "player eve"
  return players
end

-- Returns the server's present figures. Checks its log, and keeps only the end of it.
local function measure(fight)
  local perigee = fight.target.perigee
  perigee:check_log(2)
  local kept = { unpack(perigee.err, math.max(1, #perigee.err - LOG_LINES + 1)) }
  for i = #perigee.err, 1, -1 do perigee.err[i] = kept[i] end
  local figures = fight.observer:question(0, "figures")
  figures.resident, figures.files = perigee:memory_kb(), perigee:open_files()
  return figures
end

local function expect_settled(fight, before)
  local now
  local is_settled = wait.until_true(function()
    wait.pass(0.5)
    now = measure(fight)
    return now.peers == before.peers and now.rooms == before.rooms and now.timers == before.timers
      and now.waiting <= before.waiting and now.files <= before.files
  end, 30)
  local function show(figures)
    return ("peers %d, rooms %d, timers %d, waiting %d, files %d"):format(figures.peers, figures.rooms,
      figures.timers, figures.waiting, figures.files)
  end
  assert(is_settled, ("left behind: %s, where there were %s"):format(show(now), show(before)))
  return now
end

local function report(fight, players, first, last)
  local names, count = {}, 0
  for name, times in pairs(fight.played) do
    names[#names + 1] = name .. " " .. times
    count = count + times
  end
  table.sort(names)
  print(("\nseed %d, %d s: %d attacks, %d reloads, %d messages heard"):format(SEED, SECONDS, count,
    fight.reloads, players.heard))
  print(("the worst PONG after %.0f ms, WELCOME after %.0f ms"):format(players.worst_ping * 1000,
    players.worst_welcome * 1000))
  print(("heap %d and %d KiB, resident %d and %d KiB"):format(first.memory / 1024, last.memory / 1024,
    first.resident, last.resident))
  print(table.concat(names, ", "))
end

describe("all ports, attacked with seed " .. SEED, function()
  local ignored

  setup(function() -- sending to a connection that the other side has closed
    ignored = uv.new_signal()
    ignored:start("sigpipe", function() end)
  end)

  teardown(function()
    ignored:close()
    wait.until_closed()
  end)

  after_each(function()
    wait.drop_tasks()
    server.stop_all()
    udp_client.close_all()
  end)

  for _, threads in ipairs { 0, 2 } do
    it(("serve those who play, with %d threads"):format(threads), function()
      local target = start(threads)
      local fight = { target = target, played = {}, attackers = 0, reloads = 0 }
      local players = play(target)
      fight.observer = target.perigee:client "observer"
      local before = measure(fight)
      players:start_newcomers(function() return target.is_over end)
      for number = 1, ATTACKERS do attack(fight, number) end
      reload(fight)

      local first, began = before, uv.hrtime()
      repeat
        wait.pass(IS_LONG and 1 or 0.25)
        local figures = measure(fight)
        local elapsed = (uv.hrtime() - began) / 1e9
        if elapsed < SECONDS / 8 then first = figures end
      until elapsed > SECONDS / 2

      target.is_over = true
      wait.for_true(function() return fight.attackers == 0 end)
      if IS_LONG then
        local last = expect_settled(fight, before)
        report(fight, players, first, last)
        assert.is_true(last.resident - first.resident < SETTLED_MB * 1024)
      end
      players:stop()
      target.perigee:stop()
    end)
  end
end)
