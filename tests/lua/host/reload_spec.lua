local fake_core = require "tests.lua.fake_core"

describe("a reload", function()
  local core, host, folder

  before_each(function()
    core = fake_core.new()
    core.rooms_by_id[7], core.peers_by_id[1] = "duel:1", true
  end)

  after_each(fake_core.clean)

  local function load(source)
    host, folder = fake_core.live(core, source)
  end

  local function write(source, name)
    local file = assert(io.open(folder .. "/" .. (name or "game.lua"), "w"))
    file:write(source)
    file:close()
  end

  local function reload(source)
    write(source)
    return fake_core.reload(core, host)
  end

  -- Returns the middle of the report, between the version and the pause, with short paths.
  local function what(report)
    local text = report:gsub(folder:gsub("%p", "%%%0") .. "/", ""):gsub("\n", "; ")
    return text:match "^version %d+%.%x+; (.*); paused [%d.]+ ms %([%d.]+ loading%)$"
      or text
  end

  local function message(name)
    local event = { peer = 1, room = 7, data = '["' .. name .. '",1]' }
    return fake_core.call(core, host, "message", event)
  end

  local function fails(want, source)
    local outcome, text = reload(source)
    assert.equal("failed", outcome)
    assert.truthy(text:find(want, 1, true), text)
    message "who"
    assert.truthy(fake_core.log_text(core):find "first$")
  end

  local FIRST = "return { on_message = { who = function() print 'first' end } }"

  it("takes a file that was open for writing while it was read, although it has not changed since", function()
    load(FIRST)
    write "return { on_message = { who = function() print 'second' end } }"
    function core.file_is_being_written() return true end
    assert.same({ "waits", 40 }, { fake_core.reload(core, host, "change") })
    function core.file_is_being_written() return false end
    assert.equal("ended", (fake_core.reload(core, host, "again")))
    message "who"
    assert.truthy(fake_core.log_text(core):find "second$")
  end)

  it("waits until its files are parsed, those too that it meets on the way, and runs once", function()
    load "print 'old' return {}"
    core.parses_slowly = true
    write "print 'new' pcall(require, 'one') return {}"
    write("print 'one' return require 'two'", "one.lua")
    write("print 'two' return {}", "two.lua")
    assert.same({ "waits" }, { fake_core.reload(core, host, "change") })
    for _ = 1, 2 do -- once for one.lua, once for two.lua
      assert.same({ "waits" }, { fake_core.reload(core, host, "again") })
    end
    assert.equal("ended", (fake_core.reload(core, host, "again")))
    assert.equal("old\nnew\none\ntwo", fake_core.log_text(core))
    assert.equal("same", (fake_core.reload(core, host, "change")))
  end)

  it("ends although its top level requires another module each time", function()
    load "return {}"
    core.parses_slowly = true
    local read_file = core.read_file
    function core.read_file(path)
      if path:find "/m%d+%.lua$" then
        return "return 1"
      end
      return read_file(path)
    end
    write "require('m' .. math.random(1e9)) return {}"
    local outcome, text = fake_core.reload(core, host, "change")
    local rounds = 1
    while outcome == "waits" and rounds < 50 do
      outcome, text = fake_core.reload(core, host, "again")
      rounds = rounds + 1
    end
    assert.equal("ended", outcome, text)
  end)

  it("makes the encoders of a large schema in several parts", function()
    load(FIRST)
    local messages = {}
    for i = 1, 50 do messages[i] = ("message m%d = %d { x: u8 }"):format(i, i) end
    write(table.concat(messages, "\n"), "schema.perigee")
    function core.read_clock() -- each message takes a millisecond
      core.clock = core.clock + 0.001
      return core.clock
    end
    local outcome, delay = fake_core.reload(core, host)
    local parts = 1
    while outcome == "waits" do
      assert.equal(1, delay)
      outcome, delay = fake_core.reload(core, host, "again")
      parts = parts + 1
    end
    assert.equal("ended", outcome)
    assert.is_true(parts > 10, parts)
    write("message m51 { x: u9 }", "schema.perigee")
    local failed, text = fake_core.reload(core, host)
    assert.equal("failed", failed)
    assert.truthy(text:find("schema.perigee:1:18: ", 1, true), text)
  end)

  -- Returns the work of a reload, in hundreds of instructions. The game has `count` handlers in one file.
  local function work(count)
    local lines = { "local game = { on_message = {} }" }
    for i = 1, count do
      lines[#lines + 1] = ("function game.on_message.m%d() return %d end"):format(i, i)
    end
    lines[#lines + 1] = "return game"
    load(table.concat(lines, "\n"))
    lines[2] = lines[2]:gsub("1 end", "0 end")
    local hundreds = 0
    jit.off()
    debug.sethook(function() hundreds = hundreds + 1 end, "", 100)
    local _, _, report = reload(table.concat(lines, "\n"))
    debug.sethook()
    jit.on()
    assert.equal("files changed: game.lua; handlers changed: on_message.m1", what(report))
    return hundreds
  end

  it("compares handlers with work that grows as their number does", function()
    local few = work(200)
    core = fake_core.new()
    assert.is_true(work(1600) < 8 * 1.5 * few)
  end)

  it("puts a new version in the place of the old one", function()
    load(FIRST)
    local outcome, version, report = reload [[
      local game = { on_message = { who = function() print "second" end }, on_stop = print }
      function game.on_reload(from, to) print("reloaded", from, to) end
      return game
    ]]
    assert.same({ "ended", 2 }, { outcome, version })
    assert.equal("files changed: game.lua; handlers added: on_reload, on_stop; "
      .. "handlers changed: on_message.who", what(report))
    message "who"
    assert.equal("reloaded\t1\t2\nsecond", fake_core.log_text(core))
  end)

  it("tells a handler that changed from one that moved", function()
    load [[
      local game = { on_message = {} }
      function game.on_join(room)
        for i = 1, 2 do print(i) end
      end
      function game.on_stop() end
      game.on_message.one = function() return 1 end
      game.on_message.two = function() return 2 end
      game.on_leave = print
      return game
    ]]
    local _, _, report = reload [[
      local game = { on_message = {} }
      local function new() while true do if true then break end end end

      function game.on_join(room)
          -- A comment.

          for i = 1, 2 do print(i) end
      end

      function game.on_stop() new() end
      game.on_message.one = function() return 1 end
      game.on_message.two = function() return 3 end
      game.on_leave = print
      return game
    ]]
    assert.equal("files changed: game.lua; handlers changed: on_message.two, on_stop", what(report))
  end)

  it("tells them apart whatever ends a line", function()
    for _, ending in ipairs { "\n", "\r", "\r\n", "\n\r" } do
      local function game(number, shift)
        local lines = { "local game = {}", "local x = {}", "function game.on_stop()", shift .. "return x",
          "end", "function game.on_leave()", "return " .. number, "end", "return game" }
        return table.concat(lines, ending)
      end
      core = fake_core.new()
      load(game(1, ""))
      local _, _, report = reload(game(2, " "))
      assert.equal("files changed: game.lua; handlers changed: on_leave", what(report))
    end
  end)

  -- Returns the error of an expression in a game.
  local function problem_of(expression)
    local _, _, text = fake_core.host(fake_core.new(),
      "local perigee = require 'perigee'\nreturn " .. expression .. ", 1")
    return text:match "game.lua:2: (.*)$" or text
  end

  it("says what the API has not, and what was meant", function()
    assert.equal("perigee has no snd; did you mean send?", problem_of "perigee.snd()")
    assert.equal("perigee.rooms has no creat; did you mean create?", problem_of "perigee.rooms.creat 'x'")
    assert.equal("perigee.to has no everyone; it has all, all_except, group, one",
      problem_of "perigee.to.everyone")
    assert.equal("perigee has no broadcast; write perigee.send(perigee.to.all, name, value)",
      problem_of "perigee.broadcast('x', 1)")
  end)

  it("says which argument comes first, and what follows", function()
    assert.equal("the seconds come first: after(seconds, fn)", problem_of "perigee.after(print, 1)")
    assert.equal("the seconds come first: every(seconds, fn)", problem_of "perigee.every(print, 1)")
    assert.equal("the task must be a function or the name of one, not nil; its arguments follow it: "
      .. "spawn(fn, ...)", problem_of "perigee.spawn(print 'x')")
  end)

  it("says where a colon has to be a dot", function()
    local function dot(name) return "not " .. name .. " (its functions are called with a dot)" end
    assert.equal("the delay must be a number, " .. dot "perigee", problem_of "perigee:after(1, print)")
    assert.equal("the task must be a function or the name of one, " .. dot "perigee",
      problem_of "perigee:spawn(print)")
    assert.equal("a room's name must be a string, " .. dot "perigee.rooms",
      problem_of "perigee.rooms:get 'x'")
    assert.equal("perigee.mcp.tool takes a table, " .. dot "perigee.mcp", problem_of "perigee.mcp:tool {}")
  end)

  it("that does not load leaves the old version as it was", function()
    load(FIRST)
    fails("game.lua:1: unexpected symbol", "x = = 2")
    fails("game.lua:1: oops", "error 'oops'")
    fails("on_join must be a function", "return { on_join = 1 }")
    fails("there is no module", "require 'nothing'")
    fails("cannot wait while", "require('perigee').sleep(1)")
    function core.refuse_config()
      return "no such key"
    end
    fails("game.lua: no such key", "return { config = { x = 1 } }")
  end)

  it("keeps state, and lets only data be in it", function()
    load [[
      local perigee = require "perigee"
      perigee.state.count = 1
      return { on_message = {
        who = function() print "first" end,
        room = function(peer, value, room) room.state.players = { { hit = function() end } } end,
        peer = function(peer, value, room)
          room.state.players = nil
          peer.state["odd key"] = coroutine.create(print)
        end,
        meta = function(peer)
          peer.state["odd key"] = nil
          perigee.state.a = { b = setmetatable({}, {}) }
        end,
        good = function(peer, value, room)
          perigee.state.a = { peer, room, [peer] = { 1, "x", true } }
          perigee.state.a.self = perigee.state.a
        end,
      } }
    ]]
    message "room"
    fails('room.state of room "duel:1".players[1].hit holds a function', FIRST)
    message "peer"
    fails('["odd key"] holds a thread', FIRST)
    message "meta"
    fails("perigee.state.a.b holds a table with a metatable", FIRST)
    message "good"
    local list = {}
    for _ = 1, 100000 do
      list = { list }
    end
    local outcome = reload [[
      local perigee = require "perigee"
      print(perigee.state.count, perigee.state.a.self == perigee.state.a)
      return {}
    ]]
    assert.equal("ended", outcome)
    assert.truthy(fake_core.log_text(core):find "1\ttrue$")
  end)

  it("checks state that is nested as deep as it likes", function()
    load [[
      local list = {}
      for _ = 1, 100000 do list = { list } end
      require("perigee").state.list = list
      return {}
    ]]
    assert.equal("ended", (reload "return {}"))
  end)

  it("revokes timers and tasks of the top level, on_start and on_reload, and no others", function()
    local source = [[
      local perigee = require "perigee"
      perigee.every(1, print)
      local game = { on_message = {} }
      local function start()
        perigee.after(1, print)
        perigee.spawn(function() while true do perigee.sleep(1) end end)
      end
      game.on_start, game.on_reload = start, start
      function game.on_message.go(peer, value, room)
        perigee.every(1, "on_stop")
        room:every(1, function() end)
      end
      function game.on_stop() end
      return game
    ]]
    local function count()
      local n = 0
      for _ in pairs(core.timers) do
        n = n + 1
      end
      return n
    end
    load(source)
    fake_core.call(core, host, "start")
    message "go"
    assert.equal(5, count())
    for i = 1, 20 do
      for id, timer in pairs(core.timers) do
        if timer.interval == 0 and timer.due <= core.clock then
          assert.equal("waits", (fake_core.call(core, host, "timer", { a = id })))
        end
      end
      local _, version, report = reload(source)
      assert.equal(i + 1, version)
      assert.equal("nothing changed; 3 timers and tasks revoked; "
        .. "old code goes on in 1 timer of game.lua:11", what(report))
      assert.equal(5, count())
    end
  end)

  it("tells which files are watched when it fails, those of both versions", function()
    load { ["game.lua"] = "require 'old' return {}", ["old.lua"] = "" }
    write("", "new.lua")
    assert.equal("failed", (reload "require 'new' error 'x'"))
    assert.same({ folder .. "/game.lua", folder .. "/new.lua", folder .. "/old.lua",
      folder .. "/schema.perigee" }, core.file_list)
  end)

  it("runs all modules anew", function()
    local source = [[
      local n = require "n"
      return { on_message = { who = function() print(n) end } }
    ]]
    load { ["game.lua"] = source, ["n.lua"] = "return 1" }
    write("return 2", "n.lua")
    local _, _, report = reload(source)
    assert.equal("files changed: n.lua", what(report))
    message "who"
    assert.equal("2", fake_core.log_text(core))
  end)
end)
