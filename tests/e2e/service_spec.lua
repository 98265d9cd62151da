--- The server as a service of systemd: its reports, and sockets that the service manager has opened.
local Client = require "tests.e2e.client"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local GAME = "return { on_message = { hello = function(peer) peer:send 'welcome' end } }"

-- Returns a program that prints each line of the datagrams that arrive at `path`, as the service manager
-- would get them.
local function listen(path)
  local manager = server.spawn("/usr/bin/nc", { "-lkuU", path }, {})
  assert(wait.until_true(function() return uv.fs_stat(path) end))
  return manager
end

local function count(lines, line)
  local found = 0
  for _, other in ipairs(lines) do found = found + (other == line and 1 or 0) end
  return found
end

-- Returns a port that is free now.
local function free_port()
  local tcp = uv.new_tcp()
  tcp:bind("127.0.0.1", 0)
  local port = tcp:getsockname().port
  tcp:close()
  return port
end

describe("a server that a service manager has started", function()
  after_each(server.stop_all)

  it("reports that it is ready, that its loop runs, its reloads and its stop", function()
    local path = server.folder {} .. "/notify"
    local manager = listen(path)
    local perigee = server.start { game = GAME, env = { NOTIFY_SOCKET = path, WATCHDOG_USEC = "50000" } }
    assert(wait.until_true(function() return count(manager.out, "WATCHDOG=1") >= 3 end))
    assert.equal("READY=1", manager.out[1])
    perigee:save("game.lua", GAME .. " -- changed")
    assert.equal(0, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
    assert(wait.until_true(function() return count(manager.out, "READY=1") == 2 end))
    assert.equal(1, count(manager.out, "RELOADING=1"))
    manager:wait_out "^MONOTONIC_USEC=(%d+)$"
    perigee:stop()
    manager:wait_out "^(STOPPING=1)$"
  end)

  it("reports a reload that fails as ended", function()
    local path = server.folder {} .. "/notify"
    local manager = listen(path)
    local perigee = server.start { game = GAME, env = { NOTIFY_SOCKET = path } }
    perigee:save("game.lua", "return {")
    assert.equal(1, server.perigee({ "reload", "--port", tostring(perigee.port) }):wait_exit())
    assert(wait.until_true(function() return count(manager.out, "READY=1") == 2 end))
    assert.equal(1, count(manager.out, "RELOADING=1"))
  end)

  -- systemd-socket-activate starts the server when the first client comes.
  it("serves the port that is open already", function()
    local port, folder = free_port(), server.folder { ["game.lua"] = GAME }
    local perigee = server.spawn("/usr/bin/systemd-socket-activate", {
      "-l", "127.0.0.1:" .. port, server.binary(), "run", folder, "--port", tostring(port), "--no-admin",
      "--no-watch",
    }, {})
    assert(wait.until_true(function() return (perigee.err[1] or ""):find "^Listening on" end))
    local ann = assert(Client.connect(port)):hello { name = "ann" }
    ann:send(0, "hello")
    ann:expect("MESSAGE", { message = "welcome" })
    perigee:kill "sigterm"
    assert.equal(0, perigee:wait_exit())
    for _, line in ipairs(perigee.err) do assert.is_nil(line:find " warn ") end
  end)

  it("warns of a port that it does not serve", function()
    local port = free_port()
    local perigee = server.spawn("/usr/bin/systemd-socket-activate", {
      "-l", "127.0.0.1:" .. port, server.binary(), "run", "--port", "0", "--no-admin",
    }, {})
    assert(wait.until_true(function() return (perigee.err[1] or ""):find "^Listening on" end))
    assert(Client.connect(port))
    local warning = "the service manager has opened a port that the server does not serve port=" .. port
    assert(wait.until_true(function() return table.concat(perigee.err, "\n"):find(warning, 1, true) end))
    perigee:kill "sigterm"
    assert.equal(0, perigee:wait_exit())
  end)
end)
