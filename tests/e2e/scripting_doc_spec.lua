--- The games of docs/scripting.md, played: every handler in them runs, in the real host, and none
--- of them fails.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

-- Plays any of the games. What it sends is what some handler of the page takes.
local SPEC = [[
local testing = require "perigee.testing"

local VALUES = { move = { x = 1, y = 2 }, add = { a = 1, b = 2 }, trade = { apples = 3 } }

it("is played", function()
  local server = testing.server()
  local ann, bob = server:clients(2)
  bob:on_ask("trade?", function() return true end)
  for _, name in ipairs { "lobby", "duel:1" } do
    local hers, his = ann:try_join(name), bob:try_join(name)
    if hers and his then
      hers:broadcast "hello"
      for message, value in pairs(VALUES) do
        hers:ask(message, value, 5)
        ann:send(message, value)
      end
      server:advance(4)
      his:leave()
      hers:ask("trade", VALUES.trade, 5)
    end
  end
  server:advance(61)
  server:reload()
  server:advance(1)
  bob:close()
  server:stop()
end)
]]

local function run(folder, ...)
  local process = server.perigee({ ... }, { cwd = folder })
  local code = process:wait_exit(30)
  return code, table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

describe("docs/scripting.md", function()
  after_each(server.stop_all)

  for i, files in ipairs(pages.games(pages.read "docs/scripting.md")) do
    it("has a game, its number " .. i .. ", that passes the check and can be played", function()
      files["spec/doc_spec.lua"] = SPEC
      local folder = server.folder(files)
      local code, said = run(folder, "check")
      assert.equal(0, code, said)
      assert.truthy(said:find("nothing to complain about", 1, true), said)
      code, said = run(folder, "test")
      assert.equal(0, code, said)
    end)
  end

  it("has a program beside the server that knows who somebody is", function()
    local game
    for _, files in ipairs(pages.games(pages.read "docs/scripting.md")) do
      game = files["game.lua"]:find("GAME_STORE_TOKEN", 1, true) and files or game
    end
    game["spec/doc_spec.lua"] = [[
      local testing = require "perigee.testing"

      it("lets in whom it knows", function()
        local server = testing.server { env = { GAME_STORE_TOKEN = "the store's" } }
        local function let_in(token) return server:try_client { name = "ann", token = token } end
        assert.equal("Unavailable", (select(3, let_in "hers")))
        local store = server:client { name = "store", token = "the store's" }
        store:on_ask("account", function(who) return who.token == "hers" and { wins = 3 } or nil end)
        local ann = assert(let_in "hers")
        assert.equal(3, server:peer(ann).state.wins)
        assert.equal("Rejected", (select(3, let_in "stolen")))
        assert.equal(0, server:peer(let_in "").state.wins)
        ann:close()
        store:expect("save", { token = "hers", wins = 3 })
      end)
    ]]
    local code, said = run(server.folder(game), "test")
    assert.equal(0, code, said)
  end)

  it("would be found out", function()
    local folder = server.folder {
      ["spec/doc_spec.lua"] = SPEC,
      ["game.lua"] = "return { rooms = { duel = { auto_create = true, auto_delete = 1,\n"
        .. "on_join = function(room) room:brodcast 'x' end } } }",
    }
    local code, said = run(folder, "test")
    assert.equal(1, code)
    assert.truthy(said:find("brodcast", 1, true), said)
  end)
end)
