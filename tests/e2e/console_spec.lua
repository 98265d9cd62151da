--- The command line: help, version, wrong usage, and `perigee connect` in a pipe.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local function run(...)
  local process = server.perigee { ... }
  local code = process:wait_exit()
  return code, table.concat(process.out, "\n"), table.concat(process.err, "\n")
end

describe("the command line", function()
  after_each(server.stop_all)

  it("helps", function()
    for _, arguments in ipairs { { "--help" }, { "-h" }, { "help" } } do
      local code, out, err = run(unpack(arguments))
      assert.equal(0, code)
      assert.equal("", err)
      for _, command in ipairs { "run", "connect", "reload" } do
        assert.truthy(out:find("perigee " .. command, 1, true), out)
      end
    end
  end)

  it("helps with each command", function()
    for _, command in ipairs { "run", "connect", "reload" } do
      local code, out, err = run(command, "--help")
      assert.equal(0, code)
      assert.equal("", err)
      assert.truthy(out:find("perigee " .. command, 1, true), out)
    end
    local _, out = run("run", "--help")
    for _, flag in ipairs { "--port", "--text-port", "--max-clients", "--no-watch", "--prod" } do
      assert.truthy(out:find(flag, 1, true), flag .. " is not in\n" .. out)
    end
  end)

  it("tells its version", function()
    local code, out, err = run "--version"
    assert.equal(0, code)
    assert.truthy(out:match "^perigee %d+%.%d+", out)
    assert.equal("", err)
  end)

  it("ends with 2 for wrong usage, and says in one line what is wrong", function()
    local cases = {
      { "dance" },
      { "run", "--no-such-flag" },
      { "run", "one", "two" },
      { "connect" },
      { "reload", "--nonsense" },
      { "--nonsense" },
    }
    for _, arguments in ipairs(cases) do
      local code, out, err = run(unpack(arguments))
      local what = table.concat(arguments, " ")
      assert.equal(2, code, what)
      assert.equal("", out, what)
      assert.truthy(err:find "^perigee: ", what .. ": " .. err)
    end
  end)

  it("names the nearest command for a misspelt one", function()
    local _, _, err = run "conect"
    assert.truthy(err:find("connect", 1, true), err)
  end)
end)

describe("perigee connect", function()
  after_each(server.stop_all)

  local function connect(perigee, ...)
    return server.perigee({ "connect", "127.0.0.1:" .. perigee.port, ... }, { stdin = true })
  end

  -- Waits until some line on its output holds the text.
  local function shows(process, text)
    local found = wait.until_true(function()
      for _, line in ipairs(process.out) do
        if line:find(text, 1, true) then return true end
      end
      return process.code and "ended"
    end)
    if found ~= true then process:fail("connect does not show " .. text, 2) end
  end

  it("in a pipe sends each line and shows each event", function()
    local perigee = server.start()
    local ann = perigee:client "ann"
    local room = ann:join "lobby"
    local process = connect(perigee, "--room", "lobby", "--name", "bob")
    local joined = ann:expect("PEER_JOINED", { peer_name = "bob" })
    process.stdin:write "hello from a pipe\n"
    ann:expect("BROADCAST", { room = room, sender = joined.peer, data = "hello from a pipe" })
    ann:broadcast(room, "hello bob")
    shows(process, "hello bob")
    local cid = perigee:client "cid"
    cid:join "lobby"
    shows(process, "cid")
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
    ann:expect("PEER_LEFT", { peer = joined.peer })
  end)

  it("ends with 1 where no server is, and says so", function()
    local perigee = server.start()
    perigee:stop()
    local process = connect(perigee)
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.err, "\n")
    assert.truthy(said:find(tostring(perigee.port), 1, true), said)
  end)

  it("ends with the server, and shows why", function()
    local perigee = server.start()
    local process = connect(perigee, "--room", "lobby", "--name", "bob")
    shows(process, "lobby")
    perigee:stop()
    process:wait_exit()
    shows(process, "ConnectionClosed")
  end)

  it("shows why it is rejected", function()
    local perigee = server.start {
      game = [[return { on_connect = function() return false, "no bobs" end }]],
    }
    local process = connect(perigee, "--name", "bob")
    assert.equal(1, process:wait_exit())
    local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    assert.truthy(said:find("no bobs", 1, true), said)
  end)
end)
