local fake_core = require "tests.lua.fake_core"

describe("the host", function()
  local core, host

  before_each(function()
    core = fake_core.new()
    core.rooms_by_id[7], core.peers_by_id[1] = "duel:1", true
    core.rooms_by_id[8] = "hall"
  end)

  after_each(fake_core.clean)

  local function load(source)
    host = fake_core.live(core, source)
  end

  local function call(name, event)
    return fake_core.call(core, host, name, event)
  end

  local function message(body, room, flags, ref)
    return call("message", { peer = 1, room = room, data = body, flags = flags, ref = ref })
  end

  describe("asks on_connect and on_join, which", function()
    local EVENTS = { connect = { peer = 1 }, join = { peer = 1, room = 8 } }

    -- Loads a game whose on_connect and on_join end with this return statement.
    local function load_returning(statement)
      load(("return {\n  on_connect = function() %s end,\n  on_join = function() %s end,\n}"):format(
        statement, statement))
    end

    for _, statement in ipairs { "", "return", "return nil", "return true" } do
      it(("accept with `%s`"):format(statement), function()
        load_returning(statement)
        for name, event in pairs(EVENTS) do
          assert.same({ "ended", true }, { call(name, event) })
        end
      end)
    end

    it("fail with a name that cannot be, and the error says what names are", function()
      for returned, said in pairs { ["'!'"] = '"!"', ["5"] = "a number", ["{}"] = "a table" } do
        load_returning("return true, " .. returned)
        assert.equal("failed", (call("connect", EVENTS.connect)))
        assert.truthy(fake_core.log_text(core):find(("game.lua:2: on_connect returned true and %s; "
          .. "what follows true is the peer's name: a rule"):format(said), 1, true))
      end
    end)

    it("accept under a name that follows true", function()
      load_returning "return true, 'ann'"
      assert.same({ "ended", true, "ann" }, { call("connect", EVENTS.connect) })
      assert.same({ "ended", true }, { call("join", EVENTS.join) })
    end)

    for statement, words in pairs {
      ["return false"] = "refused",
      ["return false, 'not you'"] = "not you",
      ["return nil, 'not you'"] = "not you",
      ["return nil, false"] = "false",
      ["return false, { why = 'table' }"] = "(the error is a table)",
    } do
      it(("refuse with `%s`"):format(statement), function()
        load_returning(statement)
        for name, event in pairs(EVENTS) do
          assert.same({ "ended", false, words }, { call(name, event) })
        end
      end)
    end

    for statement, returned in pairs {
      ["return 'no'"] = 'returned "no"',
      ["return 0"] = "returned 0",
      ["return 'no', true"] = 'returned "no"',
      ["return {}, 'reason'"] = "returned a table",
      ["return print"] = "returned a function",
    } do
      it(("fail with `%s`, and the error says how to write it"):format(statement), function()
        load_returning(statement)
        for name, line in pairs { connect = 2, join = 3 } do
          assert.equal("failed", (call(name, EVENTS[name])))
          assert.truthy(fake_core.log_text(core):find(("game.lua:%d: on_%s %s; "
            .. 'write `return true` to accept, or `return false, "reason"` to refuse'):format(
              line, name, returned), 1, true))
        end
      end)
    end
  end)

  describe("asks on_connect, which may say when to try again", function()
    local function connect(options)
      load(("return { on_connect = function() return false, 'soon', %s end }"):format(options))
      return { call("connect", { peer = 1 }) }
    end

    for options, seconds in pairs {
      ["{ retry = 5 }"] = 5, ["{ retry = 0 }"] = 0, ["{ retry = 0.2 }"] = 1, ["{ retry = 65535 }"] = 65535,
    } do
      it("with " .. options, function()
        assert.same({ "ended", false, "soon", seconds }, connect(options))
      end)
    end

    for _, options in ipairs {
      "5", "{}", "{ retry = -1 }", "{ retry = 65536 }", "{ retry = 0/0 }", "{ retry = '5' }", "{ retri = 5 }",
      "{ retry = 5, at = 6 }",
    } do
      it("but not with " .. options, function()
        assert.equal("failed", connect(options)[1])
        assert.truthy(fake_core.log_text(core):find("on_connect returned a third value", 1, true))
      end)
    end

    it("and on_join may not", function()
      load "return { on_join = function() return false, 'soon', { retry = 5 } end }"
      assert.equal("failed", (call("join", { peer = 1, room = 8 })))
      assert.truthy(fake_core.log_text(core):find("on_join returned a third value", 1, true))
    end)
  end)

  it("asks on_broadcast: nil and true let it pass, false drops it, a string replaces it", function()
    load [[
      local verdicts = { a = true, b = false, c = "other", d = 5 }
      return {
        on_broadcast = function(room, peer, data)
          if data == "rude" then return nil, "mind your words" end
          return verdicts[data]
        end,
      }
    ]]
    local function broadcast(data)
      return call("broadcast", { peer = 1, room = 8, data = data })
    end
    assert.same({ "ended", true }, { broadcast "?" })
    assert.same({ "ended", true }, { broadcast "a" })
    assert.same({ "ended", false }, { broadcast "b" })
    assert.same({ "ended", false }, { broadcast "rude" })
    assert.same({ "ended", "other" }, { broadcast "c" })
    assert.equal("failed", (broadcast "d"))
    assert.truthy(fake_core.log_text(core):find "on_broadcast returns nil, true, false or a string")
  end)

  it("gives rooms of a named kind to the kind alone, the others to the game", function()
    load [[
      return {
        rooms = { duel = { on_leave = function(room) print("kind", room.name) end } },
        on_join = function(room) print("game", room.name) end,
        on_leave = function(room) print("game", room.name) end,
      }
    ]]
    for room = 7, 8 do
      call("join", { peer = 1, room = room })
      call("leave", { peer = 1, room = room })
    end
    assert.equal("kind\tduel:1\ngame\thall\ngame\thall", fake_core.log_text(core))
  end)

  it("gives a message to the kind first, by name, then to the game", function()
    load [[
      return {
        rooms = { duel = { on_message = {
          move = function(room, peer, value) print("kind", room.name, peer.id, value) end,
        } } },
        on_message = function(peer, name, value, room)
          print("game", peer.id, name, value, room and room.name)
        end,
      }
    ]]
    message('["move",1]', 7)
    message('["move",2]', 8)
    message('["turn",3]', 7)
    message('["turn",4]', 0)
    assert.equal("kind\tduel:1\t1\t1\ngame\t1\tmove\t2\thall\ngame\t1\tturn\t3\tduel:1\n"
      .. "game\t1\tturn\t4\tnil", fake_core.log_text(core))
  end)

  it("answers questions with what the handler returns", function()
    load [[
      return { on_message = {
        add = function(peer, value) return value[1] + value[2] end,
        none = function() end,
        bad = function() return print end,
      } }
    ]]
    message('["add",[2,3]]', 8, 2, 11)
    message('["none",1]', 0, 2, 12)
    message('["add",[2,3]]', 8, 0, 0)
    local sends = fake_core.done(core, "send")
    assert.equal(2, #sends)
    assert.same({ 0, 1, 8, "add", '["add",5]', 7, 1, 4, 11 }, sends[1])
    assert.same({ 0, 1, 0, "none", '["none",null]', 0, 1, 4, 12 }, sends[2])
    assert.equal("failed", (message('["bad",1]', 0, 2, 13)))
  end)

  it("refuses what nobody handles and what is no message", function()
    load "return { on_message = { a = print } }"
    message('["b",1]', 0, 2, 5)
    message("garbage", 0, 0, 0)
    call("message", { peer = 1, data = "x", packet_type = 9 })
    local errors = fake_core.done(core, "error")
    assert.same({ 1, core.codes.Unsupported, 2, 5, 'no handler for message "b"' }, errors[1])
    assert.equal(core.codes.Protocol, errors[2][2])
    assert.equal(core.codes.Unsupported, errors[3][2])
  end)

  it("keeps one object for a peer, which outlives it", function()
    load [[
      local known
      return {
        on_connect = function(peer) known = peer peer.state.n = 1 end,
        on_message = function(peer, name)
          assert(rawequal(peer, known))
          print(peer.connected, peer.name, peer.state.n)
        end,
        on_disconnect = function(peer, reason)
          assert(rawequal(peer, known))
          print(peer.connected, peer.name, peer.state.n, reason)
        end,
      }
    ]]
    call("connect", { peer = 1 })
    message '["x",1]'
    call("disconnect", { peer = 1, a = core.codes.Kicked })
    assert.equal("true\tname of 1\t1\nfalse\tname of 1\t1\tKicked", fake_core.log_text(core))
    assert.is_nil(rawget(require("perigee.host.registry").peers, 1))
  end)

  it("forgets a peer that was not let in", function()
    load "return { on_connect = function(peer) peer.state.x = 1 return false end }"
    call("connect", { peer = 1 })
    call("forget", { peer = 1 })
    assert.is_nil(rawget(require("perigee.host.registry").peers, 1))
  end)

  it("names the script's line where the host's own code fails for it", function()
    load [[
      local perigee = require "perigee"
      return { on_message = {
        add = function()
          local sum = perigee.fixed.mul("a", 1)
          return sum
        end,
      } }
    ]]
    local outcome, text = message '["add",1]'
    assert.equal("failed", outcome)
    assert.matches("^[^\n]*game.lua:4: attempt to perform arithmetic .* %(in lua/perigee/fixed.lua:%d+%)$",
      text)
  end)

  it("forgets rooms and meta of a handler that fails", function()
    load [[
      local perigee = require "perigee"
      local made
      return { on_message = {
        fail = function(peer, value, room)
          room:set_meta("map", "caves")
          made = assert(perigee.rooms.create("arena", { size = 3 }))
          assert(perigee.rooms.get "arena" == made)
          error "on purpose"
        end,
        look = function(peer, value, room)
          print(room:get_meta "map", perigee.rooms.get "arena", (made:after(1, print)))
        end,
        make = function(peer, value, room)
          room:set_meta("map", "woods")
          perigee.rooms.create("arena", { size = 4 })
        end,
      }, on_create = function(room, options) print(room.name, options.size) end }
    ]]
    message('["fail",1]', 8)
    message('["look",1]', 8)
    assert.truthy(fake_core.log_text(core):find "nil\tnil\tnil$")
    message('["make",1]', 8)
    call("create", { room = core.room_find "arena" })
    assert.truthy(fake_core.log_text(core):find "arena\t4$")
  end)

  it("tells on_error of the kind, else of the game; logs an error once a second", function()
    load [[
      local duel = { on_message = { fail = function() error "in a duel" end } }
      function duel.on_error(room, report) print("kind", room.name, report.message) end
      return {
        rooms = { duel = duel },
        on_message = { fail = function() local x = nil return x.y end },
        on_error = function(report)
          print("game", report.version, report.handler, report.file:match "[^/]*$", report.line,
            report.message, report.peer.id, report.room and report.room.name,
            #report.traceback > 0)
        end,
      }
    ]]
    for _ = 1, 3 do
      assert.equal("failed", (message('["fail",1]', 8)))
    end
    message('["fail",1]', 7)
    local logged = fake_core.log_text(core)
    for _, number in ipairs(core.errors_pushed) do
      call("error", { a = number })
    end
    local lines = fake_core.log_text(core):sub(#logged + 2)
    local game = "game\t1\ton_message.fail\tgame.lua\t5\tattempt to index local 'x' (a nil value)"
      .. "\t1\thall\ttrue\n"
    assert.equal(game .. game .. game .. "kind\tduel:1\tin a duel", lines)
    local _, count = logged:gsub("on_message.fail failed", "")
    assert.equal(2, count) -- once for the game's, once for the kind's
    core.clock = core.clock + 1
    message('["fail",1]', 8)
    assert.truthy(fake_core.log_text(core):find "%(and 2 more since it was last logged%)")
  end)

  it("logs what goes on ever more rarely, and what comes again after a while at once", function()
    load "return { on_message = function() error 'again' end }"
    local function lines_in(seconds)
      local _, before = fake_core.log_text(core):gsub("failed", "")
      for _ = 1, seconds * 2 do
        message '["x",1]'
        core.clock = core.clock + 0.5
      end
      local _, after = fake_core.log_text(core):gsub("failed", "")
      return after - before
    end
    assert.equal(6, lines_in(60)) -- after 0, 1, 3, 7, 15 and 31 seconds
    assert.equal(10, lines_in(600))
    core.clock = core.clock + 61
    assert.equal(2, lines_in(3))
  end)

  it("does not tell on_error of its own errors", function()
    load "return { on_message = function() error 'a' end, on_error = function() error 'b' end }"
    message '["x",1]'
    call("error", { a = core.errors_pushed[1] })
    assert.equal(1, #core.errors_pushed)
    assert.truthy(fake_core.log_text(core):find "on_error failed: .*game.lua:1: b")
  end)

  it("records events for a game that polls, and only for that", function()
    load [[
      local perigee = require "perigee"
      return { on_tick = function()
        for event in perigee.events() do
          print(event.type, event.peer.id, event.name, event.value, event.reason)
        end
      end }
    ]]
    local hooks = core.hooks.connect + core.hooks.disconnect + core.hooks.message + core.hooks.tick
    assert.equal(hooks, core.game_hooks)
    call("connect", { peer = 1 })
    message '["x",1]'
    call("tick", { a = 50000 })
    assert.equal(hooks + core.hooks.text, core.game_hooks)
    call("text", { peer = 1, data = "hello" })
    call("disconnect", { peer = 1, a = core.codes.Kicked })
    call("tick", { a = 50000 })
    assert.equal("Connected\t1\tnil\tnil\tnil\nMessage\t1\tx\t1\tnil\n"
      .. "Message\t1\ttext\thello\tnil\nDisconnected\t1\tnil\tnil\tKicked",
      fake_core.log_text(core))
  end)

  it("stops recording when the first tick has not asked", function()
    load "return { on_tick = function() end }"
    call("tick", { a = 50000 })
    assert.equal(core.hooks.tick, core.game_hooks)
    assert.is_false(require("perigee.api.events").recording)
  end)

  it("drops the oldest events past ten thousand", function()
    load [[
      local perigee = require "perigee"
      return { on_tick = function() end, on_stop = function()
        local count, first = 0, nil
        for event in perigee.events() do count, first = count + 1, first or event.value end
        print(count, first)
      end }
    ]]
    for i = 1, 10005 do
      message('["x",' .. i .. "]")
    end
    call "stop"
    assert.truthy(fake_core.log_text(core):find "of the oldest events were dropped")
    assert.truthy(fake_core.log_text(core):find "\n10000\t6$")
  end)
end)
