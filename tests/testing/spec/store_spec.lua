-- The store of simulated servers, which is in memory.
local testing = require "perigee.testing"

local GAME = [[
local perigee = require "perigee"
local players = perigee.store "players"
local game = { on_message = {} }
function game.on_message.get(peer, id)
  local value, problem, code = players:get(id)
  return { value = value, problem = problem, code = code }
end
function game.on_message.put(peer, p) return players:put(p.id, p.value) end
local WRONG = { function() end, 0 / 0, { { [17] = 1 } }, "\0", "\255" }
function game.on_message.put_between(peer, what)
  players:put("before", { text = ("b"):rep(300) })
  for _, wrong in ipairs(what == "large" and {} or WRONG) do
    assert(not pcall(players.put, players, "wrong", { ("w"):rep(5000), wrong }))
  end
  local done, _, code = players:put("wrong", { ("w"):rep(what == "large" and 2 ^ 20 or 5) })
  players:put("after", { text = "a" })
  players:delete "deleted"
  return { done = done, code = code }
end
function game.on_error(report)
  perigee.send(perigee.to.all, "lost",
    { collection = report.collection, key = report.key, code = report.code, message = report.message })
end
function game.on_message.sql()
  local rows, problem, code = perigee.store.sql "SELECT 1 AS n"
  return { rows = rows, problem = problem, code = code }
end
function game.on_message.commit()
  local before = perigee.now()
  local ok, problem, code = perigee.store.commit()
  return { ok = ok, problem = problem, code = code, after = perigee.now() - before }
end
return game
]]

describe("the store of a simulated server", function()
  local server, ann

  before_each(function()
    server = testing.server { source = GAME, fuzz = false }
    ann = server:client "ann"
  end)

  it("keeps documents in memory", function()
    ann:ask("put", { id = "ann", value = { coins = 5 } })
    assert.same({ coins = 5 }, ann:ask("get", "ann").value)
    assert.same({}, ann:ask("get", "bob"))
    assert.is_true(ann:ask("commit").ok)
  end)

  it("writes all other documents of a handler that tried to write a wrong one", function()
    local before, after = { text = ("b"):rep(300) }, { text = "a" }
    server:store_put("players", "deleted", 1)
    assert.same({ done = true }, ann:ask("put_between", "wrong"))
    server:advance(0.1)
    assert.same({ before = before, wrong = { ("w"):rep(5) }, after = after }, server:store "players")
    server:store_put("players", "wrong", 1)
    server:store_put("players", "before", 1)
    assert.same({ code = "TooLarge" }, ann:ask("put_between", "large"))
    server:advance(0.1)
    assert.same({ before = before, wrong = 1, after = after }, server:store "players")
  end)

  it("gives back documents of any size, one after the other", function()
    for _, size in ipairs { 1, 60000, 1, 5000, 0, 65000, 3 } do
      ann:ask("put", { id = "sized", value = ("s"):rep(size) })
      server:advance(0.1)
      assert.equal(("s"):rep(size), ann:ask("get", "sized").value)
    end
  end)

  it("shows and takes documents", function()
    server:store_put("players", "cid", { coins = 3 })
    assert.same({ coins = 3 }, ann:ask("get", "cid").value)
    ann:ask("put", { id = "ann", value = { coins = 5 } })
    server:advance(0.1)
    assert.same({ cid = { coins = 3 }, ann = { coins = 5 } }, server:store "players")
    assert.has_error(function() server:store "others" end)
  end)

  it("fails on request, and on_error gets the writes that are lost", function()
    server:store_fails("disk full", { only = "read", times = 1 })
    assert.same({ problem = "disk full", code = "Unavailable" }, ann:ask("get", "dan"))
    assert.same({}, ann:ask("get", "dan"))
    server:store_fails "disk full"
    ann:ask("put", { id = "eve", value = 1 })
    assert.equal("Unavailable", ann:ask("commit").code)
    ann:expect("lost", { collection = "players", key = "eve", code = "Unavailable", message = "disk full" })
    server:expect_error "store_failing"
    server:store_fails()
    ann:ask("put", { id = "eve", value = 2 })
    assert.equal(2, ann:ask("get", "eve").value)
  end)

  it("answers SQL only in a real server", function()
    assert.is_nil(ann:ask "sql".rows)
  end)
end)

-- All events of one instant are handled before the store answers, so handlers that begin together run in
-- between two steps of a transaction.
local TRADE = [[
local perigee = require "perigee"
local players = perigee.store("players", { index = { "coins" } })
local game = { on_message = {}, rooms = { duel = { on_message = {} } } }
local M = game.on_message
local runs = 0

local function result(ok, problem, code) return { ok = ok, problem = problem, code = code, runs = runs } end

function M.get(peer, id) return players:get(id) end
function M.put(peer, p) return players:put(p.id, p.value) end
function M.update(peer, p)
  runs = 0
  return result(players:update(p.id, function(value)
    runs = runs + 1
    value = value or { coins = 0 }
    value.coins = value.coins + p.coins
    return value
  end))
end
function M.trade(peer, p)
  runs = 0
  return result(perigee.store.transaction(function()
    runs = runs + 1
    peer:send("run", runs)
    local from, to = players:get(p.from), players:get(p.to)
    if from.coins < p.coins then
      error("no coins", 0)
    end
    from.coins, to.coins = from.coins - p.coins, to.coins + p.coins
    players:put(p.from, from)
    players:put(p.to, to)
    perigee.send(perigee.to.all, "traded", players:get(p.to).coins)
  end))
end
function M.caught(peer)
  local ok, problem = pcall(perigee.store.transaction, function()
    players:put("caught", 1)
    peer:send "never"
    perigee.rooms.create("duel:never")
    error("stop", 0)
  end)
  players:put("after", { problem = problem, room = perigee.rooms.get "duel:never" ~= nil })
  return true
end
function M.richest(peer)
  return perigee.store.transaction(function()
    players:put("c", { coins = 20 })
    local list = players:find({ coins = { ">", 5 } }, { order = "-coins" })
    peer:send("found", #list)
    players:put("d", { coins = list[1].value.coins })
    return players:count { coins = 20 }
  end)
end
function M.waits()
  local ok, problem = pcall(perigee.store.transaction, function() perigee.sleep(1) end)
  local _, in_update = pcall(players.update, players, "x", function() players:get "y" return 1 end)
  local _, twice = pcall(perigee.store.transaction, function() perigee.store.transaction(function() end) end)
  return { problem, in_update, twice }
end
function M.create(peer)
  return result(perigee.store.transaction(function()
    players:put("room", { n = 1 })
    local room = perigee.rooms.create "duel:1"
    room.state.n = 1
    peer:join(room)
  end))
end
function M.find(peer) return perigee.rooms.get "duel:1" ~= nil end
function M.cancel(peer)
  local fired = 0
  local timer = perigee.after(0.01, function() fired = fired + 1 end)
  pcall(perigee.store.transaction, function()
    players:get "x"
    timer:cancel()
    players:get "y"
    perigee.store.transaction(function() end)
  end)
  perigee.sleep(0.05)
  return fired
end
function M.spawn(peer)
  local room = perigee.rooms.create "duel:task"
  room:spawn(function()
    perigee.store.transaction(function()
      players:put("task", { n = 1 })
      perigee.send(perigee.to.all, "committed", 1)
    end)
    perigee.send(perigee.to.all, "after", 1)
  end)
  room:spawn(function()
    perigee.store.transaction(function()
      players:get "task"
      players:put("read", { n = 1 })
      perigee.send(perigee.to.all, "never", 1)
    end)
  end)
  perigee.spawn(function() room:delete() end)
  return true
end
local function earn(value) value.coins = value.coins + 1 return value end
function M.updates()
  return (perigee.store.transaction(function()
    return { players:update("a", earn).coins, players:update("b", earn).coins }
  end))
end
function M.nested_updates()
  return select(2, pcall(perigee.store.transaction, function()
    players:update("a", earn)
    players:update("b", function(value) players:update("a", earn) return value end)
  end))
end
local function sum(peer, expected)
  perigee.store.transaction(function()
    local coins = players:get("a").coins
    coins = coins + players:get("b").coins
    if coins ~= expected then error("the sum is " .. coins) end
    peer:send("sum", coins)
  end)
end
function M.sum(peer) sum(peer, 10) end
function M.failing_sum(peer) sum(peer, 11) end
function M.swap()
  players:put("a", { coins = 0 })
  players:put("b", { coins = 10 })
end
return game
]]

describe("a transaction", function()
  local server, ann, bob

  before_each(function()
    -- Without a cache, each read waits for the store.
    server = testing.server { source = TRADE, fuzz = false, config = { store_cache = 0 } }
    ann, bob = server:client "ann", server:client "bob"
    ann:ask("put", { id = "a", value = { coins = 10 } })
    ann:ask("put", { id = "b", value = { coins = 0 } })
  end)

  it("writes several documents, and sends after the commit", function()
    assert.same({ ok = true, runs = 1 }, ann:ask("trade", { from = "a", to = "b", coins = 3 }))
    assert.same({ { coins = 7 }, { coins = 3 } }, { ann:ask("get", "a"), ann:ask("get", "b") })
    bob:expect("traded", 3)
  end)

  it("runs again when another write came first, and drops the commands of the earlier run", function()
    ann:send("trade", { from = "a", to = "b", coins = 3 })
    bob:send("update", { id = "b", coins = 100 })
    ann:expect("run", 2)
    bob:expect("traded", 103)
    assert.same({ 2 }, ann:received "run")
    assert.same({ coins = 103 }, ann:ask("get", "b"))
  end)

  it("reads cached documents without a wait, and notices when they are out of date", function()
    server = testing.server { source = TRADE, fuzz = false }
    ann, bob = server:client "ann", server:client "bob"
    ann:ask("put", { id = "a", value = { coins = 10 } })
    server:advance(1)
    for _ = 1, 5 do
      ann:send("update", { id = "a", coins = 1 })
      bob:send("update", { id = "a", coins = 1 })
    end
    server:advance(1)
    assert.same({ coins = 20 }, ann:ask("get", "a"))
  end)

  it("has no effect when its function fails", function()
    assert.is_nil((ann:ask("trade", { from = "a", to = "b", coins = 30 })))
    server:expect_error "no coins"
    assert.same({ { coins = 10 }, { coins = 0 } }, { ann:ask("get", "a"), ann:ask("get", "b") })
    ann:expect_nothing "run"
    assert.is_true(ann:ask "caught")
    assert.same({ problem = "stop", room = false }, ann:ask("get", "after"))
    assert.is_nil(ann:ask("get", "caught"))
    ann:expect_nothing "never"
  end)

  it("loses no update", function()
    for _ = 1, 5 do
      ann:send("update", { id = "a", coins = 1 })
      bob:send("update", { id = "a", coins = 1 })
    end
    server:advance(1)
    assert.same({ coins = 20 }, ann:ask("get", "a"))
  end)

  it("updates several documents", function()
    assert.same({ 11, 1 }, ann:ask "updates")
    assert.same({ { coins = 11 }, { coins = 1 } }, { ann:ask("get", "a"), ann:ask("get", "b") })
    assert.matches("the function of update cannot read documents", ann:ask "nested_updates")
    assert.same({ { coins = 11 }, { coins = 1 } }, { ann:ask("get", "a"), ann:ask("get", "b") })
  end)

  it("runs again when its function fails because other writes came between its reads", function()
    ann:send "sum"
    bob:send "swap"
    ann:expect("sum", 10)
    ann:send "failing_sum"
    server:advance(1)
    server:expect_error "the sum is 10"
  end)

  it("finds its own writes, and runs again when another write changes what it has found", function()
    ann:send "richest"
    bob:send("update", { id = "a", coins = 90 })
    server:advance(1)
    assert.same({ 2 }, ann:received "found")
    assert.same({ coins = 100 }, ann:ask("get", "d"))
  end)

  it("refuses other waits, and another transaction within it", function()
    local problems = ann:ask "waits"
    assert.matches("perigee.sleep cannot wait within perigee.store.transaction", problems[1])
    assert.matches("the function of update cannot read documents", problems[2])
    assert.matches("perigee.store.transaction cannot be called within perigee.store.transaction", problems[3])
  end)

  it("hides its new rooms until the commit", function()
    ann:send "create"
    assert.is_false(bob:ask "find")
    ann:expect_event "joined"
    assert.is_true(bob:ask "find")
  end)

  it("brings back a cancelled timer that was due while it waited", function()
    assert.equal(1, ann:ask "cancel")
  end)

  it("is written as a whole when its peer leaves", function()
    ann:send("trade", { from = "a", to = "b", coins = 3 })
    ann:kill()
    bob:expect("traded", 3)
    assert.same({ { coins = 7 }, { coins = 3 } }, { bob:ask("get", "a"), bob:ask("get", "b") })
  end)

  it("of a deleted room's task is written as a whole, or not begun", function()
    ann:ask "spawn"
    bob:expect("committed", 1)
    assert.same({ n = 1 }, ann:ask("get", "task"))
    assert.is_nil(ann:ask("get", "read"))
    bob:expect_nothing "after"
    bob:expect_nothing "never"
  end)
end)
