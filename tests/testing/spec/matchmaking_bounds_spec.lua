--- Requests of clients that queues and parties refuse, and calls of scripts that they refuse.

local testing = require "perigee.testing"

local SOURCE = [[
  local perigee = require "perigee"
  local ranked = perigee.matchmaker("ranked", { room = "duel", players = 2 })
  perigee.matchmaker("casual", { room = "duel", players = 4, teams = 2 })
  perigee.matchmaker("filled", { room = "duel", players = { 1, 2 }, fill = true })
  local game = { rooms = { duel = {} }, config = { max_rooms = 3 }, on_message = {} }
  function game.on_message.enter_twice(peer) ranked:enter { peer, peer } end
  local kept, other
  function game.on_message.keep(peer)
    other = peer
    return true
  end
  function game.on_message.enter_with(peer) return select(3, ranked:enter { peer, other }) end
  function game.on_message.keep_party(peer) kept = perigee.party.of(peer) end
  function game.on_message.enter_kept() return select(3, ranked:enter(kept)) end
  function game.on_message.join_and_fail(peer, code)
    perigee.party.find(code):join(peer)
    error "on purpose"
  end
  function game.on_message.tickets() return select(2, ranked:waiting()) end
  function game.on_message.kick(peer) peer:kick() end
  return game
]]

-- Returns the code with which the game refuses a request.
local function refused(client, name, value)
  local answer, _, code = client:ask(name, value)
  assert.is_nil(answer)
  return code
end

describe("the matchmaker", function()
  local server, ann, bob, eve, joe

  before_each(function()
    server = testing.server { source = SOURCE }
    ann, bob, eve, joe = server:clients(4)
  end)

  after_each(function() server:close() end)

  local function party_of(leader, ...)
    local code = assert(leader:ask "party.make").code
    for _, member in ipairs { ... } do assert(member:ask("party.join", { code = code })) end
    return code
  end

  it("answers so many requests of a client at once, and so many a second", function()
    local counts = { NoParty = 0, RateLimited = 0 }
    local function leave(client)
      local code = refused(client, "party.leave")
      counts[code] = counts[code] + 1
    end
    for _ = 1, 40 do ann:spawn(leave) end
    server:advance(3)
    assert(counts.NoParty >= 20 and counts.NoParty <= 25 and counts.RateLimited == 40 - counts.NoParty)
    assert(bob:ask "party.make")
    assert(ann:ask("matchmaker.enter", { queue = "ranked" }))
  end)

  it("lets nobody guess the codes of parties", function()
    party_of(ann)
    local codes = {}
    local function guess(client, i)
      codes[refused(client, "party.join", { code = ("AAA%03d"):format(i) })] = true
    end
    for i = 1, 100 do bob:spawn(guess, i) end
    server:advance(3)
    assert.same({ NoParty = true, RateLimited = true }, codes)
  end)

  it("has a player in one queue at a time", function()
    assert(ann:ask("matchmaker.enter", { queue = "ranked" }))
    assert.equal("Queued", refused(ann, "matchmaker.enter", { queue = "casual" }))
    assert.is_true(ann:ask "matchmaker.cancel")
    assert(ann:ask("matchmaker.enter", { queue = "casual" }))
  end)

  it("has a player in one queue and in a party once, with all its devices", function()
    server:close()
    server = testing.server { source = SOURCE:gsub("config = {", "config = { accounts = true, ") }
    local function device(name) return server:client { name = name, sign_in = { device = ("d"):rep(20) } } end
    local phone, page = device "phone", device "page"
    assert(phone:ask("matchmaker.enter", { queue = "casual" }))
    local _, message, code = page:ask("matchmaker.enter", { queue = "casual" })
    assert.equal("Queued", code)
    assert.truthy(message:find("page is in a queue already, on another device", 1, true), message)
    assert.is_false(page:ask "matchmaker.cancel")
    local party = party_of(phone)
    assert.equal("InParty", refused(page, "party.join", { code = party }))
    assert(phone:ask "matchmaker.cancel")
    assert.is_true(phone:ask "keep")
    assert.equal("Queued", page:ask "enter_with")
    assert(page:ask("matchmaker.enter", { queue = "casual" }))
    assert.equal("Queued", refused(phone, "matchmaker.enter", { queue = "casual" }))
    page:close()
    assert(phone:ask("matchmaker.enter", { queue = "casual" }))
  end)

  it("does not fill a match with another device of one of its players", function()
    server:close()
    server = testing.server { source = SOURCE:gsub("config = {", "config = { accounts = true, ") }
    local function device(name, id)
      return server:client { name = name, sign_in = { device = id:rep(20) } }
    end
    local phone, page, other = device("phone", "d"), device("page", "d"), device("other", "o")
    assert(phone:ask("matchmaker.enter", { queue = "filled" }))
    phone:expect "matchmaker.matched"
    assert(page:ask("matchmaker.enter", { queue = "filled" }))
    assert.equal("duel:filled2", page:expect "matchmaker.matched".room)
    assert(other:ask("matchmaker.enter", { queue = "filled" }))
    assert.equal("duel:filled1", other:expect "matchmaker.matched".room)
  end)

  it("refuses calls for others, strangers and oneself", function()
    local code = party_of(ann, bob)
    assert.equal("InParty", refused(ann, "party.invite", { name = "ann" }))
    assert.equal("NoSuchPeer", refused(ann, "party.invite", { name = "nobody" }))
    assert.equal("NoParty", refused(ann, "party.promote", { id = eve.id }))
    assert.equal("NoParty", refused(ann, "party.kick", { id = 12345 }))
    assert.equal("NotLeader", refused(bob, "party.kick", { id = ann.id }))
    assert.equal("InParty", refused(bob, "party.join", { code = code }))
    assert.equal("NoParty", refused(eve, "party.leave"))
    assert.equal("Protocol", refused(eve, "party.join", { code = {} }))
    assert.equal("Protocol", refused(ann, "party.kick", { id = "1" }))
  end)

  it("refuses parties that are too large, and parties without a room", function()
    party_of(ann, bob, eve)
    assert.equal("PartyTooLarge", refused(ann, "matchmaker.enter", { queue = "ranked" }))
    party_of(joe)
    party_of(server:client "fay")
    assert.equal("ServerFull", refused(server:client "gus", "party.make"))
  end)

  it("does not change a party by a handler that fails", function()
    local code = party_of(ann)
    bob:ask("join_and_fail", code)
    server:expect_error "on purpose"
    assert.equal("NoParty", refused(bob, "party.leave"))
    assert.equal(2, #eve:ask("party.join", { code = code }).members)
  end)

  it("refuses a party that is over, and a list with a player twice", function()
    party_of(ann)
    ann:ask "keep_party"
    ann:ask "party.leave"
    assert.equal("NoParty", ann:ask "enter_kept")
    ann:ask "enter_twice"
    server:expect_error "ann is in the list of those who enter twice"
    assert.equal(0, ann:ask "tickets")
  end)

  it("cancels the ticket of a party that somebody joins, also if one member waits", function()
    local code = party_of(ann)
    ann:ask("matchmaker.enter", { queue = "casual" })
    bob:ask("party.join", { code = code })
    ann:expect("matchmaker.cancelled", { queue = "casual", ticket = 1, reason = "the party has changed" })
  end)

  it("takes a kicked player back by an invitation alone", function()
    local code = party_of(ann, bob)
    assert(ann.party:kick(bob.id))
    assert.equal("Refused", refused(bob, "party.join", { code = code }))
    assert(ann.party:invite "bob")
    assert(bob.party:join(code))
    assert(bob.party:leave())
    assert(bob.party:join(code)) -- a player who left by itself may come back
  end)

  it("gives a party another leader when its leader is kicked or does not come back in time", function()
    party_of(ann, bob, eve)
    ann:cut()
    server:advance(20)
    assert.equal("NotLeader", refused(bob, "matchmaker.enter", { queue = "casual" }))
    bob:expect("party.changed", { leader = bob.id }, 20)
    bob:ask("matchmaker.enter", { queue = "casual" })
    eve:expect "matchmaker.queued"
    bob:send "kick"
    eve:expect("matchmaker.cancelled", { queue = "casual", ticket = 1, reason = "a player is gone" })
    eve:expect("party.changed", { leader = eve.id })
    assert(eve:ask("matchmaker.enter", { queue = "casual" }))
  end)

  it("goes on without players who leave as soon as they have joined", function()
    eve:on("joined", function(event) event.room:leave() end)
    ann:ask("matchmaker.enter", { queue = "ranked" })
    eve:ask("matchmaker.enter", { queue = "ranked" })
    local name = ann:expect("matchmaker.matched").room
    server:advance(5)
    if #ann:received "matchmaker.matched" > 0 and server:room(name) then -- it had begun before eve left
      eve:expect("matchmaker.ended", { queue = "ranked", ticket = 2, room = name })
    else
      eve:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "left" })
      assert.equal(1, ann:ask "tickets")
    end
  end)
end)
