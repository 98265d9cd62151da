--- Games that do not load, or load with a warning: the report, its place, and the end of the process.
local server = require "tests.e2e.server"

describe("a game that does not load", function()
  after_each(server.stop_all)

  -- Starts a server of these files, which must end with exit code 1 and report these texts.
  local function refused(files, ...)
    local process = server.launch { files = files }
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.err, "\n")
    for _, text in ipairs { ... } do
      assert.truthy(said:find(text, 1, true), said)
    end
    for _, line in ipairs(process.out) do
      assert.is_nil(line:find("ready", 1, true))
    end
  end

  it("for a syntax error names file and line", function()
    refused({ ["game.lua"] = "return {\n  a = = 1,\n}\n" }, "game.lua:2:")
  end)

  it("for an error while loading names file and line", function()
    refused({ ["game.lua"] = "\nerror 'no good'\n" }, "game.lua:2:", "no good")
  end)

  it("for a fault in a required file names that", function()
    refused({
      ["game.lua"] = "return { rooms = { duel = require 'rooms.duel' } }",
      ["rooms/duel.lua"] = "local x = \nreturn {}\n",
    }, "rooms/duel.lua:2:")
  end)

  it("for a value without a line names the command that finds the line", function()
    refused({ ["game.lua"] = "return { on_tick = 5 }" }, "game.lua: on_tick must be a function, not a number",
      "perigee: `perigee check ", " finds mistakes with their lines")
  end)

  it("says who required the file, and who called whom in it", function()
    local files = {
      ["game.lua"] = "return {\n  rooms = { duel = require 'rooms.duel' },\n}",
      ["rooms/duel.lua"] = "local x = \nreturn {}\n",
    }
    refused(files, "rooms/duel.lua:2:", "stack traceback:", "game.lua:2: in main chunk")
    files["rooms/duel.lua"] = "local function f(x)\n  return x.y\nend\nlocal y = f(nil)\nreturn { y = y }"
    refused(files, "rooms/duel.lua:2:", "duel.lua:2: in function 'f'", "duel.lua:4: in main chunk",
      "game.lua:2: in main chunk")
  end)

  it("says no more of an error than its place where there is no more", function()
    for _, source in ipairs {
      "error 'no good'", "return { on_connect = 'yes' }", "pcall(require, 'nothing')\nerror 'no good'",
    } do
      local process = server.launch { game = source }
      assert.equal(1, process:wait_exit())
      assert.is_nil(table.concat(process.err, "\n"):find("stack traceback", 1, true))
    end
  end)

  it("for a file that is missing says what is looked for", function()
    refused({ ["game.lua"] = "return require 'rules'" }, "rules")
    local process = server.perigee { "run", "/nonexistent/game", "--port", "0" }
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.err, "\n")
    assert.truthy(said:find("/nonexistent/game", 1, true), said)
  end)

  it("for a handler that is no function names it", function()
    refused({ ["game.lua"] = "return { on_connect = 'yes' }" }, "on_connect")
    refused({ ["game.lua"] = "return { rooms = { r = { on_join = 3 } } }" }, "on_join")
  end)

  it("for something that is no table says so", function()
    refused({ ["game.lua"] = "return 17" }, "game.lua", "table")
    refused({ ["game.lua"] = "" }, "game.lua", "table")
  end)

  it("for bytecode says so", function()
    refused({ ["game.lua"] = "\27LJ\2\0\0" }, "bytecode")
  end)

  it("for an undeclared global names it", function()
    refused({ ["game.lua"] = "\nscore = 0\nreturn {}\n" }, "game.lua:2:", "score")
  end)
end)

describe("a game with a slip", function()
  after_each(server.stop_all)

  it("is warned of a misspelt handler, with the nearest right name", function()
    local perigee = server.start {
      game = [[
        return {
          on_conect = function() end,
          rooms = { duel = { on_jion = function() end } },
        }
      ]],
    }
    perigee:wait_log(function(_, line)
      return line:find("on_conect", 1, true) and line:find("on_connect", 1, true)
    end)
    perigee:wait_log(function(_, line)
      return line:find("on_jion", 1, true) and line:find("on_join", 1, true)
    end)
  end)

  it("whose on_start fails runs, and logs it", function()
    local perigee = server.launch {
      game = "return {\n  on_start = function() error 'bad start' end,\n}\n",
    }
    perigee:wait_log "game.lua:2: bad start"
  end)

  it("may be one file, and may lie in a folder that is named with a slash", function()
    local folder = server.folder {
      ["arena.lua"] = "return { on_message = { hi = function() return 'arena' end } }",
      ["game.lua"] = "return { on_message = { hi = function() return 'game' end } }",
    }
    local file = server.start { path = folder .. "/arena.lua" }
    assert.equal("arena", file:client():question(0, "hi"))
    local slash = server.start { path = folder .. "/" }
    assert.equal("game", slash:client():question(0, "hi"))
  end)

  it("prints to the log, and knows no io, ffi or bytecode", function()
    local perigee = server.start {
      game = [[
        local absent = {}
        local function check(name, value) if value ~= nil then absent[#absent + 1] = name end end
        check("os.execute", os and os.execute)
        check("string.dump", string.dump)
        check("debug.getinfo", debug and debug.getinfo)
        for _, name in ipairs { "io", "ffi", "jit", "getfenv", "setfenv", "newproxy", "package",
          "collectgarbage", "dofile", "loadfile", "module" } do
          local ok, value = pcall(function() return _G[name] end)
          check(name, ok and value or nil)
          if pcall(require, name) and name ~= "string" then absent[#absent + 1] = "require " .. name end
        end
        print("there are: " .. table.concat(absent, " "), 1, nil, true)
        return {}
      ]],
    }
    perigee:wait_log(function(_, line) return line:match "there are: [ \\t]*1[ \\t]+nil[ \\t]+true" end)
  end)
end)
