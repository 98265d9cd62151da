--- The rock: LuaRocks builds the client from a fresh tree, without network, and it runs under Lua 5.1 and
--- LuaJIT.
local server = require "tests.e2e.server"

local PARTS = "clients include lua perigee-dev-1.rockspec src/base src/wire"

local GAME = [[
  local perigee = require "perigee"
  local game = { on_message = {} }
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_message.double(_, value) return value * 2 end
  return game
]]

local PROGRAM = [[
  local client = require "perigee.client"
  local ann = assert(client.connect(arg[1], { name = "ann" }))
  local bob = assert(client.connect(arg[1], { name = "bob", udp = true }))
  local room = assert(ann:join "lobby")
  assert(bob:join "lobby")
  assert(room:broadcast("hi", { reliable = true }))
  local event
  repeat event = assert(bob:recv(10)) until event.type == "broadcast"
  assert(event.data == "hi" and event.name == "ann")
  client.spawn(function()
    print(ann:ask("double", 21))
    ann:close()
    bob:close()
  end)
  client.run()
]]

local function is_there(program)
  return os.execute("command -v " .. program .. " >/dev/null 2>&1") == 0
end

describe("the rock", function()
  local tree

  setup(function()
    if not is_there "luarocks" then return end
    tree = server.folder { ["client.lua"] = PROGRAM }
    local command = ("mkdir %s/source && cp -r --parents %s %s/source && cd %s/source && luarocks"
      .. " --lua-version 5.1 --tree %s/rock make --deps-mode none perigee-dev-1.rockspec "
      .. ">%s/log 2>&1"):format(
      tree, PARTS, tree, tree, tree, tree)
    assert(os.execute(command) == 0, "see " .. tree .. "/log")
  end)

  teardown(server.stop_all)

  for _, interpreter in ipairs { "lua5.1", "luajit" } do
    it("runs under " .. interpreter, function()
      if not is_there "luarocks" then return pending "luarocks is missing" end
      if not is_there(interpreter) then return pending(interpreter .. " is missing") end
      local perigee = server.start { game = GAME }
      local process = server.spawn("/usr/bin/" .. interpreter,
        { tree .. "/client.lua", "127.0.0.1:" .. perigee.port }, { cwd = tree, env = {
          LUA_PATH = tree .. "/rock/share/lua/5.1/?.lua;;", LUA_CPATH = tree .. "/rock/lib/lua/5.1/?.so;;",
        } })
      if process:wait_exit() ~= 0 then process:fail "the client failed" end
      assert.same({ "42" }, process.out)
      perigee:stop()
    end)
  end
end)
