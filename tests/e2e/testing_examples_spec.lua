--- The specs of the examples, which are written with perigee.testing.
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"

local SECONDS = 100

describe("perigee test", function()
  after_each(server.stop_all)

  it("runs the specs of each example, in any order of things", function()
    for _, name in ipairs { "arena", "chat", "ecs", "matches", "matchmaking", "relay", "targets" } do
      local game = "examples/" .. name
      local many = name == "arena" and { "--fuzz=2", "--filter-out=ten minutes" } or { "--fuzz=5" }
      for _, mode in ipairs { { "--seed=1" }, many } do
        local process = server.perigee({ "test", game, unpack(mode) }, { cwd = Process.ROOT })
        if process:wait_exit(SECONDS) ~= 0 then process:fail(game .. " fails") end
      end
    end
  end)
end)
