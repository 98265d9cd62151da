local helper = require "spec.helper"

describe("a match", function()
  local server
  before_each(function() server = helper.server() end)

  it("is begun by its host, with two players", function()
    local name, ann = helper.table(server, "ann")
    local answer, problem, code = ann:ask("start", { rounds = 1, seconds = 60 })
    assert.is_nil(answer)
    assert.is_not_nil(problem)
    assert.equal("TooFewPlayers", code)
    local bob = helper.page(server, "bob"):join(name)
    assert.equal("HostOnly", select(3, bob:ask("start", { rounds = 1, seconds = 60 })))
    assert.is_true(ann:ask("start", { rounds = 1, seconds = 60 }))
  end)

  it("tells its word to the drawer alone", function()
    local name, ann, bob = helper.table(server, "ann", "bob")
    ann:ask("start", { rounds = 1, seconds = 60 })
    assert.equal(3, #ann.client:expect("you", function(you) return #you.choices > 0 end).choices)
    ann:send("choose", 1)
    local word = ann.client:expect("you", function(you) return you.word ~= nil end).word
    local hint = bob.client:expect("table", { phase = "drawing" }).hint
    assert.equal((word:gsub("[^ ]", "_")), hint)
    assert.is_nil(server:trace():match(word .. "%d+ bob"))
    for _, you in ipairs(bob.client:received "you") do
      assert.is_nil(you.word)
      assert.same({}, you.choices)
    end
    assert.equal(word, server:room(name).state.word)
  end)

  it("chooses for a drawer who does not", function()
    local _, ann, bob = helper.table(server, "ann", "bob")
    ann:ask("start", { rounds = 1, seconds = 60 })
    bob.client:expect("table", { phase = "drawing" }, 13)
  end)

  it("gives hints, and tells the word when the time is up", function()
    local word, _, _, bob = helper.drawing(server)
    local _, hidden = bob.client:expect("table", nil, 21).hint:gsub("_", "")
    local _, fewer = bob.client:expect("table", nil, 21).hint:gsub("_", "")
    assert.equal(hidden - 1, fewer)
    bob.client:expect("table", { phase = "pause", word = word }, 21)
    bob.client:expect("table", { phase = "choosing" }, 6)
  end)

  it("lets everybody draw in each round, and ends", function()
    local _, ann, bob = helper.table(server, "ann", "bob")
    ann:ask("start", { rounds = 2, seconds = 20 })
    bob.client:expect("table", { phase = "over", round = 2 }, 4 * (12 + 20 + 5) + 1)
    local drawers = {}
    for _, table in ipairs(bob.client:received "table") do
      if table.phase == "choosing" then drawers[#drawers + 1] = table.drawer end
    end
    assert.same({ 1, 2, 1, 2 }, drawers)
    ann:ask("start", { rounds = 1, seconds = 20 })
    bob.client:expect("table", { phase = "choosing", round = 1 })
  end)

  it("goes on with the next player when one gives up", function()
    local _, _, ann, bob = helper.drawing(server)
    bob:send("say", "/skip")
    bob.client:expect("said", { text = "it is not your turn" })
    ann:send("say", "/skip")
    bob.client:expect("table", { phase = "choosing", drawer = 2 }, 6)
  end)

  it("goes on through a reload, with its timers", function()
    local word, _, _, bob = helper.drawing(server)
    server:advance(10)
    server:reload()
    bob.client:expect("table", { phase = "pause", word = word }, 51)
    bob.client:expect("table", { phase = "choosing", drawer = 2 }, 6)
  end)
end)
