local helper = require "spec.helper"

-- Plays a match of one round, in which everybody guesses each word at once. Returns the last table.
local function play(rooms)
  assert(rooms[1]:ask("start", { rounds = 1, seconds = 60 }))
  for i, drawer in ipairs(rooms) do
    drawer.client:expect("you", function(you) return #you.choices > 0 end)
    drawer:send("choose", 1)
    local word = drawer.client:expect("you", function(you) return you.word ~= nil end).word
    for j, room in ipairs(rooms) do
      if j ~= i then room:send("say", word) end
    end
    drawer.client:expect("table", { phase = "pause" })
  end
  return rooms[1].client:expect("table", { phase = "over" }, 10)
end

local function score_of(table, name)
  for _, player in ipairs(table.players) do
    if player.name == name then return player.score end
  end
end

describe("the boards", function()
  local server, name, ann, bob

  before_each(function()
    server = helper.server("", false)
    name, ann, bob = helper.table(server, "ann", "bob")
  end)

  it("have the best match of each player, and the points of the week", function()
    local visitor = helper.page(server, "visitor")
    assert.same({ best = {}, weekly = {} }, visitor:ask "top")
    local first = play { ann, bob }
    local second = play { ann, bob }
    local top = visitor:ask "top"
    for _, who in ipairs { "ann", "bob" } do
      local scores = { score_of(first, who), score_of(second, who) }
      local of = {}
      for board, entries in pairs(top) do
        for _, entry in ipairs(entries) do
          if entry.name == who then of[board] = entry.score end
        end
      end
      assert.same({ best = math.max(unpack(scores)), weekly = scores[1] + scores[2] }, of)
    end
    assert.equal(1, top.best[1].rank)
  end)

  it("begin the week again on Monday, and keep the best matches, also over a reload", function()
    local over = play { ann, bob }
    ann.client:close()
    bob.client:close()
    server:reload()
    server:advance(7 * 24 * 60 * 60)
    local top = helper.page(server, "visitor"):ask "top"
    assert.same({}, top.weekly)
    assert.equal(math.max(score_of(over, "ann"), score_of(over, "bob")), top.best[1].score)
  end)

  it("have no bots", function()
    ann:send "bot"
    ann.client:expect("table", function(table) return #table.players == 3 end)
    local over = play { ann, bob }
    assert.equal(3, #over.players)
    for _, entry in ipairs(helper.page(server, "visitor"):ask("top").best) do
      assert.is_false(helper.player(server, name, entry.name).is_bot)
    end
  end)
end)
