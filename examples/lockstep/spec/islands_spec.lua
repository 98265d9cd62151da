-- The server's part of the game. The players of these specs simulate only a sum of their inputs.
local testing = require "perigee.testing"

local function play(server, name, options)
  local player = { client = server:client(name), sum = 0, turn = 0, kinds = {}, starts = 0 }
  options = options or {}
  player.room = player.client:join "islands:1"
  player.match = player.room:lockstep {
    start = function(match)
      player.sum, player.turn, player.starts = match.seed, 0, player.starts + 1
    end,
    step = function(turn, entries)
      player.turn = turn
      for _, entry in ipairs(entries) do
        player.kinds[entry.kind] = (player.kinds[entry.kind] or 0) + 1
        for i = 1, #entry.data do player.sum = (player.sum * 31 + entry.data:byte(i)) % 2 ^ 32 end
      end
    end,
    hash = function() return player.sum end,
    snapshot = function() return ("%d"):format(player.sum) end,
    restore = function(bytes) player.sum = tonumber(bytes) end,
    seat = options.seat,
  }
  return player
end

local function three(server)
  return play(server, "ann"), play(server, "bob"), play(server, "cid")
end

describe("islands", function()
  local server

  before_each(function()
    server = testing.server { network = { latency = 0.04, loss = 0.05 } }
  end)

  it("begins with the first player, and others join in", function()
    local ann = play(server, "ann")
    server:advance(2)
    assert.is_true(ann.turn > 10)
    assert.equal(1, ann.kinds.joined)
    local bob = play(server, "bob")
    server:advance(2)
    assert.equal(2, ann.kinds.joined)
    assert.equal(ann.sum, bob.sum)
    assert.equal(1, bob.match.slot)
  end)

  it("carries orders to all", function()
    local ann, bob, cid = three(server)
    server:advance(2)
    ann.match:send "\1\0\2"
    bob.match:send "\2\0\4"
    server:advance(2)
    assert.equal(2, cid.kinds.input)
    assert.equal(ann.sum, bob.sum)
    assert.equal(ann.sum, cid.sum)
  end)

  it("lets one back in that was away", function()
    local ann, bob, cid = three(server)
    server:advance(2)
    cid.match:send "\3\0\2"
    server:advance(1)
    local seat, slot = bob.match.seat, bob.match.slot
    bob.client:close()
    server:advance(2)
    local again = play(server, "bob", { seat = seat })
    server:advance(2)
    assert.equal(slot, again.match.slot)
    assert.equal(0, again.starts)
    assert.equal(ann.sum, again.sum)
  end)

  it("gives who is out of step the state of the others", function()
    local ann, bob, cid = three(server)
    server:advance(2)
    bob.sum = bob.sum + 1
    server:advance(3)
    assert.equal(ann.sum, bob.sum)
    assert.equal(ann.sum, cid.sum)
    assert.is_true(bob.match.is_ready)
  end)

  it("begins anew, and stands still", function()
    local ann, bob = three(server)
    server:advance(3)
    local seed = ann.match.seed
    ann.room:send "again"
    server:advance(1)
    assert.not_equal(seed, ann.match.seed)
    assert.equal(2, bob.starts)
    bob.room:send "pause"
    server:advance(1)
    local turn = ann.turn
    server:advance(5)
    assert.equal(turn, ann.turn)
    bob.room:send "pause"
    server:advance(2)
    assert.is_true(ann.turn > turn)
  end)
end)
