--- `perigee bots --udp`: beside TCP and alone, over lines that lose datagrams.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

-- Counts the reliable messages of each bot, and those in the wrong order.
local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  local last = {}
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_connect(peer) last[peer.id] = 0 end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.step(peer, value)
    if value ~= last[peer.id] + 1 then print(("%s: %d after %d"):format(peer.name, value, last[peer.id])) end
    last[peer.id] = value
    peer:send("stepped", value, { reliable = true })
  end
  function game.on_message.steps(peer) return last[peer.id] end
  function game.on_message.echo(peer, value) peer:send("echo", value) end
  return game
]]

-- A bot that sends 40 reliable messages, each with an answer, among others that may be lost.
local STEPS = [[
  return function(bot)
    local room = assert(bot:join "lobby")
    local heard = {}
    bot:on("message", function(event)
      if event.name == "stepped" then heard[#heard + 1] = event.value end
    end)
    bot:on("*", function() end)
    for i = 1, 40 do
      assert(room:send("step", i, { reliable = true }))
      for n = 1, 3 do bot:send("echo", n) end
      bot:wait(0.02)
    end
    assert(bot:ask("steps", nil, 30) == 40)
    assert(bot:flush())
    while #heard < 40 and bot:wait(0.05) do end
    for i = 1, 40 do assert(heard[i] == i, "not in order") end
  end
]]

-- A bot whose datagrams stop arriving, and arrive again later.
local STUCK = [[
  return function(bot)
    local line, seen, echoes = bot.client._line, {}, 0
    bot:on("udp_down", function(event) seen[#seen + 1] = event.message end)
    bot:on("udp_up", function() seen[#seen + 1] = "up" end)
    bot:on("message", function() echoes = echoes + 1 end)
    while #seen < 1 and bot:wait(0.01) do end
    line.datagram = function() end
    bot:send("echo", 1)
    while #seen < 2 and bot:wait(0.05) do end
    assert(seen[1] == "up" and seen[2] == "nothing by UDP arrives" and not bot.client.udp)
    while echoes < 1 and bot:wait(0.05) do bot:send("echo", 2) end -- the server notices it, too
    line.datagram = nil
    while #seen < 3 and bot:wait(0.05) do end
    assert(seen[3] == "up" and bot.client.udp)
  end
]]

-- A bot that loses its connection while a reliable message is on its way, and resumes it.
local AWAY = [[
  return function(bot)
    local line, is_back = bot.client._line, false
    local room = assert(bot:join "lobby")
    bot:on("disconnected", function() line.datagram = nil end)
    bot:on("resumed", function() is_back = true end)
    line.datagram = function() end
    assert(room:send("step", 1, { reliable = true }))
    while not is_back and bot:wait(0.05) do end
    assert(is_back and room.joined and bot:ask "steps" == 1)
  end
]]

local TALK = [[
  return function(bot)
    while bot:is_running() do
      bot:send("echo", bot.number)
      bot:wait(0.05)
    end
  end
]]

-- Runs `perigee bots` with a script; returns the exit code and the output.
local function bots(perigee, script, args)
  local folder = server.folder { ["bot.lua"] = script }
  local all = { "bots", "127.0.0.1:" .. perigee.port, "--script", folder .. "/bot.lua" }
  for _, arg in ipairs(args) do table.insert(all, arg) end
  local process = server.perigee(all)
  return process:wait_exit(60), table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

local function has(text, pattern)
  local found = { text:match(pattern) }
  if not found[1] then error(("no %q in:\n%s"):format(pattern, text), 2) end
  return unpack(found)
end

-- Returns the processor time that a process has used so far.
local function cpu_seconds(pid)
  local file = assert(io.open(("/proc/%d/stat"):format(pid)))
  local fields = file:read("*a"):match "%) (.*)$"
  file:close()
  local user, system = fields:match(("%S+ "):rep(11) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / 100
end

describe("perigee bots --udp", function()
  after_each(server.stop_all)

  it("tells both ways apart", function()
    local perigee = server.start { game = GAME }
    local code, out, err = bots(perigee, TALK, { "-n", "10", "--seconds", "3", "--every", "2", "--udp" })
    assert.same({ 0, "" }, { code, err })
    assert.is_true(tonumber(has(out, "received  %d+ messages, .+, (%d+) %% by UDP\n")) > 80)
    assert.is_true(tonumber(has(out, "sent      %d+ messages, .+, (%d+) %% by UDP\n")) > 80)
    has(out, "^ *2 s  10 of 10 in, .+, latency [%d.]+ ms %(99 %%: [%d.]+ ms%), datagrams [%d.]+ ms")
    local spread = "50 %% [%d.]+ ms, 90 %% [%d.]+ ms, 99 %% [%d.]+ ms, max [%d.]+ ms "
    has(out, "\nlatency   TCP: " .. spread .. "%(%d+ pings%)\n")
    has(out, "\n          UDP: " .. spread .. "%([1-9]%d* round trips%)\n")
    has(out, "\nudp       10 of 10 bots, %d%d+ datagrams sent, [%d.]+ %% lost on the way\n")
  end)

  it("knows of no losses where the server had nothing to acknowledge", function()
    local perigee = server.start { game = GAME }
    local listens = "return function(bot) while not bot.client.udp do bot:wait(0.05) end end"
    local code, out, err = bots(perigee, listens, { "-n", "3", "--udp" })
    assert.same({ 0, "" }, { code, err })
    has(out, "\nudp       3 of 3 bots, %d+ datagrams sent, %- lost on the way\n")
  end)

  for _, way in ipairs { "attached", "alone" } do
    it("loses datagrams and nothing that is reliable, " .. way, function()
      local perigee = server.start { game = GAME, flags = { udp_ports = 3 } }
      local code, out, err = bots(perigee, STEPS, {
        "-n", "8", "--udp", way, "--loss", "10", "--latency", "20", "--jitter", "10",
      })
      assert.same({ 0, "" }, { code, err })
      has(out, "8 of 8 bots came in")
      has(out, "errors    0$")
      local share = has(out, "\nudp       8 of 8 bots, %d+ datagrams sent, ([%d.]+) %% lost on the way\n")
      assert.is_true(tonumber(share) > 3 and tonumber(share) < 20, share)
      assert.equal(0, perigee:count_log " after ")
      local name = way == "alone" and "datagrams" or "UDP"
      assert.is_true(tonumber(has(out, name .. ": 50 %% ([%d.]+) ms")) >= 40)
    end)
  end

  it("goes by TCP while datagrams do not arrive", function()
    local perigee = server.start { game = GAME }
    local code, out, err = bots(perigee, STUCK, { "-n", "2", "--udp", "--latency", "1", "--seconds", "30" })
    assert.same({ 0, "" }, { code, err })
    has(out, "\n          2 x TCP alone: nothing by UDP arrives\n")
    has(out, "\nerrors    0$")
  end)

  it("takes a session up again by UDP alone", function()
    local perigee = server.start { game = GAME, resume = true, flags = { ping_interval = 1 } }
    local code, out, err = bots(perigee, AWAY, { "-n", "2", "--udp", "alone", "--latency", "1",
      "--seconds", "30" })
    assert.same({ 0, "" }, { code, err })
    has(out, "\nlines     2 lost, 2 sessions resumed, 0 begun anew\nerrors    0$")
  end)

  it("serves a game with UDP", function()
    local folder = server.folder { ["game.lua"] = GAME, ["bot.lua"] = TALK }
    local process = server.perigee { "bots", folder, "--script", folder .. "/bot.lua", "-n", "3",
      "--seconds", "1", "--udp=alone" }
    assert.equal(0, process:wait_exit(60))
    has(table.concat(process.out, "\n"), "\nudp       3 of 3 bots")
  end)

  it("goes on by TCP where the server has no UDP, and says so once", function()
    local perigee = server.start { game = GAME, flags = { udp_ports = 0 } }
    local code, out = bots(perigee, STEPS, { "-n", "4", "--udp" })
    assert.equal(0, code)
    has(out, "\nudp       0 of 4 bots")
    has(out, "\n          4 x TCP alone: the server has no UDP %(udp_ports = 0%)\n")
    code, out = bots(perigee, STEPS, { "-n", "2", "--udp", "alone" })
    assert.equal(1, code)
    has(out, "2 x cannot connect to %S+: nobody listens for UDP at port %d+ %(ECONNREFUSED%)")
  end)

  it("costs little while nothing happens", function()
    local perigee = server.start { game = GAME }
    local folder = server.folder { ["bot.lua"] = "return function(bot) while bot:wait(60) do end end" }
    local process = server.perigee { "bots", "127.0.0.1:" .. perigee.port, "-n", "100", "--script",
      folder .. "/bot.lua", "--every", "0.5", "--udp" }
    process:wait_out "(100 of 100 in)"
    local before = cpu_seconds(process.pid)
    wait.pass(2)
    assert.is_true(cpu_seconds(process.pid) - before < 1)
    process:kill "sigint"
    assert.equal(130, process:wait_exit())
    has(table.concat(process.out, "\n"), "\nudp       100 of 100 bots")
  end)
end)
