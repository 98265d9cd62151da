--- Games that nest too deep, contain themselves, or have something else in place of a file: each is an error,
--- and the server goes on.
local Process = require "tests.e2e.process"
local uv = require "luv"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local function fails(perigee, client, name, text)
  client:expect_error("Internal", client:ask(0, name))
  perigee:wait_log(function(fields) return fields.message:find(text, 1, true) end)
end

describe("a handler that goes too far", function()
  after_each(server.stop_all)

  it("ends in an error: coroutines in coroutines, functions within string.gsub", function()
    local perigee = server.start {
      game = [[
        local game = { on_message = {} }
        local function nest(n) return coroutine.wrap(nest)(n + 1) end
        local function mirror(text) return (text:gsub(".", mirror)) end
        local through = setmetatable({}, { __index = function(t, key) return (key:gsub(".", t)) end })
        function game.on_message.nest() return nest(1) end
        function game.on_message.mirror() return mirror "a" end
        function game.on_message.through() return through.x end
        function game.on_message.fine()
          return coroutine.wrap(function(a) return ("b"):gsub("b", function(c) return a .. c end) end)("a")
        end
        return game
      ]],
    }
    local ann = perigee:client()
    for _, name in ipairs { "nest", "mirror", "through" } do
      fails(perigee, ann, name, "on_message." .. name .. " failed: ")
    end
    perigee:wait_log "stack overflow"
    assert.equal("ab", ann:question(0, "fine"))
  end)

  it("ends in an error: a value that holds itself twice", function()
    local perigee = server.start {
      game = [[
        local game = { on_message = {} }
        function game.on_message.pair()
          local a, b = {}, {}
          a.next, b.next, a.before, b.before = b, a, b, a
          return a
        end
        function game.on_message.fine() return { { 1 }, { 1 } } end
        return game
      ]],
    }
    local ann = perigee:client()
    fails(perigee, ann, "pair", 'message "pair": ')
    assert.same({ { 1 }, { 1 } }, ann:question(0, "fine"))
  end)

  it("ends in an error: an answer beyond max_payload", function()
    local perigee = server.start {
      game = "return { on_message = { long = function() return ('x'):rep(70000) end } }",
    }
    fails(perigee, perigee:client(), "long", "the answer is larger than max_payload")
  end)

  it("is told with the game's file where it ends with a call of Lua's own", function()
    local perigee = server.start {
      game = "return { on_message = { many = function() return unpack({}, 1, 1e8) end } }",
    }
    fails(perigee, perigee:client(), "many", "game.lua:1: too many results to unpack")
  end)

  it("is told in a few lines, however long its error is", function()
    local perigee = server.start {
      game = "return { on_message = { long = function() error(('x'):rep(1e6)) end } }",
    }
    fails(perigee, perigee:client(), "long", "bytes in all)")
    for _, line in ipairs(perigee.err) do
      assert.is_true(#line < 20000)
    end
  end)

  it("cannot resume the coroutine of another, nor its own", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        local game, parked = { on_message = {} }, "none"
        function game.on_message.wait()
          parked = coroutine.running()
          perigee.sleep(0.05)
          return tostring(parked)
        end
        function game.on_message.own()
          local co = coroutine.create(function() return coroutine.running() end)
          local _, seen = coroutine.resume(co)
          return seen == co
        end
        return game
      ]],
    }
    local ann = perigee:client()
    assert.equal("nil", ann:question(0, "wait"))
    assert.is_true(ann:question(0, "own"))
  end)
end)

describe("a game file that is none", function()
  after_each(server.stop_all)

  it("is an error at once, at the start", function()
    local folder = server.folder {}
    assert(uv.fs_symlink("/dev/zero", folder .. "/zero.lua"))
    local process = server.perigee { "run", folder .. "/zero.lua", "--port", "0" }
    assert.equal(1, process:wait_exit())
    assert.truthy(table.concat(process.err, "\n"):find("not a regular file", 1, true))
  end)

  it("is an error at a reload, also where it is watched", function()
    local perigee = server.start {
      game = "return { on_message = { version = function() return 1 end } }",
      watch = true,
    }
    local ann = perigee:client()
    local game = perigee.folder .. "/game.lua"
    assert(uv.fs_unlink(game))
    assert(uv.fs_symlink("/dev/zero", game))
    perigee:wait_log "not a regular file"
    assert.equal(1, ann:question(0, "version"))
    assert(uv.fs_unlink(game))
    perigee:save("game.lua", "return { on_message = { version = function() return 2 end } }")
    wait.for_true(function() return ann:question(0, "version") == 2 end)
  end)

  it("that yields at its top level leaves handlers free to wait", function()
    local perigee = server.start {
      game = [[
        local perigee = require "perigee"
        return { on_message = { wait = function() perigee.sleep(0.01) return "waited" end } }
      ]],
      watch = true,
    }
    local ann = perigee:client()
    perigee:save("game.lua", "coroutine.yield()\nreturn {}")
    perigee:wait_log "coroutine.yield"
    assert.equal("waited", ann:question(0, "wait"))
  end)
end)

describe("a server that is started without standard streams", function()
  after_each(server.stop_all)

  it("does not write into its connections", function()
    local script = 'exec "$0" run --host 127.0.0.1 --port 0 >&- 2>&- <&-'
    local process = server.spawn("/bin/sh", { "-c", script, server.binary() })
    local function is_null(fd)
      return uv.fs_readlink(("/proc/%d/fd/%d"):format(process.pid, fd)) == "/dev/null"
    end
    wait.for_true(function() return is_null(0) and is_null(1) and is_null(2) end)
    -- The control socket comes last, so the server handles signals by then.
    wait.for_true(function()
      local folder = uv.fs_scandir(Process.runtime() .. "/perigee")
      return folder and uv.fs_scandir_next(folder) ~= nil
    end)
    process:kill "sigterm"
    assert.equal(0, process:wait_exit())
  end)
end)
