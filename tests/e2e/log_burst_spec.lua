--- Many lines at once, to a reader that is slower than the server but reads.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local game = { on_message = {}, config = { handler_budget = 10 } }
  function game.on_message.burst()
    for i = 1, 2000 do print("line " .. i .. " " .. ("x"):rep(50)) end
    return true
  end
  return game
]]

describe("a burst of log lines", function()
  after_each(server.stop_all)

  it("is all there for a reader that goes on reading", function()
    local perigee = server.start { game = GAME }
    local client = perigee:client "ann"
    assert.is_true(client:question(0, "burst"))
    wait.for_true(function() return perigee:count_log '"line ' >= 2000 end)
    assert.equal(0, perigee:count_log "log lines were lost")
  end)
end)
