--- The library's own specs, which are written with perigee.testing.
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
end)
