--- docs/lockstep.md against the product: its game and its spec are run, and it names what matches can do.
local luacats = require "tests.lua.luacats"
local pages = require "tests.pages"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local DOC = pages.read "docs/lockstep.md"

describe("docs/lockstep.md", function()
  it("has a game and a spec that work", function()
    local blocks = {}
    for block in DOC:gmatch "\n```lua\n(.-)\n```" do blocks[#blocks + 1] = block end
    assert.equal(2, #blocks)
    local game = blocks[1]:gsub("start = 2", "start = 2, players = 8"):gsub("players = 4, ", "")
    local folder = server.folder { ["game.lua"] = game, ["spec/match_spec.lua"] = blocks[2] }
    local process = server.perigee({ "test", "--timeout", tostring(10 * wait.SLOWNESS) }, { cwd = folder })
    local code = process:wait_exit(60 * wait.SLOWNESS)
    assert.equal(0, code, table.concat(process.out, "\n") .. table.concat(process.err, "\n"))
  end)

  it("names every method and function", function()
    local api = luacats.of_games()
    local function mentions(text) assert.truthy(DOC:find(text, 1, true), text) end
    for name in pairs(api.classes["perigee.Lockstep"].methods) do mentions("`:" .. name .. "(") end
    for name in pairs(api.classes["perigee.Lockstep"].fields) do mentions("`" .. name .. "`") end
    for name in pairs(api.classes["perigee.Fixed"].methods) do mentions("`" .. name .. "`") end
  end)
end)
