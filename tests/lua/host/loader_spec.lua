local fake_core = require "tests.lua.fake_core"

describe("the loader", function()
  local core

  before_each(function()
    core = fake_core.new()
  end)

  after_each(fake_core.clean)

  local function load(files)
    local host, outcome, text, folder = fake_core.host(core, files)
    local said = type(text) == "string" and text:gsub(folder:gsub("%p", "%%%0") .. "/", "") or text
    return outcome, said, host, folder
  end

  local function fails(want, files)
    local outcome, text = load(files)
    assert.equal("failed", outcome)
    assert.truthy(text:find(want, 1, true), text)
  end

  it("names file and line of whatever goes wrong", function()
    fails("game.lua:2: '=' expected near 'is'", "local x = 1\nthis is no lua\n")
    fails("game.lua:2: broken on purpose", "\nerror 'broken on purpose'")
    fails("game.lua:1: scores is not declared", "scores = {}")
    fails("rooms/duel.lua:2: oops", {
      ["game.lua"] = "require 'rooms.duel'",
      ["rooms/duel.lua"] = "\nerror 'oops'",
    })
    fails("No such file or directory", { ["other.lua"] = "" })
  end)

  it("gives whole names of files that Lua would cut", function()
    local deep = ("deep/"):rep(20) .. "arena/game.lua"
    local path = fake_core.game { [deep] = "local x = nil\nreturn x.y" } .. "/" .. deep
    local outcome, text = fake_core.call(core, require "perigee.host", "load", { data = path })
    assert.equal("failed", outcome)
    assert.equal(path .. ":2: attempt to index local 'x' (a nil value)", text)
  end)

  it("finds modules in the game's folder, each once", function()
    local outcome = load {
      ["game.lua"] = [[
        local a, b = require "rooms.duel", require "helper"
        assert(a == require "rooms.duel" and b == true and require "kinds" == 7)
        return { rooms = { duel = a } }
      ]],
      ["rooms/duel.lua"] = "print 'duel runs' return {}",
      ["helper.lua"] = "",
      ["kinds/init.lua"] = "return 7",
    }
    assert.equal("ended", outcome)
    assert.equal("duel runs", fake_core.log_text(core))
  end)

  it("has perigee.fixed by the name that clients use, and no other module of the host", function()
    assert.equal("ended", (load {
      ["game.lua"] = 'assert(require "perigee.fixed" == require("perigee").fixed) return {}',
    }))
    fails('perigee.world belongs to the host; games use require "perigee"', 'require "perigee.world"')
  end)

  it("has lpeg and re, which a game cannot change", function()
    local outcome = load {
      ["game.lua"] = [[
        local lpeg, re = require "lpeg", require "re"
        assert(lpeg == require "lpeg" and not pcall(function() lpeg.P = nil end))
        print(lpeg.match(lpeg.C(lpeg.R "az" ^ 1), "ann 1"), re.match("ann 1", "%a+ ' ' {%d}"))
        return {}
      ]],
    }
    assert.equal("ended", outcome)
    assert.equal("ann\t1", fake_core.log_text(core))
  end)

  it("looks nowhere else", function()
    for _, name in ipairs { "../x", "/etc/passwd", "a..b", "a/b", "", ".", "a.b/../c" } do
      fails("is no module's name", ("require %q"):format(name))
    end
    fails('there is no module "socket": no file socket.lua or socket/init.lua', "require 'socket'")
    fails("belongs to the host", "require 'perigee.host'")
    fails("belongs to the host", "require 'perigee.core'")
    fails("is for programs outside the server", "require 'perigee.client'")
    fails("must be a string, not nil", "require(nil)")
  end)

  it("names the module that was meant", function()
    local function hints(wanted, name)
      local files = { ["rooms/duel.lua"] = "", ["chess/init.lua"] = "", ["rules.lua"] = "" }
      files["game.lua"] = ("require %q"):format(name)
      fails(name:gsub("%.", "/") .. "/init.lua" .. wanted, files)
    end
    hints('; did you mean "rooms.duel"?', "rooms.dule")
    hints('; did you mean "rooms.duel"?', "room.duel")
    hints('; did you mean "rooms.duel"?', "duel")
    hints('; did you mean "rules"?', "rules.lua")
    hints('; did you mean "chess"?', "ches")
  end)

  it("ends a circle of modules with an error", function()
    fails("requires itself", {
      ["game.lua"] = "return require 'a'",
      ["a.lua"] = "return require 'b'",
      ["b.lua"] = "return require 'a'",
    })
  end)

  it("takes source, not bytecode", function()
    fails("game.lua: this is bytecode", { ["game.lua"] = string.dump(load or print) })
  end)

  it("says which files the game consists of, those of a failed attempt too", function()
    local _, _, _, folder = load {
      ["game.lua"] = "require 'helper' require 'missing'",
      ["helper.lua"] = "",
    }
    assert.same({
      folder .. "/game.lua", folder .. "/helper.lua", folder .. "/missing.lua",
      folder .. "/missing/init.lua",
    }, core.file_list)
  end)

  it("hands the configuration on, and takes no for an answer", function()
    assert.equal("ended", (load "return { config = { port = 0, host = 'x', watch = false } }"))
    assert.same({ port = 0, host = "x", watch = false }, core.config)
    assert.is_true(core.config_taken)
    function core.refuse_config(key)
      return key == "prt" and "there is no game.config.prt" or nil
    end
    fails("game.lua: there is no game.config.prt", "return { config = { port = 0, prt = 0 } }")
    assert.is_false(core.config_taken)
  end)

  it("lets nothing wait at the top level, and forgets what a failed one asked for", function()
    fails("game.lua:1: perigee.sleep cannot wait while the game is being loaded",
      "require('perigee').sleep(1)")
    fails("oops", [[
      local perigee = require "perigee"
      perigee.rooms.create "lobby"
      perigee.after(1, print)
      error "oops"
    ]])
    assert.same({}, core.done)
    assert.is_nil(core.room_find "lobby")
  end)
end)
