--- Settings: from the game, from flags, from the environment, and wrong ones.
local server = require "tests.e2e.server"
local packet = require "tests.e2e.packet"

local function game_with(config) return ("return { config = { %s } }"):format(config) end

-- Starts a server that must fail; returns its exit code and standard error.
local function fails(o)
  local process = server.launch(o)
  local code = process:wait_exit()
  return code, table.concat(process.err, "\n"), process
end

describe("a setting", function()
  after_each(server.stop_all)

  it("comes from the game, the environment over it, a flag over both", function()
    local game = game_with "max_payload = 2000"
    local function max_payload(o)
      o.game = game
      return server.start(o):client().welcome.max_payload
    end
    assert.equal(2000, max_payload {})
    assert.equal(3000, max_payload { env = { PERIGEE_MAX_PAYLOAD = "3000" } })
    assert.equal(4000, max_payload { flags = { max_payload = 4000 } })
    local both = { env = { PERIGEE_MAX_PAYLOAD = "3000" }, flags = { max_payload = 4000 } }
    assert.equal(4000, max_payload(both))
  end)

  it("may be any of the table", function()
    local perigee = server.start {
      game = game_with [[
        host = "127.0.0.1",
        port = 0,
        max_clients = 10,
        max_clients_per_address = 0,
        max_payload = 65536,
        idle_timeout = 31,
        ping_interval = 13.5,
        handshake_timeout = 5,
        channel_capacity = 100,
        overflow = "drop_oldest",
        max_rooms = 10,
        rate_limit = 0,
        batch_hz = 30,
        tick_rate = 10,
        watch = false,
        log_level = "info",
        log_format = "json",
      ]],
    }
    assert.equal(13500, perigee:client().welcome.ping_interval_ms)
  end)

  it("that is unknown is an error that names the nearest right one", function()
    local code, said = fails { game = game_with "max_client = 3" }
    assert.equal(1, code)
    assert.truthy(said:find("max_client", 1, true), said)
    assert.truthy(said:find("max_clients", 1, true), said)
    code, said = fails { flags = { max_cleints = 3 } }
    assert.equal(2, code)
    assert.truthy(said:find("max%-clients"), said)
  end)

  it("that is misspelt in the environment is an error too", function()
    local code, said = fails { env = { PERIGEE_MAX_CLEINTS = "3" } }
    assert.not_equal(0, code)
    assert.truthy(said:find("PERIGEE_MAX_CLEINTS", 1, true), said)
    assert.truthy(said:find("PERIGEE_MAX_CLIENTS", 1, true), said)
  end)

  it("of a wrong kind or size is an error that names it", function()
    local bad = {
      'max_clients = "many"',
      "max_clients = -1",
      "max_clients = 1.5",
      "port = 70000",
      'overflow = "explode"',
      "idle_timeout = -3",
      'log_level = "loud"',
      "max_payload = 0",
      "watch = 3",
    }
    for _, setting in ipairs(bad) do
      local key = setting:match "^%S+"
      local process = server.perigee(
        { "run", server.folder { ["game.lua"] = game_with(setting) }, "--no-watch" },
        { env = key ~= "port" and { PERIGEE_PORT = "0" } or nil }
      )
      assert.equal(1, process:wait_exit(), setting)
      local said = table.concat(process.err, "\n")
      assert.truthy(said:find(key, 1, true), setting .. ": " .. said)
    end
  end)

  it("of a wrong kind on the command line is wrong usage", function()
    for _, arguments in ipairs {
      { "--max-clients", "many" },
      { "--max-clients" },
      { "--port", "70000" },
      { "--overflow", "explode" },
      { "--batch-hz", "-1" },
    } do
      local process = server.perigee { "run", unpack(arguments) }
      assert.equal(2, process:wait_exit(), arguments[1])
      local said = table.concat(process.err, "\n")
      assert.truthy(said:find((arguments[1]:gsub("^%-%-", "")):gsub("%-", "."), 1), said)
    end
  end)
end)

describe("the port", function()
  after_each(server.stop_all)

  it("that is in use is one clear sentence and exit code 1", function()
    local first = server.start()
    local code, said, process = fails { flags = { port = first.port } }
    assert.equal(1, code)
    assert.truthy(said:find(tostring(first.port), 1, true), said)
    assert.truthy(said:find("in use", 1, true), said)
    assert.equal(1, #process.err)
    first:client():expect_quiet()
  end)

  it("for text that is in use is the same", function()
    local first = server.start()
    local code, said = fails { flags = { text_port = first.port } }
    assert.equal(1, code)
    assert.truthy(said:find(tostring(first.port), 1, true), said)
  end)

  it("on an address that is not ours is the same", function()
    local code, said = fails { flags = { host = "192.0.2.1" } }
    assert.equal(1, code)
    assert.truthy(said:find("192.0.2.1", 1, true), said)
  end)

  it("can be taken again as soon as a server has ended", function()
    local first = server.start()
    local ann = first:client()
    ann:join "lobby"
    first:stop()
    local second = server.start { flags = { port = first.port } }
    assert.equal(first.port, second.port)
    second:client():join "lobby"
  end)
end)

describe("the log", function()
  after_each(server.stop_all)

  it("may be text or JSON, and as loud as wanted", function()
    local quiet = server.start { game = "return {}", flags = { log_level = "error" } }
    quiet:client():close()
    quiet:stop()
    assert.same({}, quiet.err)
    local text = server.launch { flags = { log_format = "text" } }
    text:wait_out "^perigee: (ready)$"
    text:kill "sigterm"
    assert.equal(0, text:wait_exit())
    assert.is_true(#text.err > 0)
    for _, line in ipairs(text.err) do
      assert.is_nil(line:find("\27", 1, true), "colour in a pipe: " .. line)
      assert.is_nil(line:find "^{", line)
    end
  end)

  it("cannot be forged by names and messages", function()
    local perigee = server.start {
      game = [[
        return { on_message = function(peer, name, value) print(value) end }
      ]],
    }
    local ann = perigee:raw():hello { name = 'x","level":"error' }
    ann:send(0, "say", 'line one\n{"level":"error"}\27[31m')
    perigee:wait_log "line one"
    -- Stopping a server checks that each line is one JSON object. Here each line must also parse.
    ann:control "BYE"
    perigee:stop()
    for _, line in ipairs(perigee.err) do
      local fields = require("cjson").decode(line)
      assert.not_equal("error", fields.level)
    end
  end)

  it("says who connects and how each ends, with the script's version on every line", function()
    local perigee = server.start { game = "return {}" }
    local ann = perigee:client "ann"
    ann:write(packet.header({ type = 1, priority = 8 }, 0))
    ann:expect_closing "Protocol"
    local line = perigee:wait_log(function(fields, text)
      return fields.name == "ann" and text:find("Protocol", 1, true)
    end)
    assert.equal(ann.id, line.peer)
    assert.truthy(line.address:find("127.0.0.1", 1, true))
    perigee:stop()
  end)
end)
