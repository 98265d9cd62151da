local helper = require "spec.helper"

local function back(server, who, name)
  local client = helper.page(server, who)
  assert.is_true(client:ask("back", name:match ":(.*)"))
  return client, client:room(name)
end

describe("a player", function()
  local server, word, name, ann, bob, cid

  before_each(function()
    server = helper.server()
    word, name, ann, bob, cid = helper.drawing(server)
  end)

  it("whose connection is lost is away for that time, and gets the picture when back", function()
    bob:send("say", word)
    bob.client:cut()
    cid.client:expect("table", function(table) return not table.players[2].is_here end)
    ann:send("draw", { begins = true, color = 1, size = 5, points = { { x = 1, y = 1 } } })
    server:advance(5)
    assert.is_true(bob.client:reconnect())
    bob.client:expect("picture", { number = 1 })
    bob.client:expect("you", { word = word })
    cid.client:expect("table", function(table) return table.players[2].is_here end)
  end)

  it("who loads the page again keeps seat and score", function()
    bob:send("say", word)
    bob.client:expect("you", { word = word })
    local score = helper.player(server, name, "bob").score
    assert.is_true(score > 200)
    bob.client:close()
    cid.client:expect("table", function(table) return not table.players[2].is_here end)
    local again = back(server, "bob", name)
    again:expect("you", { id = 2, word = word })
    assert.equal(score, helper.player(server, name, "bob").score)
    assert.equal(3, #server:room(name).state.players)
  end)

  it("who does not come back loses the seat", function()
    bob.client:close()
    server:advance(119)
    assert.is_not_nil(helper.player(server, name, "bob"))
    server:advance(2)
    assert.is_nil(helper.player(server, name, "bob"))
    assert.is_false(helper.page(server, "bob"):ask("back", name:match ":(.*)"))
  end)

  it("who opens a second page plays there", function()
    local again = back(server, "bob", name)
    bob.client:expect_event("left", { code = "Kicked" })
    again:expect("you", { id = 2 })
    assert.equal(3, #server:room(name).state.players)
  end)

  it("who draws and leaves is waited for, and the turn goes on with the next", function()
    ann.client:close()
    server:advance(9)
    assert.equal("drawing", server:room(name).state.phase)
    bob.client:expect("said", { text = "The drawer is gone. It was “" .. word .. "”." }, 2)
    bob.client:expect("table", { phase = "choosing", drawer = 2 }, 6)
  end)

  it("who draws and is back in time draws on", function()
    ann.client:close()
    server:advance(3)
    local _, room = back(server, "ann", name)
    server:advance(20)
    room:send("draw", { begins = true, color = 1, size = 5, points = { { x = 1, y = 1 } } })
    bob.client:expect "drawn"
  end)

  it("who leaves for good gives the seat back at once", function()
    bob:send "leave"
    cid.client:expect("table", function(table) return #table.players == 2 end)
    cid:send "leave"
    ann.client:expect("table", { phase = "waiting" })
  end)

  it("of a name that is taken gets another", function()
    local other = server:client { name = "bob", token = "of another bob" }
    other:join(name)
    assert.is_not_nil(helper.player(server, name, "bob 2"))
  end)
end)

describe("the host", function()
  local server, name, ann, bob, cid

  before_each(function()
    server = helper.server()
    name, ann, bob, cid = helper.table(server, "ann", "bob", "cid")
  end)

  it("is the next one in the order of joining when the host leaves", function()
    bob:send "leave"
    ann.client:close()
    server:advance(9)
    assert.is_nil((cid:ask("start", { rounds = 1, seconds = 60 })))
    cid.client:expect("said", { text = "cid is the host." }, 2)
    assert.is_nil((bob:ask("start", { rounds = 1, seconds = 60 })))
    back(server, "ann", name)
    assert.is_true(cid:ask("start", { rounds = 1, seconds = 60 }))
  end)

  it("stays host when the page is loaded again", function()
    ann.client:close()
    server:advance(1)
    local _, room = back(server, "ann", name)
    server:advance(20)
    assert.is_true(room:ask("start", { rounds = 1, seconds = 60 }))
  end)

  it("who leaves for good makes the next one host at once", function()
    ann:send "leave"
    bob.client:expect("said", { text = "bob is the host." })
  end)

  it("stays host while the connection is lost for a moment", function()
    ann.client:cut()
    server:advance(5)
    ann.client:reconnect()
    assert.is_true(ann:ask("start", { rounds = 1, seconds = 60 }))
    bob.client:expect("table", { host = 1 })
  end)

  it("is whoever comes first to a table that was left", function()
    for _, room in ipairs { ann, bob, cid } do room:send "leave" end
    local dan = helper.page(server, "dan")
    dan:join(name)
    dan:expect("table", { host = 4 })
  end)
end)

describe("a vote", function()
  local server, name, ann, bob, cid

  before_each(function()
    server = helper.server()
    name, ann, bob, cid = helper.table(server, "ann", "bob", "cid")
  end)

  it("removes a player when most people want that, for good", function()
    ann:send("say", "/kick cid")
    bob.client:expect("said", { text = "ann votes for cid to go (1 of 3)." })
    ann:send("vote", 3)
    assert.is_not_nil(helper.player(server, name, "cid"))
    bob:send("vote", 3)
    cid.client:expect_event("left", { code = "Kicked" })
    assert.is_nil(helper.player(server, name, "cid"))
    cid.client:close()
    local again = helper.page(server, "cid")
    assert.equal("VotedOut", select(3, again:try_join(name)))
    assert.is_false(again:ask("back", name:match ":(.*)"))
  end)

  it("is not one's own, and not a watcher's", function()
    local dan = helper.page(server, "dan"):join(name, { role = "spectator" })
    cid:send("vote", 3)
    dan:send("vote", 3)
    ann:send("vote", 3)
    server:advance(1)
    assert.is_not_nil(helper.player(server, name, "cid"))
  end)

  it("says which names and commands exist", function()
    ann:send("say", "/kick dan")
    ann.client:expect("said", { text = "nobody here is called dan" })
    ann:send("say", "/kcik bob")
    ann.client:expect("said", { text = 'there is no command "kcik"; did you mean kick?' })
    assert.same({ "/lock off", "/lock on" }, ann:ask("complete", "/lock o"))
  end)
end)

describe("a watcher", function()
  it("sees all, plays nothing, and can take a seat that is free", function()
    local server = helper.server "rules.seats = 3"
    local word, name, _, bob, cid = helper.drawing(server)
    local dan = helper.page(server, "dan")
    assert.equal("all seats are taken, but you may watch", select(2, dan:try_join(name)))
    local room = dan:join(name, { role = "spectator" })
    assert.equal(1, dan:expect("table").watching)
    assert.is_nil(dan:expect("you").word)
    room:send("say", word)
    dan:expect("said", { text = "That would give the word away." })
    room:send("say", "nice")
    cid.client:expect("said", { tone = "watching", by = "dan", text = "nice" })
    room:send "play"
    assert.equal("NoSeatFree", dan:expect_event("error").code)
    bob:send "leave"
    cid.client:expect("table", function(table) return #table.players == 2 end)
    room:send "play"
    dan:expect("you", { id = 4 })
    dan:expect("table", { watching = 0 })
  end)
end)
