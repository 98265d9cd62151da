--- `perigee bots`: in a pipe and on a terminal, against a running server and against a game that it serves.
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local IS_SANITIZED = (os.getenv "PERIGEE_CLIENT_LIBRARY" or "") == ""

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create("lobby") end
  function game.on_connect(peer)
    if peer.name == "bot3" and peer.token == "picky" then return false, "no threes" end
  end
  function game.on_message.double(_, value) return value * 2 end
  function game.on_message.kick(peer) peer:kick("enough") end
  function game.on_message.quiz(peer) peer:send("result", (peer:ask("sum", { 1, 2 }, 5))) end
  return game
]]

local TALK = [[
  return function(bot)
    local room = assert(bot:join "lobby")
    assert(bot:ask("double", bot.number) == 2 * bot.number)
    while bot:is_running() do
      room:broadcast("hello from " .. bot.number)
      bot:wait(0.05)
    end
  end
]]

-- Runs `perigee bots` with a script; returns the exit code and the output.
local function bots(target, script, args)
  local folder = server.folder { ["bot.lua"] = script or "return function() end" }
  local all = { "bots", target, "--script", folder .. "/bot.lua" }
  for _, arg in ipairs(args or {}) do table.insert(all, arg) end
  local process = server.perigee(all)
  return process:wait_exit(60), table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

local function address(perigee) return "127.0.0.1:" .. perigee.port end

local function has(text, pattern)
  if not text:find(pattern) then error(("no %q in:\n%s"):format(pattern, text), 2) end
end

describe("perigee bots", function()
  after_each(server.stop_all)

  it("has many clients talk, tells how it goes, and ends by itself", function()
    local perigee = server.start { game = GAME }
    local code, out, err = bots(address(perigee), TALK,
      { "-n", "20", "--seconds", "2", "--every", "0.5", "--ramp", "0.2" })
    assert.same({ 0, "" }, { code, err })
    has(out, "%d s  20 of 20 in, %d+ messages/s in, %d+/s out, latency [%d.]+ ms")
    has(out, "20 of 20 bots came in, 20 were still there at the end")
    has(out, "received  %d%d%d%d+ messages")
    has(out, "latency   50 %% [%d.]+ ms, 90 %% [%d.]+ ms, 99 %% [%d.]+ ms, max [%d.]+ ms %(%d+ pings%)")
    has(out, "errors    0$")
  end)

  it("finds modules beside the script, wherever it is started", function()
    local folder = server.folder {
      ["game.lua"] = "return {}",
      ["bot.lua"] = "local aim = require 'aim.at' return function(bot) assert(aim == bot.number + 6) end",
      ["aim/at.lua"] = "return 7",
    }
    local process = server.perigee { "bots", folder, "-n", "1", "--script", folder .. "/bot.lua" }
    assert.equal(0, process:wait_exit(60), table.concat(process.out, "\n"))
  end)

  it("serves a game itself, with its schema", function()
    local folder = server.folder {
      ["game.lua"] = [[
        local game = { on_message = {} }
        function game.on_message.twice(_, value) return 2 * value end
        return game
      ]],
      ["schema.perigee"] = "message twice: u16 -> u32\n",
    }
    local code, out, err = bots(folder, [[
      return function(bot)
        assert(bot:ask("twice", 50000) == 100000)
        assert(not pcall(bot.ask, bot, "twice", 70000)) -- too large for u16, so the bot knows the schema
      end
    ]], { "-n", "3" })
    assert.same({ 0, "" }, { code, err })
    has(out, "3 of 3 bots came in, 0 were still there")
  end)

  it("takes handlers in a table, too", function()
    local perigee = server.start { game = GAME }
    local code, out = bots(address(perigee), [[
      local results = 0
      return {
        on_ask = { sum = function(_, value) return value[1] + value[2] end },
        on_message = {
          result = function(bot, value)
            assert(value == 3)
            results = results + 1
            bot.is_done = true
          end,
        },
        run = function(bot)
          bot:send "quiz"
          while not bot.is_done and bot:wait(0.05) do end
          assert(bot.is_done)
        end,
      }
    ]], { "-n", "4", "--seconds", "30" })
    has(out, "errors    0$")
    assert.equal(0, code)
  end)

  it("keeps few events of a script that does not call recv", function()
    local code, out, err = bots(server.folder { ["game.lua"] = [[
      local game = { on_message = {} }
      function game.on_message.many(peer)
        for i = 1, 100 do peer:send("n", i, { reliable = true }) end
        return "done"
      end
      return game
    ]] }, [[
      return function(bot)
        for _, first in ipairs { 85, 1 } do
          assert(bot:ask "many" == "done")
          for i = first, 100 do assert(bot:recv(0).value == i) end
          assert(bot:recv(0) == nil)
        end
      end
    ]], { "-n", "2" })
    assert.same({ 0, "" }, { code, err }, out)
  end)

  it("makes lines worse, and repeatably", function()
    local perigee = server.start { game = GAME }
    local code, out = bots(address(perigee), [[
      return function(bot)
        for _ = 1, 3 do
          local seconds = assert(bot:ping(30))
          assert(seconds >= 0.08, seconds)
        end
        bot:wait(2)
      end
    ]], { "-n", "3", "--latency", "40", "--jitter", "10", "--loss", "5" })
    has(out, "errors    0$")
    assert.equal(0, code)
    assert.is_true(tonumber(out:match "latency   50 %% ([%d.]+) ms") >= 80)
  end)

  it("ends those who go on for ever", function()
    local perigee = server.start { game = GAME }
    local code, out = bots(address(perigee), [[
      return function(bot)
        if bot.number == 1 then bot:send "kick" end
        while true do bot:wait(0.1) end
      end
    ]], { "-n", "3", "--seconds", "1" })
    has(out, "errors    1\n  1 x the connection is over: enough %(Kicked%)\n?$")
    assert.equal(1, code)
  end)

  it("tells of errors, each once, and of those who were refused", function()
    local perigee = server.start { game = GAME }
    local code, out, err = bots(address(perigee), [[
      return function(bot)
        if bot.number == 1 then bot:send "kick" while bot:is_running() do bot:recv(1) end end
        if bot.number > 4 then error "oops" end
        if bot.number == 2 then
          bot:on_ask("sum", function() error "no sums" end)
          bot:on("message", function(event) error("no " .. event.name) end)
          bot:send "quiz"
          bot:wait(0.5)
        end
      end
    ]], { "-n", "6", "--token", "picky", "--ramp", "0" })
    assert.same({ 1, "" }, { code, err })
    has(out, "5 of 6 bots came in")
    has(out, "errors    6\n")
    has(out, "1 x %S+bot.lua:5: no sums")
    has(out, "1 x %S+bot.lua:6: no result")
    has(out, "1 x the connection is over: enough %(Kicked%)")
    has(out, "1 x cannot connect to %S+: no threes %(Rejected%)")
    has(out, "2 x %S+bot.lua:3: oops")
  end)

  it("ends in good order with Ctrl-C, and on a terminal shows one line", function()
    local perigee = server.start { game = GAME }
    local folder = server.folder { ["bot.lua"] = TALK }
    local command = ("stty cols 120; exec %s bots %s -n 5 --every 0.1 --script %s/bot.lua"):format(
      server.binary(), address(perigee), folder)
    local process = server.spawn("/usr/bin/script", { "-qfec", command, "/dev/null" },
      { stdin = true, env = { TERM = "xterm", SHELL = "/bin/sh" } })
    -- The status line on a terminal has no end, so the spec cannot read it yet. It looks at the server's
    -- clients instead.
    local watcher = perigee:client "watcher"
    watcher:join "lobby"
    local heard = 0
    while heard < 10 do
      if watcher:expect("BROADCAST").data == "hello from 5" then heard = heard + 1 end
    end
    process.stdin:write "\3"
    assert.equal(130, process:wait_exit())
    local out = table.concat(process.out, "\n")
    has(out, "\r\27%[K +%d s  5 of 5 in")
    has(out, "5 of 5 bots came in, 5 were still there at the end")
  end)

  it("ends at a second Ctrl-C whatever its script does", function()
    local perigee = server.start { game = GAME }
    local folder = server.folder { ["bot.lua"] = [[
      return function()
        io.stderr:write "for ever\n"
        while true do end
      end
    ]] }
    local process = server.perigee { "bots", address(perigee), "-n", "1", "--script", folder .. "/bot.lua" }
    wait.for_true(function() return process.err[1] == "for ever" end)
    wait.for_true(function() -- two errors at the same moment count as one
      if not process.code then process:kill "sigint" end
      return process.code
    end)
    assert.equal(uv.constants.SIGINT, process.signal)
  end)

  it("leaves no server behind, however it ends", function()
    for ending, is_killed in pairs { ["bot:wait(60)"] = true, ["os.exit()"] = false } do
      local folder = server.folder {
        ["game.lua"] = "return {}",
        ["bot.lua"] = [[
          return function(bot)
            print(bot._run.address:match "%d+$")
            io.stdout:flush()
        ]] .. ending .. " end",
      }
      local process = server.perigee { "bots", folder, "-n", "1", "--script", folder .. "/bot.lua" }
      local port = process:wait_out "^(%d+)$"
      if is_killed then process:kill "sigkill" end
      -- The server shares standard error with the command, so wait_exit also waits for the end of the server.
      process:wait_exit()
      assert.same({ nil, "ECONNREFUSED" }, { Stream.open(Stream, tonumber(port), { try = true }) })
    end
  end)

  it("keeps a bot in a few kilobytes", function()
    if IS_SANITIZED then return pending "sanitizers take memory of their own" end
    local perigee = server.start {
      game = "return { rooms = { solo = { auto_create = true, auto_delete = 1 } } }",
      flags = { max_clients = 1100 },
    }
    local folder = server.folder { ["bot.lua"] = [[
      local function memory()
        for line in io.lines "/proc/self/status" do
          if line:find "^VmRSS" then return tonumber(line:match "%d+") end
        end
      end
      return function(bot)
        assert(bot:join("solo:" .. bot.number))
        if bot.number == 1 then
          local before = memory()
          while bot._run.figures.came < 1001 do bot:wait(0.05) end
          collectgarbage()
          print(("grown by %d kB"):format(memory() - before))
          io.stdout:flush()
        end
        while bot:wait(60) do end
      end
    ]] }
    local process = server.perigee { "bots", address(perigee), "-n", "1001", "--ramp", "1", "--script",
      folder .. "/bot.lua" }
    local grown = tonumber(process:wait_out "^grown by (%d+) kB$")
    assert.is_true(grown / 1000 < 5, grown / 1000 .. " kB a bot")
    process:kill "sigint"
    assert.equal(130, process:wait_exit())
  end)

  it("runs what docs/bots.md says", function()
    local file = assert(io.open "docs/bots.md")
    local page = file:read "*a"
    file:close()
    local folder = server.folder { ["game.lua"] = page:match "\n```lua game%.lua\n(.-)\n```" }
    local count = 0
    for script in page:gmatch "\n```lua\n(.-)\n```" do
      local code, out, err = bots(folder, script, { "-n", "5", "--seconds", "1" })
      assert.same({ 0, "" }, { code, err })
      has(out, "received  %d%d+ messages")
      count = count + 1
    end
    assert.equal(2, count)
  end)

  it("refuses command lines that make no sense", function()
    for _, case in ipairs {
      { {}, "an address or a folder is missing" },
      { { "x", "-n" }, "-n needs a value" },
      { { "x", "-n", "0" }, "-n needs a whole number from 1 to 10000" },
      { { "x", "-n", "1.5" }, "-n needs a whole number" },
      { { "x", "--los", "1" }, "there is no option --los; did you mean --loss?" },
      { { "x", "-n5" }, "there is no option -n5; did you mean -n?" },
      { { "x", "bot.lua" }, '"bot.lua" is one game too many: --script bot.lua?' },
      { { "x", "y" }, '"y" is one game too many' },
      { { "x", "--loss", "91" }, "from 0 to 90" },
      { { "https://x" }, '"https://x" is not an address; leave out "https://"' },
      { { "x:99999" }, "port 99999 is not between 1 and 65535" },
    } do
      local args = { "bots", unpack(case[1]) }
      local process = server.perigee(args)
      assert.equal(2, process:wait_exit())
      assert.truthy(table.concat(process.err, "\n"):find(case[2], 1, true))
    end
    local function has_problem(wanted, ...)
      local code, out, err = bots(...)
      assert.same({ 1, "" }, { code, out })
      has(err, wanted)
    end
    has_problem("returns neither a function nor a table", "127.0.0.1:1", "return 1")
    has_problem('a script has no part "on_mesage"; there are on_message, on_ask and run', "127.0.0.1:1",
      "return { on_mesage = {} }")
    has_problem("bot.lua: run must be a function, not a number", "127.0.0.1:1", "return { run = 5 }")
    has_problem("bot.lua: on_ask.sum must be a function, not a boolean", "127.0.0.1:1",
      "return { on_ask = { sum = true } }")
    has_problem('there is no game "no/game", and an address is host, host:port', "no/game")
    local _, out = bots(("x"):rep(70), "return function() end", { "-n", "1" }) -- too long for any host
    has(out, "1 x cannot connect to x+:7777: no such host, nor a game of that name %(EAI_NONAME%)")
    local help = server.perigee { "bots", "--help" }
    assert.equal(0, help:wait_exit())
    has(table.concat(help.out, "\n"), "return function%(bot%)")
  end)
end)
