--- Reloads that can be trusted: a half-saved file is not loaded, files saved together make one reload,
--- failures are undone or rolled back, nothing accumulates, and each line of the log names its version.
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local function reload_command(perigee)
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  return process:wait_exit(), table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

-- Saves a version and reloads it by command; returns after the reload.
local function reload(perigee, text)
  perigee:save("game.lua", text)
  local code, said = reload_command(perigee)
  if code ~= 0 then perigee:fail("reload: " .. said, 2) end
  return said
end

local function game(answer, more)
  return ([[
    local perigee = require "perigee"
    local game = { on_message = {}, config = {}, rooms = {} }
    function game.on_message.version() return %q end
    %s
    return game
  ]]):format(answer, more or "")
end

local function wait_answer(client, answer)
  wait.for_true(function() return client:question(0, "version") == answer end)
end

-- Returns the log's lines of successful reloads.
local function reloads(perigee) return perigee:count_log '"message":"reloaded: ' end

describe("files that are being saved", function()
  after_each(server.stop_all)

  it("are waited for: a file written in pieces, each of which would load", function()
    local perigee = server.start { game = game "one", watch = true }
    local ann = perigee:client()
    local text = game "two"
    local fd = assert(uv.fs_open(perigee.folder .. "/game.lua", "w", 420))
    local half = "do return { on_message = { version = function() return 'half' end } } end\n"
    assert(uv.fs_write(fd, half, 0))
    for _ = 1, 10 do
      wait.pass(0.03)
      assert.equal("one", ann:question(0, "version"))
    end
    assert(uv.fs_write(fd, text, 0))
    assert(uv.fs_close(fd))
    wait_answer(ann, "two")
    assert.equal(1, reloads(perigee))
    assert.equal(0, perigee:count_log "reload failed")
  end)

  it("are waited for by `perigee reload` too", function()
    local perigee = server.start { game = game "one" }
    local ann = perigee:client()
    local fd = assert(uv.fs_open(perigee.folder .. "/game.lua", "w", 420))
    assert(uv.fs_write(fd, "return { on_message = {", 0))
    local process = server.perigee { "reload", "--port", tostring(perigee.port) }
    wait.pass(0.2)
    assert.is_nil(process.code)
    assert.equal("one", ann:question(0, "version"))
    assert(uv.fs_write(fd, game "two", 0))
    assert(uv.fs_close(fd))
    assert.equal(0, process:wait_exit())
    assert.equal("two", ann:question(0, "version"))
    assert.equal(0, perigee:count_log "reload failed")
  end)

  it("are not waited for without end", function()
    local perigee = server.start { game = game "one" }
    local fd = assert(uv.fs_open(perigee.folder .. "/game.lua", "w", 420))
    assert(uv.fs_write(fd, game "two", 0))
    assert.equal(0, (reload_command(perigee)))
    assert.equal("two", perigee:client():question(0, "version"))
    perigee:wait_log "game.lua keeps changing"
    assert(uv.fs_close(fd))
  end)

  it("are one reload when they are saved together, however many", function()
    local files, main = {}, { "local sum = 0" }
    for i = 1, 50 do
      files[("part%d.lua"):format(i)] = "return 1"
      main[i + 1] = ("sum = sum + require 'part%d'"):format(i)
    end
    main[#main + 1] = "return { on_message = { version = function() return sum end } }"
    files["game.lua"] = table.concat(main, "\n")
    local perigee = server.start { files = files, watch = true }
    local ann = perigee:client()
    assert.equal(50, ann:question(0, "version"))
    for i = 1, 50 do
      local path = ("%s/part%d.lua"):format(perigee.folder, i)
      assert(uv.fs_unlink(path))
      perigee:save(("part%d.lua"):format(i), "return 2")
      if i % 3 == 0 then wait.pass(0.01) end
    end
    wait_answer(ann, 100)
    assert.equal(1, reloads(perigee))
    assert.equal(0, perigee:count_log "reload failed")
  end)

  it("may be exchanged with their folder, and be made again after a gap", function()
    local folder = server.folder { ["a/game.lua"] = game "one", ["b/game.lua"] = game "two" }
    local perigee = server.start { path = folder .. "/a", flags = { watch = true } }
    local ann = perigee:client()
    assert(os.rename(folder .. "/a", folder .. "/old"))
    assert(os.rename(folder .. "/b", folder .. "/a"))
    wait_answer(ann, "two")
    assert(uv.fs_unlink(folder .. "/a/game.lua"))
    wait.pass(0.05)
    local file = assert(io.open(folder .. "/a/game.lua", "w"))
    file:write(game "three")
    file:close()
    wait_answer(ann, "three")
    assert.equal(0, perigee:count_log "reload failed")
  end)
end)

describe("the version", function()
  after_each(server.stop_all)

  it("is on every line, with a hash that is the same for the same files", function()
    local perigee = server.start { game = game("one", "print 'loading'") }
    local hash = perigee:wait_log("loaded").hash
    assert.truthy(hash:find "^%x%x%x%x%x%x%x$")
    assert.equal(hash, perigee:wait_log("loading").hash)
    reload(perigee, game("two", "print 'loading again' game.on_conect = print"))
    local second = perigee:wait_log("loading again")
    assert.equal(2, second.version)
    assert.not_equal(hash, second.hash)
    assert.equal(second.hash, perigee:wait_log("on_conect").hash)
    reload(perigee, game("one", "print 'loading'"))
    perigee:client()
    local last = perigee:wait_log(function(fields) return fields.message == "connected" end)
    assert.same({ 3, hash }, { last.version, last.hash })
    local other = server.start { game = game("one", "print 'loading'") }
    assert.equal(hash, other:wait_log("loading").hash)
  end)

  it("that failed is in the report of its error", function()
    local perigee = server.start { game = game "one" }
    reload(perigee, game("two", [[
      function game.on_message.fail() error "oops" end
      function game.on_error(report) print("report", report.version, report.hash) end
    ]]))
    perigee:client():send(0, "fail")
    local line = perigee:wait_log "report\\t2\\t"
    assert.truthy(line.message:find("\t" .. line.hash, 1, true))
    assert.equal(line.hash, perigee:wait_log("on_message.fail failed").hash)
  end)

  it("that goes on is named when a reload fails", function()
    local perigee = server.start { game = game "one" }
    perigee:save("game.lua", "oops")
    local code, said = reload_command(perigee)
    assert.equal(1, code)
    assert.truthy(said:find("version 1." .. perigee:wait_log("loaded").hash .. " goes on", 1, true))
  end)
end)

describe("the report", function()
  after_each(server.stop_all)

  it("is told by `perigee reload`, one line while it is short", function()
    local perigee = server.start { game = game "one" }
    local _, said = reload_command(perigee)
    assert.truthy(said:find "^perigee: reloaded: version 2%.%x+; nothing changed; paused [^\n]*$", said)
  end)

  it("may take longer than a handler: what is live then is what it says", function()
    local function many(answer)
      local lines = {}
      for i = 1, 400 do
        lines[i] = ("game.on_message.h%d = function() return %q end\n"):format(i, answer)
      end
      return game(answer, table.concat(lines))
    end
    local perigee = server.start { game = many "one", flags = { handler_budget = 0.001 } }
    local ann = perigee:client()
    assert.truthy(reload(perigee, many "two"):find("reloaded: version 2.", 1, true))
    assert.equal("two", ann:question(0, "version"))
    assert.truthy(reload(perigee, many "three"):find("reloaded: version 3.", 1, true))
    assert.equal("three", ann:question(0, "version"))
  end)

  it("has a line for each part when it is long", function()
    local perigee = server.start {
      files = { ["game.lua"] = game("one", [[
        local other = require "other"
        function game.on_start() perigee.every(1, print) end
        function game.on_leave() end
        function game.on_stop() end
        function game.on_message.wait() perigee.sleep(100) end
        function game.on_message.beat() for _ = 1, 3 do perigee.every(100, function() end) end end
      ]]), ["other.lua"] = "return {}" },
    }
    local ann = perigee:client()
    ann:send(0, "wait"):question(0, "beat")
    local said = reload(perigee, game("two", [[

      function game.on_join() end
      function game.on_stop() end
    ]]))
    local folder = perigee.folder
    for _, want in ipairs {
      "reloaded: version 2.",
      ("\nfiles changed: %s/game.lua\nfiles removed: %s/other.lua\n"):format(folder, folder),
      "\nhandlers added: on_join\n",
      "\nhandlers removed: on_leave, on_message.beat, on_message.wait, on_start\n",
      "\nhandlers changed: on_message.version\n",
      "\n1 timer or task revoked\n",
      ("\nold code goes on in 3 timers of %s/game.lua:9, 1 waiting on_message.wait of %s/game.lua:8\n")
        :format(folder, folder),
      "\npaused ",
    } do
      assert.truthy(said:find(want, 1, true), want .. " in " .. said)
    end
  end)
end)

describe("timers", function()
  after_each(server.stop_all)

  local function counting(number)
    return game("stats", ([[
      local COUNT = %d
      game.rooms.duel = { auto_create = true, auto_delete = 60 }
      function game.rooms.duel.beat(room) perigee.state.beats = COUNT end
      function game.beat() perigee.state.beat = COUNT end
      perigee.every(5, function() end)
      perigee.after(1000, function() end)
      local function start()
        perigee.every(6, function() end)
        perigee.after(1000, "beat")
        perigee.spawn(function()
          perigee.every(7, function() end)
          perigee.spawn(function() perigee.every(8, function() end) end)
          while true do perigee.sleep(1000) end
        end)
      end
      game.on_start, game.on_reload = start, start
      function game.on_message.set(peer, value, room)
        perigee.every(9, function() end)
        perigee.every(0.02, "beat")
        room:every(9, function() end)
        room:every(0.02, "beat")
        room:spawn(function() perigee.sleep(1000) end)
      end
      function game.on_message.stats()
        local stats = perigee.stats()
        return { stats.timers, stats.waiting, perigee.state.beat, perigee.state.beats }
      end
    ]]):format(number))
  end

  it("are as many after a hundred reloads as after one, and named ones run new code", function()
    local perigee = server.start { game = counting(0) }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    ann:question(room, "set")
    local expected
    for number = 1, 100 do
      reload(perigee, counting(number))
      local stats
      wait.for_true(function()
        stats = ann:question(0, "stats")
        return stats[3] == number and stats[4] == number and stats[2] == 2
      end)
      expected = expected or stats[1]
      assert.equal(expected, stats[1])
    end
    -- 2 by the top level, 2 by on_reload, 2 by its tasks, 4 by the handler.
    assert.equal(10, expected)
  end)
end)

describe("a version that fails", function()
  after_each(server.stop_all)

  local function upgrading(answer, body)
    return game(answer, ([[
      game.config.max_rooms = 1000
      game.rooms.duel = { auto_create = true, auto_delete = 60, on_message = {} }
      local duel = game.rooms.duel
      function duel.on_upgrade(room, from, to) %s end
      function duel.on_message.count(room) room.state.n = (room.state.n or 0) + 1 return room.state.n end
      function duel.on_message.fail() error "broken" end
      function game.on_reload() print "on_reload" end
    ]]):format(body))
  end

  it("in on_upgrade is undone, and nothing of it is seen", function()
    local perigee = server.start { game = upgrading("one", "") }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room, other = ann:join "duel:1", bob:join "duel:2"
    assert.equal(1, ann:question(room, "count"))
    assert.equal(1, bob:question(other, "count"))
    perigee:save("game.lua", upgrading("two", [[
      room.state.n = 100
      room:broadcast "upgraded"
      perigee.rooms.create("new " .. room.name)
      perigee.every(0.01, function() print "a timer of it" end)
      if room.name == "duel:2" then error "cannot" end
    ]]))
    local code, said = reload_command(perigee)
    assert.equal(1, code)
    assert.truthy(said:find('on_upgrade failed for 1 of 2 rooms, so version 2.', 1, true), said)
    assert.truthy(said:find('first room "duel:2": ', 1, true), said)
    assert.equal("duel:2", perigee:wait_log("duel.on_upgrade failed").room)
    assert.equal(2, ann:question(room, "count"))
    assert.equal(2, bob:question(other, "count"))
    assert.equal("one", ann:question(0, "version"))
    assert.equal(2, #ann:list_rooms())
    ann:expect_quiet()
    assert.equal(0, perigee:count_log "a timer of it")
    assert.equal(0, perigee:count_log '"on_reload"')
    assert.truthy(reload(perigee, upgrading("three", "")):find("reloaded: version 3.", 1, true))
    assert.equal(3, ann:question(room, "count"))
  end)

  it("in an on_upgrade without end is ended, and undone", function()
    local perigee = server.start { game = upgrading("one", "") }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    perigee:save("game.lua", upgrading("two", "while true do pcall(print) end"))
    local code, said = reload_command(perigee)
    assert.equal(1, code)
    assert.truthy(said:find("game.lua:7: ", 1, true), said)
    assert.equal("one", ann:question(0, "version"))
    assert.equal(1, ann:question(room, "count"))
  end)

  it("to wait in on_upgrade says why", function()
    local perigee = server.start { game = upgrading("one", "") }
    perigee:client():join "duel:1"
    perigee:save("game.lua", upgrading("two", "perigee.sleep(1)"))
    local _, said = reload_command(perigee)
    assert.truthy(said:find("game.lua:7: perigee.sleep cannot wait in on_upgrade", 1, true), said)
  end)

  it("often in its first seconds makes way for the one before", function()
    local perigee = server.start { game = upgrading("one", ""), watch = true }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    assert.equal(1, ann:question(room, "count"))
    perigee:save("game.lua", upgrading("two", "room.state = { n = 'text' }"))
    wait_answer(ann, "two")
    for _ = 1, 12 do
      ann:send(room, "fail")
    end
    local line = perigee:wait_log "rolled back: version 1."
    assert.truthy(line.message:find("handlers of version 2%.%x+ failed 1%d times"), line.message)
    assert.truthy(line.message:find("\nlast: [^\n]*game.lua:9: broken\n"), line.message)
    assert.equal(1, line.version)
    assert.equal("one", ann:question(0, "version"))
    assert.equal(2, ann:question(room, "count"))
    assert.equal(1, perigee:count_log '"on_reload"')
    -- The broken file is not tried again; a new file is.
    perigee:save("game.lua", upgrading("two", "room.state = { n = 'text' }"))
    wait.pass(0.3)
    assert.equal("one", ann:question(0, "version"))
    perigee:save("game.lua", upgrading("three", ""))
    wait_answer(ann, "three")
    perigee:wait_log "reloaded: version 3."
    assert.equal(3, ann:question(room, "count"))
  end)

  it("fewer times stays, and so does any with rollback_errors = 0", function()
    local perigee = server.start { game = upgrading("one", "") }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    reload(perigee, upgrading("two", ""))
    for _ = 1, 9 do
      ann:send(room, "fail")
    end
    assert.equal("two", ann:question(0, "version"))
    reload(perigee, (upgrading("three", ""):gsub("max_rooms = 1000", "rollback_errors = 0")))
    for _ = 1, 30 do
      ann:send(room, "fail")
    end
    assert.equal("three", ann:question(0, "version"))
    assert.equal(0, perigee:count_log "rolled back")
  end)
end)
