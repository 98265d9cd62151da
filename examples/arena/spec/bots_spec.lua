local helper = require "spec.helper"
local map = require "arena.map"
local testing = require "perigee.testing"

local function bots_of(server)
  local bots = {}
  for _, fighter in ipairs(server:room("arena:1").state.fighters) do
    if fighter.is_bot then bots[#bots + 1] = fighter end
  end
  return bots
end

describe("bots", function()
  it("are there at once, and make room for people", function()
    local server = helper.server "rules.fill_to = 4"
    local ann = helper.player(server, "ann")
    server:advance(0.2)
    assert.equal(3, #bots_of(server))
    local people = { server:clients(5) }
    for i, client in ipairs(people) do
      client:join("arena:1"):ask("play", client.name)
      assert.equal(math.max(0, 3 - i), #bots_of(server))
    end
    for _, client in ipairs(people) do client:close() end
    server:advance(1)
    assert.equal(3, #bots_of(server))
    assert.equal(4, #server:room("arena:1").state.fighters)
    ann.client:expect "left"
  end)

  it("fight, and not only each other", function()
    local server = helper.server "rules.fill_to = 6"
    local ann = helper.player(server, "ann")
    for _ = 1, 60 do ann:hold({ a = 0 }, 1) end
    assert.is_true(ann:fighter().deaths > 0)
    assert.is_true(#ann.client:received "kill" > 5)
  end)

  it("get around in the real arena and stay out of its walls", function()
    local server = testing.server { trace = false }
    server:client("ann"):join "arena:1"
    local farthest = {}
    for _ = 1, 60 do
      server:advance(1)
      for _, bot in ipairs(bots_of(server)) do
        for _, wall in ipairs(map.walls) do
          assert.is_false(bot.x > wall[1] and bot.x < wall[1] + wall[3]
            and bot.y > wall[2] and bot.y < wall[2] + wall[4])
        end
        local seen = farthest[bot.id] or { bot.x, bot.x }
        farthest[bot.id] = { math.min(seen[1], bot.x), math.max(seen[2], bot.x) }
      end
    end
    for _, seen in pairs(farthest) do assert.is_true(seen[2] - seen[1] > 200) end
  end)

  it("rest while nobody looks", function()
    local server = helper.server "rules.fill_to = 4"
    local ann = helper.player(server, "ann")
    server:advance(1)
    ann.client:close()
    server:advance(1)
    local before = bots_of(server)
    server:advance(5)
    assert.same(before, bots_of(server))
    server:advance(20)
    assert.is_nil(server:room "arena:1")
  end)

  it("do the same again with the same seed", function()
    local function play(seed)
      local server = testing.server { source = helper.source "rules.fill_to = 5", seed = seed }
      server:client("ann"):join "arena:1"
      server:advance(20)
      return server:room("arena:1").state.fighters
    end
    assert.same(play(4), play(4))
    assert.not_same(play(4), play(5))
  end)
end)
