--- The effect of a reload on state, rooms, meta, timers and tasks.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

-- Saves a version and reloads it by command; returns after the reload.
local function reload(perigee, text)
  perigee:save("game.lua", text)
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  local code = process:wait_exit()
  if code ~= 0 then process:fail("reload: exit code " .. code, 2) end
end

local STATE = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  local on = game.on_message
  local loads = %d
  local upvalue = 0
  function game.on_start() perigee.rooms.create "lobby" end
  function on.add(peer, value, room)
    perigee.state.sum = (perigee.state.sum or 0) + value
    room.state.list = room.state.list or {}
    table.insert(room.state.list, { value = value })
    peer.state.last = value
    upvalue = upvalue + value
    room:set_meta("sum", perigee.state.sum)
  end
  function on.look(peer, value, room)
    return {
      loads = loads,
      sum = perigee.state.sum,
      count = room.state.list and #room.state.list or 0,
      last = peer.state.last,
      upvalue = upvalue,
      meta = room:get_meta "sum",
      name = peer.name,
    }
  end
  return game
]]

describe("at a reload", function()
  after_each(server.stop_all)

  it("perigee.state, room.state, peer.state and meta stay; locals begin anew", function()
    local perigee = server.start { game = STATE:format(1) }
    local ann = perigee:client()
    local room = ann:join "lobby"
    ann:send(room, "add", 5):send(room, "add", 7)
    for loads = 2, 4 do
      reload(perigee, STATE:format(loads))
      local look = ann:question(room, "look")
      assert.same({
        loads = loads,
        sum = 12,
        count = 2,
        last = 7,
        upvalue = 0,
        meta = 12,
        name = "ann",
      }, look)
    end
  end)


  it("a version that does not load leaves no trace in the states that it reached", function()
    local perigee = server.start { game = STATE:format(1) }
    local ann = perigee:client()
    local room = ann:join "lobby"
    ann:send(room, "add", 5)
    local before = ann:question(room, "look")
    for _, ending in ipairs { "error 'broken'", "return { on_message = 5 }" } do
      perigee:save("game.lua", [[
        local perigee = require "perigee"
        local lobby = perigee.rooms.get "lobby"
        perigee.state.sum, perigee.state.more = 99, true
        lobby.state.list[1].value, lobby.state.list[2] = 99, {}
        for _, peer in ipairs(lobby:peers()) do peer.state.last = 99 end
      ]] .. ending)
      assert.equal(1, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
      assert.same(before, ann:question(room, "look"))
    end
  end)

  it("a function found in state is an error that names the key", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return {
          on_message = {
            hide = function() perigee.state.secret = function() end end,
            version = function() return 1 end,
          },
        }
      ]],
    }
    local ann = perigee:client()
    ann:question(0, "hide")
    perigee:save("game.lua", "return { on_message = { version = function() return 2 end } }")
    local process = server.perigee { "reload", "--port", tostring(perigee.port) }
    assert.equal(1, process:wait_exit())
    perigee:wait_log "secret"
    assert.equal(1, ann:question(0, "version"))
  end)

  it("a function put into state is reported when the handler ends, while the game is worked on", function()
    local GAME = [[
      local perigee = require "perigee"
      local game = { rooms = { duel = { auto_create = true, on_message = {} } } }
      local on = game.rooms.duel.on_message
      function on.hit(room, peer) room.state.players = { { on_hit = function() end } } return peer.id end
      function on.wait(room, peer) perigee.sleep(0.001) peer.state.beat = room:every(9, print) return 1 end
      function game.rooms.duel.on_join(room) room:after(0.001, function() room.state.later = print end) end
      return game
    ]]
    for _, is_watched in ipairs { true, false } do
      local perigee = server.start { game = GAME, watch = is_watched }
      local ann = perigee:client()
      local room = ann:join "duel:1"
      if is_watched then perigee:wait_log 'room.state.later is a function, in room \\"duel:1\\"' end
      local id = ann:question(room, "hit")
      ann:question(room, "wait")
      ann:fence()
      if is_watched then
        perigee:wait_log "duel.on_message.hit: room.state.players[1].on_hit is a function"
        perigee:wait_log(("duel.on_message.wait: peer.state.beat is a timer that calls a function "
          .. "instead of a name, of peer %d"):format(id))
      else
        assert.equal(0, perigee:count_log ".state.")
      end
    end
  end)

  it("a function that on_upgrade puts into state fails the reload, and leaves the state as it was", function()
    local GAME = [[
      local duel = { auto_create = true, auto_delete = 60, on_message = {} }
      function duel.on_message.look(room) return { %d, room.state.new or false } end
      function duel.on_upgrade(room) room.state.new = true %s end
      return { rooms = { duel = duel } }
    ]]
    local perigee = server.start { game = GAME:format(1, "") }
    local ann = perigee:client()
    local room = ann:join "duel:1"
    perigee:save("game.lua", GAME:format(2, "room.state.hit = function() end"))
    assert.equal(1, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
    perigee:wait_log 'after on_upgrade room.state of room \\"duel:1\\".hit holds a function; '
    assert.same({ 1, false }, ann:question(room, "look"))
    perigee:save("game.lua", GAME:format(3, ""))
    assert.equal(0, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
    assert.same({ 3, true }, ann:question(room, "look"))
  end)

  it("timers of on_start are revoked, named ones call the new code, others run on", function()
    local function game(number)
      return ([[
        local perigee = require "perigee"
        local game = { on_message = {} }
        function game.beat() print "named beat of %d" end
        function game.on_start()
          perigee.rooms.create "lobby"
          perigee.every(0.01, function() print "start beat of %d" end)
        end
        function game.on_reload()
          perigee.every(0.01, function() print "reload beat of %d" end)
        end
        function game.on_message.start()
          perigee.every(0.01, "beat")
          perigee.every(0.01, function() print "handler beat of %d" end)
        end
        return game
      ]]):format(number, number, number, number)
    end
    local perigee = server.start { game = game(1) }
    local ann = perigee:client()
    ann:question(0, "start")
    perigee:wait_log "start beat of 1"
    perigee:wait_log "named beat of 1"
    reload(perigee, game(2))
    perigee:wait_log "named beat of 2"
    perigee:wait_log "reload beat of 2"
    local start, named = perigee:count_log "start beat of", perigee:count_log "named beat of 1"
    local handler = perigee:count_log "handler beat of 1"
    reload(perigee, game(3))
    perigee:wait_log "named beat of 3"
    perigee:wait_log "reload beat of 3"
    local reloaded = perigee:count_log "reload beat of 2"
    perigee:wait_log(function() return perigee:count_log "named beat of 3" >= 5 end)
    assert.equal(start, perigee:count_log "start beat of")
    assert.equal(named, perigee:count_log "named beat of 1")
    assert.equal(reloaded, perigee:count_log "reload beat of 2")
    assert.is_true(perigee:count_log "handler beat of 1" > handler)
  end)

  it("timers by name keep their arguments, and their handles in states", function()
    local function game(number, name)
      return ([[
        local perigee = require "perigee"
        local duel = { auto_create = true, auto_delete = 60 }
        local game = { rooms = { duel = duel }, on_message = {} }
        function duel.%s(room, peer, hit)
          print(room.name .. " respawns " .. peer.name .. " after " .. hit.by .. " in code %d")
        end
        function game.tell(what) print(what .. " told by code %d") end
        function game.on_message.set(peer)
          local room = perigee.rooms.get "duel:1"
          room.state.soon = room:every(0.05, "%s", peer, { by = "an axe" })
          room.state.late = room:after(60, "%s", peer, { by = "a bow" })
          room.state.told = { perigee.every(0.01, "tell", "news") }
          room:spawn("%s", peer, { by = "a task" })
        end
        function game.on_message.cancel()
          local state = perigee.rooms.get("duel:1").state
          return { state.late:cancel(), state.told[1]:cancel(), state.late:cancel(), state.soon:cancel() }
        end
        return game
      ]]):format(name, number, number, name, name, name)
    end
    local perigee = server.start { game = game(1, "respawn") }
    local ann = perigee:client()
    ann:join "duel:1"
    ann:question(0, "set")
    perigee:wait_log "duel:1 respawns ann after a task in code 1"
    reload(perigee, game(2, "respawn"))
    perigee:wait_log "news told by code 2"
    perigee:wait_log "duel:1 respawns ann after an axe in code 2"
    assert.same({ true, true, false, true }, ann:question(0, "cancel"))
    ann:question(0, "set")
    reload(perigee, game(3, "revive"))
    perigee:wait_log "there is no function respawn in the table of room kind duel"
    assert.same({ true, true, false, true }, ann:question(0, "cancel"))
  end)

  it("on_upgrade runs for each room, then on_reload", function()
    local function game(number)
      return ([[
        return {
          rooms = {
            duel = {
              auto_create = true,
              on_upgrade = function(room, from, to)
                print("upgrade of " .. room.name .. " to code %d, " .. tostring(from ~= to))
              end,
            },
          },
          on_reload = function(from, to) print("reload to code %d, " .. tostring(to - from)) end,
        }
      ]]):format(number, number)
    end
    local perigee = server.start { game = game(1) }
    local ann = perigee:client()
    ann:join "duel:1"
    ann:join "duel:2"
    reload(perigee, game(2))
    perigee:wait_log "reload to code 2, 1"
    assert.equal(1, perigee:count_log "upgrade of duel:1 to code 2, true")
    assert.equal(1, perigee:count_log "upgrade of duel:2 to code 2, true")
    local last
    for _, line in ipairs(perigee.err) do
      if line:find(" to code 2", 1, true) then last = line end
    end
    assert.truthy(last:find("reload to code 2", 1, true))
  end)

  it("a handler that waits ends in its old code", function()
    local function game(number)
      return ([[
        local perigee = require "perigee"
        local game = { on_message = {} }
        function game.on_message.wait(peer)
          local answer = peer:ask("go on?", %d, 30)
          peer:send("went on in", %d)
        end
        return game
      ]]):format(number, number)
    end
    local perigee = server.start { game = game(1) }
    local ann = perigee:client()
    ann:send(0, "wait")
    local question = ann:expect("MESSAGE", { message = "go on?", value = 1 })
    reload(perigee, game(2))
    ann:send(0, "go on?", true, { flags = 4, ref = question.ref })
    ann:expect("MESSAGE", { message = "went on in", value = 1 })
    ann:send(0, "wait")
    ann:expect("MESSAGE", { message = "go on?", value = 2 })
  end)

  it("log lines carry the version whose code wrote them", function()
    local function game(number)
      return ([[
        local perigee = require "perigee"
        print "loading %d"
        local game = { on_conect = print, on_message = {} }
        function game.on_message.wait() perigee.sleep(0.3) print "waited %d" error "failed %d" end
        return game
      ]]):gsub("%%d", number)
    end
    local perigee = server.start { game = game(1) }
    local function check(number, ...)
      for _, text in ipairs { ... } do
        local line = perigee:wait_log(function(fields) return fields.message:find(text, 1, true) end)
        assert.equal(number, line.version, text)
      end
    end
    check(1, "loading 1", "there is no handler on_conect")
    local ann = perigee:client()
    ann:send(0, "wait")
    ann:fence()
    perigee:save("game.lua", game(2))
    perigee:kill "sighup"
    check(2, "loading 2", "reloaded: version 2")
    check(1, "waited 1", "failed 1")
    local warnings = 0
    for _, line in ipairs(perigee.err) do
      if line:find("on_conect", 1, true) then
        warnings = warnings + 1
        assert.truthy(line:find(('"version":%d'):format(warnings), 1, true), line)
      end
    end
    assert.equal(2, warnings)
  end)

  it("settings of the game that changed hold from then on", function()
    local function game(max_clients)
      return ("return { config = { max_clients = %d } }"):format(max_clients)
    end
    local perigee = server.start { game = game(1) }
    perigee:client()
    local bob = perigee:raw()
    bob:control("HELLO", packet.hello { name = "bob" })
    bob:expect_rejected "ServerFull"
    reload(perigee, game(2))
    perigee:client "bob"
  end)

  it("settings of kinds that changed hold from then on", function()
    local function game(capacity)
      return ("return { rooms = { duel = { auto_create = true, capacity = %d } } }"):format(capacity)
    end
    local perigee = server.start { game = game(1) }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:join "duel:1"
    bob:expect_error("RoomFull", bob:request("JOIN", packet.str8 "duel:1"))
    reload(perigee, game(2))
    bob:join "duel:1"
  end)
end)
