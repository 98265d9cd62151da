--- `perigee store`: export, import, backup and check.
local cjson = require "cjson"
local pages = require "tests.pages"
local postgres = require "tests.e2e.postgres"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local uv = require "luv"

local GAME = [[
  local perigee = require "perigee"
  local players = perigee.store("players", { index = { "coins" }, schema = 2 })
  local best = perigee.leaderboard "best"
  local game = { on_message = {} }
  local M = game.on_message
  function M.fill()
    for i = 1, 1500 do players:put(("p%04d"):format(i), { coins = i }) end
    players:put("quo\"te", { text = "\195\164\n", n = 0.1 })
    for _, id in ipairs { "ann", "bob", "cem" } do best:submit(id, id == "cem" and 9 or 5, { name = id }) end
    return (perigee.store.commit())
  end
  function M.look()
    return { players:get("p1500"), players:get("quo\"te"), best:top() }
  end
  return game
]]

-- Writes two documents together, as often as it can.
local BUSY = [[
  local perigee = require "perigee"
  local pair = perigee.store "pair"
  local game = {}
  function game.on_start()
    for i = 1, math.huge do
      pair:put("first", i)
      pair:put("last", i)
      perigee.store.commit()
      if i == 10 then print "writing" end
    end
  end
  return game
]]

local function run(args, folder)
  local process = server.perigee(args, { cwd = folder })
  local code = process:wait_exit(20)
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

local function lines_of(path)
  local lines = {}
  for line in io.lines(path) do lines[#lines + 1] = line end
  return lines
end

describe("perigee store", function()
  local folder, look

  setup(function()
    folder = server.folder { ["game.lua"] = GAME }
    local perigee = server.start { path = folder }
    local ann = perigee:client "ann"
    assert.is_true(ann:question(0, "fill"))
    look = ann:question(0, "look")
    assert.equal(0, (run({ "store", "backup", folder .. "/copy.db" }, folder))) -- beside the server
    local code, _, problem = run({ "store", "import", folder .. "/game.lua" }, folder)
    assert.equal(1, code)
    assert.truthy(problem:find("another", 1, true) or problem:find("serves", 1, true), problem)
    perigee:stop()
  end)

  teardown(server.stop_all)

  local function assert_same_in(target)
    local perigee = server.start { path = target }
    local got = perigee:client("bea"):question(0, "look")
    assert.same(look, got)
    perigee:stop()
  end

  it("exports JSON lines, which an import brings into another store", function()
    local file = folder .. "/all.jsonl"
    assert.equal(0, (run({ "store", "export", file }, folder)))
    local lines = lines_of(file)
    assert.equal(1504, #lines)
    local first = cjson.decode(lines[1])
    assert.same({ collection = "players", id = "p0001", value = { coins = 1 }, schema = 2,
      version = first.version }, first)
    assert.same({ board = "best", order = "high", period = 0, id = "cem", score = 9,
      data = { name = "cem" } }, cjson.decode(lines[1502]))
    local other = server.folder { ["game.lua"] = GAME, ["data/none"] = "" }
    assert.equal(0, (run({ "store", "import", file, other }, folder)))
    assert_same_in(other)
    assert.equal(0, (run({ "store", "export", file .. "2", other .. "/game.lua" }, folder)))
    assert.equal(1504, #lines_of(file .. "2"))
  end)

  local function document(changes)
    local line = { collection = "notes", id = "a", value = 1, schema = 1 }
    for key, value in pairs(changes) do line[key] = value end
    return cjson.encode(line)
  end

  local function score(changes)
    local line = { board = "best", order = "high", period = 0, id = "a", score = 1 }
    for key, value in pairs(changes) do line[key] = value end
    return cjson.encode(line)
  end

  it("names the line of an import that is wrong", function()
    local other = server.folder { ["game.lua"] = GAME, ["data/none"] = "" }
    for i, line in ipairs {
      '{"id":1}', "[]", document { collection = "no name" }, document { collection = ("x"):rep(3000) },
      document { id = "" }, document { id = "a\0" }, document { id = ("a"):rep(256) },
      document { schema = 0 }, document { schema = -1 }, document { schema = 1e300 },
      document { schema = 1.5 },
      document { value = ("x"):rep(2 ^ 21) }, (document { value = "@" }:gsub('"@"', ("["):rep(10000))),
      (document { value = "@" }:gsub('"@"', ("["):rep(10000) .. ("]"):rep(10000))),
      score { board = ("x"):rep(3000) }, score { board = 'x"; DROP TABLE perigee_store; --' },
      score { period = 1e300 }, score { period = 0.5 }, score { score = "1" },
      (score { score = "@" }:gsub('"@"', "1e999")), score { data = "x" }, score { data = { 1 } },
    } do
      Process.write_file(other .. "/bad.jsonl", document {} .. "\n" .. line .. "\n")
      local code, _, problem = run({ "store", "import", "bad.jsonl" }, other)
      assert.equal(1, code)
      local expected = "bad.jsonl:2: not a line of `perigee store export`"
      assert.truthy(problem:find(expected, 1, true), i .. ": " .. problem)
    end
  end)

  it("brings back the deepest documents, and the largest of durable rooms", function()
    local game = [[
      local perigee = require "perigee"
      local notes = perigee.store "notes"
      local game = { on_message = {}, rooms = { hall = { durable = true } } }
      function game.on_message.fill()
        local value = "x"
        while pcall(notes.put, notes, "deep", { value }) do value = { value } end
        local room = perigee.rooms.create "hall:1"
        room.state = { ("x"):rep(2 ^ 20 - 100) }
        return { room:save() }
      end
      return game
    ]]
    local from = server.start { game = game }
    assert.same({ true }, from:client("ann"):question(0, "fill"))
    from:stop()
    assert.equal(0, (run({ "store", "export", "all.jsonl" }, from.folder)))
    local lines = lines_of(from.folder .. "/all.jsonl")
    assert.equal(0, (run({ "store", "import", "all.jsonl", "--store", "other.db" }, from.folder)))
    assert.equal(0, (run({ "store", "export", "again.jsonl", "--store", "other.db" }, from.folder)))
    local again = lines_of(from.folder .. "/again.jsonl")
    for i, line in ipairs(lines) do lines[i] = line:gsub('"version":%d+}$', "") end
    for i, line in ipairs(again) do again[i] = line:gsub('"version":%d+}$', "") end
    assert.same(lines, again)
  end)

  it("backs a store up while a server uses it", function()
    local other = server.folder { ["game.lua"] = GAME, ["data/none"] = "" }
    os.rename(folder .. "/copy.db", other .. "/data/game.db")
    assert_same_in(other)
  end)

  it("makes files that only their owner can read", function()
    local own = server.folder { ["game.lua"] = GAME }
    server.start({ path = own }):stop()
    assert.equal(0, (run({ "store", "export", "all.jsonl" }, own)))
    assert.equal(0, (run({ "store", "backup", "copy.db" }, own)))
    for _, name in ipairs { "data/game.db", "all.jsonl", "copy.db" } do
      assert.equal("600", ("%o"):format(uv.fs_stat(own .. "/" .. name).mode % 512), name)
    end
  end)

  it("checks a store", function()
    assert.same({ 0, "The store is sound.", "" }, { run({ "store", "check" }, folder) })
    local path = folder .. "/damaged.db"
    assert.equal(0, (run({ "store", "backup", path }, folder)))
    local file = assert(io.open(path, "r+b"))
    file:seek("set", 3 * 4096 + 8)
    file:write(("\255"):rep(2000))
    file:close()
    local code, findings, problem = run({ "store", "check", "--store", path }, folder)
    assert.equal(1, code)
    assert.is_true(#findings + #problem > 0)
  end)

  it("imports all lines of a file or none", function()
    local file = folder .. "/cut.jsonl"
    assert.equal(0, (run({ "store", "export", file }, folder)))
    local text = pages.read(file)
    local cut = assert(io.open(file, "w"))
    cut:write(text:sub(1, -30)) -- within the last line
    cut:close()
    local other = server.folder { ["game.lua"] = GAME, ["data/none"] = "" }
    local code, _, problem = run({ "store", "import", file, other }, folder)
    assert.equal(1, code)
    assert.truthy(problem:find("cut.jsonl:1504: not a line", 1, true), problem)
    assert.truthy(problem:find("nothing was imported", 1, true), problem)
    assert.equal(0, (run({ "store", "export", file, other }, folder)))
    assert.same({}, lines_of(file))
  end)

  it("does not write into the store instead of out of it", function()
    for _, action in ipairs { "export", "backup" } do
      local code, _, problem = run({ "store", action, "data/game.db" }, folder)
      assert.equal(1, code)
      assert.truthy(problem:find("data/game.db is the store itself", 1, true), problem)
    end
    assert.equal(0, (run({ "store", "check" }, folder)))
  end)

  -- Runs a command whose files cannot become larger than some KiB.
  local function run_limited(limit, args, cwd)
    local command = ("trap '' XFSZ; ulimit -f %d; exec %s %s"):format(limit, server.binary(),
      table.concat(args, " "))
    local process = server.spawn("/bin/bash", { "-c", command }, { cwd = cwd })
    local code = process:wait_exit(20)
    return code, table.concat(process.err, "\n")
  end

  it("leaves nothing behind when the disk is full", function()
    local other = server.folder { ["game.lua"] = GAME, ["none"] = "" }
    local code, problem = run_limited(50, { "store", "export", other .. "/part.jsonl" }, folder)
    assert.equal(1, code)
    assert.truthy(problem:find("cannot write " .. other .. "/part.jsonl: ", 1, true), problem)
    code, problem = run_limited(50, { "store", "backup", other .. "/part.db" }, folder)
    assert.equal(1, code)
    assert.truthy(problem:find "^perigee: ", problem)
    local files = io.popen("ls " .. other)
    assert.equal("game.lua\nnone\n", files:read "*a")
    files:close()
    assert.equal(0, (run({ "store", "export", other .. "/all.jsonl" }, folder)))
    assert.equal(1, (run_limited(50, { "store", "import", "all.jsonl" }, other)))
    assert.equal(0, (run({ "store", "export", "now.jsonl" }, other)))
    assert.same({}, lines_of(other .. "/now.jsonl"))
  end)

  it("shows one moment of a store that a server writes to", function()
    local other = server.folder { ["game.lua"] = BUSY, ["data/none"] = "" }
    local perigee = server.start { path = other }
    perigee:wait_log "writing"
    for i = 1, 5 do
      local backup, export = ("%s/%d.db"):format(other, i), ("%s/%d.jsonl"):format(other, i)
      assert.equal(0, (run({ "store", "backup", backup }, other)))
      assert.same({ 0, "The store is sound.", "" }, { run({ "store", "check", "--store", backup }, other) })
      assert.equal(0, (run({ "store", "export", export }, other)))
      assert.equal(0, (run({ "store", "export", backup .. ".jsonl", "--store", backup }, other)))
      for _, path in ipairs { export, backup .. ".jsonl" } do
        local first, last = unpack(lines_of(path))
        assert.equal(cjson.decode(first).value, cjson.decode(last).value)
      end
    end
    perigee:stop()
  end)

  it("says what is missing", function()
    assert.equal(2, (run({ "store" }, folder)))
    assert.equal(2, (run({ "store", "export" }, folder)))
    local code, _, problem = run({ "store", "check" }, server.folder { ["game.lua"] = GAME })
    assert.equal(1, code)
    assert.truthy(problem:find("data/game.db", 1, true), problem)
  end)
end)

describe("perigee store of a store in PostgreSQL", function()
  after_each(server.stop_all)

  it("exports beside a server and imports, from SQLite and back", function()
    local database = postgres.start()
    local folder = server.folder { ["game.lua"] = GAME }
    local perigee = server.start { path = folder, flags = { store = database.place } }
    local ann = perigee:client "ann"
    assert.is_true(ann:question(0, "fill"))
    local look = ann:question(0, "look")
    local function export(name, ...)
      assert.equal(0, (run({ "store", "export", name, ... }, folder)))
      local lines = {}
      for i, line in ipairs(lines_of(folder .. "/" .. name)) do
        lines[i] = cjson.decode(line)
        lines[i].version = nil
      end
      return lines
    end
    local lines = export("pg.jsonl", "--store", database.place)
    assert.equal(1504, #lines)
    assert.equal(0, (run({ "store", "import", "pg.jsonl" }, folder))) -- into data/game.db
    assert.same(lines, export "sqlite.jsonl")
    assert.is_true(#database:psql "drop table players" == 0)
    perigee:stop()
    assert.equal(0, (run({ "store", "import", "sqlite.jsonl", "--store", database.place }, folder)))
    perigee = server.start { path = folder, flags = { store = database.place } }
    assert.same(look, perigee:client("bea"):question(0, "look"))
  end)

  it("imports nothing of a broken file, and names the tools of PostgreSQL", function()
    local database = postgres.start()
    local folder = server.folder { ["game.lua"] = GAME }
    local file = assert(io.open(folder .. "/broken.jsonl", "w"))
    for i = 1, 3000 do
      file:write(('{"collection":"players","id":"p%d","value":%s}\n'):format(i, i == 3000 and "" or i))
    end
    file:close()
    local function run_there(...)
      return run({ "store", ... }, folder)
    end
    local code, _, problem = run_there("import", "broken.jsonl", "--store", database.place)
    assert.equal(1, code)
    assert.truthy(problem:find("broken.jsonl:3000: not a line", 1, true), problem)
    assert.truthy(database:psql("select * from players"):find "does not exist")
    problem = select(3, run_there("backup", "x.db", "--store", database.place))
    assert.truthy(problem:find("pg_dump", 1, true), problem)
    problem = select(3, run_there("check", "--store", database.place))
    assert.truthy(problem:find("pg_amcheck", 1, true), problem)
    database:stop()
    code, _, problem = run_there("export", "x.jsonl", "--store", database.place)
    assert.equal(1, code)
    assert.truthy(problem:find("PostgreSQL: ", 1, true), problem)
  end)
end)
