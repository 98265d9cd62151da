-- Tests of the game: a server without sockets, with a clock that moves only while a test waits.
local testing = require "perigee.testing"

local server, ann, bob, hers, his

local function number()
  return server:room("guess:1").state.number
end

describe("guess:1", function()
  before_each(function()
    server = testing.server()
    ann, bob = server:clients(2) -- on_connect makes them join guess:1
    ann:expect("welcome", { highest = 100 })
    bob:expect("welcome", { highest = 100 })
    hers, his = ann:room "guess:1", bob:room "guess:1"
  end)

  it("answers higher or lower to the guessing player alone", function()
    hers:send("guess", number() - 1)
    ann:expect("higher", number() - 1)
    hers:broadcast(tostring(number() + 1)) -- the same as a broadcast
    ann:expect("lower", number() + 1)
    bob:expect_nothing "higher"
  end)

  it("tells all players who won, and begins the next round 3 seconds later", function()
    local won = number()
    his:send("guess", won)
    ann:expect("won", { name = "bob", number = won, guesses = 1 })
    bob:expect("won", { name = "bob" })
    ann:expect_nothing("begin", 2.5)
    ann:expect("begin", { highest = 100 }, 1)
    assert.same({ { name = "ann", won = 0 }, { name = "bob", won = 1 } }, ann:ask "scores")
  end)

  it("relays texts that are not numbers", function()
    hers:broadcast "is it prime?"
    bob:expect_broadcast "is it prime?"
  end)

  it("keeps the number after a reload", function()
    local before = number()
    server:reload()
    assert.equal(before, number())
  end)
end)
