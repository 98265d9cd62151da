--- Queues, seats and parties in simulated servers.

local testing = require "perigee.testing"
local function from(seed) -- returns a source of random whole numbers
  local state = seed
  return function(most)
    state = (state * 16807) % 2147483647
    return state % most + 1
  end
end

local SOURCE = [[
  local perigee = require "perigee"
  local queue = perigee.matchmaker("ranked", { OPTIONS })
  local duel = {}
  local game = { rooms = { duel = duel }, on_message = {} }
  local function note(text) perigee.state.log = (perigee.state.log or "") .. text .. ";" end
  function duel.on_create(room, options)
    if perigee.state.no_rooms then error "no room" end
    room.state.options = options
  end
  function duel.on_join(room, peer, options)
    if peer.name == "mallory" then return false, "not you" end
    note(("join %s %d"):format(peer.name, options.team))
  end
  function duel.on_match_start(room, match)
    note "start"
    room:broadcast("start", match, { reliable = true })
  end
  function game.on_message.enter(peer, properties)
    local ticket, problem, code = queue:enter(peer, properties)
    return ticket and ticket.id or code
  end
  function game.on_message.enter_and_fail(peer, properties)
    queue:enter(peer, properties)
    error "on purpose"
  end
  function game.on_message.matches() return perigee.stats().queues.ranked.matches end
  function game.on_message.waiting() return { queue:waiting() } end
  function game.on_message.lock(_, value) perigee.rooms.get(value[1]):set { locked = value[2] } end
  function game.on_message.properties(peer) return queue:ticket(peer).properties end
  function game.on_message.quit(peer) return queue:ticket(peer):cancel() end
  return game
]]

local function source(options)
  return (SOURCE:gsub("OPTIONS", function() return options end))
end

local function enter(client, properties)
  return client:ask("matchmaker.enter", { queue = "ranked", properties = properties or {} })
end

describe("a queue", function()
  local server

  local function start(options)
    server = testing.server { source = source('room = "duel", ' .. options) }
    return server:clients(6)
  end

  after_each(function() server:close() end)

  it("brings players who fit into a room, which then starts", function()
    local ann, bob, eve = start [[players = 2, match = { rating = { within = 50, grow = 25, max = 100 } }]]
    assert.equal(1, enter(ann, { rating = 1000 }).ticket)
    ann:expect("matchmaker.queued", { queue = "ranked", ticket = 1, position = 1 })
    enter(eve, { rating = 1200 })
    server:advance(20)
    enter(bob, { rating = 1060 })
    assert.same({ 3, 3 }, bob:ask "waiting")
    bob:expect_nothing("matchmaker.matched", nil, 0.5) -- its own range grows, too
    local matched = bob:expect "matchmaker.matched"
    assert.same({ "duel:ranked1", 15 }, { matched.room, matched.seconds })
    local match = ann:expect "start"
    assert.same({ "ann", "bob" }, { match.players[1].name, match.players[2].name })
    assert.same({ 1, 1 }, bob:ask "waiting")
    assert.is_true(bob:room("duel:ranked1").joined)
    assert.same({ match = match }, server:room("duel:ranked1").state.options)
    assert.equal(1, bob:ask "matches")
  end)

  it("makes equal teams, with roles", function()
    local all = { start [[teams = 2, roles = { tank = 1, healer = 2 }]] }
    for i, client in ipairs(all) do
      enter(client, { role = ({ { "healer", "tank" }, "healer", "healer", "healer", "tank", "healer" })[i] })
    end
    local match = all[1]:expect "start"
    local counts = {}
    for _, player in ipairs(match.players) do
      local key = player.team .. player.role
      counts[key] = (counts[key] or 0) + 1
    end
    assert.same({ ["1tank"] = 1, ["2tank"] = 1, ["1healer"] = 2, ["2healer"] = 2 }, counts)
  end)

  it("waits for a full match, and later takes a smaller one", function()
    local ann, bob = start [[players = { 2, 3 }, patience = 4]]
    enter(ann)
    enter(bob)
    ann:expect_nothing("matchmaker.matched", nil, 3.5)
    ann:expect("matchmaker.matched", nil, 1)
  end)

  it("is left by cancelling, by time and by going", function()
    local ann, bob, eve = start [[players = 3, timeout = 10]]
    assert.is_false(ann:ask "matchmaker.cancel")
    enter(ann)
    assert.is_true(ann:ask "matchmaker.cancel")
    ann:expect("matchmaker.cancelled", { queue = "ranked", ticket = 1, reason = "cancelled" })
    enter(ann)
    assert.is_true(ann:ask "quit")
    enter(bob)
    bob:expect_nothing("matchmaker.timeout", nil, 9)
    bob:expect("matchmaker.timeout", { queue = "ranked", ticket = 3 }, 2)
    enter(eve)
    eve:close()
    server:advance(1)
    assert.same({ 0, 0 }, ann:ask "waiting")
  end)

  it("refuses what it cannot use", function()
    local ann, bob = start [[players = 2, match = { rating = { within = 1 }, maps = "any", region = "same" }]]
    local good = { rating = 1, maps = { "ice" }, region = "eu" }
    local function refused(properties, code, message, queue)
      local answer, problem, why, value = ann:ask("matchmaker.enter", { queue = queue or "ranked",
        properties = properties })
      assert.is_nil(answer)
      assert.equal(code, why)
      assert.matches(message, (value or {}).message or problem)
    end
    refused(good, "NoSuchQueue", "there is no queue raned", "raned")
    refused({ maps = { "ice" }, region = "eu" }, "Protocol", "rating must be a number")
    refused({ rating = 1, maps = {}, region = "eu" }, "Protocol", "maps must have an element")
    refused({ rating = 1, maps = { 1 }, region = "eu" }, "Protocol", "maps must be a list")
    refused({ rating = 1, maps = { "ice" }, region = {} }, "Protocol", "region must be a text")
    refused("x", "Protocol", "properties must be a table")
    enter(ann, good)
    refused(good, "Queued", "ann is in a queue already")
    bob:ask("enter_and_fail", good)
    assert.same({ 1, 1 }, ann:ask "waiting")
    server:expect_error "on purpose"
  end)

  it("keeps the place of a suspended player, and its seat for 15 seconds", function()
    local ann, bob = start [[players = 2]]
    enter(ann)
    ann:cut()
    server:advance(3)
    enter(bob)
    bob:expect "matchmaker.matched"
    bob:expect_nothing("start", nil, 10)
    assert.is_true(ann:reconnect())
    bob:expect("start", nil, 1)
    ann:expect "matchmaker.matched"
    ann:expect "start"
  end)

  it("puts the others back when a player does not come", function()
    local ann, bob, eve, joe = start [[players = 3, penalty = 60]]
    enter(ann)
    enter(bob)
    bob:cut()
    server:advance(1) -- the reset reaches the server before the match is made
    enter(eve)
    local matched = ann:expect "matchmaker.matched"
    ann:clear()
    ann:expect("matchmaker.queued", { queue = "ranked", ticket = 1, position = 1 }, 20)
    assert.is_nil(ann:room(matched.room))
    assert.is_nil(server:room(matched.room))
    assert.is_true(bob:reconnect())
    bob:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "did not come in time" })
    local _, _, code = bob:ask("matchmaker.enter", { queue = "ranked" })
    assert.equal("Penalty", code)
    enter(joe)
    server:advance(60)
    enter(bob)
    eve:expect("start", nil, 20)
  end)

  it("puts the others back when on_join refuses one, or no room can be made", function()
    local ann = start [[players = 2]]
    local mallory = server:client "mallory"
    enter(ann)
    enter(mallory)
    mallory:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "not you" })
    assert.same({ 1, 1 }, ann:ask "waiting")
  end)

  it("lets nobody else take a reserved seat", function()
    local ann, bob, eve = start [[players = 2]]
    enter(ann)
    ann:cut()
    server:advance(1)
    enter(bob)
    local room = bob:expect("matchmaker.matched").room
    local ok, reason = eve:try_join(room)
    assert.is_falsy(ok)
    assert.matches("reserved", reason)
    ann:reconnect()
    bob:expect "start"
    assert.truthy(eve:join(room, { team = 0 }))
  end)

  it("asks on_match, which refuses or sets options", function()
    local ann, bob, eve = start [[players = 2, on_match = function(tickets)
      local a, b = tickets[1].peers[1].name, tickets[2].peers[1].name
      if a == "ann" and b == "bob" then return false end
      if a == "bob" then error "no bob" end
      return { map = "ice" }
    end]]
    enter(ann)
    enter(bob)
    ann:expect_nothing("matchmaker.matched", nil, 5)
    enter(eve)
    local room = ann:expect("matchmaker.matched").room
    ann:expect "start"
    assert.equal("ice", server:room(room).state.options.map)
    local joe = server:client "joe"
    enter(joe)
    server:expect_error "no bob"
    assert.same({ 2, 2 }, joe:ask "waiting")
  end)

  it("fills matches that lack players", function()
    local ann, bob, eve, joe = start [[players = { 2, 3 }, fill = true, match = { region = "same" }]]
    enter(ann, { region = "eu" })
    enter(bob, { region = "eu" })
    ann:expect "start"
    enter(joe, { region = "us" })
    enter(eve, { region = "eu" })
    local matched = eve:expect("matchmaker.matched")
    assert.is_true(ann:room(matched.room).joined)
    assert.equal(3, #matched.players)
    bob:close()
    server:advance(1)
    joe:ask "matchmaker.cancel"
    enter(joe, { region = "eu" })
    assert.equal(matched.room, joe:expect("matchmaker.matched").room)
  end)

  it("survives a reload, and ends with a version that lacks it", function()
    local ann, bob, eve = start [[players = 2]]
    enter(ann)
    server:reload(source [[room = "duel", players = 2, match = { level = { within = 1 } }]])
    ann:expect("matchmaker.cancelled", { queue = "ranked", ticket = 1, reason = "the game has changed" })
    enter(ann, { level = 1 })
    server:reload(source [[room = "duel", players = 2, match = { level = { within = 3 } }]])
    enter(bob, { level = 4 })
    ann:expect "start"
    enter(eve, { level = 1 })
    server:reload "return {}"
    eve:expect("matchmaker.cancelled", { queue = "ranked", ticket = 4, reason = "the queue is closed" })
  end)

  it("keeps players out of queues that a reload closes, and out of matches that it does not fit", function()
    local ann, bob, eve, joe = start [[players = 2]]
    enter(ann)
    ann:cut()
    server:advance(1)
    enter(bob)
    bob:expect "matchmaker.matched"
    server:reload(source [[room = "duel", players = 2, match = { level = { within = 1 } }]])
    bob:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "the game has changed" }, 20)
    enter(bob, { level = 1 })
    assert.is_true(ann:reconnect())
    enter(eve, { level = 9 })
    server:reload "return {}"
    eve:expect "matchmaker.cancelled"
    server:reload(source [[room = "duel", players = 2]])
    server:advance(2)
    assert.same({ 0, 0 }, joe:ask "waiting")
    enter(bob)
    enter(eve)
    bob:expect "start"
  end)

  it("offers a match that lacks players again after a reload, whose rules it may not fit", function()
    local OPTIONS = [[room = "duel", players = { 2, 3 }, fill = true]]
    local ann, bob, eve, joe = start [[players = { 2, 3 }, fill = true]]
    enter(ann)
    enter(bob)
    local room = ann:expect("matchmaker.matched").room
    ann:expect "start"
    server:reload(source(OPTIONS .. ", match = { level = { within = 1 } }"))
    enter(eve, { level = 1 })
    eve:expect_nothing("matchmaker.matched", nil, 2)
    enter(joe, { level = 1 })
    assert.not_equal(room, joe:expect("matchmaker.matched").room)
    joe:expect "start"
    server:reload(source(OPTIONS))
    local fay = server:client "fay"
    enter(fay)
    fay:expect "matchmaker.matched"
  end)

  it("brings nobody into a locked match until it is unlocked", function()
    local ann, bob, eve = start [[players = { 2, 3 }, fill = true]]
    enter(ann)
    enter(bob)
    local name = ann:expect("matchmaker.matched").room
    ann:expect "start"
    ann:ask("lock", { name, true })
    enter(eve)
    eve:expect_nothing("matchmaker.matched", nil, 3)
    ann:ask("lock", { name, false })
    assert.equal(name, eve:expect("matchmaker.matched").room)
  end)

  it("lets a player go who leaves a running match before its party has come", function()
    local ann, bob, eve, joe = start [[players = { 2, 6 }, teams = 2, patience = 1, fill = true]]
    enter(ann)
    enter(bob)
    ann:expect "start"
    eve:ask "party.make"
    joe:ask("party.join", { code = eve:expect("party.changed").code })
    enter(eve)
    joe:cut()
    local name = eve:expect("matchmaker.matched").room
    server:advance(1)
    eve:room(name):leave()
    server:advance(20)
    assert.is_true(joe:reconnect())
    assert.truthy(eve:ask "party.leave")
    assert(enter(eve), "a player is stuck")
  end)

  it("keeps only what it asks for of a client's properties", function()
    local ann = start [[players = 2, match = { region = "same" }]]
    enter(ann, { region = "eu", junk = ("x"):rep(1000) })
    assert.same({ region = "eu" }, ann:ask "properties")
    server:reload(source [[room = "duel", players = 2, match = { region = "same" },
      on_enter = function(_, wish) return { region = "us", junk = wish.junk } end]])
    ann:ask "matchmaker.cancel"
    enter(ann, { region = "eu", junk = "x" })
    assert.same({ region = "us", junk = "x" }, ann:ask "properties")
  end)

  it("enters a party as it is after an on_enter that waits", function()
    local ann, bob = start [[players = 4, teams = 2, on_enter = function(peer)
      if peer.name == "ann" then perigee.sleep(1) end
      return true
    end]]
    bob:ask("party.join", { code = ann:ask("party.make").code })
    ann:send("matchmaker.enter", { queue = "ranked" })
    bob:ask "party.leave"
    assert(enter(bob))
    server:advance(2)
    assert.same({ 2, 2 }, bob:ask "waiting")
  end)
end)

describe("a party", function()
  it("queues as one, and stays together", function()
    local server = testing.server { source = source [[room = "duel", players = 4, teams = 2]] }
    local ann, bob, eve, joe = server:clients(4)
    local party = ann:ask "party.make"
    assert.same({ party.id, ann.id, 8 }, { 1, party.leader, party.size })
    assert.equal(true, ann:ask("party.invite", { name = "bob" }))
    local invited = bob:expect "party.invited"
    assert.same({ id = ann.id, name = "ann" }, invited.from)
    assert.equal(2, #bob:ask("party.join", { code = invited.code:lower() }).members)
    ann:expect("party.changed", function(now) return #now.members == 2 end)
    local _, _, code = bob:ask("matchmaker.enter", { queue = "ranked" })
    assert.equal("NotLeader", code)
    enter(eve)
    enter(ann)
    enter(joe)
    local match = ann:expect "start"
    local team = {}
    for _, player in ipairs(match.players) do team[player.name] = player.team end
    assert.equal(team.ann, team.bob)
    ann:room(party.room):broadcast "hello"
    bob:expect_broadcast "hello"
    ann:ask("party.promote", { id = bob.id })
    bob:ask("party.kick", { id = ann.id })
    ann:expect("party.left", { party = 1, reason = "kicked" })
    bob:close()
    server:advance(1)
    assert.is_nil(server:room(party.room))
    server:close()
  end)

  it("leaves the queue when it changes or is too large", function()
    local server = testing.server { source = source [[room = "duel", players = 4, teams = 2]] }
    local ann, bob, eve = server:clients(3)
    local code = ann:ask("party.make").code
    bob:ask("party.join", { code = code })
    enter(ann)
    bob:expect "matchmaker.queued"
    bob:cut()
    server:advance(5)
    assert.same({ 2, 1 }, eve:ask "waiting")
    bob:reconnect()
    eve:ask("party.join", { code = code })
    ann:expect("matchmaker.cancelled", { queue = "ranked", ticket = 1, reason = "the party has changed" })
    local _, _, why = ann:ask("matchmaker.enter", { queue = "ranked" })
    assert.equal("PartyTooLarge", why)
    eve:ask "party.leave"
    enter(ann)
    bob:close()
    ann:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "a player is gone" })
    server:close()
  end)
end)

describe("players by chance", function()
  -- Clients enter, cancel, join parties, are cut and come back, while the game is reloaded. At the end, all
  -- can play.
  local function leave_all(client)
    for _, listed in ipairs(client:rooms()) do
      local room = client:room(listed.name)
      if room then room:leave() end
    end
  end

  local function play(seed)
    local random = from(seed)
    for _ = 1, 10 do random(7) end
    local OPTIONS = [[room = "duel", players = { 2, 4 }, teams = 2, patience = 1, fill = FILL,
      match = { region = "same" }]]
    local text = source((OPTIONS:gsub("FILL", tostring(random(2) == 1))))
    local server = testing.server { source = text, seed = seed }
    local clients, is_cut = { server:clients(8) }, {}
    local codes = {}
    for _ = 1, 120 do
      local i = random(#clients)
      local client, action = clients[i], random(9)
      if is_cut[i] then
        if random(3) == 1 then
          client:reconnect()
          is_cut[i] = nil
        end
      elseif action <= 3 then
        enter(client, { region = random(2) == 1 and "eu" or "us" })
      elseif action == 4 then
        client:ask "matchmaker.cancel"
      elseif action == 5 then
        local party = client:ask "party.make"
        codes[#codes + 1] = party and party.code
      elseif action == 6 and #codes > 0 then
        client:ask("party.join", { code = codes[random(#codes)] })
      elseif action == 7 then
        client:cut()
        is_cut[i] = true
      elseif action == 8 then
        leave_all(client)
      elseif random(5) == 1 then
        server:reload(text)
      end
      server:advance(random(20) / 10)
    end
    for i in pairs(is_cut) do clients[i]:reconnect() end
    server:advance(20)
    for _, client in ipairs(clients) do
      client:ask "party.leave"
      client:ask "matchmaker.cancel"
      leave_all(client)
    end
    server:advance(20)
    assert.same({}, clients[1]:rooms()) -- the rooms of matches and parties do not exist any more
    assert.same({ 0, 0 }, clients[1]:ask "waiting")
    for _, client in ipairs(clients) do
      client:clear()
      assert(enter(client, { region = "eu" }), "a player is stuck")
    end
    for _, client in ipairs(clients) do client:expect("matchmaker.matched", nil, 10) end
    server:close()
  end

  it("are never lost or stuck", function()
    local seed = tonumber(os.getenv "SEED") or 1
    for n = seed, seed + (tonumber(os.getenv "SCHEDULES") or 5) - 1 do
      local ok, problem = pcall(play, n)
      assert(ok, ("seed %d: %s"):format(n, tostring(problem)))
    end
  end)
end)
