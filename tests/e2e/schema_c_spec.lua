--- `perigee schema --c`: the header, the programs of the documentation with it, and the example, against a
--- game.
local server = require "tests.e2e.server"
local shell = require "tests.e2e.shell"

local read, run = shell.read, shell.run
local BUILD = assert(os.getenv "PERIGEE_BUILD", "run by ctest")
local BIN = assert(os.getenv "PERIGEE_BIN", "run by ctest")
local IS_SANITIZED = (os.getenv "PERIGEE_CLIENT_LIBRARY" or "") == ""
local STRICT = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -Iinclude "
local C11, CPP17 = "gcc -std=c11 " .. STRICT, "g++ -std=c++17 -x c++ " .. STRICT

local GAME = [[
local perigee = require "perigee"
local game = { on_message = {} }
function game.on_start() perigee.rooms.create "lobby" end
function game.on_message.move(peer, at, room)
  room:broadcast("moved", { id = peer.id, at = at, mode = "running", trail = { { x = 1, y = 2.5 } } })
end
return game
]]

-- Returns a folder with a game, its header, and a program from a page of docs/.
local function prepare(page, name, schema)
  local program = read("docs/" .. page):match("\n```c " .. name .. "\n(.-)\n```")
  local folder = server.folder { ["game.lua"] = GAME, ["schema.perigee"] = schema, [name] = program .. "\n" }
  run(("%s schema --c %s > %s/game.h"):format(BIN, folder, folder))
  return folder, program
end

describe("perigee schema --c", function()
  after_each(server.stop_all)

  local schema = read "docs/schema.md":match "```\n(%-%- schema%.perigee.-)```"

  for name, compiler in pairs { C11 = C11, ["C++17"] = CPP17 } do
    it("has an example that does what it says, as " .. name, function()
      if IS_SANITIZED then return pending "the program is not sanitized, and the library is" end
      local folder, program = prepare("schema.md", "play.c", schema)
      local libraries = BUILD .. "/clients/c/libperigee.a $(pkg-config --libs libsodium)"
      run(("%s -o %s/play %s/play.c -x none %s"):format(compiler, folder, folder, libraries))
      local perigee = server.start { files = { ["game.lua"] = GAME, ["schema.perigee"] = schema } }
      local out, wanted = run(("timeout 20 %s/play 127.0.0.1:%d"):format(folder, perigee.port)), {}
      for line in program:gmatch "//> ([^\n]*)" do wanted[#wanted + 1] = line end
      assert.equal(table.concat(wanted, "\n") .. "\n", out)
    end)

    it("has an example for who asks, as " .. name, function()
      local folder = prepare("c-client.md", "sum.c", "message sum { terms: i32[..9] } -> i64")
      run(("%s -c -o %s/sum.o %s/sum.c"):format(compiler, folder, folder))
    end)
  end

  it("has an example that plays the arena", function()
    local perigee = server.start { path = "examples/arena" }
    local player = server.spawn(BUILD .. "/tests/arena_in_c", { "127.0.0.1:" .. perigee.port, "3" })
    assert.equal(0, player:wait_exit(60))
    assert.matches("^%d+ snapshots, %d+ shots$", player.out[#player.out])
  end)

  it("has names begin with a word, and says which", function()
    local folder = server.folder { ["schema.perigee"] = "message m: u8" }
    local function schema_of(flag)
      local process = server.perigee({ "schema", flag, folder .. "/schema.perigee" })
      local code = process:wait_exit()
      return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
    end
    local code, out = schema_of "--c=my_game2"
    assert.equal(0, code)
    local names = { "MY_GAME2_PROTOCOL_HASH", "MY_GAME2_M = ", "} MyGame2M;", "my_game2_m_encode(" }
    for _, name in ipairs(names) do
      assert.truthy(out:find(name, 1, true), name)
    end
    for _, prefix in ipairs { "", "Game", "2", "a-b", "a__b", "a_", "perigee" } do
      local failed, _, err = schema_of("--c=" .. prefix)
      assert.equal(2, failed)
      assert.equal(('perigee: --c=%s: names in C begin with it; it is of a to z, digits and single "_", '
        .. 'begins with a letter, and is not "perigee" (see `perigee help schema`)'):format(prefix), err)
    end
  end)
end)
