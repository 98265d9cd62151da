local helper = require "spec.helper"

describe("a fighter", function()
  local server, ann

  before_each(function()
    server = helper.exact_server()
    ann = helper.player(server, "ann")
    ann:put(200, 500)
  end)

  it("goes where its keys say, as fast as the rules say", function()
    ann:hold({ x = 1 }, 1)
    local fighter = ann:fighter()
    -- The distance of one second at full speed, minus the time of acceleration, with a tolerance of a tick.
    assert.near(200 + 270 * (1 - 1 / 14), fighter.x, 14)
    assert.near(500, fighter.y, 0.1)
  end)

  it("is no faster across", function()
    ann:hold({ x = 1, y = 1 }, 1)
    local fighter = ann:fighter()
    local way = math.sqrt((fighter.x - 200) ^ 2 + (fighter.y - 500) ^ 2)
    assert.near(270 * (1 - 1 / 14), way, 14)
  end)

  it("stands still soon after the keys are let go", function()
    ann:hold({ x = 1 }, 0.5)
    ann:hold({}, 0.5)
    local x = ann:fighter().x
    ann:hold({}, 0.5)
    assert.near(x, ann:fighter().x, 0.5)
  end)

  it("stops at walls and slides along them", function()
    ann:put(700, 420)
    ann:hold({ x = 1, y = 1 }, 0.5)
    local fighter = ann:fighter()
    assert.near(760, fighter.x, 0.5)
    assert.is_true(fighter.y > 470)
    ann:hold({ x = 1, y = 1 }, 1)
    assert.is_true(ann:fighter().x > 800) -- it slid around the end of the wall
  end)

  it("stays in the arena", function()
    ann:hold({ x = -1, y = -1 }, 5)
    assert.near(20, ann:fighter().x, 0.1)
    assert.near(20, ann:fighter().y, 0.1)
  end)

  it("dashes now and then", function()
    ann:hold({ x = 1 }, 1)
    local plain = ann:fighter().x - 200
    ann:put(200, 500)
    ann:input { x = 1, d = 1 }
    ann:hold({ x = 1, d = 1 }, 1) -- a held key makes only one dash
    local dashed = ann:fighter().x - 200
    assert.is_true(dashed > plain + 40)
    assert.is_true(dashed < plain + 100)
  end)

  it("rests when its page says nothing any more", function()
    ann:input { x = 1, f = 1 }
    server:advance(2)
    local x = ann:fighter().x
    server:advance(2)
    assert.near(x, ann:fighter().x, 0.1)
    assert.is_false(ann:fighter().is_firing)
  end)

  it("is seen by others where it is", function()
    local bob = helper.player(server, "bob")
    ann:hold({ y = 1 }, 1)
    bob.client:clear()
    local snapshot = bob.client:expect "snapshot"
    local fighter = ann:fighter()
    local seen = snapshot.fighters[1]
    assert.equal(ann.id, seen.id)
    assert.near(fighter.x, seen.x, 15)
    assert.near(fighter.y, seen.y, 15)
    assert.equal(ann.n, seen.input)
  end)
end)

describe("somebody who joins", function()
  it("watches until they play", function()
    local server = helper.server()
    local ann = server:client "ann"
    local room = ann:join "arena:1"
    ann:expect("state", { you = ann.id })
    ann:expect "snapshot"
    assert.same({}, server:room("arena:1").state.fighters)
    assert.is_true(room:ask("play", "Ann of the Hills"))
    ann:expect("joined", { id = ann.id, name = "Ann of the Hills" })
    assert.is_false(room:ask("play", "Ann again"))
    assert.equal(1, #server:room("arena:1").state.fighters)
  end)

  it("gets all there is to know", function()
    local server = helper.server()
    local ann = helper.player(server, "ann")
    local state = ann.client:expect "state"
    assert.equal(ann.id, state.you)
    assert.equal(700, state.rules.bullet_speed)
    assert.same({ 780, 400, 40, 200 }, state.map.walls[1])
    assert.equal("ann", ann.client:expect("joined").name)
    local bob = helper.player(server, "bob")
    assert.equal("ann", bob.client:expect("state").fighters[1].name)
    ann.client:expect("joined", { id = bob.id, name = "bob" })
    bob.client:close()
    ann.client:expect("left", { id = bob.id })
    assert.equal(1, #server:room("arena:1").state.fighters)
  end)

  it("has a name and a colour of its own", function()
    local server = helper.server()
    local ann = helper.player(server, "ann")
    local other = helper.player(server, "ann")
    assert.equal("ann 2", other:fighter().name)
    assert.not_equal(ann:fighter().color, other:fighter().color)
    local long = helper.player(server, ("ä"):rep(30))
    assert.equal(("ä"):rep(16), long:fighter().name)
  end)

  it("watches and talks without a page", function()
    local server = helper.server()
    local ann = helper.player(server, "ann")
    local nc = server:client { name = "nick", text = true }
    nc:join "arena:1"
    assert.equal(1, #server:room("arena:1").state.fighters)
    nc:line "go ann"
    ann.client:expect("chat", { name = "nick", text = "go ann" })
    server:advance(1)
    nc:close()
    server:advance(1)
    assert.equal(0, #server:room("arena:1").state.readers)
  end)

  it("finds sixteen places", function()
    local server = helper.server()
    for _, client in ipairs { server:clients(16) } do client:join("arena:1"):ask("play", client.name) end
    local _, _, code = server:client("late"):try_join "arena:1"
    assert.equal("RoomFull", code)
    server:client("later"):join "arena:2"
  end)
end)
