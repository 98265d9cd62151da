local helper = require "spec.helper"

describe("a bot", function()
  it("guesses with the hints, and sees no more than pages do", function()
    local server = helper.server()
    local name, ann = helper.table(server, "ann")
    ann:send "bot"
    ann.client:expect("table", function(table) return #table.players == 2 and table.players[2].is_bot end)
    ann:ask("start", { rounds = 1, seconds = 180 })
    ann:send("choose", 1)
    local word = ann.client:expect("you", function(you) return you.word ~= nil end).word
    ann.client:expect("said", { text = "Robo knows the word!" }, 180)
    for _, said in ipairs(ann.client:received "said") do
      if said.tone == "guess" then assert.equal(#word, #said.text) end
    end
    ann.client:expect("table", { phase = "over" }, 6) -- bots do not draw
    assert.is_true(helper.player(server, name, "Robo").score > 0)
  end)

  it("is added by the host, and gives its seat to people", function()
    local server = helper.server "rules.seats = 3"
    local name, ann, bob = helper.table(server, "ann", "bob")
    bob:send "bot"
    assert.equal("HostOnly", bob.client:expect_event("error").code)
    ann:send("say", "/bot")
    bob.client:expect("table", function(table) return #table.players == 3 end)
    ann:send "bot"
    assert.equal("NoSeatFree", ann.client:expect_event("error").code)
    assert.equal(2, bob.client:list()[1].meta.players)
    helper.page(server, "cid"):join(name)
    server:advance(1)
    assert.is_nil(helper.player(server, name, "Robo"))
    assert.is_not_nil(helper.player(server, name, "cid"))
    assert.equal(3, server:room(name).count)
  end)

  it("waits for people when they have left a match", function()
    local server = helper.server()
    local name, ann = helper.table(server, "ann")
    local dan = helper.page(server, "dan")
    dan:join(name, { role = "spectator" })
    ann:send "bot"
    ann:send "bot"
    dan:expect("table", function(table) return #table.players == 3 end)
    ann:ask("start", { rounds = 1, seconds = 15 })
    dan:expect("table", { phase = "over" }, 12 + 15 + 5 + 1)
    ann:send "leave"
    dan:expect("table", { phase = "waiting" })
  end)

  it("does not keep a table that people have left", function()
    local server = helper.server()
    local name, ann = helper.table(server, "ann")
    ann:send "bot"
    server:advance(1)
    ann.client:close()
    server:advance(61)
    assert.is_nil(server:room(name))
  end)
end)
