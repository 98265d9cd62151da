local helper = require "spec.helper"

local function piece(count, begins)
  local points = {}
  for i = 1, count do points[i] = { x = 10 * i, y = 20 } end
  return { begins = begins or false, color = 3, size = 8, points = points }
end

describe("a drawing", function()
  local server, name, ann, bob, cid, _

  before_each(function()
    server = helper.server()
    _, name, ann, bob, cid = helper.drawing(server)
  end)

  it("reaches the others 30 times a second, as bytes", function()
    local before = server:peer(bob.client).stats.bytes_out
    for i = 1, 30 do
      ann:send("draw", piece(3, i == 1))
      server:advance(1 / 30)
    end
    bob.client:expect("drawn", { number = 30 })
    local drawn = bob.client:received "drawn"
    assert.equal(30, #drawn)
    assert.same({ x = 30, y = 20 }, drawn[30].points[3])
    assert.is_true(server:peer(bob.client).stats.bytes_out - before < 30 * 32)
    ann.client:expect_nothing "drawn"
  end)

  it("is the drawer's alone", function()
    bob:send("draw", piece(3, true))
    bob:send "clear"
    cid.client:expect_nothing "drawn"
    cid.client:expect_nothing "picture"
  end)

  it("is sent to those who come later, and to those who ask", function()
    ann:send("draw", piece(3, true))
    ann:send("draw", piece(2))
    ann:send("draw", piece(4, true))
    bob.client:expect("drawn", { number = 3 })
    local dan = helper.page(server, "dan")
    dan:join(name, { role = "spectator" })
    local picture = dan:expect "picture"
    assert.equal(3, picture.number)
    assert.equal(2, #picture.lines)
    assert.equal(5, #picture.lines[1].points)
    bob:send "redraw"
    assert.equal(2, #bob.client:expect("picture").lines)
  end)

  it("has a limit", function()
    for _ = 1, 10 do ann:send("draw", piece(32, true)) end
    bob.client:expect("drawn", { number = 3 })
    bob.client:expect_nothing "drawn"
    assert.equal(96, server:room(name).state.picture.count)
    ann:send("draw", piece(4))
    bob.client:expect("drawn", { number = 4 })
  end)

  it("can be undone line by line, and cleared", function()
    ann:send("draw", piece(3, true))
    ann:send("draw", piece(3, true))
    ann:send "undo"
    assert.equal(1, #bob.client:expect("picture").lines)
    ann:send "clear"
    assert.same({}, bob.client:expect("picture").lines)
    assert.equal(0, server:room(name).state.picture.count)
  end)

  it("has an end for a page that sends a flood", function()
    for _ = 1, 200 do ann:send("draw", piece(1)) end
    ann.client:expect_closed "RateLimited"
  end)
end)
