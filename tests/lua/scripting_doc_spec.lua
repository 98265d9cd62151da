--- Compares the manual with the code: its games load, the names in it exist, and a test runs each page that
--- contains Lua. tests/e2e/scripting_doc_spec.lua plays the games.
local fake_core = require "tests.lua.fake_core"
local luacats = require "tests.lua.luacats"
local pages = require "tests.pages"

local API = luacats.of_games()

-- The test that runs the Lua of each page.
local RUN_BY = {
  ["README.md"] = "this", ["docs/scripting.md"] = "this", ["docs/reload.md"] = "this",
  ["docs/schema.md"] = "this",
  ["docs/world.md"] = "this", ["docs/channels.md"] = "this", ["docs/faults.md"] = "this",
  ["docs/bots-in-rooms.md"] = "this", ["docs/accounts.md"] = "tests/e2e/store_doc_spec.lua",
  ["docs/matchmaking.md"] = "tests/e2e/store_doc_spec.lua",
  ["docs/leaderboards.md"] = "tests/e2e/store_doc_spec.lua",
  ["docs/store.md"] = "tests/e2e/store_doc_spec.lua",
  ["docs/recipes.md"] = "tests/e2e/recipes_doc_spec.lua",
  ["docs/tutorial.md"] = "tests/e2e/tutorial_doc_spec.lua",
  ["examples/chat/README.md"] = "this",
  ["docs/bots.md"] = "tests/e2e/bots_spec.lua", ["docs/c-client.md"] = "tests/e2e/c_package_spec.lua",
  ["docs/lua-client.md"] = "tests/e2e/lua_client_spec.lua",
  ["docs/javascript.md"] = "clients/js/test/docs.test.js",
  ["docs/lockstep.md"] = "tests/e2e/lockstep_doc_spec.lua",
  ["docs/mcp.md"] = "tests/e2e/mcp_doc_spec.lua",
  ["docs/testing.md"] = "tests/e2e/testing_doc_spec.lua",
  ["docs/durable.md"] = "tests/e2e/durable_spec.lua",
}

-- Prefixes of names, and the classes that have the names behind each prefix.
local NAMES = {
  ["perigee%."] = { "perigee" },
  ["perigee%.rooms%."] = { "perigee.Rooms" }, ["perigee%.to%."] = { "perigee.To" },
  ["peer[:.]"] = { "perigee.Peer" }, ["other[:.]"] = { "perigee.Peer" },
  ["room[:.]"] = { "perigee.Room" }, ["self[:.]"] = { "perigee.Room" },
  ["bot[:.]"] = { "perigee.Bot", "perigee.Peer" },
  ["timer:"] = { "perigee.Timer" }, ["event%."] = { "perigee.Event" },
  ["packet%."] = { "perigee.Packet" }, ["info%."] = { "perigee.Backpressure" },
  ["game%.on_"] = { "perigee.Game" }, ["duel[:.]on_"] = { "perigee.RoomKind" },
}

local function knows(classes, name)
  for _, class_name in ipairs(classes) do
    local class = API.classes[class_name]
    if class.fields[name] or class.methods[name] then
      return true
    end
  end
  return false
end

-- Returns the names in a piece of code that do not exist.
local function unknown_names(code, list)
  for prefix, classes in pairs(NAMES) do
    local start = prefix:match "on_$" or ""
    for name in code:gmatch("%f[%w_]" .. prefix .. "([%a_][%w_]*)") do
      if not knows(classes, start .. name) and not API.classes["perigee." .. name] then
        list[#list + 1] = prefix .. name
      end
    end
  end
  return list
end

describe("the pages", function()
  it("with Lua are all run by some test", function()
    for path, text in pairs(pages.all()) do
      if text:find("```lua", 1, true) then
        local by = RUN_BY[path]
        assert.truthy(by, "nothing runs the Lua of " .. path)
        assert.truthy(by == "this" or io.open(by), by)
      end
    end
  end)

  it("lead to files and headings that there are", function()
    local texts = pages.all()
    for path, text in pairs(texts) do
      for _, link in ipairs(pages.links(path, text)) do
        local there = io.open(link.file)
        assert.truthy(there, path .. " leads to " .. link.file)
        there:close()
        local is_heading = link.heading == "" or pages.anchors(texts[link.file])[link.heading]
        assert.truthy(is_heading, ("%s leads to %s#%s"):format(path, link.file, link.heading))
      end
    end
  end)

  it("are all named in the index", function()
    for path in pairs(pages.all()) do
      local name = path:match "^docs/(.*)"
      if name and name ~= "README.md" then
        assert.truthy(pages.read("docs/README.md"):find("](" .. name .. ")", 1, true), path)
      end
    end
  end)

  it("about scripts name nothing that there is not", function()
    for _, path in ipairs { "README.md", "docs/scripting.md", "docs/reload.md", "docs/world.md",
      "docs/channels.md", "docs/bots-in-rooms.md" } do
      local text, unknown = pages.read(path), {}
      for _, code in ipairs(pages.code(text)) do
        unknown_names(code, unknown)
      end
      assert.same({}, unknown, path)
    end
  end)

  it("are read strictly enough to see a slip", function()
    for _, slip in ipairs { "perigee.sned(peer)", "room:brodcast 'x'", "perigee.rooms.make 'x'", "peer.nmae",
      "function game.on_conect() end", "function duel:on_jion() end" } do
      assert.equal(1, #unknown_names(slip, {}), slip)
    end
  end)
end)

describe("README.md", function()
  it("shows what is in the examples, as that of the chat", function()
    for page, game in pairs { ["README.md"] = "arena", ["examples/chat/README.md"] = "chat" } do
      local blocks = pages.blocks(pages.read(page), "lua")
      assert.is_true(#blocks > 0)
      for _, block in ipairs(blocks) do
        assert.truthy(pages.read(("examples/%s/game.lua"):format(game)):find(block, 1, true), block)
      end
    end
  end)

  it("has 60 lines at most", function()
    assert.is_true(select(2, pages.read("README.md"):gsub("\n", "")) <= 60)
  end)
end)

describe("the guides for scripts", function()
  after_each(fake_core.clean)

  it("have games that load without a warning", function()
    for _, page in ipairs { "docs/scripting.md", "docs/reload.md", "docs/world.md", "docs/channels.md",
      "docs/faults.md", "docs/bots-in-rooms.md" } do
      for _, files in ipairs(pages.games(pages.read(page))) do
        local core = fake_core.new()
        local _, outcome, text = fake_core.host(core, files)
        assert.equal("ended", outcome, text)
        assert.equal("", fake_core.log_text(core))
      end
    end
  end)
end)

describe("docs/scripting.md", function()
  it("has fewer than 400 lines", function()
    local page = pages.read "docs/scripting.md"
    assert.is_true(select(2, page:gsub("\n", "")) < 400)
  end)
end)
