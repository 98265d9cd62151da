local helper = require "spec.helper"

describe("a shot", function()
  local server, ann, bob

  before_each(function()
    server, ann, bob = helper.duel()
  end)

  local function one_shot(angle)
    ann:input { a = angle, f = 1 }
    ann:input { a = angle }
    server:advance(1.2)
  end

  it("hurts whom it hits", function()
    one_shot(0)
    assert.equal(80, bob:fighter().health)
    assert.equal(100, ann:fighter().health)
    bob.client:expect("hit", { victim = bob.id })
  end)

  it("misses who is elsewhere", function()
    one_shot(0.3)
    assert.equal(100, bob:fighter().health)
  end)

  it("is shown to everybody before it hits", function()
    ann:input { a = 0, f = 1 }
    ann:input {}
    server:advance(0.1)
    local shot = bob.client:expect "shot"
    assert.equal(ann.id, shot.owner)
    assert.equal(700, shot.speed)
    assert.equal(100, bob:fighter().health)
  end)

  it("is stopped by walls", function()
    bob:put(1000, 500)
    ann:put(600, 500)
    one_shot(0)
    assert.equal(100, bob:fighter().health)
    assert.same({}, server:room("arena:1").state.bullets)
  end)

  it("hits however fast it is", function()
    server:reload(helper.source "rules.bullet_speed = 20000")
    one_shot(0)
    assert.equal(80, bob:fighter().health)
  end)

  it("ends after a while", function()
    bob:put(1500, 900)
    one_shot(-0.2)
    assert.same({}, server:room("arena:1").state.bullets)
  end)

  it("does nothing to somebody who has just come, until they shoot themselves", function()
    server:reload(helper.source "rules.safe_after_spawn = 60")
    bob:put(500, 500, { safe_until = 2000 })
    one_shot(0)
    assert.equal(100, bob:fighter().health)
    bob:input { a = 1.5, f = 1 }
    bob:input {}
    one_shot(0)
    assert.equal(80, bob:fighter().health)
  end)

  it("of somebody who has left hurts nobody", function()
    ann:input { a = 0, f = 1 }
    server:advance(0.05)
    ann.client:close()
    server:advance(1)
    assert.equal(100, bob:fighter().health)
  end)
end)

describe("a kill", function()
  local server, ann, bob

  before_each(function()
    server, ann, bob = helper.duel()
    ann:shoot(0)
  end)

  it("counts for one and against the other, and everybody hears of it", function()
    assert.equal(1, ann:fighter().score)
    assert.equal(1, bob:fighter().deaths)
    for _, player in ipairs { ann, bob } do
      player.client:expect("kill", { by = ann.id, victim = bob.id, score = 1, deaths = 1, streak = 1 })
    end
  end)

  it("puts the other out for a while", function()
    assert.is_true(bob:fighter().is_dead)
    local x = bob:fighter().x
    bob:hold({ x = 1, f = 1 }, 0.3)
    assert.equal(x, bob:fighter().x)
    assert.same({}, server:room("arena:1").state.bullets)
  end)

  it("is over after the time of the rules", function()
    bob.client:clear()
    bob.client:expect("spawned", { id = bob.id }, 3)
    assert.is_false(bob:fighter().is_dead)
    assert.equal(100, bob:fighter().health)
  end)

  it("gives back some health where the rules say so", function()
    server:reload(helper.source "rules.health_for_a_kill = 30")
    server:advance(3)
    ann:put(200, 500, { health = 50 })
    bob:put(500, 500)
    ann:shoot(0)
    assert.equal(80, ann:fighter().health)
    assert.equal(2, ann:fighter().score)
  end)
end)

describe("a power-up", function()
  local server, ann

  local function lay(kind)
    server = helper.exact_server(("rules.item_kinds = { %q }"):format(kind))
    ann = helper.player(server, "ann")
    server:advance(5)
    ann.client:expect("item", { index = 1, kind = kind })
  end

  it("heals who needs it", function()
    lay "heal"
    ann:put(1500, 900)
    server:advance(0.2)
    ann.client:expect_nothing("item", { by = ann.id })
    ann:put(1500, 900, { health = 10 })
    ann.client:expect("item", { index = 1, by = ann.id })
    assert.equal(60, ann:fighter().health)
  end)

  it("makes shots faster for a while", function()
    lay "rapid"
    ann:put(1500, 900)
    server:advance(0.2)
    ann.client:clear()
    ann:hold({ a = 3, f = 1 }, 3)
    assert.is_true(#ann.client:received "shot" > 35)
    ann:put(1400, 100) -- away from the item, which would be taken again
    server:advance(6)
    ann.client:clear()
    ann:hold({ a = 3, f = 1 }, 3)
    assert.is_true(#ann.client:received "shot" < 22)
  end)

  it("makes three of one", function()
    lay "triple"
    ann:put(1500, 900)
    server:advance(0.2)
    ann.client:clear()
    ann:input { a = 3, f = 1 }
    ann:input {}
    server:advance(0.2)
    assert.equal(3, #ann.client:received "shot")
  end)

  it("comes back", function()
    lay "rapid"
    ann:put(1500, 900)
    ann.client:expect("item", { by = ann.id })
    ann:put(200, 200)
    ann.client:expect("item", { index = 1, kind = "rapid" }, 10)
  end)
end)

describe("a round", function()
  it("ends with enough kills, says who won, and begins anew", function()
    local server = helper.exact_server "rules.kills_to_win = 2; rules.pause_seconds = 7"
    local ann, bob = helper.player(server, "ann"), helper.player(server, "bob")
    for _ = 1, 2 do
      ann:put(200, 500)
      bob:put(500, 500)
      ann:shoot(0)
      server:advance(2.5)
    end
    bob.client:expect("round", { over = true, winner = ann.id })
    ann:hold({ a = 0, f = 1 }, 1)
    assert.same({}, server:room("arena:1").state.bullets)
    bob.client:expect("round", { over = false }, 8)
    assert.equal(0, ann:fighter().score)
    assert.equal(0, bob:fighter().deaths)
  end)

  it("ends with its time, and nobody may have won", function()
    local server = helper.exact_server "rules.round_seconds = 20"
    local ann = helper.player(server, "ann")
    ann.client:expect("round", { over = true }, 25)
    assert.is_nil(server:room("arena:1").state.winner)
  end)
end)
