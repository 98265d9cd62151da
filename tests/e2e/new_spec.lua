--- `perigee new`: from an empty folder to a game that runs, is tested and checked, in a minute.
local cjson = require "cjson"
local HttpClient = require "tests.e2e.http_client"
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local read = pages.read

-- Runs the binary in a folder; returns its exit code and output.
local function run(folder, ...)
  local process = server.perigee({ ... }, { cwd = folder })
  local code = process:wait_exit(30)
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

describe("perigee new", function()
  after_each(server.stop_all)

  it("makes a game that passes its tests and has nothing to complain about", function()
    local folder = server.folder {}
    for _, arguments in ipairs { { "new", "x" }, { "test", "x" }, { "check", "x" } } do
      local code, out, err = run(folder, unpack(arguments))
      assert.equal(0, code, out .. err)
      assert.equal("", err)
    end
    local _, out = run(folder, "check", "x")
    assert.is_nil(out:find "warning", out)
  end)

  it("makes a game with accounts, which passes its tests and is served with its page", function()
    local folder = server.folder {}
    local code, out, err = run(folder, "new", "x", "--with", "accounts")
    assert.equal(0, code, err)
    assert.truthy(out:find("  http://localhost:7777/ ", 1, true), out)
    for _, command in ipairs { "test", "check" } do
      code, out, err = run(folder, command, "x")
      assert.equal(0, code, out .. err)
      assert.equal("", err)
      assert.is_nil(out:find "warning", out)
    end
    assert.truthy(read(folder .. "/x/README.md"):find "^# x\n")
    assert.equal("data/\n", read(folder .. "/x/.gitignore"))
    local perigee = server.start { path = folder .. "/x" }
    for _, path in ipairs { "/", "/main.js", "/style.css" } do
      assert.equal(200, HttpClient.connect(perigee.port):get(path).status, path)
    end
    perigee:stop()
    assert.truthy(read(folder .. "/x/data/game.db"))
  end)

  it("says what a game can be made with", function()
    local folder = server.folder {}
    for _, words in ipairs { { "x", "--with", "acounts" }, { "x", "--with", "game" }, { "x", "--with" } } do
      local code, out, err = run(folder, "new", unpack(words))
      assert.equal(2, code)
      assert.equal("", out)
      assert.truthy(err:find("accounts", 1, true), err)
    end
    local code, _, err = run(folder, "new", "--annotations", "--with=accounts", "x")
    assert.equal(2, code)
    assert.truthy(err:find("--with is for a new game", 1, true), err)
    assert.is_nil(io.open(folder .. "/x/game.lua"))
  end)

  it("makes a game that is served and can be won", function()
    local folder = server.folder {}
    assert.equal(0, (run(folder, "new", "x")))
    local perigee = server.start { path = folder .. "/x", text = true }
    local ann = perigee:text "ann"
    for guess = 1, 100 do
      ann:line(tostring(guess))
    end
    ann:expect_match [[^won {.*"name":"ann".*}$]]
  end)

  it("makes a game that takes lines of text from this machine alone", function()
    local folder = server.folder {}
    assert.equal(0, (run(folder, "new", "x")))
    local perigee = server.launch { path = folder .. "/x", text = true, flags = { host = "127.0.0.2" } }
    perigee:wait_out "^perigee: serving .+ on 127%.0%.0%.2:(%d+)$"
    local port = tonumber((perigee:wait_out "^perigee: text on 127%.0%.0%.1:(%d+)$"))
    local TextClient = require "tests.e2e.text_client"
    TextClient.connect(port):greeted()
  end)

  it("says what comes next, in commands that can be copied", function()
    local folder = server.folder {}
    local code, out, err = run(folder, "new", "games/duel")
    assert.equal(0, code, err)
    for _, command in ipairs { "run", "test", "check" } do
      assert.truthy(out:find(("%s %s games/duel "):format(server.binary(), command), 1, true), out)
    end
    assert.truthy(read(folder .. "/games/duel/README.md"):find "^# duel\n")
    local shell = server.spawn("/bin/sh",
      { "-c", out:match "\n +(%S+ check %S+) " }, { cwd = folder })
    assert.equal(0, shell:wait_exit())
  end)

  it("quotes for the shell what needs it", function()
    local _, out = run(server.folder {}, "new", "it's mine/duel")
    assert.truthy(out:find([[run 'it'\''s mine/duel']], 1, true), out)
  end)

  it("overwrites nothing", function()
    local folder = server.folder { ["x/notes.txt"] = "mine" }
    local code, out, err = run(folder, "new", "x/")
    assert.equal(1, code)
    assert.equal("", out)
    assert.truthy(err:find("perigee: x is there already", 1, true), err)
    assert.equal("mine", read(folder .. "/x/notes.txt"))
    assert.is_nil(io.open(folder .. "/x/game.lua"))
  end)

  it("wants a name that is one", function()
    local folder = server.folder {}
    for _, name in ipairs { "my game", "3d", "..", ".", "duel.lua", "-x", "", ("x"):rep(65), "games/ä" } do
      local code, out, err = run(folder, "new", name)
      assert.equal(2, code, name)
      assert.equal("", out)
      assert.truthy(err:find("(see `perigee help new`)", 1, true), err)
    end
    assert.equal(2, (run(folder, "new")))
    assert.equal(2, (run(folder, "new", "a", "b")))
    assert.equal(0, os.execute(("rmdir %s"):format(folder .. "/games 2>/dev/null; true")))
  end)

  it("says what is in the way", function()
    local folder = server.folder { file = "" }
    local code, _, err = run(folder, "new", "file/x")
    assert.equal(1, code)
    assert.truthy(err:find("perigee: cannot make the folder file: ", 1, true), err)
  end)

  it("has help", function()
    local code, out = run(server.folder {}, "new", "--help")
    assert.equal(0, code)
    assert.truthy(out:find("--annotations", 1, true), out)
    assert.truthy(out:find("--with accounts", 1, true), out)
  end)
end)

describe("what perigee new writes for editors", function()
  after_each(server.stop_all)

  it("is the annotations of this version, and settings that find them", function()
    local folder = server.folder {}
    run(folder, "new", "x")
    for name in io.popen("ls lua/perigee/meta"):read("*a"):gmatch "(%S+)%.lua" do
      local shipped = read(("lua/perigee/meta/%s.lua"):format(name))
      local written, head = read(("%s/x/.perigee/%s.lua"):format(folder, name))
        :gsub("\n(%-%- Written by `perigee new`[^\n]*)\n", "\n", 1)
      assert.equal(1, head, name)
      assert.equal(shipped, written)
    end
    local luarc = cjson.decode(read(folder .. "/x/.luarc.json"))
    assert.same({ ".perigee" }, luarc["workspace.library"])
  end)

  it("is brought up to date by --annotations, and nothing else is touched", function()
    local folder = server.folder {
      ["game.lua"] = "return {}", [".perigee/perigee.lua"] = "old", [".luarc.json"] = "{}",
    }
    local code, out = run(folder, "new", "--annotations")
    assert.equal(0, code)
    assert.truthy(out:find(".luarc.json stays as it is", 1, true), out)
    assert.truthy(read(folder .. "/.perigee/perigee.lua"):find "^%-%-%-@meta perigee\n")
    assert.equal("{}", read(folder .. "/.luarc.json"))
    assert.equal("return {}", read(folder .. "/game.lua"))
    assert.is_nil(io.open(folder .. "/README.md"))
  end)

  it("comes with settings where there are none", function()
    local folder = server.folder { ["x/game.lua"] = "return {}" }
    assert.equal(0, (run(folder, "new", "--annotations", "x")))
    assert.truthy(read(folder .. "/x/.luarc.json"):find "LuaJIT")
  end)

  it("is for games", function()
    local code, _, err = run(server.folder {}, "new", "--annotations")
    assert.equal(1, code)
    assert.truthy(err:find("there is no game.lua in this folder", 1, true), err)
  end)
end)
