local helper = require "spec.helper"

describe("chat", function()
  local server, ann, bob

  before_each(function()
    server = helper.server()
    ann, bob = helper.player(server, "ann"), helper.player(server, "bob")
  end)

  it("reaches everybody in the match", function()
    ann.room:send("chat", "hello")
    for _, player in ipairs { ann, bob } do
      player.client:expect("chat", { id = ann.id, name = "ann", text = "hello" })
    end
  end)

  it("is one line, not too long", function()
    ann.room:send("chat", "  a\nb\27[31m  ")
    bob.client:expect("chat", { text = "a b [31m" })
    ann.room:send("chat", ("ß"):rep(500))
    bob.client:expect("chat", { text = ("ß"):rep(120) })
    for _, nothing in ipairs { "", "  \n ", 17, { "hello" }, true } do ann.room:send("chat", nothing) end
    bob.client:expect_nothing "chat"
  end)

  it("does not let one fill the screen", function()
    for i = 1, 20 do ann.room:send("chat", "line " .. i) end
    server:advance(1)
    assert.equal(3, #bob.client:received "chat")
    ann.client:expect "slow_down"
    server:advance(5)
    ann.room:send("chat", "sorry")
    bob.client:expect("chat", { text = "sorry" })
  end)
end)

describe("a cheat", function()
  local server, ann, bob

  before_each(function()
    server, ann, bob = helper.duel()
  end)

  it("is no faster with a long direction", function()
    -- A client that knows the schema cannot even send such an input.
    local eve = helper.player(server, "eve", { schema = false })
    eve:put(200, 900)
    eve:hold({ x = 1000 }, 1)
    assert.is_true(eve:fighter().x < 200 + 275)
  end)

  it("is no faster with more messages", function()
    for _ = 1, 20 do
      for _ = 1, 10 do ann:input { x = 1, d = 1 } end
      server:advance(0.05)
    end
    assert.is_true(ann:fighter().x < 200 + 275 + 90) -- only the dash adds to its way
  end)

  it("cannot say where it is", function()
    -- Without the schema, its messages may have any fields.
    local eve = helper.player(server, "eve", { schema = false })
    eve:put(200, 100)
    eve.room:send("input", { n = 1, x = 0, y = 0, a = 0, f = false, d = false, px = 1500, vx = 9999,
      health = 1e6, score = 99 })
    server:advance(0.5)
    assert.near(200, eve:fighter().x, 0.1)
    assert.equal(100, eve:fighter().health)
    assert.equal(0, eve:fighter().score)
  end)

  it("shoots no faster with more messages", function()
    bob:put(200, 100)
    ann.client:clear()
    for _ = 1, 60 do
      for _ = 1, 2 do ann:input { a = 0, f = 1 } end
      server:advance(0.05)
    end
    local shots = #ann.client:received "shot"
    assert.is_true(shots >= 19 and shots <= 22, tostring(shots))
  end)

  it("gets nothing from garbage", function()
    local garbage = {
      17, "input", true, {}, { n = "x", x = 1, y = 0, a = 0 }, { n = 5, x = {}, y = 0, a = 0 },
      { n = 6, x = 1e300, y = 0, a = 0 }, { n = 7, x = 1, y = 0 }, { n = 8, x = 1, y = 0, a = 1e308 },
      { n = 1e300, x = 1, y = 0, a = 0 }, { 1, 2, 3, 4, 5 },
    }
    local eve = helper.player(server, "eve", { schema = false })
    eve:put(200, 900)
    eve.room:send "input"
    for _, value in ipairs(garbage) do eve.room:send("input", value) end
    server:advance(1)
    assert.near(200, eve:fighter().x, 0.1)
    eve:hold({ x = 1 }, 0.5)
    assert.is_true(eve:fighter().x > 250) -- it still plays
  end)

  it("cannot repeat old inputs", function()
    ann:hold({ y = 1 }, 0.3)
    ann.room:send("input", { n = 1, x = 1, y = 0, a = 0, f = false, d = false })
    server:advance(0.5)
    assert.near(200, ann:fighter().x, 0.1)
  end)

  it("is disconnected when it floods", function()
    local flood = server:client "flood"
    local room = flood:join "arena:1"
    for n = 1, 1000 do room:send("input", { n = n, x = 1, y = 0, a = 0, f = false, d = false }) end
    flood:expect_closed "RateLimited"
  end)

  it("that dies goes on being dead", function()
    bob:put(500, 500, { health = 1 })
    ann:shoot(0)
    for _ = 1, 10 do
      bob:input { x = 1, a = 3.1, f = 1, d = 1 }
      server:advance(0.05)
    end
    assert.is_true(bob:fighter().is_dead)
    assert.equal(100, ann:fighter().health)
  end)
end)

describe("somebody whose connection is lost", function()
  it("stands still, unhurt, and is told everything when they are back", function()
    local server, ann, bob = helper.duel()
    bob:hold({ y = 1 }, 0.2)
    bob.client:cut()
    server:advance(1)
    local x, y = bob:fighter().x, bob:fighter().y
    assert.is_true(bob:fighter().is_away)
    ann:put(200, y)
    ann:shoot(0)
    assert.equal(100, bob:fighter().health)
    assert.near(x, bob:fighter().x, 0.1)
    assert.near(y, bob:fighter().y, 0.1)
    bob.client:clear()
    assert(bob.client:reconnect())
    bob.client:expect("state", { you = bob.id })
    assert.is_false(bob:fighter().is_away)
    bob:hold({ y = 1 }, 0.5)
    assert.is_true(bob:fighter().y > y + 50)
  end)

  it("leaves the match in the end", function()
    local server = helper.server()
    local ann, bob = helper.player(server, "ann"), helper.player(server, "bob")
    bob.client:vanish()
    ann.client:expect("left", { id = bob.id }, 120)
    assert.equal(1, #server:room("arena:1").state.fighters)
  end)
end)
