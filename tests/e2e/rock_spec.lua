--- The rock: LuaRocks installs a release of the client into a fresh tree, from another folder and without
--- network, and it runs under Lua 5.1 and LuaJIT.
local pages = require "tests.pages"
local server = require "tests.e2e.server"

local OF_LUAJIT = { bit = true, ffi = true, ["table.new"] = true }

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
    local command = ("scripts/rock %s/release >%s/log 2>&1 && cd / && luarocks --lua-version 5.1"
      .. " --tree %s/rock install --deps-mode none %s/release/perigee-*.rockspec >>%s/log 2>&1"):format(
      tree, tree, tree, tree, tree)
    assert(os.execute(command) == 0, "see " .. tree .. "/log")
  end)

  teardown(server.stop_all)

  it("has a source that a release fills in", function()
    if not is_there "luarocks" then return pending "luarocks is missing" end
    local command = ("scripts/rock %s/web https://example.org/releases"):format(tree)
    assert(os.execute(command .. " >/dev/null") == 0)
    local rockspec = pages.read(tree .. "/web/perigee-0.1.0-1.rockspec")
    assert.matches('url = "https://example.org/releases/perigee%-rock%-0%.1%.0%.tar%.gz"', rockspec)
    assert.matches('version = "0%.1%.0%-1"', rockspec)
  end)

  it("has the modules of the client alone, and declares those of others", function()
    local spec = setmetatable({}, { __index = _G })
    setfenv(assert(loadfile "perigee-dev-1.rockspec"), spec)()
    local declared = table.concat(spec.dependencies, " ")
    local modules, needed = spec.build.modules, { ["perigee.client"] = true, ["perigee.native"] = true,
      ["perigee.fixed"] = true }
    local function check(path, name)
      needed[name] = true
      local is_known = OF_LUAJIT[name] or modules[name] or declared:find(name, 1, true)
      assert.truthy(is_known, path .. " requires " .. name)
    end
    for _, path in pairs(modules) do
      local text = type(path) == "string" and pages.read(path) or ""
      for name in text:gmatch 'require[ (]*"([%w_.]+)"' do check(path, name) end
      for name in text:gmatch 'dependency[" (]+([%w_.]+)"' do check(path, name) end
    end
    for name in pairs(modules) do assert.truthy(needed[name], name .. " is in the rock, and not required") end
  end)

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
