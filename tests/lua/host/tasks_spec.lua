local fake_core = require "tests.lua.fake_core"

describe("timers and tasks", function()
  local core, host

  before_each(function()
    core = fake_core.new()
    core.rooms_by_id[7], core.peers_by_id[1] = "duel:1", true
  end)

  after_each(fake_core.clean)

  local function load(source)
    host = fake_core.live(core, source)
  end

  local function message(name, value)
    return fake_core.call(core, host, "message", {
      peer = 1, room = 7, data = require("perigee.host.messages").encode(name, value),
    })
  end

  -- Returns the ids of the timers that are set.
  local function timers()
    local ids = {}
    for id in pairs(core.timers) do
      ids[#ids + 1] = id
    end
    table.sort(ids)
    return ids
  end

  local function said()
    local names = {}
    for _, send in ipairs(fake_core.done(core, "send")) do
      names[#names + 1] = send[4]
    end
    return table.concat(names, " ")
  end

  it("are set when the handler has ended, and cancelled", function()
    load [[
      local perigee = require "perigee"
      local timer
      return { on_message = {
        set = function() timer = perigee.every(0.5, print) end,
        cancel = function() assert(timer:cancel()) assert(not timer:cancel()) end,
      } }
    ]]
    message "set"
    assert.same({ { due = 100.5, interval = 0.5 } }, { core.timers[timers()[1]] })
    assert.equal("ended", message "cancel")
    assert.same({}, timers())
  end)

  it("of a handler that fails were never there, and what it cancelled goes on", function()
    load [[
      local perigee = require "perigee"
      local timer
      return { on_message = {
        set = function() timer = perigee.every(1, "beat") end,
        fail = function(peer, value, room)
          timer:cancel()
          perigee.after(1, print)
          room:every(1, print)
          perigee.spawn(print)
          error "on purpose"
        end,
      }, beat = function() print "beat" end }
    ]]
    message "set"
    local before = timers()
    assert.equal("failed", (message "fail"))
    assert.same(before, timers())
    fake_core.call(core, host, "timer", { a = before[1] })
    assert.truthy(fake_core.log_text(core):find "\nbeat$")
  end)

  it("given a name call what has the name now, in the kind's table for rooms", function()
    load [[
      local perigee = require "perigee"
      local game = { rooms = { duel = {} }, on_message = {} }
      function game.on_message.go(peer, value, room)
        perigee.after(1, "beat")
        room:after(1, "beat")
        game.beat = function() print "game's new beat" end
      end
      function game.beat() end
      function game.rooms.duel.beat(room) print(room.name .. "'s beat") end
      return game
    ]]
    assert.equal("ended", message "go")
    for _, id in ipairs(timers()) do
      fake_core.call(core, host, "timer", { a = id })
    end
    assert.equal("game's new beat\nduel:1's beat", fake_core.log_text(core))
  end)

  it("given a name pass on arguments, after the room where one is concerned", function()
    load [[
      local perigee = require "perigee"
      local game = { rooms = { duel = {} }, on_message = {} }
      function game.on_message.go(peer, value, room)
        perigee.after(1, "beat", "a", nil, 3)
        perigee.every(1, "beat", { b = 1 })
        room:after(1, "beat", peer, 5)
        perigee.spawn("beat", 6)
        room:spawn("beat", 7)
        room:after(1, function(...) game.beat("function", ...) end, 8)
        room:spawn(function(...) game.beat("task", ...) end, 9)
      end
      local function describe(value)
        return tostring(getmetatable(value) or type(value) == "table" and value.b or value)
      end
      local function show(what, ...)
        local shown = { what }
        for i = 1, select("#", ...) do
          local value = select(i, ...)
          shown[i + 1] = type(value) == "string" and value or describe(value)
        end
        print(table.concat(shown, " "))
      end
      function game.beat(...) show("game", ...) end
      function game.rooms.duel.beat(...) show("duel", ...) end
      return game
    ]]
    local outcome, text = message "go"
    assert.equal("ended", outcome, text)
    for _, id in ipairs(timers()) do
      fake_core.call(core, host, "timer", { a = id })
    end
    assert.equal("game a nil 3\ngame 1\nduel room peer 5\ngame 6\nduel room 7\n"
      .. "game function room 8\ngame task 9", fake_core.log_text(core))
  end)

  it("given a name refuse arguments that are not data", function()
    load [[
      local perigee = require "perigee"
      return { beat = print, on_message = { go = function()
        perigee.after(1, "beat", 1, { a = { hit = print } })
      end } }
    ]]
    local outcome, text = message "go"
    assert.equal("failed", outcome)
    assert.truthy(text:find("game.lua:3: argument 2.a.hit for beat is a function; ", 1, true), text)
  end)

  it("given a name may be in a state, and are cancelled there after a reload", function()
    local source = [[
      local perigee = require "perigee"
      return { beat = print, on_message = {
        set = function(peer, value, room) room.state.timers = { perigee.after(9, "beat") } end,
        cancel = function(peer, value, room) print(room.state.timers[1]:cancel()) end,
        wrong = function(peer, value, room) room.state.timers = { perigee.after(9, print) } end,
      } }
    ]]
    load(source)
    message "set"
    assert.equal("ended", (fake_core.reload(core, host)))
    assert.equal(1, #timers())
    message "cancel"
    assert.equal(0, #timers())
    assert.truthy(fake_core.log_text(core):find "true$")
    message "wrong"
    local outcome, text = fake_core.reload(core, host)
    assert.equal("failed", outcome)
    assert.truthy(text:find("holds a timer that calls a function instead of a name", 1, true), text)
  end)

  it("say at once when there is nothing of that name", function()
    load [[
      local perigee = require "perigee"
      return { on_message = { go = function() perigee.after(1, "baet") end } }
    ]]
    local outcome, text = message "go"
    assert.equal("failed", outcome)
    assert.truthy(text:find("game.lua:2: there is no function baet in the table of the game", 1,
      true), text)
  end)

  it("given a name fail as the version that has the name now", function()
    load [[
      local perigee = require "perigee"
      local game = { on_message = {}, beat = function() error "old" end }
      function game.on_message.go() perigee.after(1, "beat") end
      function game.on_error(report) print("version " .. report.version) end
      return game
    ]]
    message "go"
    local timer = fake_core.done(core, "timer_set")[1][1]
    assert.equal("ended", (fake_core.reload(core, host)))
    assert.equal("failed", (fake_core.call(core, host, "timer", { a = timer })))
    fake_core.call(core, host, "error", { a = core.errors_pushed[1] })
    assert.truthy(fake_core.log_text(core):find("version 2", 1, true), fake_core.log_text(core))
  end)

  it("that are set at the top level for no function name the file when they fire", function()
    load [[
      local perigee = require "perigee"
      perigee.after(1, "baet")
      return { beat = print }
    ]]
    fake_core.call(core, host, "timer", { a = fake_core.done(core, "timer_set")[1][1] })
    local log = fake_core.log_text(core)
    assert.truthy(log:find("/game.lua: there is no function baet in the table of the game; "
      .. "did you mean beat?", 1, true), log)
  end)

  it("die with their room", function()
    load [[
      return { on_message = { go = function(peer, value, room)
        room:every(1, print)
        room:after(1, print)
        room:spawn(print)
      end } }
    ]]
    message "go"
    assert.equal(3, #timers())
    fake_core.call(core, host, "room_delete", { room = 7, data = "duel:1" })
    assert.same({}, timers())
  end)

  it("that wait send before and after, each when it is reached", function()
    load [[
      local perigee = require "perigee"
      return { on_message = { go = function(peer)
        peer:send "before"
        perigee.sleep(2)
        peer:send "after"
      end } }
    ]]
    assert.equal("waits", (message "go"))
    assert.equal("before", said())
    local id = timers()[1]
    assert.equal(102, core.timers[id].due)
    assert.equal("ended", (fake_core.wake(core, host, "timer", { a = id })))
    assert.equal("before after", said())
  end)

  it("that fail after a wait lose what came after it only", function()
    load [[
      local perigee = require "perigee"
      return { on_message = { go = function(peer)
        peer:send "before"
        perigee.sleep(2)
        peer:send "after"
        error "late"
      end } }
    ]]
    message "go"
    local outcome = fake_core.wake(core, host, "timer", { a = timers()[1] })
    assert.equal("failed", outcome)
    assert.equal("before", said())
    assert.truthy(fake_core.log_text(core):find("on_message.go failed: .*game.lua:6: late"))
  end)

  it("run spawned functions with their arguments, once the handler has ended", function()
    load [[
      local perigee = require "perigee"
      return { on_message = { go = function(peer)
        perigee.spawn(function(a, b, c) print(a, b, c) end, 1, nil, 3)
        print "handler"
      end } }
    ]]
    message "go"
    fake_core.call(core, host, "timer", { a = timers()[1] })
    assert.equal("handler\n1\tnil\t3", fake_core.log_text(core))
  end)

  it("get the answer to a question, or why there is none", function()
    load [[
      local perigee = require "perigee"
      return { on_message = { go = function(peer)
        print("answer", peer:ask("really?", 1, 3))
      end } }
    ]]
    local function ask()
      assert.equal("waits", (message "go"))
      local sends = fake_core.done(core, "send")
      return sends[#sends][9]
    end
    local ref = ask()
    fake_core.wake(core, host, "response", { peer = 1, ref = ref, data = '["really?","yes"]' })
    fake_core.call(core, host, "response", { peer = 1, ref = ref, data = '["really?","again"]' })
    ref = ask()
    fake_core.wake(core, host, "response", { peer = 1, ref = ref, data = "yes!" })
    ask()
    fake_core.wake(core, host, "timer", { a = timers()[1] })
    ask()
    fake_core.call(core, host, "disconnect", { peer = 1 })
    fake_core.wake(core, host, "timer", { a = timers()[1] })
    assert.equal("answer\tyes\nanswer\tnil\tthe answer is malformed\tProtocol\n"
      .. "answer\tnil\ttimeout\nanswer\tnil\tthe peer is gone\tConnectionClosed",
      fake_core.log_text(core))
    assert.same({}, timers())
  end)

  it("wait only where that can be", function()
    load [[
      local perigee = require "perigee"
      return { on_message = {
        own = function()
          local co = coroutine.create(function() perigee.sleep(1) end)
          print(select(2, coroutine.resume(co)))
        end,
        sort = function()
          print(select(2, pcall(table.sort, { 3, 2, 1 }, function() perigee.sleep(1) end)))
        end,
      } }
    ]]
    assert.equal("ended", (message "own"))
    assert.equal("ended", (message "sort"))
    local log = fake_core.log_text(core)
    assert.truthy(log:find "game.lua:4: perigee.sleep cannot wait in a coroutine of your own")
    assert.truthy(log:find "game.lua:8: perigee.sleep cannot wait inside a function that table")
    assert.same({}, timers())
  end)

  it("leave out an on_tick while the last one waits", function()
    load [[
      local perigee = require "perigee"
      return { on_tick = function(dt) print("tick", dt) perigee.sleep(1) end }
    ]]
    local tick = { a = 50000 }
    assert.equal("waits", (fake_core.call(core, host, "tick", tick)))
    assert.equal("ended", (fake_core.call(core, host, "tick", tick)))
    fake_core.wake(core, host, "timer", { a = timers()[1] })
    assert.equal("waits", (fake_core.call(core, host, "tick", tick)))
    assert.equal("tick\t0.05\non_tick still waits; the next was left out\ntick\t0.05",
      fake_core.log_text(core))
  end)
end)
