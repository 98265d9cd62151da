-- Documents of older schemas, over three versions of a game.
local testing = require "perigee.testing"

local GAME = [[
local perigee = require "perigee"
local players = perigee.store("players", OPTIONS)
local game = { on_message = {} }
function game.on_message.get(peer, id)
  local value, problem, code = players:get(id)
  return { value = value, code = code }
end
function game.on_message.put(peer, p) return players:put(p.id, p.value) end
return game
]]
local FIRST = (GAME:gsub("OPTIONS", "{}"))
local SECOND = (GAME:gsub("OPTIONS", [[{ schema = 2, migrate = function(id, value, from)
  if not value.money then error("no money", 0) end
  return { coins = value.money, from = from }
end }]]))
local THIRD = (GAME:gsub("OPTIONS", [[{ schema = 3, migrate = function(id, value, from)
  if from == 1 then value = { coins = value.money } end
  return { purse = { value.coins }, from = from, id = id }
end }]]))

describe("documents of an older schema", function()
  local server, ann

  before_each(function()
    server = testing.server { source = FIRST, fuzz = false }
    ann = server:client "ann"
    for i = 1, 50 do server:store_put("players", "p" .. i, { money = i }) end
    server:advance(1)
  end)

  it("are read in the new form at once, and rewritten after the rollback window", function()
    server:reload(SECOND)
    assert.same({ coins = 7, from = 1 }, ann:ask("get", "p7").value)
    server:advance(1)
    assert.same({ money = 7 }, server:store("players").p7)
    server:advance(6)
    for i = 1, 50 do assert.same({ coins = i, from = 1 }, server:store("players")["p" .. i]) end
    server:reload(THIRD)
    assert.same({ purse = { 7 }, from = 2, id = "p7" }, ann:ask("get", "p7").value)
    server:advance(6)
    assert.same({ purse = { 50 }, from = 2, id = "p50" }, server:store("players").p50)
  end)

  it("skip a version that never ran", function()
    server:reload(THIRD)
    server:advance(6)
    assert.same({ purse = { 50 }, from = 1, id = "p50" }, server:store("players").p50)
  end)

  it("stay as they are when the version is rolled back", function()
    server = testing.server { source = FIRST, fuzz = false, config = { rollback_errors = 1 } }
    ann = server:client "ann"
    server:store_put("players", "p7", { money = 7 })
    server:store_put("players", "broken", { other = 1 })
    server:reload(SECOND)
    ann:ask("get", "broken")
    server:expect_error 'the document "broken" of players cannot be migrated from schema 1: .*no money'
    server:expect_log "rolled back"
    server:advance(20)
    assert.same({ money = 7 }, server:store("players").p7)
    assert.same({ money = 7 }, ann:ask("get", "p7").value)
  end)

  it("stay as they are when migrate returns nothing", function()
    server:reload((GAME:gsub("OPTIONS", "{ schema = 2, migrate = function() end }")))
    server:advance(6)
    server:expect_error "migrate must return the new value, not nil"
    assert.same({ money = 7 }, server:store("players").p7)
  end)

  it("are rewritten when the store works again", function()
    server:reload(SECOND)
    server:store_fails("disk full", { only = "write" })
    server:advance(10)
    assert.same({ money = 7 }, server:store("players").p7)
    server:store_fails()
    server:advance(20)
    for i = 1, 50 do assert.same({ coins = i, from = 1 }, server:store("players")["p" .. i]) end
    server:expect_error "store_failing"
  end)

  it("stay as they are when migrate fails", function()
    server:store_put("players", "broken", { other = 1 })
    server:reload(SECOND)
    server:advance(6)
    server:expect_error "no money"
    assert.same({ other = 1 }, server:store("players").broken)
    assert.same({ coins = 3, from = 1 }, server:store("players").p3)
  end)

  it("are not overwritten by an older version", function()
    server:reload(SECOND)
    ann:ask("put", { id = "new", value = { coins = 1 } })
    server:reload(FIRST)
    assert.same({ code = "VersionMismatch" }, ann:ask("get", "new"))
    ann:ask("put", { id = "new", value = { money = 9 } })
    server:advance(1)
    server:expect_error 'players "new" was not written'
    assert.same({ coins = 1 }, server:store("players").new)
  end)
end)
