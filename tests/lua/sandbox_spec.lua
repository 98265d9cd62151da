local fake_core = require "tests.lua.fake_core"

describe("the sandbox", function()
  local environment

  before_each(function()
    fake_core.new()
    environment = require("perigee.sandbox").environment {
      print = function() end,
      require = function() end,
    }
  end)

  -- What the code returns, or the error.
  local function run(code)
    local chunk = assert(load(code, "@game.lua", "t", environment))
    local results = { pcall(chunk) }
    return unpack(results, 1, 3)
  end

  it("has what games need", function()
    local code = [[
      return ("%s-%d"):format(table.concat({ "a", "b" }, ","), math.floor(2.5)),
        bit.band(7, 3) + select("#", coroutine.running()) + #os.date("%Y")
    ]]
    assert.same({ true, "a,b-2", 8 }, { run(code) })
  end)

  it("has nothing that leads out of it", function()
    local probes = {
      "return io", "return jit", "return package", "return ffi", "return load", "return loadstring",
      "return loadfile", "return dofile", "return getfenv", "return setfenv", "return newproxy",
      "return collectgarbage", "return module", "return arg", "return gcinfo",
    }
    for _, probe in ipairs(probes) do
      local ok, problem = run(probe)
      assert.is_false(ok, probe)
      assert.truthy(problem:find("game.lua:1: there is no global", 1, true), problem)
    end
    local fields = {
      "os.execute", "os.getenv", "os.exit", "os.remove", "os.rename", "os.tmpname", "os.setlocale",
      "debug.getregistry", "debug.sethook", "debug.getinfo", "debug.setmetatable", "string.dump",
      "debug.getupvalue", "debug.setfenv", "debug.debug", "table.new",
    }
    for _, field in ipairs(fields) do
      assert.same({ true }, { run("return " .. field) }, field)
    end
  end)

  it("tells undeclared names apart, with file and line", function()
    local function says(text, code)
      local ok, problem = run(code)
      assert.is_false(ok)
      assert.equal(text, problem)
    end
    says("game.lua:2: scores is not declared; write `local scores`", "local x\nscores = 1")
    says("game.lua:2: helper is not declared; write `local helper`", "\nfunction helper() end")
    says("game.lua:1: there is no global pritn; did you mean print?", "pritn(1)")
    says("game.lua:1: there is no global io (scripts have no files)", "io.write(1)")
    says("game.lua:1: there is no global nothing_like_it",
      "for i = 1, 100 do rawset(_G, 'v' .. i, i) end rawset(_G, {}, 1) nothing_like_it()")
  end)

  it("tells where a handler belongs that was written as a global", function()
    local ok, problem = run "function on_start() end"
    assert.is_false(ok)
    assert.truthy(problem:find("on_start is not declared; write `function game.on_start`", 1, true),
      problem)
  end)

  it("gives each version libraries of its own", function()
    assert.is_true((run "string.trim = 1; table.sort = nil; math.pi = 3"))
    local other = require("perigee.sandbox").environment {}
    assert.is_nil(other.string.trim)
    assert.equal("function", type(other.table.sort))
    assert.equal(math.pi, other.math.pi)
    assert.equal("function", type(table.sort))
  end)

  it("does not show its own workings", function()
    local ok, class = run "return getmetatable(_G)"
    assert.is_true(ok)
    assert.equal("environment", class)
    assert.is_false((run "setmetatable(_G, {})"))
    assert.is_true((run "rawset(_G, 'mine', 5); return mine"))
  end)

  it("has no function of the host's own global table within reach", function()
    local seen = {}
    local sandbox = require "perigee.sandbox"
    local function walk(value, path)
      if seen[value] or type(value) ~= "table" and type(value) ~= "function" then
        return
      end
      seen[value] = path
      if type(value) == "table" then
        for key, entry in next, value do
          walk(entry, path .. "." .. tostring(key))
        end
      end
    end
    walk(sandbox.environment {}, "_G")
    for _, forbidden in pairs {
      io.open, os.execute, os.exit, os.getenv, os.remove, os.rename, load, loadstring, loadfile,
      dofile, getfenv, setfenv, newproxy, collectgarbage, string.dump, debug.getregistry,
      debug.getinfo, debug.sethook, debug.setmetatable, package, package.loadlib, _G, string, table,
    } do
      assert.is_nil(seen[forbidden], seen[forbidden])
    end
  end)

  it("leaves a state in which the real global table has nothing else either", function()
    local script = [[
      package.path = "lua/?.lua;./?.lua"
      require("tests.lua.fake_core").new()
      package.loaded["perigee.sandbox"] = nil
      local write = io.write
      require("perigee.sandbox").close()
      local names = {}
      for name, value in pairs(_G) do
        names[#names + 1] = name
        if type(value) == "table" and value ~= _G then
          for field in pairs(value) do names[#names + 1] = name .. "." .. field end
        end
      end
      table.sort(names)
      write(table.concat(names, " "), "|", tostring(("").dump), "|", tostring(getmetatable("")))
    ]]
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
    local process = assert(io.popen("luajit " .. path .. " 2>&1"))
    local output = process:read "*a"
    process:close()
    os.remove(path)
    local names, dump, strings = output:match "^(.*)|(.*)|(.*)$"
    assert.equal("nil", dump, output)
    assert.equal("string", strings)
    for name in names:gmatch "%S+" do
      local library, field = name:match "^(.-)%.(.*)$"
      local copy = require("perigee.sandbox").environment {}
      assert.truthy(rawget(copy, library or name), name)
      assert.truthy(not field or copy[library][field], name)
    end
  end)
end)
