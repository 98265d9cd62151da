--- `perigee store`: export, import, backup and check.
local cjson = require "cjson"
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

  it("names the line of an import that is wrong", function()
    local other = server.folder { ["game.lua"] = GAME, ["bad.jsonl"] = "\n{\"id\":1}\n" }
    local code, _, problem = run({ "store", "import", "bad.jsonl" }, other)
    assert.equal(1, code)
    assert.truthy(problem:find("bad.jsonl:2: not a line of `perigee store export`", 1, true), problem)
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
