local helper = require "spec.helper"
local testing = require "perigee.testing"

describe("saving while people play", function()
  local server, ann, bob

  before_each(function()
    server, ann, bob = helper.duel()
    ann:shoot(0)
  end)

  it("changes how fast bullets are, in the running match", function()
    ann.client:clear()
    server:reload(helper.source "rules.bullet_speed = 1600")
    ann.client:expect("rules", { rules = function(rules) return rules.bullet_speed == 1600 end })
    ann:input { a = 0, f = 1 }
    ann:input {}
    assert.equal(1600, ann.client:expect("shot").speed)
    assert.equal(1, ann:fighter().score)
    assert.equal(1, bob:fighter().deaths)
    assert.is_true(ann.client.connected)
  end)

  it("lets a match go on when the new version is broken", function()
    local result, problem = server:try_reload "return {"
    assert.is_nil(result)
    assert.matches("game.lua:1", problem)
    ann:hold({ x = 1 }, 0.5)
    assert.is_true(ann:fighter().x > 300)
    ann.client:clear()
    ann.client:expect "snapshot"
  end)

  it("moves walls, and whoever stands there", function()
    ann:put(300, 500)
    server:reload(helper.source "map.walls = { { 200, 400, 200, 200 } }")
    ann.client:expect("rules", { map = function(map) return map.walls[1][1] == 200 end })
    ann:hold({ x = 0.01 }, 0.2)
    local fighter = ann:fighter()
    assert.is_true(fighter.x <= 200 or fighter.x >= 400 or fighter.y <= 400 or fighter.y >= 600)
  end)

  it("brings bots in at once", function()
    server:reload(helper.source "rules.fill_to = 5")
    assert.equal(5, #server:room("arena:1").state.fighters)
  end)

  it("may change the places of power-ups", function()
    server:reload(helper.source "map.items = { { 200, 200 }, { 300, 200 }, { 400, 200 } }")
    server:advance(10)
    ann.client:expect("item", { index = 3, x = 400 })
    server:reload(helper.source "map.items = {}")
    assert.same({}, server:room("arena:1").state.items)
  end)
end)

describe("the game as it is on the disk", function()
  it("has the first edit in game.lua, and it counts", function()
    local file = assert(io.open(package.searchpath("game", package.path)))
    local text = file:read "*a"
    file:close()
    local changed, count = text:gsub("rules%.bullet_speed = %d+", "rules.bullet_speed = 1234")
    assert.equal(1, count)
    assert.truthy(text:find("-- Try this:", 1, true))
    local server = testing.server()
    local ann = server:client "ann"
    ann:join "arena:1"
    server:reload(changed)
    local rules = ann:expect("rules").rules
    assert.equal(1234, rules.bullet_speed)
    ann:clear()
    assert.equal(1234, ann:expect("shot", nil, 30).speed)
  end)
end)
