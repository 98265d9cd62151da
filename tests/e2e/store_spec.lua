--- perigee.store: the documents of a game.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store("players", { index = { "rating", "guild" } })
  local game = { on_message = {} }
  local M = game.on_message

  local function values(...) -- JSON has no nil
    local list = {}
    for i = 1, select("#", ...) do
      local value = select(i, ...)
      list[i] = value == nil and "nil" or value
    end
    return list
  end

  function M.get(peer, id) return values(players:get(id)) end
  function M.put(peer, p) return values(players:put(p.id, p.value, p.options)) end
  function M.delete(peer, p) return values(players:delete(p.id, p.options)) end
  function M.commit() return values(perigee.store.commit()) end
  function M.commits(peer, id)
    players:put(id, { done = true })
    return values(perigee.store.commit())
  end
  function M.put_and_get(peer, id)
    players:put(id, { n = 1 })
    return values(players:get(id))
  end
  function M.put_and_fail(peer, id)
    players:put(id, { n = 1 })
    error "oops"
  end
  function M.wait_and_fail(peer, id)
    players:put(id, { n = 1 })
    perigee.sleep(0)
    players:put(id, { n = 2 })
    error "oops"
  end
  local VALUES = {
    number_key = function() return { items = { { [17] = true } } } end,
    hole = function() return { 1, nil, 3 } end,
    mixed = function() return { 1, name = "x" } end,
    nan = function() return { a = { b = 0 / 0 } } end,
    fn = function() return { f = print } end,
    peer = function(peer) return { owner = peer } end,
    itself = function() local t = {} t.t = t return t end,
    bytes = function() return { s = "\255" } end,
    zero = function() return { s = "a\0b" } end,
    boolean_key = function() return { [true] = 1 } end,
    none = function() return nil end,
  }
  function M.put_wrong(peer, name) return values(players:put("x", VALUES[name](peer))) end
  function M.put_large() return values(players:put("x", ("x"):rep(2 ^ 20))) end
  function M.digits()
    local sent = { 0.1 + 0.2, 2 ^ 53, 1 / 3, -1e300, 5e-324, 123456789012345, -0.5, 1e15 + 0.5, 0, -7, 10,
      999999999999999, -999999999999999, 1e15, -1e15 }
    players:put("digits", sent)
    local got = players:get "digits"
    for i = 1, #sent do if sent[i] ~= got[i] then return i end end
    players:put("zero", { -0 })
    return #got == #sent and 1 / players:get("zero")[1] == math.huge -- no back end keeps the sign
  end
  function M.text()
    local sent = "\1\n\"\\/ \195\164 \240\159\152\128"
    players:put("text", { [sent] = sent })
    return players:get "text"[sent] == sent
  end
  function M.find(peer, p) return values(players:find(p.where, p.options)) end
  function M.count(peer, where) return values(players:count(where)) end
  function M.sql(peer, p) return values(perigee.store.sql(unpack(p))) end
  function M.stats() return perigee.stats().store end
  function M.late() return pcall(perigee.store, "others") end
  return game
]]

describe("perigee.store", function()
  local perigee, ann

  setup(function()
    perigee = server.start { game = GAME }
    ann = perigee:client "ann"
  end)

  teardown(server.stop_all)

  local function ask(name, value)
    return ann:question(0, name, value)
  end

  local function raises(name, value, message)
    ann:expect_error("Internal", ann:ask(0, name, value))
    perigee:wait_log(message)
  end

  local function sqlite(sql)
    local pipe = assert(io.popen(("sqlite3 -readonly %s/data/game.db %q"):format(perigee.folder, sql)))
    local text = pipe:read "*a"
    pipe:close()
    return text
  end

  it("keeps documents in tables that sqlite3 can read", function()
    assert.same({ true }, ask("put", { id = "ann", value = { coins = 5, rating = 1200 } }))
    assert.same({ true }, ask "commit")
    assert.equal("ann|5|1200|1\n",
      sqlite "select id, json_extract(value, '$.coins'), i_rating, schema from players where id = 'ann'")
    assert.equal("ok\n", sqlite "pragma integrity_check")
  end)

  it("returns a document with its version, and nil for none", function()
    ask("put", { id = "bob", value = { coins = 7, items = { "a", "b" } } })
    local answer = ask("get", "bob")
    assert.same({ coins = 7, items = { "a", "b" } }, answer[1])
    assert.is_true(answer[2] > 0)
    assert.same({ "nil" }, ask("get", "nobody"))
    ask("delete", { id = "bob" })
    assert.same({ "nil" }, ask("get", "bob"))
  end)

  it("reads the handler's own writes", function()
    assert.same({ n = 1 }, ask("put_and_get", "own")[1])
  end)

  it("drops the writes of a handler that fails, back to its last wait", function()
    raises("put_and_fail", "failed", "oops")
    assert.same({ "nil" }, ask("get", "failed"))
    raises("wait_and_fail", "waited", "oops")
    assert.same({ n = 1 }, ask("get", "waited")[1])
  end)

  it("writes with if_version only over that version", function()
    assert.same({ "nil", "another write came first", "Conflict" },
      ask("put", { id = "cas", value = 1, options = { if_version = 5 } }))
    local first = ask("put", { id = "cas", value = 1, options = { if_version = 0 } })[1]
    assert.equal("Conflict", ask("put", { id = "cas", value = 2, options = { if_version = 0 } })[3])
    local second = ask("put", { id = "cas", value = 2, options = { if_version = first } })[1]
    assert.is_true(second > first)
    assert.same({ 2, second }, ask("get", "cas"))
    assert.equal("Conflict", ask("delete", { id = "cas", options = { if_version = first } })[3])
    assert.same({ true }, ask("delete", { id = "cas", options = { if_version = second } }))
    assert.same({ "nil" }, ask("get", "cas"))
  end)

  it("finds and counts by indexed fields, in pages", function()
    for i = 1, 5 do
      ask("put", { id = "owl" .. i, value = { guild = "owls", rating = 1000 + i, n = i } })
    end
    local function ids(p)
      local found, list = ask("find", p), {}
      for i, document in ipairs(found[1]) do list[i] = document.id end
      return table.concat(list, " "), found[2]
    end
    local where = { guild = "owls", rating = { ">=", 1002 } }
    assert.equal(4, ask("count", where)[1])
    local page, cursor = ids { where = where, options = { order = "-rating", limit = 3 } }
    assert.equal("owl5 owl4 owl3", page)
    page, cursor = ids { where = where, options = { order = "-rating", limit = 3, after = cursor } }
    assert.equal("owl2", page)
    assert.equal("nil", tostring(cursor))
    assert.equal("owl2 owl3", (ids { where = { guild = "owls", rating = { ">", 1001, "<", 1004 } } }))
    assert.equal("", (ids { where = { guild = 5 } }))
    raises("count", { n = 1 }, "players has no index of")
    raises("find", { where = { rating = { "~", 1 } } }, "a condition of rating is a value, or a list")
    assert.equal("Invalid", ask("find", { where = where, options = { after = "x" } })[3])
  end)

  it("reads with SQL, which sees all earlier writes", function()
    ask("put", { id = "sql", value = { rating = 77 } })
    local sql = "SELECT id, i_rating AS rating FROM players WHERE i_rating = ? AND id = ?"
    assert.same({ { id = "sql", rating = 77 } }, ask("sql", { sql, 77, "sql" })[1])
    assert.equal("Invalid", ask("sql", { "SELECT nothing FROM players" })[3])
    assert.equal("Invalid", ask("sql", { "DELETE FROM players" })[3])
  end)

  it("refuses SQL that writes, reaches beyond the file, or is no UTF-8", function()
    for _, sql in ipairs {
      "INSERT INTO players SELECT * FROM players", "DELETE FROM players", "ATTACH '/tmp/x.db' AS x",
      "PRAGMA journal_mode = DELETE", "SELECT load_extension('x')", "SELECT fts3_tokenizer('simple')",
      "CREATE TABLE x (a)", "BEGIN", "VACUUM", "SELECT 1; SELECT 2", "", "SELECT CAST(x'ff' AS TEXT)",
    } do
      assert.equal("Invalid", ask("sql", { sql })[3], sql)
    end
    assert.equal("Timeout", ask("sql", { "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c)"
      .. " SELECT count(*) FROM c" })[3])
  end)

  it("answers commit when the disk has everything", function()
    assert.same({ true }, ask("commits", "committed"))
    assert.equal("1\n", sqlite "select count(*) from players where id = 'committed'")
  end)

  it("counts writes and commits", function()
    local before = ask "stats"
    ask("commits", "counted")
    local after = ask "stats"
    assert.equal(before.writes + 1, after.writes)
    assert.is_true(after.commits > before.commits and after.commit_ms > 0)
    assert.same({ 0, 0 }, { after.waiting, after.failures - before.failures })
  end)

  it("keeps all digits of numbers, and any text", function()
    assert.is_true(ask "digits")
    assert.is_true(ask "text")
  end)

  it("names the place of what JSON cannot express", function()
    raises("put_wrong", "number_key",
      "value.items[1] has keys that are no names and no list 1, 2, ...; use tostring(id)")
    raises("put_wrong", "hole", "value has keys that are no names and no list 1, 2, ...; use tostring(id)")
    raises("put_wrong", "mixed", "value has keys of a list and names; JSON has one or the other")
    raises("put_wrong", "nan", "value.a.b is NaN or infinite")
    raises("put_wrong", "fn", "value.f is a function, which JSON cannot express")
    raises("put_wrong", "peer", "value.owner is an object of the server; store its id or its name")
    raises("put_wrong", "itself", "is nested too deep, or contains itself")
    raises("put_wrong", "bytes", "value.s is not UTF-8")
    raises("put_wrong", "zero", "value.s contains a byte 0, which the store cannot keep")
    raises("put_wrong", "boolean_key", "value has keys that are no names and no list 1, 2, ...")
    raises("put_wrong", "none", "value is nil, which JSON cannot express")
    assert.same({ "nil", "a document has at most 1 MiB of JSON", "TooLarge" }, ask "put_large")
  end)

  it("checks keys, options and the place of the declaration", function()
    raises("put", { id = "", value = 1 }, "a key has 1 to 255 bytes, not 0")
    raises("get", ("x"):rep(256), "a key has 1 to 255 bytes, not 256")
    raises("put", { id = "x", value = 1, options = { version = 1 } },
      "it has if_version")
    raises("put", { id = "x", value = 1, options = { if_version = -1 } }, "if_version must be a whole number")
  end)

  it("returns what an earlier process has written", function()
    local folder = server.folder { ["game.lua"] = GAME }
    local first = server.start { path = folder }
    first:client("bea"):question(0, "put", { id = "kept", value = { n = 3 } })
    first:stop()
    local second = server.start { path = folder }
    assert.same({ n = 3 }, second:client("bea"):question(0, "get", "kept")[1])
  end)
end)

describe("a game", function()
  after_each(server.stop_all)

  it("without perigee.store creates no file", function()
    local perigee = server.start { game = "return {}" }
    assert.falsy(io.open(perigee.folder .. "/data"))
  end)

  local function refuses(game, flags, message)
    local perigee = server.launch { game = game, flags = flags }
    assert.equal(1, perigee:wait_exit())
    assert.truthy(table.concat(perigee.err, "\n"):find(message, 1, true))
  end

  local USES = 'require("perigee").store "players" return {}'

  it("answers SQL before slower statements that follow", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      perigee.store "notes"
      local ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
      local game, order = { on_message = {} }, {}
      function game.on_message.run()
        for i = 1, 3 do
          perigee.spawn(function()
            perigee.store.sql(i == 2 and "SELECT 1" or ENDLESS)
            order[#order + 1] = i
          end)
        end
      end
      function game.on_message.order() return order end
      return game
    ]] }
    local ann = perigee:client "ann"
    ann:send(0, "run")
    local seen
    wait.until_true(function()
      seen = ann:question(0, "order")
      return #seen >= 2
    end)
    assert.same({ 1, 2 }, seen)
  end)

  it("stops though many statements of SQL wait", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      perigee.store "notes"
      local ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
      local game, begun = { on_message = {} }, 0
      function game.on_start()
        for _ = 1, 60 do
          perigee.spawn(function()
            begun = begun + 1
            perigee.store.sql(ENDLESS)
          end)
        end
      end
      function game.on_message.begun() return begun end
      return game
    ]] }
    local ann = perigee:client "ann"
    wait.until_true(function() return ann:question(0, "begun") == 60 end)
    perigee:stop()
  end)

  it("does not start without the store that it declares", function()
    refuses(USES, { store = false },
      "game.lua:1: perigee.store needs a store, but the setting store is false")
    refuses(USES, { store = "/proc/none/game.db" }, "the store cannot be opened")
  end)

  it("does not start with two declarations of one name", function()
    local both = 'local perigee = require "perigee" perigee.store "best" %s "best" return {}'
    refuses(both:format "perigee.store", {},
      "the name best is declared twice; require it from the file that declares it")
    refuses(both:format "perigee.leaderboard", {},
      "a collection and a leaderboard cannot both have the name best")
  end)
end)

describe("documents of an older schema", function()
  after_each(server.stop_all)

  local SLOW = [[
    local perigee = require "perigee"
    local BYTES = ("x"):rep(2 ^ 20)
    local notes = perigee.store("notes", { schema = 2, migrate = function(_, value)
      for _ = 1, 5 do perigee.hash(BYTES) end
      return { n = value }
    end })
    local game = { on_message = {} }
    function game.on_message.left()
      local rows = perigee.store.sql "SELECT count(*) AS n FROM notes WHERE schema = 1"
      return rows[1].n
    end
    return game
  ]]

  it("are rewritten though all of them together take longer than a handler may", function()
    local perigee = server.start { watch = true, flags = { handler_budget = 0.2 }, game = [[
      local notes = require("perigee").store "notes"
      return { on_start = function() for i = 1, 40 do notes:put("n" .. i, i) end end }
    ]] }
    perigee:save("game.lua", SLOW)
    perigee:wait_log "reloaded"
    local ann = perigee:client "ann"
    wait.until_true(function() return ann:question(0, "left") == 0 end, 30 * wait.SLOWNESS)
    assert.equal(0, ann:question(0, "left"))
  end)
end)
