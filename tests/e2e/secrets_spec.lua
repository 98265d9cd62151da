--- Secrets of a game: in the environment of its server, and out of sight of everybody else.
local server = require "tests.e2e.server"

local ENV_GAME = [[
  local perigee = require "perigee"
  local at_load = perigee.env "GAME_SECRET"
  local game = { on_message = {} }
  function game.on_message.at_load() return at_load end
  function game.on_message.read(_, name) return perigee.env(name) end
  function game.on_message.unset(_, name) return perigee.env(name) == nil end
  function game.on_message.try(_, name) return select(2, pcall(perigee.env, name)) end
  return game
]]

describe("perigee.env", function()
  after_each(server.stop_all)

  it("reads the variables of the server whose names begin with GAME_", function()
    local perigee = server.start { game = ENV_GAME, env = { GAME_SECRET = "s3cret" } }
    local client = perigee:client()
    assert.equal("s3cret", client:question(0, "at_load"))
    assert.equal("s3cret", client:question(0, "read", "GAME_SECRET"))
    assert.is_true(client:question(0, "unset", "GAME_OTHER"))
  end)

  it("refuses every other name at the line that asks for it", function()
    local perigee = server.start {
      game = ENV_GAME, env = { PERIGEE_RATE_LIMIT = "100", GAME = "x", MY_GAME_X = "x" },
    }
    local client = perigee:client()
    for _, name in ipairs {
      "PERIGEE_RATE_LIMIT", "PATH", "GAME", "GAME_", "MY_GAME_X", "GAME_A=B", " GAME_A", "",
    } do
      local refusal = ("game.lua:7: %q cannot be read: games read environment variables whose names "
        .. "begin with GAME_"):format(name)
      local problem = client:question(0, "try", name)
      assert.truthy(problem:find(refusal, 1, true), problem)
    end
  end)

  it("is known to perigee check, which reads the same variables", function()
    local function check(env)
      local folder = server.folder {
        ["game.lua"] = 'local perigee = require "perigee"\nassert(perigee.env "GAME_SECRET", "set GAME_SECRET")\n'
          .. "return { on_start = function() perigee.evn 'GAME_X' end }",
      }
      local process = server.perigee({ "check" }, { cwd = folder, env = env })
      process:wait_exit()
      return table.concat(process.out, "\n")
    end
    local typo = "game.lua:3: error: perigee has no evn; did you mean env?\n.: 1 error"
    assert.equal(typo, check { GAME_SECRET = "x" })
    assert.truthy(check():find("game.lua:2: error: set GAME_SECRET", 1, true))
  end)
end)
