--- A game is replaced while clients play: by saving, by SIGHUP, by `perigee reload`. A broken version
--- replaces nothing.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

-- Returns a game that answers "version" with a number.
local function version(number, more)
  return ([[
    local perigee = require "perigee"
    local game = { on_message = {} }
    function game.on_start()
      print "on_start"
      perigee.rooms.create "lobby"
    end
    function game.on_message.version() return %d end
    function game.on_reload(from, to) print("on_reload " .. tostring(from) .. " " .. tostring(to)) end
    %s
    return game
  ]]):format(number, more or "")
end

local function wait_version(client, number)
  local seen
  wait.for_true(function()
    seen = client:question(0, "version")
    return seen == number
  end)
  assert.equal(number, seen)
end

local function reload_command(perigee)
  local process = server.perigee { "reload", "--port", tostring(perigee.port) }
  return process:wait_exit(), process
end

describe("a reload", function()
  after_each(server.stop_all)

  it("happens when the game is saved, and nobody is disconnected", function()
    local perigee = server.start { game = version(1), watch = true }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    assert.equal(1, ann:question(0, "version"))
    perigee:save("game.lua", version(2))
    wait_version(ann, 2)
    bob:broadcast(room, "still here")
    ann:expect_next("BROADCAST", { data = "still here" })
    ann:expect_quiet()
    perigee:wait_log "on_reload "
    assert.equal(1, perigee:count_log '"on_start"')
  end)

  it("happens when a required file is saved", function()
    local function rules(number) return ("return { number = %d }"):format(number) end
    local perigee = server.start {
      watch = true,
      files = {
        ["game.lua"] = [[
          local rules = require "rules.duel"
          return { on_message = { version = function() return rules.number end } }
        ]],
        ["rules/duel.lua"] = rules(1),
      },
    }
    local ann = perigee:client()
    wait_version(ann, 1)
    perigee:save("rules/duel.lua", rules(2))
    wait_version(ann, 2)
  end)

  it("happens when an editor puts a new file in the place of the old one", function()
    local perigee = server.start { game = version(1), watch = true }
    local ann = perigee:client()
    for number = 2, 5 do
      perigee:save("game.lua.new", version(number))
      assert(os.rename(perigee.folder .. "/game.lua.new", perigee.folder .. "/game.lua"))
      wait_version(ann, number)
    end
  end)

  it("does not happen by itself with --no-watch, and does on SIGHUP", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client()
    perigee:save("game.lua", version(2))
    wait.pass(0.3)
    assert.equal(1, ann:question(0, "version"))
    perigee:kill "sighup"
    wait_version(ann, 2)
  end)

  it("does not happen by itself with --prod", function()
    local perigee = server.start { game = version(1), watch = true, flags = { prod = true } }
    local ann = perigee:client()
    perigee:save("game.lua", version(2))
    wait.pass(0.3)
    assert.equal(1, ann:question(0, "version"))
  end)

  it("happens by `perigee reload`, which says how it went", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client()
    perigee:save("game.lua", version(2))
    local code, process = reload_command(perigee)
    if code ~= 0 then process:fail("exit code " .. code) end
    assert.equal(2, ann:question(0, "version"))
    perigee:save("game.lua", "return {\n  oops\n")
    code, process = reload_command(perigee)
    assert.equal(1, code)
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.truthy(said:find("game.lua:", 1, true), said)
    assert.equal(2, ann:question(0, "version"))
  end)

  it("that fails says who required the file that is broken", function()
    local perigee = server.start { game = version(1) }
    perigee:save("duel.lua", "local t = nil\nreturn t.x")
    perigee:save("game.lua", "local duel = require 'duel'\nreturn duel")
    assert.equal(1, (reload_command(perigee)))
    perigee:wait_log(function(fields)
      local first, second, rest = fields.message:match "^([^\n]*)\n([^\n]*)\n(.*)$"
      return first and first:match "^reload failed: .*duel%.lua:2: .*; version 1%.%x+ goes on$"
        and second == "stack traceback:" and rest:match "\n\t[^\n]*game%.lua:1: in main chunk$"
    end)
  end)

  it("tells where no server is", function()
    local perigee = server.start { game = version(1) }
    perigee:stop()
    local code, process = reload_command(perigee)
    assert.equal(1, code)
    assert.equal(1, #process.out + #process.err)
  end)

  it("needs a port when there are several servers", function()
    local one, two = server.start { game = version(1) }, server.start { game = version(1) }
    local process = server.perigee { "reload" }
    assert.equal(2, process:wait_exit())
    for _, started in ipairs { one, two } do
      assert.truthy(process.err[1]:find(tostring(started.port), 1, true), process.err[1])
      assert.equal(0, (reload_command(started)))
    end
  end)

  it("is not held up by another server that is stuck", function()
    local stuck, perigee = server.start { game = version(1) }, server.start { game = version(1) }
    stuck:kill "sigstop"
    local ann = perigee:client()
    perigee:save("game.lua", version(2))
    assert.equal(0, (reload_command(perigee)))
    assert.equal(2, ann:question(0, "version"))
    -- `perigee reload` reaches the server at once, although the queue of connections is full.
    local uv, pipes = require "luv", {}
    for i = 1, 300 do
      pipes[i] = uv.new_pipe(false)
      pipes[i]:connect(server.runtime() .. "/perigee/" .. stuck.port .. ".sock", function() end)
    end
    assert.equal(0, (reload_command(perigee)))
    for _, pipe in ipairs(pipes) do
      pipe:close()
    end
    stuck:kill "sigcont"
  end)

  it("uses what is new from the next event on, also in waiting rooms", function()
    local function game(word)
      return ([[
        return {
          rooms = {
            duel = {
              auto_create = true,
              on_broadcast = function(room, peer, data) return data .. " %s" end,
            },
          },
          on_message = { version = function() return %q end },
        }
      ]]):format(word, word)
    end
    local perigee = server.start { game = game "old" }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "duel:1"
    bob:join "duel:1"
    ann:broadcast(room, "one")
    bob:expect_next("BROADCAST", { data = "one old" })
    perigee:save("game.lua", game "new")
    reload_command(perigee)
    ann:broadcast(room, "two")
    bob:expect_next("BROADCAST", { data = "two new" })
  end)

  it("takes the files that a link points to by then", function()
    local folder = server.folder {
      ["one/game.lua"] = version(1),
      ["two/game.lua"] = version(2),
    }
    local uv = require "luv"
    assert(uv.fs_symlink("one", folder .. "/current"))
    local perigee = server.start { path = folder .. "/current" }
    local ann = perigee:client()
    assert.equal(1, ann:question(0, "version"))
    assert(uv.fs_symlink("two", folder .. "/next"))
    assert(os.rename(folder .. "/next", folder .. "/current"))
    reload_command(perigee)
    assert.equal(2, ann:question(0, "version"))
  end)

  it("may add and take away handlers", function()
    local perigee = server.start { game = version(1) }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    perigee:save("game.lua", version(2, "function game.on_broadcast() return false end"))
    reload_command(perigee)
    ann:broadcast(room, "dropped"):expect "PEER_JOINED"
    ann:expect_quiet()
    bob:expect_quiet()
    perigee:save("game.lua", version(3))
    reload_command(perigee)
    ann:broadcast(room, "relayed")
    bob:expect_next("BROADCAST", { data = "relayed" })
  end)
end)

describe("a reload of a broken game", function()
  after_each(server.stop_all)

  -- Saves a broken version. The log must name the place, the old version must still answer, and a good
  -- version must replace it later.
  local function keeps_old(broken, place)
    local perigee = server.start { game = version(1), watch = true }
    local ann = perigee:client()
    local room = ann:join "lobby"
    perigee:save("game.lua", broken)
    perigee:wait_log(place)
    assert.equal(1, ann:question(0, "version"))
    perigee:save("game.lua", version(2))
    wait_version(ann, 2)
    assert.equal(room, ann:list_rooms()[1].id)
    ann:expect_quiet()
  end

  it("keeps the old one: a syntax error", function()
    keeps_old("local x = 1\nreturn { on_message = function( }", "game.lua:2:")
  end)

  it("keeps the old one: an error while loading", function()
    keeps_old("\n\nerror 'not today'\nreturn {}", "game.lua:3: not today")
  end)

  it("keeps the old one: a file that it requires is missing", function()
    keeps_old("return require 'rules.missing'", "rules.missing")
  end)

  it("keeps the old one: a handler that is no function", function()
    keeps_old("return { on_connect = 17 }", "on_connect")
  end)

  it("keeps the old one: not a table", function()
    keeps_old("return 17", "game.lua")
  end)

  it("keeps the old one: an empty file", function()
    keeps_old("", "game.lua")
  end)

  it("keeps the old one: a chunk of bytecode", function()
    keeps_old("\27LJ\2\0\0", "bytecode")
  end)

  it("leaves nothing of what it did while it loaded", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client()
    perigee:save(
      "game.lua",
      [[
        local perigee = require "perigee"
        perigee.rooms.create "half made"
        perigee.every(0.01, function() print "timer of a broken version" end)
        error "half way"
      ]]
    )
    reload_command(perigee)
    perigee:wait_log "half way"
    assert.equal(1, #ann:list_rooms())
    perigee:save("game.lua", version(2))
    reload_command(perigee)
    assert.equal(2, ann:question(0, "version"))
    assert.equal(0, perigee:count_log "timer of a broken version")
  end)
end)
