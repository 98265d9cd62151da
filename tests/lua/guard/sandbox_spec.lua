local fake_core = require "tests.lua.fake_core"

describe("the sandbox", function()
  local environment

  before_each(function()
    fake_core.new()
    environment = require("perigee.guard.sandbox").environment {
      print = function() end,
      require = function() end,
    }
  end)

  -- Returns the results of the code, or the error.
  local function run(code)
    local chunk = assert(load(code, "@game.lua", "t", environment))
    local results = { pcall(chunk) }
    return unpack(results, 1, 6)
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
    says("game.lua:1: there is no global perigee "
      .. '(write `local perigee = require "perigee"` at the top of the file)', "perigee.now()")
    says("game.lua:1: there is no global nothing_like_it",
      "for i = 1, 100 do rawset(_G, 'v' .. i, i) end rawset(_G, {}, 1) nothing_like_it()")
  end)

  it("tells where a handler belongs that was written as a global", function()
    local ok, problem = run "function on_start() end"
    assert.is_false(ok)
    assert.truthy(problem:find("on_start is not declared; write `function game.on_start`", 1, true),
      problem)
  end)

  it("has libraries that cannot be changed, and says where that was tried", function()
    for _, code in ipairs { "string.trim = 1", "table.sort = nil", "\n\nmath.pi = 3" } do
      local ok, problem = run(code)
      assert.is_false(ok)
      assert.truthy(problem:find("^game%.lua:%d: %l+%.%l+ cannot be set"), problem)
    end
    local _, problem = run "\n\nmath.pi = 3"
    assert.equal("game.lua:3: math.pi cannot be set: the libraries are not to be changed", problem)
  end)

  it("keeps what rawset does to a library from other versions and from the host", function()
    assert.is_true((run "rawset(string, 'trim', 1); rawset(math, 'pi', 3)"))
    local other = require("perigee.guard.sandbox").environment {}
    assert.is_nil(other.string.trim)
    assert.equal(math.pi, other.math.pi)
    assert.is_not.equal(3, math.pi)
  end)

  describe("with pcall, xpcall and coroutines of its own", function()
    -- Runs the same code with Lua's own functions.
    local function run_plain(code)
      local plain = { string = string, coroutine = coroutine, table = table, math = math }
      for _, name in ipairs { "pcall", "xpcall", "error", "select", "tostring", "type", "unpack",
        "setmetatable", "debug" } do
        plain[name] = _G[name]
      end
      return pcall(assert(load(code, "@game.lua", "t", plain)))
    end

    local SAME = {
      "return pcall(error, 'x', 2)", "return pcall(error, 'x')", "return pcall(error)",
      "return pcall(error, nil)", "return select('#', pcall(error))",
      "return pcall(function() error('x', 1) end)", "return pcall(function() error('x', 2) end)",
      "return pcall(function() local t = nil; t.x = 1 end)", "return pcall(nil)",
      "return select('#', pcall(unpack, {}, 1, 200))",
      "return select('#', pcall(function() return nil, nil end))",
      "local ok, e = pcall(error, { 5 }); return e[1]", "return pcall(error, true)",
      "return pcall(pcall, error, 'x')", "return xpcall(error, function(e) return e .. '!' end, 'x')",
      "return xpcall(function(...) return ... end, error, 1, nil, 3)",
      "return (pcall(xpcall))", "return (pcall(xpcall, error))",
      "local function f() return f() + 1 end; return (pcall(f))",
      "local function f() return f() + 1 end; return select(2, pcall(f)):match 'stack overflow'",
      "return xpcall(function() error 'a' end, function() error 'b' end)",
      "return coroutine.wrap(function() return pcall(coroutine.yield, 7) end)()",
      "local f = coroutine.wrap(function() return pcall(coroutine.yield, 7) end) f(); return f(8)",
      "local f = coroutine.wrap(function() return pcall(function() error(coroutine.yield(), 0) end) end)"
        .. " f(); return f 'late'",
      "return coroutine.resume(coroutine.create(function(...) return ... end), 1, nil, 3)",
      "return coroutine.resume(coroutine.create(function() error('x', 0) end))",
      "return coroutine.resume(coroutine.create(function() error { 1 } end)) == false",
      "local c = coroutine.create(function() end); coroutine.resume(c); return coroutine.resume(c)",
      "local f = coroutine.wrap(function() error 'x' end); local a, b = pcall(f); return a, b",
      "return pcall(function() local x = coroutine.wrap(function() error 'x' end)(); return x end)",
      "return pcall(function() local x = coroutine.wrap(function() error({}) end)() end) == false",
      "local f = coroutine.wrap(function() end); f(); return pcall(function() local x = f() end)",
      "local f = coroutine.wrap(function(...) local a = coroutine.yield(...) return a, nil end);"
        .. "return select('#', f(1, nil)), f(3)",
      "return (xpcall(function() local x = nil .. 'a' end, function() return debug.traceback() end))",
      "return select(2, xpcall(function() error 'x' end, debug.traceback)):match '^[^\\n]*'",
      "return select(2, xpcall(function() error 'x' end,"
        .. "function() return debug.traceback() end)):match 'game.lua:1: in function'",
    }

    it("does what Lua does", function()
      for _, code in ipairs(SAME) do
        assert.same({ run_plain(code) }, { run(code) }, code)
      end
    end)
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
    local sandbox = require "perigee.guard.sandbox"
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
      package.loaded["perigee.guard.sandbox"] = nil
      local write = io.write
      require("perigee.guard.sandbox").close()
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
      local copy = require("perigee.guard.sandbox").environment {}
      assert.truthy(rawget(copy, library or name), name)
      assert.truthy(not field or copy[library][field], name)
    end
  end)
end)
