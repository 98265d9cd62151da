--- Lockstep: runs the specs in tests/testing/lockstep, which test its behaviour.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

describe("lockstep", function()
  for _, name in ipairs { "match", "policies", "hostile", "script" } do
    it("does what its specs say: " .. name, function()
      local seconds = tostring(10 * wait.SLOWNESS)
      local process = server.perigee { "test", "--timeout", seconds, "tests/testing/lockstep",
        "tests/testing/lockstep/spec/" .. name .. "_spec.lua" }
      local code = process:wait_exit(100 * wait.SLOWNESS)
      assert.equal(0, code, table.concat(process.out, "\n") .. table.concat(process.err, "\n"))
    end)
  end
end)
