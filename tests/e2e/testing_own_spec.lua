--- The specs that are written with perigee.testing: those of the library, and of the examples.
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"

local SECONDS = 100

describe("perigee test", function()
  after_each(server.stop_all)

  it("runs the specs of the library itself", function()
    for _, arguments in ipairs { { "--seed", "3" }, { "--fuzz", "2", "--filter-out", "ten minutes" } } do
      local process = server.perigee({ "test", "tests/testing", unpack(arguments) }, { cwd = Process.ROOT })
      if process:wait_exit(SECONDS) ~= 0 then process:fail "specs fail" end
    end
  end)

  it("runs those of each example, in any order of things", function()
    for _, name in ipairs { "arena", "chat", "ecs", "matches", "relay", "targets" } do
      local game = "examples/" .. name
      local many = name == "arena" and { "--fuzz=2", "--filter-out=ten minutes" } or { "--fuzz=5" }
      for _, mode in ipairs { { "--seed=1" }, many } do
        local process = server.perigee({ "test", game, unpack(mode) }, { cwd = Process.ROOT })
        if process:wait_exit(SECONDS) ~= 0 then process:fail(game .. " fails") end
      end
    end
  end)
end)
