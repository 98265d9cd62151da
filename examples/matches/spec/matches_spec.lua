local testing = require "perigee.testing"

describe("a match", function()
  local server, ann, bob, hers, his

  before_each(function()
    server = testing.server()
    ann, bob = server:clients(2)
    hers, his = ann:join "match:1", bob:join "match:1"
  end)

  it("is for two", function()
    local _, _, code = server:client("cid"):try_join "match:1"
    assert.equal("RoomFull", code)
  end)

  it("begins after a countdown of three seconds", function()
    ann:expect("ready", 3)
    local start = server:now()
    ann:expect("countdown", 2)
    ann:expect("countdown", 1)
    ann:expect "go"
    assert.near(3, server:now() - start, 0.2)
    assert.equal("playing", server:room("match:1").state.phase)
  end)

  it("counts no hits before that", function()
    hers:send "hit"
    bob:expect_nothing "hit"
  end)

  it("is won by five hits", function()
    bob:expect "go"
    for hits = 1, 5 do
      hers:send "hit"
      bob:expect("hit", { by = "ann", hits = hits })
    end
    bob:expect("won", "ann")
    his:send "hit"
    ann:expect_nothing("hit", { by = "bob" })
  end)

  it("waits for another player when one leaves", function()
    bob:expect "go"
    ann:close()
    bob:expect("waiting", "ann left")
    assert.same({ phase = "waiting", hits = {} }, server:room("match:1").state)
  end)

  it("is gone ten seconds after the last player", function()
    ann:close()
    bob:close()
    server:advance(9)
    assert.is_not_nil(server:room "match:1")
    server:advance(2)
    assert.is_nil(server:room "match:1")
  end)

  it("goes on over a reload", function()
    bob:expect "go"
    hers:send "hit"
    bob:expect("hit", { hits = 1 })
    server:reload()
    hers:send "hit"
    bob:expect("hit", { hits = 2 })
  end)
end)
