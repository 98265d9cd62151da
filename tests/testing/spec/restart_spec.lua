-- Simulated servers that crash and restart: which rooms, sessions, accounts and boards survive.
local testing = require "perigee.testing"

local GAME = [[
local perigee = require "perigee"
local board = perigee.leaderboard("best", { order = "high" })
local players = perigee.store "players"
local game = { config = { version = 1, accounts = true, durable = true }, rooms = {}, on_message = {} }
local duel = { durable = true, auto_create = true, on_message = {} }
game.rooms = { duel = duel, hall = { auto_create = true } }
function game.on_start() print "started" end
function duel.on_create(room) room.state = { n = 0 } end
function duel.on_restore(room, seconds)
  print(("restored %s n=%d after %d s"):format(room.name, room.state.n, seconds))
end
function duel.on_resume(room, peer, gap)
  print(("resumed %s %s"):format(peer.name, tostring(gap.restored)))
end
function duel.on_leave(room, peer, reason) print(("left %s %s"):format(peer.name, reason)) end
function game.on_disconnect(peer, reason) print(("gone %s %s"):format(peer.name, reason)) end
function duel.on_upgrade(room, from, to)
  room.state.twice = room.state.n * 2
  print(("upgraded from %d to %d"):format(from, to))
end
function duel.on_message.add(room)
  room.state.n = room.state.n + 1
  return room.state
end
function duel.on_message.save(room) return room:save() end
function game.on_message.gold(peer, n) peer.state.gold = n return true end
function game.on_message.who(peer)
  local account = peer.account
  return { gold = peer.state.gold, account = account and account.id, name = account and account.name }
end
function game.on_message.coins(peer, n)
  return peer.account:update(function(data) data.coins = n return data end).coins
end
function game.on_message.out(peer) return { peer.account:sign_out_everywhere() } end
function game.on_message.put(peer, n) players:put("ann", n) return true end
function game.on_message.get() return players:get "ann" end
function game.on_message.commit() return perigee.store.commit() end
function game.on_message.submit(peer, n) board:submit(peer.name, n) return true end
function game.on_message.top() return board:top(3) end
function game.on_message.stop() perigee.stop "for today" return true end
function game.on_message.starts() perigee.state.n = (perigee.state.n or 0) + 1 return perigee.state.n end
return game
]]

local DEVICE = ("d"):rep(20)

describe("a simulated server", function()
  local server

  before_each(function()
    server = testing.server { source = GAME }
  end)

  it("that has crashed has durable rooms and their players again", function()
    local ann, bob = server:clients(2)
    local room = ann:join "duel:1"
    ann:join "hall"
    bob:join "duel:1"
    local id = ann.id
    ann:ask("gold", 5)
    room:ask "add"
    server:advance(6)
    server:crash()
    assert.error_matches(function() server:room "duel:1" end,
      "the server is down; server:restart%(%) starts it again")
    server:advance(30)
    server:restart()
    ann:expect_event "restored"
    bob:expect_event "restored"
    assert.equal(id, ann.id)
    assert.equal(1, server:room("duel:1").state.n)
    assert.equal(2, server:room("duel:1").count)
    assert.is_nil(server:room "hall")
    assert.equal(5, ann:ask("who").gold)
    assert.equal(2, room:ask("add").n)
    server:expect_log "restored duel:1 n=1 after 3[01] s"
    server:expect_log "resumed ann true"
  end)

  it("loses what was not saved in a crash, and nothing in a restart", function()
    local ann = server:client "ann"
    local room = ann:join "duel:1"
    room:ask "save"
    room:ask "add"
    server:crash()
    server:restart()
    assert.equal(0, server:room("duel:1").state.n)
    room:ask "add"
    server:restart()
    assert.equal(1, server:room("duel:1").state.n)
    ann:expect_event "restored"
    ann:expect_closed "Unavailable"
  end)

  it("loses writes of the last moment alone", function()
    local ann = server:client { name = "ann", latency = 0 }
    ann:ask("put", 1)
    ann:ask "commit"
    ann:ask("put", 2)
    server:crash()
    server:restart()
    assert.equal(1, ann:ask "get")
  end)

  it("has perigee.state, accounts and boards again", function()
    local ann = server:client { name = "ann", sign_up = { name = "ada", password = "difference" } }
    ann:ask("coins", 7)
    ann:ask("submit", 12)
    ann:ask "starts"
    server:restart()
    assert.equal(2, ann:ask "starts")
    assert.equal(12, ann:ask("top")[1].score)
    local again = server:client { name = "bob", sign_in = { name = "ada", password = "difference" } }
    assert.equal(ann:ask("who").account, again:ask("who").account)
    assert.equal(8, again:ask("coins", 8))
  end)

  it("gives a restored peer its account", function()
    local ann = server:client { name = "ann", sign_in = { device = DEVICE } }
    local before = ann:ask "who"
    assert.is_string(before.account)
    server:crash()
    server:restart()
    ann:expect_event "restored"
    assert.same(before, ann:ask "who")
    assert.equal(9, ann:ask("coins", 9))
  end)

  it("ends the players whose account may not be used any more", function()
    local ann, bob, cid = server:client { name = "ann", sign_in = { device = DEVICE } },
      server:client { name = "bob", sign_in = { device = DEVICE .. "b" } }, server:client "cid"
    for _, client in ipairs { ann, bob, cid } do client:join "duel:1" end
    local accounts = server:store "perigee_accounts"
    local banned, out = ann:ask("who").account, bob:ask("who").account
    -- Changes the accounts, as another server on the same store would do.
    accounts[banned].banned_until = 2e9
    accounts[out].generation = 2
    server:store_put("perigee_accounts", banned, accounts[banned])
    server:store_put("perigee_accounts", out, accounts[out])
    server:advance(1)
    server:crash()
    server:restart()
    cid:expect_event "restored"
    ann:expect_nothing "restored"
    for _, line in ipairs { "left ann Unauthorized", "gone ann Unauthorized", "left bob Unauthorized" } do
      server:expect_log(line)
    end
    assert.equal(1, server:room("duel:1").count)
    for _, entry in ipairs(server.logs) do assert.is_nil(entry.text:find("resumed ann", 1, true)) end
  end)

  it("starts again after the game has stopped it", function()
    local ann = server:client "ann"
    ann:join "duel:1"
    ann:ask "stop"
    ann:expect_closed "Unavailable"
    server:restart()
    ann:expect_event "restored"
    assert.equal(1, server:room("duel:1").count)
  end)

  it("leaves text peers where they are", function()
    local text = server:client { text = true, name = "teo" }
    server:crash()
    server:restart()
    text:expect_closed "ConnectionReset"
    assert.is_false(text.connected)
  end)

  it("leaves out those who do not come back", function()
    local ann, bob = server:clients(2)
    ann:join "duel:1"
    bob:join "duel:1"
    server:crash()
    bob:kill()
    server:restart()
    ann:expect_event("peer_left", { name = "bob" }, 120)
    server:expect_log "left bob ConnectionReset"
    server:expect_log "gone bob ConnectionReset"
  end)

  it("upgrades the states of an older version", function()
    local ann = server:client "ann"
    local room = ann:join "duel:1"
    room:ask "add"
    server:restart((GAME:gsub("version = 1", "version = 3")))
    server:expect_log "upgraded from 1 to 3"
    assert.same({ n = 1, twice = 2 }, server:room("duel:1").state)
    server:restart(GAME)
    assert.is_nil(server:room "duel:1")
    server:expect_log "is of version 3, and config.version is 1"
  end)

  it("starts again with answers to its HTTP requests, and with the latency of its clients", function()
    local ann = server:client { name = "ann", latency = 0.2 }
    ann:join "duel:1"
    server:crash()
    server:restart()
    ann:expect_event "restored"
    assert.near(0.4, ann:ping(), 0.01)
  end)

  it("fails the spec if the new version does not load", function()
    server:crash()
    assert.error_matches(function() server:restart "return 5 +" end, "the game does not load: .*game.lua:1")
    server:restart(GAME)
    server:client("ann"):join "duel:1"
  end)

  it("has the same trace with the same seed", function()
    local traces = {}
    for i = 1, 2 do
      local one = testing.server { source = GAME, fuzz = false }
      local ann = one:client "ann"
      local room = ann:join "duel:1"
      room:ask "add"
      one:crash()
      one:restart()
      room:ask "add"
      traces[i] = one:trace()
    end
    assert.equal(traces[1], traces[2])
  end)
end)
