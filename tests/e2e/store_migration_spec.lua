--- Documents over three versions of a game, with reloads, restarts and crashes, in SQLite and PostgreSQL.
local postgres = require "tests.e2e.postgres"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store("players", OPTIONS)
  local game = { config = { rollback_errors = 1 }, on_message = {} }
  function game.on_message.get(peer, id)
    local value, problem, code = players:get(id)
    return { value = value, code = code }
  end
  function game.on_message.put(peer, p)
    players:put(p.id, p.value)
    return (perigee.store.commit())
  end
  function game.on_message.fill(peer, count)
    for i = 1, count do
      players:put("p" .. i, { money = i })
      if i % 500 == 0 then perigee.store.commit() end
    end
    return (perigee.store.commit())
  end
  function game.on_message.fail() error "this version is broken" end
  return game
]]

-- Each version reads the documents of those before it. `times` shows that a document is migrated once.
local FIRST = (GAME:gsub("OPTIONS", "{}"))
local SECOND = (GAME:gsub("OPTIONS", [[{ schema = 2, migrate = function(id, value, from)
    if value.is_broken then error "no money" end
    return { coins = value.money, from = from, times = (value.times or 0) + 1 }
  end }]]))
local THIRD = (GAME:gsub("OPTIONS", [[{ schema = 3, migrate = function(id, value, from)
    if value.is_broken then return { purse = { 0 }, from = from } end
    return { purse = { value.coins or value.money }, from = from, times = (value.times or 0) + 1 }
  end }]]))
local ENDLESS = (GAME:gsub("OPTIONS",
  '{ schema = 2, migrate = function(id, value) while id == "p13" do end return value end }'))
local FORGETFUL = (GAME:gsub("OPTIONS", "{ schema = 2, migrate = function() end }"))

local function sqlite(folder)
  return function(sql)
    local pipe = assert(io.popen(("sqlite3 -readonly %s/data/game.db %q 2>&1"):format(folder, sql)))
    local text = pipe:read "*a"
    pipe:close()
    return text
  end
end

-- Defines the same stories for each back end. `open()` returns the setting `store` of a new, empty store, and
-- a function that runs a statement of SQL.
local function tell(open)
  local place, query, folder

  before_each(function()
    folder = server.folder { ["game.lua"] = FIRST }
    place, query = open(folder)
  end)

  after_each(server.stop_all)

  local function start(game)
    local file = assert(io.open(folder .. "/game.lua", "w"))
    file:write(game)
    file:close()
    local perigee = server.start { path = folder, flags = { store = place } }
    perigee.folder = folder
    return perigee, perigee:client "ann"
  end

  local function reload(perigee, game)
    local before = perigee:count_log '"message":"reloaded'
    perigee:save("game.lua", game)
    perigee:kill "sighup"
    wait.for_true(function() return perigee:count_log '"message":"reloaded' > before end)
  end

  local function schemas()
    return (query "select schema, count(*) from players group by schema order by schema")
  end

  local function wait_for_schemas(wanted)
    if not wait.until_true(function() return schemas() == wanted end, 30) then
      assert.equal(wanted, schemas())
    end
  end

  it("take each form by reloads: at once for reads, on the disk after the rollback window", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 50)
    reload(perigee, SECOND)
    assert.same({ coins = 7, from = 1, times = 1 }, ann:question(0, "get", "p7").value)
    assert.equal("1|50\n", schemas()) -- within the window
    wait_for_schemas "2|50\n"
    reload(perigee, THIRD)
    assert.same({ purse = { 7 }, from = 2, times = 2 }, ann:question(0, "get", "p7").value)
    assert.equal("2|50\n", schemas())
    wait_for_schemas "3|50\n"
    assert.same({ purse = { 50 }, from = 2, times = 2 }, ann:question(0, "get", "p50").value)
    perigee:wait_log "players: rewrote 50 documents in schema 3; 0 stay as they are"
  end)

  it("are as before for a version that comes back, except those that the newer one has written", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 50)
    reload(perigee, SECOND)
    assert.is_true(ann:question(0, "put", { id = "new", value = { coins = 1 } }))
    ann:expect_error("Internal", ann:ask(0, "fail"))
    perigee:wait_log "rolled back"
    assert.same({ money = 7 }, ann:question(0, "get", "p7").value)
    assert.same({ code = "VersionMismatch" }, ann:question(0, "get", "new"))
    reload(perigee, THIRD) -- 1 to 3, and 2 to 3
    wait_for_schemas "3|51\n"
    assert.same({ purse = { 7 }, from = 1, times = 1 }, ann:question(0, "get", "p7").value)
    assert.same({ purse = { 1 }, from = 2, times = 1 }, ann:question(0, "get", "new").value)
  end)

  it("skip a form when the server starts with the third version, and are safe from the first one", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 50)
    perigee:stop()
    perigee, ann = start(THIRD)
    assert.same({ purse = { 7 }, from = 1, times = 1 }, ann:question(0, "get", "p7").value)
    wait_for_schemas "3|50\n"
    perigee:stop()
    perigee, ann = start(FIRST)
    assert.same({ code = "VersionMismatch" }, ann:question(0, "get", "p7"))
    ann:question(0, "put", { id = "p7", value = { money = 0 } })
    perigee:wait_log 'players \\"p7\\" was not written: '
    assert.equal("3|50\n", schemas())
    perigee:stop()
    ann = select(2, start(THIRD))
    assert.same({ purse = { 7 }, from = 1, times = 1 }, ann:question(0, "get", "p7").value)
  end)

  it("stay when migrate fails, which is reported with key and line, until a version can", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 50)
    ann:question(0, "put", { id = "p13", value = { is_broken = true } })
    perigee:stop()
    perigee, ann = start(SECOND)
    local problem = folder .. "/game.lua:3: no money"
    perigee:wait_log('the document \\"p13\\" of players stays in schema 1: ' .. problem)
    wait_for_schemas "1|1\n2|49\n"
    perigee:wait_log "players: rewrote 49 documents in schema 2; 1 stay as they are"
    ann:expect_error("Internal", ann:ask(0, "get", "p13"))
    perigee:wait_log('the document \\"p13\\" of players cannot be migrated from schema 1: ' .. problem)
    assert.truthy(query("select value from players where id = 'p13'"):find '"is_broken": ?true')
    perigee:stop()
    ann = select(2, start(THIRD))
    wait_for_schemas "3|50\n"
    assert.same({ purse = { 0 }, from = 1 }, ann:question(0, "get", "p13").value)
  end)

  it("stay when migrate returns nothing", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 3)
    perigee:stop()
    perigee, ann = start(FORGETFUL)
    perigee:wait_log("stays in schema 1: " .. folder .. "/game.lua:2: migrate must return the new value")
    ann:expect_error("Internal", ann:ask(0, "get", "p1"))
    assert.equal("1|3\n", schemas())
  end)

  it("stay when migrate does not end, and the others are rewritten", function()
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", 50)
    perigee:stop()
    perigee = start(ENDLESS)
    perigee:wait_log('the document \\"p13\\" of players stays in schema 1: ' .. folder .. "/game.lua:2: ")
    wait_for_schemas "1|1\n2|49\n"
    perigee:wait_log "players: rewrote 49 documents in schema 2; 1 stay as they are"
  end)

  it("are each migrated once, however often the server is killed meanwhile", function()
    local COUNT = 4000
    local perigee, ann = start(FIRST)
    ann:question(0, "fill", COUNT)
    local total = "select count(*) from players where schema = 2"
    for part = 1, 3 do
      perigee:crash()
      perigee = start(SECOND)
      wait.for_true(function() return tonumber(query(total)) >= part * 1000 end)
    end
    wait_for_schemas(("2|%d\n"):format(COUNT))
    local times = query "select min(value ->> 'times'), max(value ->> 'times') from players"
    assert.equal("1|1\n", times)
  end)
end

describe("documents of an older schema in SQLite", function()
  tell(function(folder) return folder .. "/data/game.db", sqlite(folder) end)
end)

describe("documents of an older schema in PostgreSQL", function()
  tell(function()
    local database = postgres.start() -- server.stop_all ends it
    return database.place, function(sql) return database:psql(sql) end
  end)
end)
