--- The server refuses source text that is slow to parse, or too long, and other clients do not wait for the
--- parser.
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

-- If the loop itself parsed these files, the server would stop for half a minute or more. A PING takes some
-- milliseconds otherwise. The limit lies between the two, because the machine may have other things to do.
local PING_MS_MAX = 1000
local MIB = 2 ^ 20

local function version(number)
  return ("return { on_message = { version = function() return %d end } }\n"):format(number)
end

-- Returns a chain of operators, which LuaJIT parses in a time that grows with the square of its length.
local function chain(bytes)
  local head, unit = "local x\nlocal y = x ", "or x "
  return head .. unit:rep(math.floor((bytes - #head) / #unit)) .. "\n" .. version(9)
end

-- Sends PING after PING until the log has the text; returns how long the slowest took, in milliseconds.
local function ping_until_logged(perigee, client, text)
  local worst, seen = 0, perigee:count_log(text)
  wait.for_true(function()
    local before = uv.hrtime()
    client:control("PING", ("%016d"):format(0):sub(1, 8))
    client:expect "PONG"
    worst = math.max(worst, (uv.hrtime() - before) / 1e6)
    return perigee:count_log(text) > seen
  end)
  return worst
end

local function wait_version(client, number)
  wait.for_true(function() return client:question(0, "version") == number end)
end

-- Reloads without `perigee check` before, so that the server itself parses the files.
local function reload(perigee)
  return server.perigee { "reload", "--force", "--port", tostring(perigee.port) }
end

-- Starts a server, and replaces its game by one that takes very long to parse.
local function start_parsing()
  local perigee = server.start { game = version(1), flags = { log_level = "debug" } }
  perigee:save("game.lua", chain(2 * MIB - 4096))
  local command = reload(perigee)
  perigee:wait_log "parsing the game"
  return perigee, command
end

describe("parsing", function()
  after_each(server.stop_all)

  it("of half a MiB that takes for ever ends after a save and delays no other client", function()
    local perigee = server.start { game = version(1), watch = true }
    local ann = perigee:client()
    perigee:save("game.lua", chain(MIB / 2))
    local worst = ping_until_logged(perigee, ann, "reload failed: ")
    assert.is_true(worst < PING_MS_MAX, ("a PING took %.0f ms"):format(worst))
    perigee:wait_log "parsing this file took longer than 2 s"
    assert.equal(1, ann:question(0, "version"))
    perigee:save("game.lua", version(2))
    wait_version(ann, 2)
  end)

  it("of 2 MiB that takes for ever ends in the server and delays no other client", function()
    local perigee, command = start_parsing()
    local ann = perigee:client()
    local worst = ping_until_logged(perigee, ann, "reload failed: ")
    assert.is_true(worst < PING_MS_MAX, ("a PING took %.0f ms"):format(worst))
    perigee:wait_log "game.lua:2: parsing this file took longer than 2 s"
    assert.equal(1, command:wait_exit())
    assert.equal(1, ann:question(0, "version"))
  end)

  it("of a module that a handler requires takes no more than the handler's time", function()
    local perigee = server.start { files = {
      ["game.lua"] = [[
        local game = { on_message = {} }
        function game.on_message.fine() return require("fine") end
        function game.on_message.slow() return { pcall(require, "slow") } end
        return game
      ]],
      ["fine.lua"] = "return 5",
      ["slow.lua"] = chain(MIB),
    } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:ask(0, "slow")
    local before = uv.hrtime()
    bob:control("PING", ("0"):rep(8))
    bob:expect "PONG"
    assert.is_true((uv.hrtime() - before) / 1e6 < PING_MS_MAX)
    local answer = ann:question(0, "slow")
    assert.is_false(answer[1])
    assert.truthy(answer[2]:find("slow.lua: parsing this file takes longer than a handler has time", 1, true))
    assert.equal(5, ann:question(0, "fine"))
  end)

  it("of a file beyond 2 MiB is refused", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client()
    perigee:save("game.lua", version(2) .. (" "):rep(2 * MIB))
    assert.equal(1, reload(perigee):wait_exit())
    perigee:wait_log "game.lua: the file has more than 2 MiB; divide it into modules; version 1."
    assert.equal(1, ann:question(0, "version"))
  end)

  it("does not keep the server from stopping", function()
    local perigee, command = start_parsing()
    local before = uv.hrtime()
    perigee:stop()
    assert.is_true((uv.hrtime() - before) / 1e9 < 1)
    assert.not_equal(0, command:wait_exit())
  end)

  it("is superseded by the next reload", function()
    local perigee, command = start_parsing()
    perigee:save("game.lua", version(2))
    assert.equal(0, reload(perigee):wait_exit())
    assert.equal(0, command:wait_exit())
    assert.equal(2, perigee:client():question(0, "version"))
    assert.equal(0, perigee:count_log "reload failed")
  end)
end)
