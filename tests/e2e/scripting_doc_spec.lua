--- The games of the guides for scripts, played: every handler in them runs, in the real host, and none
--- of them fails.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

-- Plays any of the games. Each message that it sends has a handler on the page.
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

describe("the guides for scripts", function()
  after_each(server.stop_all)

  for _, page in ipairs { "docs/scripting.md", "docs/reload.md", "docs/world.md", "docs/schema.md",
    "docs/channels.md", "docs/faults.md" } do
    for i, files in ipairs(pages.games(pages.read(page))) do
      it(("have a game, number %d of %s, that passes the check and can be played"):format(i, page), function()
        files["spec/doc_spec.lua"] = SPEC
        local folder = server.folder(files)
        local code, said = run(folder, "check")
        assert.equal(0, code, said)
        assert.truthy(said:find("nothing to complain about", 1, true), said)
        code, said = run(folder, "test")
        assert.equal(0, code, said)
      end)
    end
  end

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
