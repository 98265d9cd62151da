-- The store of simulated servers, which is in memory.
local testing = require "perigee.testing"

local GAME = [[
local perigee = require "perigee"
local players = perigee.store "players"
local game = { on_message = {} }
function game.on_message.get(peer, id)
  local value, problem, code = players:get(id)
  return { value = value, problem = problem, code = code }
end
function game.on_message.put(peer, p) return players:put(p.id, p.value) end
function game.on_message.commit()
  local before = perigee.now()
  local ok, problem, code = perigee.store.commit()
  return { ok = ok, problem = problem, code = code, after = perigee.now() - before }
end
return game
]]

describe("the store of a simulated server", function()
  local server, ann

  before_each(function()
    server = testing.server { source = GAME, fuzz = false }
    ann = server:client "ann"
  end)

  it("keeps documents in memory", function()
    ann:ask("put", { id = "ann", value = { coins = 5 } })
    assert.same({ coins = 5 }, ann:ask("get", "ann").value)
    assert.same({}, ann:ask("get", "bob"))
    assert.is_true(ann:ask("commit").ok)
  end)
end)
