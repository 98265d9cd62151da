-- Tests of the game: a server without sockets, with a clock that moves only while a test waits. The store
-- is in memory.
local testing = require "perigee.testing"

local server

-- A page on a device of its own.
local function visit(name, how)
  return server:client { name = name, sign_in = how or { device = "a secret of the device of " .. name } }
end

-- Guesses the number, after some guesses that are too low.
local function win(client, low)
  local room = client:room "guess:1"
  for _ = 1, low or 0 do room:send("guess", 0) end
  room:send("guess", server:room("guess:1").state.number)
  client:expect("me")
  server:advance(4) -- the next round begins
end

describe("guess:1", function()
  before_each(function() server = testing.server() end)

  it("answers higher or lower to the guessing player alone, and tells all who has won", function()
    local ann, bob = visit "ann", visit "bob"
    ann:expect("begin", { highest = 100 })
    local number = server:room("guess:1").state.number
    ann:room("guess:1"):send("guess", number - 1)
    ann:expect("higher", number - 1)
    ann:room("guess:1"):send("guess", number)
    bob:expect("won", { name = server:peer(ann).name, number = number, guesses = 2 })
    bob:expect_nothing "higher"
    bob:expect("begin", nil, 4)
  end)
end)

describe("an account", function()
  before_each(function() server = testing.server() end)

  it("keeps what a guest has won, over visits and reloads", function()
    local ann = visit "ann"
    win(ann, 2)
    win(ann)
    server:reload()
    ann:close()
    ann = visit "ann"
    local me = ann:ask "me"
    assert.same({ 2, 1, 2, true }, { me.won, me.fewest, me.visits, me.guest })
  end)

  it("gets a name and a password, with which the player signs in on another device", function()
    local ann = visit "ann"
    win(ann)
    ann:link { name = "ann", password = "correct horse" }
    assert.equal("ann", ann:ask("linked").name)
    assert.equal("ann", ann:ask("top")[1].name)
    ann:close()
    local tablet = visit("tablet", { name = "ann", password = "correct horse" })
    local me = tablet:ask "me"
    assert.same({ "ann", 1, false }, { me.name, me.won, me.guest })
    assert.equal("ann", server:peer(tablet).name)
  end)

  it("is what every player has", function()
    local _, _, code = server:try_client "nobody"
    assert.equal("Unauthorized", code)
  end)
end)

describe("the board", function()
  before_each(function() server = testing.server() end)

  it("counts the rounds of this week", function()
    local ann, bob = visit "ann", visit "bob"
    win(ann)
    win(bob)
    win(bob)
    local top = bob:ask "top"
    assert.same({ bob:ask("me").id, 2 }, { top[1].id, top[1].score })
    assert.same({ ann:ask("me").id, 1 }, { top[2].id, top[2].score })
    ann:close()
    bob:close()
    server:advance(7 * 24 * 60 * 60)
    bob = visit "bob"
    assert.same({}, bob:ask "top")
    assert.equal(2, bob:ask("me").won) -- accounts keep all of them
  end)
end)
