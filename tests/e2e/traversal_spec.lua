--- Hot loops over pairs and next. Debian's LuaJIT compiles loops over its own functions wrongly.
local server = require "tests.e2e.server"

-- Counts the loops that went wrong.
local GAME = [[
  local game = { on_message = {}, config = { handler_budget = 30 } }
  local five = { 1, 2, 3, 4, 5 }
  local tables = { a = five, b = five, c = five, d = five, e = five }

  local function warm() for _ = 1, 100 do end end

  function game.on_message.nested()
    local wrong = 0
    for _ = 1, 50000 do
      warm()
      local count = 0
      for _, inner in pairs(tables) do
        for _ in pairs(inner) do end
        count = count + 1
      end
      wrong = wrong + (count == 5 and 0 or 1)
    end
    return wrong
  end

  function game.on_message.next()
    local wrong = 0
    for _ = 1, 50000 do
      warm()
      local count = 0
      for _, inner in next, tables do
        for _ in next, inner do end
        count = count + 1
      end
      wrong = wrong + (count == 5 and 0 or 1)
    end
    return wrong
  end

  function game.on_message.faults()
    return { select(2, pcall(pairs)), select(2, pcall(next, 5)),
      select(2, pcall(function() for _ in pairs(nil) do end end)) }
  end

  return game
]]

describe("loops over tables", function()
  after_each(server.stop_all)

  it("give each entry once, however often they run", function()
    local client = server.start { game = GAME }:client "ann"
    assert.equal(0, client:question(0, "nested"))
    assert.equal(0, client:question(0, "next"))
  end)

  it("say what they are over when that is no table", function()
    local faults = server.start { game = GAME }:client("ann"):question(0, "faults")
    assert.equal("bad argument #1 to 'pairs' (table expected, got nil)", faults[1]:match "bad.*")
    assert.equal("bad argument #1 to 'next' (table expected, got number)", faults[2]:match "bad.*")
    assert.matches("game.lua:%d+: bad argument #1 to 'pairs' %(table expected, got nil%)$", faults[3])
  end)
end)
