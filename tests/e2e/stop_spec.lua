--- How servers are stopped: by the game, and by `perigee stop`.
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  return {
    on_message = {
      enough = function(_, why) perigee.stop(why) perigee.send(perigee.to.all, "bye") end,
      fail = function() perigee.stop "never" error "no" end,
    },
    on_stop = function(reason) print("stopped by " .. reason) end,
  }
]]

describe("a server", function()
  local perigee

  after_each(server.stop_all)

  it("is stopped by its game when the handler has ended", function()
    perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    ann:send(0, "fail")
    perigee:wait_log "no"
    ann:send(0, "enough", "the match is over")
    ann:expect "MESSAGE"
    ann:expect_closing "Unavailable"
    perigee:wait_log "stopped by the match is over"
    assert.equal("the match is over", perigee:wait_log("stopping").reason)
    assert.equal(0, perigee:wait_exit())
  end)

  it("is stopped by its on_start, and not by the top level, which is no handler", function()
    perigee = server.start { game = [[
      local perigee = require "perigee"
      return { on_start = function() perigee.stop "nothing to do" end }
    ]] }
    assert.equal(0, perigee:wait_exit())
    perigee = server.launch { game = 'require("perigee").stop() return {}' }
    assert.equal(1, perigee:wait_exit())
    local problem = "game%.lua:1: perigee%.stop cannot be called while the game is being loaded"
    assert.matches(problem, table.concat(perigee.err))
  end)

  it("is stopped by perigee stop", function()
    perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local stop = server.perigee { "stop", "--port", tostring(perigee.port) }
    assert.equal(0, stop:wait_exit())
    assert.same({ "perigee: the server has stopped" }, stop.out)
    assert.same({}, stop.err)
    ann:expect_closing "Unavailable"
    perigee:wait_log "stopped by perigee stop"
    assert.equal(0, perigee:wait_exit())
  end)

  it("is waited for by perigee stop, which shows that it does", function()
    perigee = server.start { flags = { handler_budget = 3 }, game = [[
      local perigee = require "perigee"
      return { on_stop = function()
        local until_when = os.clock() + 1.3
        while os.clock() < until_when do end
      end }
    ]] }
    local port = tostring(perigee.port)
    local stop = server.perigee { "stop", "--port", port, "--timeout=1" }
    assert.equal(1, stop:wait_exit())
    local order = "`kill %-KILL " .. perigee.pid .. "`"
    assert.matches("has not stopped within 1 s; .*" .. order, table.concat(stop.err))
    assert.equal(0, perigee:wait_exit())
    perigee = server.start { flags = { handler_budget = 3 }, game = [[
      local perigee = require "perigee"
      return { on_stop = function()
        local until_when = os.clock() + 1.1
        while os.clock() < until_when do end
      end }
    ]] }
    stop = server.perigee { "stop", "an update", "--port", tostring(perigee.port) }
    assert.equal(0, stop:wait_exit())
    assert.same({ "perigee: the server has stopped" }, stop.out)
    assert.matches("^perigee: the server is stopping %.+$", stop.err[1])
    assert.equal(0, perigee:wait_exit())
    stop = server.perigee { "stop", "--port", port, "--timeout", "x" }
    assert.equal(2, stop:wait_exit())
  end)

  it("has to be there to be stopped", function()
    local stop = server.perigee { "stop", "--port", "1" }
    assert.equal(1, stop:wait_exit())
    assert.matches("no server of yours is running on port 1", stop.err[1])
  end)
end)
