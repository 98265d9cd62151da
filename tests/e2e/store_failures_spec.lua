--- A store that fails: calls that wait return nil, a message and a code; plain writes go to on_error with
--- collection and key; the log reports the failure once; and everything else goes on.
local postgres = require "tests.e2e.postgres"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local TIMEOUT = 0.5 -- store_timeout

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store "players"
  local game = { on_message = {} }
  local reports = {}

  local function values(...)
    local list = {}
    for i = 1, select("#", ...) do
      local value = select(i, ...)
      list[i] = value == nil and "nil" or value
    end
    return list
  end

  function game.on_error(report)
    reports[#reports + 1] = { report.collection, report.key, report.code }
  end
  function game.on_message.put(_, id) return values(players:put(id, { text = ("x"):rep(2000) })) end
  function game.on_message.commit() return values(perigee.store.commit()) end
  function game.on_message.get(_, id)
    local value, problem, code = players:get(id)
    return value and "found" or { problem or "none", code or "nil" }
  end
  function game.on_message.update(_, id)
    return values(players:update(id, function(value) return value or {} end))
  end
  function game.on_message.fill()
    for i = 1, 500 do players:put("p" .. i, { text = ("x"):rep(2000) }) end
    return perigee.store.commit()
  end
  function game.on_message.reports() return reports end
  function game.on_message.hello() return "hello" end
  return game
]]

local function sqlite(path, sql)
  local pipe = assert(io.popen(("sqlite3 '%s' \"%s\" 2>&1"):format(path, sql)))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

-- Asserts that calls which wait fail, that a plain write is reported, and that the game goes on.
local function assert_fails(ann, id)
  assert.same({ true }, ann:question(0, "put", id))
  local committed = ann:question(0, "commit")
  assert.same({ "nil", "Unavailable" }, { committed[1], committed[3] })
  assert.is_string(committed[2])
  assert.equal("Unavailable", ann:question(0, "update", id)[3])
  assert.same({ "players", id, "Unavailable" }, ann:question(0, "reports")[1])
  assert.equal("hello", ann:question(0, "hello"))
  return committed[2]
end

-- Asserts that the store works again, and that the log reports the failure and the recovery once each.
local function assert_works(perigee, ann)
  assert.same({ true }, ann:question(0, "put", "later"))
  assert.same({ true }, ann:question(0, "commit"))
  assert.equal("found", ann:question(0, "get", "later"))
  perigee:wait_log "store_works_again"
  assert.equal(1, perigee:count_log '"store_failing"')
  assert.equal(1, perigee:count_log '"store_works_again"')
end

describe("a store that fails while the server runs", function()
  after_each(server.stop_all)

  local function start(o)
    o.game, o.flags = GAME, o.flags or {}
    o.flags.store_timeout = TIMEOUT
    local perigee = server.start(o)
    local ann = perigee:client "ann"
    assert.same({ true }, ann:question(0, "put", "kept"))
    assert.same({ true }, ann:question(0, "commit"))
    return perigee, ann, perigee.folder .. "/data/game.db"
  end

  it("has a full disk", function()
    local folder = server.folder {}
    local library, full = folder .. "/disk.so", folder .. "/full"
    assert.equal(0, os.execute(("cc -shared -fPIC -O1 -o %s tests/e2e/failing_disk.c -ldl"):format(library)))
    local perigee, ann, path = start { env = { LD_PRELOAD = library, PERIGEE_FULL = full, ASAN_OPTIONS =
      (os.getenv "ASAN_OPTIONS" or "") .. ":verify_asan_link_order=0" } }
    write(full, "")
    assert.truthy(assert_fails(ann, "lost"):find("full", 1, true))
    assert.equal("found", ann:question(0, "get", "kept"))
    os.remove(full)
    assert_works(perigee, ann)
    assert.same({ "none", "nil" }, ann:question(0, "get", "lost"))
    perigee:crash()
    assert.equal("ok\nkept\nlater\n",
      sqlite(path, "PRAGMA integrity_check; SELECT id FROM players ORDER BY id"))
  end)

  it("is locked by another program", function()
    local perigee, ann, path = start {}
    local locker = server.spawn("/usr/bin/sqlite3", { path }, { stdin = true })
    locker.stdin:write "BEGIN IMMEDIATE; SELECT 'locked';\n"
    locker:wait_out "^(locked)$"
    assert.truthy(assert_fails(ann, "lost"):find("locked", 1, true))
    assert.equal("found", ann:question(0, "get", "kept"))
    locker.stdin:shutdown()
    locker:wait_exit()
    assert_works(perigee, ann)
  end)

  it("waits for a lock that is soon gone", function()
    local perigee, ann, path = start { flags = { store_timeout = 10 } }
    local locker = server.spawn("/usr/bin/sqlite3", { path }, { stdin = true })
    locker.stdin:write "BEGIN IMMEDIATE; SELECT 'locked';\n"
    locker:wait_out "^(locked)$"
    local put, commit = ann:ask(0, "put", "late"), ann:ask(0, "commit")
    ann:expect_answer("MESSAGE", put)
    perigee:wait_log '"store_failing"'
    locker.stdin:shutdown()
    assert.same({ true }, ann:expect_answer("MESSAGE", commit).value)
    assert.same({}, ann:question(0, "reports"))
    assert.equal("found", ann:question(0, "get", "late"))
  end)

  it("has damaged pages, and serves the others", function()
    local perigee, ann, path = start { flags = { store_cache = 0 } }
    assert.is_true(ann:question(0, "fill"))
    perigee:stop()
    local file = assert(io.open(path, "r+b"))
    local pages = file:seek "end" / 4096
    file:seek("set", math.floor(pages / 2) * 4096)
    file:write(("x"):rep(4096))
    file:close()
    perigee = server.start { path = perigee.folder, flags = { store_cache = 0 } }
    ann = perigee:client "ann"
    local found, damaged = 0, 0
    for i = 1, 500 do
      local answer = ann:question(0, "get", "p" .. i)
      if answer == "found" then
        found = found + 1
      else
        damaged = damaged + 1
        assert.equal("Unavailable", answer[2])
        assert.truthy(answer[1]:find("perigee store check", 1, true))
      end
    end
    assert.is_true(damaged > 0 and found > 400)
    assert.equal(1, perigee:count_log '"store_damaged"')
    assert.same({ true }, ann:question(0, "put", "later"))
    assert.same({ true }, ann:question(0, "commit"))
  end)

  it("is a PostgreSQL that is gone, and comes back", function()
    local database = postgres.start()
    local perigee, ann = start { flags = { store = database.place } }
    database:stop()
    assert_fails(ann, "lost")
    assert.equal("Unavailable", ann:question(0, "get", "kept")[2])
    database:start()
    wait.for_true(function() return ann:question(0, "commit")[1] == true end)
    assert_works(perigee, ann)
    assert.equal("found", ann:question(0, "get", "kept"))
    database:stop()
  end)
end)

describe("a server ends with one sentence if its store", function()
  after_each(server.stop_all)

  local function refuses(o, ...)
    o.game = not o.path and GAME or nil
    local perigee = server.launch(o)
    assert.equal(1, perigee:wait_exit())
    assert.equal(1, #perigee.err, table.concat(perigee.err, "\n"))
    for _, text in ipairs { ... } do assert.truthy(perigee.err[1]:find(text, 1, true), perigee.err[1]) end
  end

  it("belongs to another program", function()
    local path = server.folder {} .. "/theirs.db"
    sqlite(path, "CREATE TABLE theirs (a)")
    refuses({ flags = { store = path } }, path .. " belongs to another program", "set `store` to another")
    assert.equal("theirs\n", sqlite(path, "SELECT name FROM sqlite_schema"))
  end)

  it("is no database", function()
    local path = server.folder {} .. "/notes.txt"
    write(path, ("not a database\n"):rep(100))
    refuses({ flags = { store = path } }, "the store cannot be opened: " .. path .. " is no database")
  end)

  it("is in a folder that cannot be written to", function()
    refuses({ flags = { store = "/proc/game.db" } }, "the store cannot be opened", "/proc/game.db")
    refuses({ flags = { store = "/proc/data/game.db" } }, "the store cannot be opened", "/proc/data")
  end)

  it("is served by another process", function()
    local perigee = server.start { game = GAME }
    refuses({ path = perigee.folder }, "another process serves", "game.db")
  end)

  it("is locked by another program", function()
    local path = server.folder { ["game.lua"] = GAME } .. "/locked.db"
    sqlite(path, "PRAGMA application_id = 1347569481; PRAGMA user_version = 1; PRAGMA journal_mode = WAL")
    local locker = server.spawn("/usr/bin/sqlite3", { path }, { stdin = true })
    locker.stdin:write "BEGIN IMMEDIATE; SELECT 'locked';\n"
    locker:wait_out "^(locked)$"
    refuses({ flags = { store = path } }, "the store cannot be opened", "locked")
    locker:kill "sigkill"
  end)

  it("is a PostgreSQL that does not answer", function()
    local folder = Process.folder()
    refuses({ flags = { store = "postgres://perigee@/postgres?host=" .. folder, store_timeout = TIMEOUT } },
      "the store cannot be opened", "PostgreSQL")
  end)
end)
