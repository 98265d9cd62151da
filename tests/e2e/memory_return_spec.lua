--- Memory that scripts no longer need returns to the system, although the remaining objects lie between the
--- freed ones.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
local perigee = require "perigee"
local game, keep = { on_message = {} }, {}
local on = game.on_message
function on.fill()
  for i = 1, 20000 do keep[#keep + 1] = { i, { x = i, name = "unit " .. #keep } } end
  return #keep
end
function on.drop()
  local rest = {}
  for i = 1, #keep do
    if i % 10000 < 1000 then rest[#rest + 1] = keep[i] end
  end
  keep = rest
  return #rest
end
function on.work()
  local t = {}
  for i = 1, 20000 do t[i % 100] = { i } end
  return perigee.stats().memory
end
return game
]]

describe("a Lua heap that has shrunk", function()
  after_each(server.stop_all)

  it("gives its memory back to the system within seconds", function()
    if wait.SLOWNESS > 1 then return pending "the sanitizer keeps what it knows of returned memory" end
    local perigee = server.start { game = GAME, flags = { handler_budget = 1 } }
    local ann = perigee:client()
    local empty = perigee:memory_kb()
    for _ = 1, 24 do ann:question(0, "fill") end
    local full = perigee:memory_kb() - empty
    assert.is_true(full > 80 * 1024, full)
    ann:question(0, "drop")
    wait.for_true(function()
      ann:question(0, "work")
      return perigee:memory_kb() - empty < full * 0.4
    end)
  end)
end)
