--- `perigee store`: export, import, backup and check.
local cjson = require "cjson"
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

  it("says what is missing", function()
    assert.equal(2, (run({ "store" }, folder)))
    assert.equal(2, (run({ "store", "export" }, folder)))
    local code, _, problem = run({ "store", "check" }, server.folder { ["game.lua"] = GAME })
    assert.equal(1, code)
    assert.truthy(problem:find("data/game.db", 1, true), problem)
  end)
end)
