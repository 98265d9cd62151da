--- Matches whose rooms, handlers or players fail, and what the other players get.

local testing = require "perigee.testing"

local SOURCE = [[
  local perigee = require "perigee"
  local state = perigee.state
  local queue = perigee.matchmaker("ranked", { room = "duel", OPTIONS })
  local duel, game = {}, { rooms = {}, on_message = {} }
  game.rooms.duel = duel
  function duel.on_create() if state.fails then error "no room" end end
  function duel.on_join() if state.is_slow then perigee.sleep(2) end end
  function game.on_message.set(_, value) for key, to in pairs(value) do state[key] = to end end
  function game.on_message.delete(_, name) perigee.rooms.get(name):delete() end
  function game.on_message.barge_in(peer, name) return peer:join(name, nil, { wait = true }) end
  function game.on_message.kick_first(_, name)
    local room = perigee.rooms.get(name)
    room:kick(room:peers()[1])
  end
  function game.on_message.enter_and_fail(peer)
    queue:enter(peer)
    error "on purpose"
  end
  function game.on_message.tickets() return select(2, queue:waiting()) end
  return game
]]

local function source(options)
  return (SOURCE:gsub("OPTIONS", function() return options end))
end

local function enter(client)
  return assert(client:ask("matchmaker.enter", { queue = "ranked" }))
end

describe("a match", function()
  local server

  local function start(options)
    server = testing.server { source = source(options) }
    return server:clients(4)
  end

  after_each(function() server:close() end)

  it("is made after a handler that entered first has failed", function()
    local ann, bob = start [[players = 2]]
    ann:ask "enter_and_fail"
    server:expect_error "on purpose"
    enter(ann)
    enter(bob)
    ann:expect "matchmaker.matched"
  end)

  it("is made of others after on_match has failed", function()
    local ann, bob, eve = start [[players = 2, on_match = function()
      if not state.has_failed then
        state.has_failed = true
        error "no match"
      end
    end]]
    enter(ann)
    enter(bob)
    server:expect_error "no match"
    server:advance(5)
    assert.equal(2, ann:ask "tickets")
    enter(eve)
    ann:expect "matchmaker.matched"
    assert.same({}, bob:received "matchmaker.matched")
  end)

  it("is not announced when its room cannot be made, and is made in the next version", function()
    local ann, bob = start [[players = 2]]
    ann:ask("set", { fails = true })
    enter(ann)
    enter(bob)
    server:expect_error "no room"
    server:advance(5)
    assert.same({}, ann:received "matchmaker.matched")
    ann:ask("set", { fails = false })
    ann:expect_nothing("matchmaker.matched", nil, 2) -- they stay apart
    server:reload(source [[players = 2]])
    ann:expect "matchmaker.matched"
    bob:expect "matchmaker.matched"
  end)

  it("waits for a place on a server with too many rooms", function()
    local ann, bob, eve, joe = start [[players = 2]]
    server:reload((source [[players = 2, on_match = function() state.asked = (state.asked or 0) + 1 end]])
      :gsub("rooms = {}", "rooms = {}, config = { max_rooms = 1 }"))
    enter(ann)
    enter(bob)
    local first = ann:expect("matchmaker.matched").room
    enter(eve)
    enter(joe)
    eve:expect_nothing("matchmaker.matched", nil, 30)
    assert(server:state().asked < 40, "the queue does not rest")
    server:expect_log "cannot make a room: max_rooms is reached"
    ann:room(first):leave()
    bob:room(first):leave()
    eve:expect "matchmaker.matched"
    joe:expect "matchmaker.matched"
  end)

  it("does not begin without a player who leaves before the others are there", function()
    local ann, bob = start [[players = 2, penalty = 60]]
    enter(ann)
    ann:cut()
    server:advance(1)
    enter(bob)
    local name = bob:expect("matchmaker.matched").room
    server:advance(1)
    bob:room(name):leave()
    bob:expect("matchmaker.cancelled", { queue = "ranked", ticket = 2, reason = "left" })
    assert.equal("Penalty", (select(3, bob:ask("matchmaker.enter", { queue = "ranked" }))))
    assert.is_true(ann:reconnect())
    ann:expect("matchmaker.queued", { ticket = 1, position = 1 })
  end)

  it("waits for a player whose connection is lost while on_join waits", function()
    local ann, bob = start [[players = 2]]
    local text = source [[players = 2]]
    server:reload((text:gsub("local duel, game = {}", "local duel, game = { resume = false }")))
    ann:ask("set", { is_slow = true })
    enter(ann)
    enter(bob)
    ann:expect "matchmaker.matched"
    server:advance(1)
    ann:cut()
    server:advance(5)
    assert.is_true(ann:reconnect())
    ann:expect_event("joined", {}, 10)
    assert.same({}, bob:received "matchmaker.cancelled")
  end)

  it("is asked about again when the game is reloaded while on_match waits", function()
    local ann, bob = start [[players = 2, on_match = function() perigee.sleep(2) end]]
    enter(ann)
    enter(bob)
    server:advance(1)
    server:reload(source [[players = 2, match = { level = { within = 1 } }]])
    ann:expect("matchmaker.cancelled", { queue = "ranked", ticket = 1, reason = "the game has changed" })
    bob:expect "matchmaker.cancelled"
    assert.same({}, bob:received "matchmaker.matched")
  end)

  it("ends when the script deletes its room before all are there", function()
    local ann, bob = start [[players = 2, penalty = 60]]
    enter(ann)
    ann:cut()
    server:advance(1)
    enter(bob)
    local name = bob:expect("matchmaker.matched").room
    bob:ask("delete", name)
    bob:expect("matchmaker.queued", { ticket = 2, position = 1 })
    assert.is_false(bob:room(name) ~= nil and bob:room(name).joined)
    assert.is_true(ann:reconnect())
    ann:expect("matchmaker.queued", { ticket = 1, position = 1 })
    assert.equal(2, ann:ask "tickets")
  end)

  it("ends when the script deletes its room while on_join waits", function()
    local ann, bob = start [[players = 2]]
    ann:ask("set", { is_slow = true })
    enter(ann)
    enter(bob)
    local name = ann:expect("matchmaker.matched").room
    ann:clear()
    ann:ask("delete", name)
    ann:expect("matchmaker.queued", { ticket = 1, position = 1 })
    assert.equal(2, ann:ask "tickets")
  end)

  it("gets nobody whom the queue has for a room that was deleted", function()
    local ann, bob, eve = start [[players = { 2, 3 }, fill = true]]
    enter(ann)
    enter(bob)
    local name = ann:expect("matchmaker.matched").room
    server:advance(1)
    ann:ask("delete", name)
    enter(eve)
    eve:expect_nothing("matchmaker.matched", nil, 5)
  end)

  it("does not get its own players from the queue, and notifies those who leave", function()
    local ann, bob, eve = start [[players = { 2, 3 }, fill = true]]
    enter(ann)
    enter(bob)
    local name = ann:expect("matchmaker.matched").room
    server:advance(1)
    ann:clear()
    enter(ann)
    ann:expect_nothing("matchmaker.matched", nil, 5)
    bob:room(name):leave()
    bob:expect("matchmaker.ended", { queue = "ranked", ticket = 2, room = name })
    enter(eve)
    assert.equal(name, eve:expect("matchmaker.matched").room) -- as ann does not count, eve fills the match
    ann:room(name):leave()
    ann:expect("matchmaker.ended", { queue = "ranked", ticket = 1, room = name })
    assert.equal(name, ann:expect("matchmaker.matched").room)
  end)

  it("notifies a player whose connection was lost from its beginning to its end", function()
    local ann, bob = start [[players = 2]]
    enter(ann)
    ann:vanish()
    enter(bob)
    local name = bob:expect("matchmaker.matched").room
    server:advance(1)
    bob:ask("kick_first", name)
    assert.is_true(ann:reconnect())
    assert.equal(name, ann:expect("matchmaker.matched").room)
    ann:expect("matchmaker.ended", { queue = "ranked", ticket = 1, room = name })
  end)

  it("can be cancelled until its players are notified", function()
    local ann, bob, eve = start [[players = 2, on_match = function() perigee.sleep(2) end]]
    enter(ann)
    enter(bob)
    server:advance(1)
    assert.is_true(ann:ask "matchmaker.cancel")
    assert.is_false(ann:ask "matchmaker.cancel")
    assert.equal(1, #ann:received "matchmaker.cancelled")
    server:advance(2)
    assert.equal(1, ann:ask "tickets")
    enter(eve)
    bob:expect "matchmaker.matched"
    assert.is_false(bob:ask "matchmaker.cancel")
  end)

  it("deletes its room after the last one has left, whoever that is, and in any version", function()
    local ann, bob, eve = start [[players = 2]]
    enter(ann)
    enter(bob)
    local name = ann:expect("matchmaker.matched").room
    server:advance(1)
    assert.is_true(eve:ask("barge_in", name))
    server:reload [[return { rooms = { duel = {} } }]]
    ann:room(name):leave()
    bob:room(name):leave()
    eve:room(name):leave()
    server:advance(1)
    assert.is_nil(server:room(name))
  end)
end)
