--- A reload refuses a version in which `perigee check` finds errors, and the old one goes on.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"
local McpClient = require "tests.e2e.mcp_client"

-- Returns a game that answers "version" with a number; `more` is its second line.
local function version(number, more)
  return ([[
    local perigee = require "perigee"
    local game = { on_message = {} } %s
    function game.on_start() perigee.rooms.create "lobby" end
    function game.on_message.version() return %d end
    return game
  ]]):format(more or "", number)
end

local BROKEN = "function game.on_tick() if game.never then prnt(1) end end"
local FINDING = "game.lua:2: error: there is no global prnt; did you mean print?"

local function reload_command(perigee, ...)
  local process = server.perigee { "reload", "--port", tostring(perigee.port), ... }
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

local function wait_version(client, number)
  wait.for_true(function() return client:question(0, "version") == number end)
end

describe("a reload", function()
  after_each(server.stop_all)

  it("of a game in which `perigee check` finds an error is refused", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client "ann"
    perigee:save("game.lua", version(2, BROKEN .. " function game.on_stop() pritn(2) end"))
    local code, said = reload_command(perigee)
    assert.equal(1, code)
    assert.truthy(said:find(FINDING, 1, true), said)
    assert.truthy(said:find((FINDING:gsub("prnt", "pritn")), 1, true), said)
    assert.matches("; version 1%.%x+ goes on\n", said)
    assert.matches("perigee reload %-%-force", said)
    assert.equal(1, ann:question(0, "version"))
    perigee:wait_log(function(fields)
      return fields.level == "error" and fields.message:find("reload failed: ", 1, true) == 1
        and fields.message:find(FINDING, 1, true)
    end)
  end)

  it("is forced by `perigee reload --force`", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client "ann"
    perigee:save("game.lua", version(2, BROKEN))
    assert.equal(1, (reload_command(perigee)))
    local code, said = reload_command(perigee, "--force")
    assert.equal(0, code, said)
    assert.equal(2, ann:question(0, "version"))
    perigee:save("game.lua", version(3, BROKEN))
    assert.equal(1, (reload_command(perigee)))
    assert.equal(2, ann:question(0, "version"))
    perigee:save("game.lua", "nonsense")
    code, said = reload_command(perigee, "--force")
    assert.equal(1, code)
    assert.matches("game.lua:1:", said)
  end)

  it("takes place when `perigee check` only warns", function()
    local perigee = server.start { game = version(1) }
    perigee:save("game.lua", version(2, "function game.on_conect() end"))
    local code, said = reload_command(perigee)
    assert.equal(0, code, said)
    assert.equal(2, perigee:client():question(0, "version"))
  end)

  it("follows as soon as the file with the error is saved again, also one that was new", function()
    local perigee = server.start { game = version(1), watch = true }
    local ann = perigee:client "ann"
    perigee:save("rules.lua", "return { on = function() prnt() end }")
    perigee:save("game.lua", version(2, "game.rules = require 'rules'"))
    perigee:wait_log(function(fields)
      return fields.message:find("rules.lua:1: error: there is no global prnt", 1, true)
    end)
    assert.equal(1, ann:question(0, "version"))
    perigee:save("rules.lua", "return { on = function() print() end }")
    wait_version(ann, 2)
  end)

  it("that is refused ran nothing of the new version", function()
    local perigee = server.start { game = version(1) }
    local ann = perigee:client("ann", { token = "t0ken" })
    ann:join "lobby"
    perigee:save("game.lua", version(2, [[
      local peer = perigee.rooms.get("lobby"):peers()[1]
      rawset(peer, "send", 5)
      math.randomseed(7)
      perigee.rooms.create "side"
      print "it runs"
      if peer then error(peer.token) end
      function game.on_tick() perigee.sned() end
    ]]))
    local code, said = reload_command(perigee)
    assert.equal(1, code)
    assert.truthy(said:find("game.lua:8: error: perigee has no sned; did you mean send?", 1, true), said)
    assert.not_matches("t0ken", said)
    perigee:save("game.lua", version(3, [[
      function game.on_message.send(peer)
        peer:send "sent"
        return { first = math.random(2 ^ 31), rooms = #perigee.rooms.all() }
      end
    ]]))
    assert.equal(0, (reload_command(perigee)))
    local answer = ann:question(0, "send")
    ann:expect("MESSAGE", { message = "sent" })
    assert.equal(1, answer.rooms)
    math.randomseed(7)
    assert.not_equal(math.random(2 ^ 31), answer.first)
    assert.equal(0, perigee:count_log(function(fields) return fields.message == "it runs" end))
  end)

  it("that is refused is reported to the tool that asked for it", function()
    local perigee, port = McpClient.serve { game = version(1), flags = { mcp_write = true } }
    local client = McpClient.connect(port):initialize()
    perigee:save("game.lua", version(2, BROKEN))
    local result = client:call("reload", {})
    assert.is_true(result.isError)
    assert.truthy(McpClient.text_of(result):find(FINDING, 1, true))
  end)

  it("answers everybody who asked while the files were checked", function()
    local perigee = server.start { game = version(1) }
    perigee:save("game.lua", version(2))
    local asked = {}
    for i = 1, 4 do asked[i] = server.perigee { "reload", "--port", tostring(perigee.port) } end
    for _, process in ipairs(asked) do
      assert.equal(0, process:wait_exit())
      assert.matches("reloaded: version %d", table.concat(process.out, "\n"))
    end
  end)
end)
