--- perigee.store in PostgreSQL, which several servers share.
local postgres = require "tests.e2e.postgres"
local server = require "tests.e2e.server"

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store("players", { index = { "coins" } })
  local weekly = perigee.leaderboard "weekly"
  local game = { on_message = {} }
  local M = game.on_message

  local function values(...)
    local list = {}
    for i = 1, select("#", ...) do
      local value = select(i, ...)
      list[i] = value == nil and "nil" or value
    end
    return list
  end

  function M.get(peer, id) return values(players:get(id)) end
  function M.put(peer, p) return values(players:put(p.id, p.value, p.options)) end
  function M.commit() return values(perigee.store.commit()) end
  function M.earn(peer, id)
    return values(players:update(id, function(saved)
      return { coins = (saved and saved.coins or 0) + 1 }
    end))
  end
  function M.trade(peer, p)
    return values(perigee.store.transaction(function()
      local from, to = players:get(p.from), players:get(p.to)
      players:put(p.from, { coins = from.coins - p.coins })
      players:put(p.to, { coins = to.coins + p.coins })
      return from.coins
    end))
  end
  function M.submit(peer, score) weekly:submit(peer.name, score) return values(perigee.store.commit()) end
  function M.find(peer, p)
    local found, cursor = players:find(p.where, p.options)
    local ids = {}
    for i, row in ipairs(found) do ids[i] = row.id end
    return { ids, cursor or "nil", players:count(p.where) }
  end
  function M.sql(peer, p) return values(perigee.store.sql(unpack(p))) end
  function M.top() return values(weekly:top(10)) end
  return game
]]

describe("perigee.store in PostgreSQL", function()
  local database, first, second, ann, bob

  setup(function()
    database = postgres.start()
    first = server.start { game = GAME, flags = { store = database.place } }
    second = server.start { game = GAME, flags = { store = database.place } }
    ann, bob = first:client "ann", second:client "bob"
  end)

  teardown(function()
    server.stop_all()
    database:stop()
  end)

  local function asks(client, name, value, times)
    local refs = {}
    for i = 1, times do refs[i] = client:ask(0, name, value) end
    return refs
  end

  local function answers(client, refs)
    for _, ref in ipairs(refs) do
      local value = client:expect_answer("MESSAGE", ref).value
      assert.not_equal("nil", value[1], tostring(value[2]))
    end
  end

  it("shows each server what the other has written", function()
    local value = { coins = 5, big = 2 ^ 40, s = "\1ä" }
    assert.same({ true }, ann:question(0, "put", { id = "ann", value = value }))
    assert.same({ true }, ann:question(0, "commit"))
    assert.same(value, bob:question(0, "get", "ann")[1])
    assert.equal("ann|5|5|1\n",
      database:psql "select id, value->>'coins', i_coins_n, schema from players")
  end)

  it("lets one of two writes of the same version win", function()
    local function put(client, value, version)
      return client:question(0, "put", { id = "cas", value = value, options = { if_version = version } })
    end
    local version = put(ann, 1, 0)[1]
    assert.is_number(version)
    assert.equal("Conflict", put(bob, 2, 0)[3])
    assert.is_number(put(bob, 2, version)[1])
    assert.equal(2, ann:question(0, "get", "cas")[1])
  end)

  it("loses no update of two servers, and no coin of a trade", function()
    local TIMES = 4 -- a transaction runs 10 times at most
    ann:question(0, "put", { id = "rich", value = { coins = 100 } })
    ann:question(0, "commit")
    local hers, his = asks(ann, "earn", "both", TIMES), asks(bob, "earn", "both", TIMES)
    answers(ann, hers)
    answers(bob, his)
    assert.equal(2 * TIMES, ann:question(0, "get", "both")[1].coins)
    hers = asks(ann, "trade", { from = "rich", to = "both", coins = 1 }, TIMES)
    his = asks(bob, "trade", { from = "both", to = "rich", coins = 2 }, TIMES)
    answers(ann, hers)
    answers(bob, his)
    assert.equal(100 + TIMES, bob:question(0, "get", "rich")[1].coins)
    assert.equal(TIMES, bob:question(0, "get", "both")[1].coins)
  end)

  it("finds, counts, and reads with SQL", function()
    for id, coins in pairs { x = 1001, y = 1003, z = 1002 } do
      ann:question(0, "put", { id = id, value = { coins = coins } })
    end
    ann:question(0, "commit")
    local where = { coins = { ">", 1000 } }
    local found = bob:question(0, "find", { where = where, options = { order = "-coins", limit = 2 } })
    assert.same({ "y", "z" }, found[1])
    assert.equal(3, found[3])
    local rest = bob:question(0, "find",
      { where = where, options = { order = "-coins", limit = 2, after = found[2] } })
    assert.same({ "x" }, rest[1])
    assert.same({ { { id = "y", coins = 1003 } } },
      bob:question(0, "sql", { "SELECT id, i_coins_n AS coins FROM players WHERE i_coins_n > ?", 1002 }))
    assert.equal("Invalid", bob:question(0, "sql", { "DELETE FROM players" })[3])
  end)

  it("ends SQL that takes too long, and refuses what does not read", function()
    assert.equal("Timeout", ann:question(0, "sql", { "SELECT pg_sleep(100)" })[3])
    -- Each page of its rows comes in time.
    local slow = "SELECT pg_sleep(0.02) FROM generate_series(1, 9000)"
    assert.equal("Timeout", ann:question(0, "sql", { slow })[3])
    for _, sql in ipairs {
      "DELETE FROM players", "WITH x AS (DELETE FROM players RETURNING id) SELECT id FROM x",
      "SELECT nextval('perigee_sequence')", "SELECT 1; DELETE FROM players", "COMMIT",
      "SELECT set_config('transaction_read_only', 'off', true)",
    } do
      assert.equal("Invalid", ann:question(0, "sql", { sql })[3], sql)
    end
  end)

  it("keeps one leaderboard for all servers", function()
    assert.same({ true }, ann:question(0, "submit", 5))
    assert.same({ true }, bob:question(0, "submit", 7))
    local top = ann:question(0, "top")[1]
    assert.same({ "bob", "ann" }, { top[1].id, top[2].id })
  end)

  it("goes on when PostgreSQL has restarted", function()
    ann:question(0, "put", { id = "last", value = 1 })
    assert.same({ true }, ann:question(0, "commit"))
    database:stop()
    local refs = asks(ann, "earn", "after", 3)
    database:start()
    answers(ann, refs)
    assert.equal(3, bob:question(0, "get", "after")[1].coins)
    assert.equal(1, bob:question(0, "get", "last")[1])
    first:wait_log "store_works_again"
  end)
end)

describe("a PostgreSQL that the server cannot use", function()
  it("ends the server with one sentence, without the password", function()
    local database = postgres.start()
    local place = database.place:gsub("perigee@", "locked:s3cret@")
    local perigee = server.launch { game = GAME, flags = { store = place } }
    assert.equal(1, perigee:wait_exit())
    local text = table.concat(perigee.err, "\n") .. table.concat(perigee.out, "\n")
    assert.truthy(text:find("password authentication failed", 1, true), text)
    assert.falsy(text:find("s3cret", 1, true))
    database:stop()
    server.stop_all()
  end)
end)
