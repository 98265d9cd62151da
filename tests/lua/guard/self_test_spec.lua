--- The self-test at the start: a server does not start if LuaJIT's loops cannot be interrupted.
describe("the test at the start", function()
  local core, runs
  local kept = {}

  before_each(function()
    for name in pairs(package.loaded) do
      if name:find "^perigee%.guard%." or name == "perigee.util.fault" or name == "perigee.core" then
        kept[name], package.loaded[name] = package.loaded[name], nil
      end
    end
    runs = 0
    core = {
      is_proven = function() return false end,
      trial = function(fn)
        assert.equal("function", type(fn))
        runs = runs + 1
        return true
      end,
    }
    package.loaded["perigee.core"] = core
  end)
  after_each(function()
    for name in pairs(package.loaded) do
      if name:find "^perigee%.guard%." or name == "perigee.util.fault" or name == "perigee.core" then
        package.loaded[name] = nil
      end
    end
    for name, module in pairs(kept) do package.loaded[name] = module end
    kept = {}
  end)

  it("passes where all of them are ended", function()
    require("perigee.guard.self_test").run()
    assert.equal(3, runs)
  end)

  it("fails where one is not, and says what may help", function()
    core.trial = function() return false end
    local ok, problem = pcall(require("perigee.guard.self_test").run)
    assert.is_false(ok)
    assert.matches("scripts could hold up the server: with this LuaJIT", problem, 1, true)
    assert.matches("--no-jit may help", problem, 1, true)
  end)

  it("runs once in a process", function()
    core.is_proven = function() return true end
    require("perigee.guard.self_test").run()
    assert.equal(0, runs)
  end)
end)
