-- The server of a spec: its time, its rooms and peers, its log, its reloads.
local testing = require "perigee.testing"

describe("time", function()
  it("moves only when the spec says so", function()
    local server = testing.server { fuzz = false }
    assert.equal(0, server:now())
    local ann = server:client "ann"
    ann:join "hall"
    server:advance(10)
    assert.near(10, server:now(), 0.001)
    assert.near(100, server:room("hall").state.ticks, 1)
  end)

  it("passes an idle hour in no time", function()
    local server = testing.server()
    local ann, bob = server:clients(2)
    local start = os.clock()
    server:advance(3600)
    assert.is_true(os.clock() - start < 0.5)
    assert.is_true(ann.connected and bob.connected)
  end)

  it("is shared by tasks", function()
    local server = testing.server { fuzz = false }
    local ann, bob = server:clients(2)
    local order = {}
    for i, client in ipairs { ann, bob } do
      client:spawn(function(own)
        for step = 1, 3 do
          own:sleep(i)
          order[#order + 1] = own.name .. step
        end
      end)
    end
    assert.equal("done", server:run(function(word)
      bob:sleep(2.5)
      order[#order + 1] = word
      return "done"
    end, "main"))
    server:run()
    assert.equal(6, server:now())
    assert.equal("ann1 ann2 bob1 main ann3 bob2 bob3", table.concat(order, " "):gsub(
      "bob1 ann2", "ann2 bob1"))
  end)

  it("is exact for whole seconds, in the game as in the spec", function()
    local server = testing.server { source = [[
      local perigee = require "perigee"
      local SECONDS = 10
      return { on_message = { check = function(peer)
        local start = perigee.now()
        perigee.after(SECONDS, function()
          local is_due = perigee.now() >= start + SECONDS and perigee.now() - start >= SECONDS
          peer:send(is_due and "due" or "early")
        end)
      end } }
    ]] }
    local ann = server:client "ann"
    for _ = 1, 400 do
      ann:send "check"
      server:advance(0.013)
    end
    server:advance(20)
    assert.equal(400, #ann:received "due")
  end)

  it("does not hide the errors of tasks", function()
    local server = testing.server()
    server:spawn(function()
      server:sleep(1)
      error "in a task"
    end)
    assert.has_error(function() server:advance(2) end)
  end)

  it("ends a wait that could only be for ever", function()
    local server = testing.server { source = "return {}" }
    local ann = server:client "ann"
    ann:stall()
    assert.has_error(function()
      server:run(function() ann:recv() end)
    end)
  end)
end)

describe("the environment", function()
  local SOURCE = [[
    local perigee = require "perigee"
    return { on_message = { read = function(_, name) return perigee.env(name) end } }
  ]]

  it("is what the spec gives, and nothing else", function()
    local server = testing.server { source = SOURCE, env = { GAME_A = "one", GAME_B = "" } }
    local ann = server:client "ann"
    assert.equal("one", ann:ask("read", "GAME_A"))
    assert.equal("", ann:ask("read", "GAME_B"))
    assert.is_nil(ann:ask("read", "GAME_C"))
    server:reload()
    assert.equal("one", ann:ask("read", "GAME_A"))
  end)

  it("has texts by name", function()
    for _, wrong in ipairs { 1, true } do
      local _, problem = pcall(testing.server, { source = SOURCE, env = { GAME_A = wrong } })
      assert.matches("server_spec.lua:%d+: env.GAME_A is a string, not a " .. type(wrong), problem)
    end
  end)
end)

describe("the inside", function()
  it("is shown in copies", function()
    local server = testing.server()
    local ann = server:client "ann"
    ann:join "hall"
    ann:join "hall:2"
    local room = server:room "hall"
    assert.same({ { id = ann.id, name = "ann" } }, room.peers)
    assert.same({ open = true }, room.meta)
    assert.equal(1, room.count)
    room.state.ticks = "mine"
    assert.is_number(server:room("hall").state.ticks)
    assert.is_nil(server:room "cellar")
    local rooms = server:rooms()
    assert.equal("hall", rooms["hall:2"].kind)
    assert.same({ "hall", "hall:2" }, server:peer(ann).rooms)
    assert.same({}, server:state().told)
    assert.equal(1, server:stats().peers)
    ann:close()
    assert.is_nil(server:peer(ann))
  end)
end)

describe("the log", function()
  it("is looked through for errors", function()
    local server = testing.server()
    local ann = server:client "ann"
    ann:send("fail", "out of order")
    assert.matches("game.lua:%d+: out of order", server:expect_error "out of order")
    server:expect_log "connected peer=1 name=ann"
    server:expect_log "name=a%a+ "
    assert.equal(1, #server:errors())
    local ok, problem = pcall(server.expect_error, server, "in order", 1)
    assert.is_false(ok)
    assert.matches('the log has no error like "in order", in 1 s', tostring(problem))
  end)
end)

describe("a reload", function()
  it("keeps those who play", function()
    local server = testing.server()
    local ann, bob = server:clients(2)
    local room = ann:join "hall"
    bob:join "hall"
    server:reload [[
      local hall = { on_message = {} }
      function hall.on_message.move(room) room:broadcast("new", room.state.ticks) end
      return { rooms = { hall = hall } }
    ]]
    room:send "move"
    bob:expect("new", server:room("hall").state.ticks)
  end)

  it("takes files by name, and keeps those that were given before", function()
    local server = testing.server()
    local ann = server:client "ann"
    local ok, problem = server:try_reload 'return { on_message = require "talk" }'
    assert.is_nil(ok)
    assert.matches("talk", problem)
    assert.equal(1, ann:ask("echo", 1))
    server:reload { ["talk.lua"] = "return { say = function(peer) peer:send 'hello' end }" }
    ann:send "say"
    ann:expect "hello"
    server:reload { ["talk.lua"] = "return { say = function(peer) peer:send 'hi' end }" }
    ann:send "say"
    ann:expect "hi"
  end)

  it("says what is wrong", function()
    local server = testing.server { files = { ["game.lua"] = "return {}" } }
    local ok, problem = pcall(server.reload, server, "return {")
    assert.is_false(ok)
    assert.matches("the reload failed: .*game.lua:1:", tostring(problem))
  end)
end)

describe("the end", function()
  it("of the server is told to everybody", function()
    local server = testing.server()
    local ann = server:client "ann"
    server:stop()
    local heard = {}
    for event in ann.recv, ann do heard[#heard + 1] = event.name or event.type end
    assert.same({ "bye", "closed" }, heard)
    ann:expect_closed "Unavailable"
  end)

  it("may be the game's wish", function()
    local server = testing.server { source = [[
      local perigee = require "perigee"
      return { on_message = { enough = function() perigee.stop "done" end } }
    ]] }
    local ann = server:client "ann"
    ann:send "enough"
    ann:expect_closed "Unavailable"
  end)

  it("of a game that does not load names what is wrong", function()
    local ok, problem = pcall(testing.server, { source = "return 5 5" })
    assert.is_false(ok)
    assert.matches("the game does not load: .*game.lua:1", tostring(problem))
    ok, problem = pcall(testing.server, { source = "return {}", config = { max_client = 3 } })
    assert.is_false(ok)
    assert.matches("there is no config.max_client; did you mean config.max_clients%?", tostring(problem))
    ok, problem = pcall(testing.server, { source = "return {}", config = { tick_rate = "fast" } })
    assert.is_false(ok)
    assert.matches('config.tick_rate must be a number from 0.01 to 1000, not "fast"', tostring(problem))
    assert.has_error(function() testing.server { sed = 1 } end)
  end)
end)

describe("a trace", function()
  local function play(seed)
    local server = testing.server { seed = seed, network = { latency = 0.02, jitter = 0.05, loss = 0.1 } }
    local ann, bob = server:clients(2)
    for _, client in ipairs { ann, bob } do
      client:spawn(function()
        local room = client:join "hall"
        for x = 1, 20 do
          room:send("move", { x = x })
          client:send "roll"
          client:sleep(0.05)
        end
      end)
    end
    server:run()
    bob:cut()
    server:advance(1)
    return server:trace()
  end

  it("is the same for the same seed", function()
    local first = play(7)
    assert.equal(first, play(7))
    assert.not_equal(first, play(8))
    assert.matches(" bob < reset\n", first)
    assert.matches(' ann > .*"rolled"', first)
    assert.matches(" log info connected peer=1 name=ann", first)
  end)
end)

describe("a match", function()
  it("of ten minutes, eight players and 20 ticks a second takes moments", function()
    local server = testing.server { source = [[
      local arena = { auto_create = true, tick_rate = 20, on_message = {} }
      function arena.on_message.input(_, peer, value) peer.state.x = value.x end
      function arena.on_tick(room)
        local places = {}
        for i, peer in ipairs(room:peers()) do places[i] = peer.state.x or 0 end
        room:broadcast("places", places)
      end
      return { rooms = { arena = arena } }
    ]], fuzz = false }
    local start = os.clock()
    local players = { server:clients(8) }
    for _, player in ipairs(players) do
      player:spawn(function()
        local arena = player:join "arena"
        for x = 1, 12000 do
          arena:send("input", { x = x })
          player:sleep(0.05)
        end
      end)
    end
    server:run()
    assert.is_true(os.clock() - start < 10, "far from a second")
    assert.near(12000, #players[8]:received "places", 2)
    assert.equal(600, server:now())
  end)
end)

describe("a function in a state", function()
  it("fails the test, with its path, when the handler ends", function()
    local server = testing.server { source = [[
      local game = { on_message = {} }
      function game.on_message.keep(peer) peer.state.callbacks = { hit = function() end } end
      return game
    ]] }
    server:client("ann"):send "keep"
    server:expect_error "on_message.keep: peer.state.callbacks.hit is a function, of peer 1 (ann)"
  end)
end)
