--- No peer keeps a server from serving others: while one client, a game's timers or one handler have too much
--- to do, others get answers, other rooms tick, and the server ends on a signal.
local loads = require "tests.e2e.loads"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

-- Milliseconds: many times the targets of docs/benchmarks.md, because other processes share the machine, and
-- far below the times of a server without slices.
local WORST = { ping = 1500, welcome = 1500, tick = 1500, stop = 8000 }

describe("a load of", function()
  after_each(server.stop_all)

  for _, load in ipairs(loads.all) do
    it(load.label .. " does not delay others", function()
      local worst = loads.measure(load, 0.6)
      for name, most in pairs(WORST) do
        assert.is_true(worst[name] < most * wait.SLOWNESS, ("%s took %d ms"):format(name, worst[name]))
      end
    end)
  end
end)

describe("who takes most of the scripts' time", function()
  after_each(server.stop_all)

  it("is logged once, with peer, handler and line, and is in the figures", function()
    local host = server.start { flags = { rate_limit = 0 }, game = [[
      local perigee = require "perigee"
      return { on_message = {
        work = function()
          local stop = os.clock() + 0.01
          while os.clock() < stop do end
        end,
        busiest = function() return perigee.stats().busiest or false end,
      } }
    ]] }
    local ann, busy = host:client "ann", host:client "busy"
    for _ = 1, 150 do busy:send(0, "work", 1) end
    local logged = host:wait_log "more than half of the scripts' time"
    assert.equal(busy.id, logged.peer)
    assert.equal("busy", logged.name)
    assert.equal("on_message.work", logged.handler)
    assert.equal(3, logged.line)
    local busiest = ann:question(0, "busiest")
    assert.equal(busy.id, busiest.peer)
    assert.equal("on_message.work", busiest.handler)
    assert.is_true(busiest.share > 0.5)
    wait.for_true(function() return ann:question(0, "busiest") == false end)
    assert.equal(1, host:count_log "more than half of the scripts' time")
  end)
end)

describe("delivery_limit", function()
  after_each(server.stop_all)

  it("fails a handler that sends more to all together, at its line, and nothing of it is sent", function()
    local host = server.start { flags = { delivery_limit = 131072 }, game = [[
      local perigee = require "perigee"
      return {
        rooms = { lobby = { auto_create = true } },
        on_message = {
          one = function(peer) peer:rooms()[1]:broadcast("data", ("x"):rep(60000)) end,
          many = function(peer)
            for _ = 1, 20 do
              peer:rooms()[1]:broadcast("data", ("x"):rep(20000))
            end
          end,
        },
      }
    ]] }
    local ann, bob = host:client "ann", host:client "bob"
    ann:join "lobby"
    bob:join "lobby"
    ann:send(0, "one", 1)
    bob:expect("MESSAGE", { message = "data" })
    ann:send(0, "many", 1)
    host:wait_log "game.lua:8: what the handler sends comes to more than delivery_limit (0.125 MiB"
    ann:fence()
    bob:expect_quiet()
  end)

  it("does not lift the limit of one handler's commands, which has an error of its own", function()
    local host = server.start { flags = { delivery_limit = "1 GiB", handler_budget = 10 }, game = [[
      return { on_message = { flood = function(peer)
        local bytes = ("x"):rep(8e6)
        for _ = 1, 9 do peer:relay(bytes) end
      end } }
    ]] }
    local ann = host:client "ann"
    ann:expect_error("Internal", ann:ask(0, "flood", 1))
    host:wait_log "game.lua:3: the handler's messages and other commands come to more than 64 MiB"
    ann:expect_quiet()
  end)
end)
