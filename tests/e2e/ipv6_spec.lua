--- IPv6: each transport, the admin listener, and limits for an address.
local HttpClient = require "tests.e2e.http_client"
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local GAME = [[
  local perigee = require "perigee"
  local game = {}
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer) print(peer.name .. " at " .. peer.address) end
  return game
]]

local SIX = { host = "::1" }

local function has_ipv6()
  local socket = uv.new_tcp "inet6"
  local is_there = socket:bind("::1", 0)
  socket:close()
  wait.until_closed()
  return is_there
end

-- Makes the clients talk in a room by reliable messages, so that these come by the streams.
local function talk(clients)
  local rooms = {}
  for name, client in pairs(clients) do rooms[name] = client:join "lobby" end
  for name, client in pairs(clients) do
    client:broadcast(rooms[name], "from " .. name, { flags = packet.RELIABLE })
    for other, hearer in pairs(clients) do
      if other ~= name then hearer:expect("BROADCAST", { data = "from " .. name }) end
    end
  end
end

describe("over IPv6", function()
  if not has_ipv6() then
    pending "this machine has no IPv6, so nothing of it is tested"
    return
  end

  after_each(function()
    server.stop_all()
    udp_client.close_all()
  end)

  for _, threads in ipairs { 0, 2 } do
    it(("all kinds of clients meet, with %d threads"):format(threads), function()
      local perigee = server.start {
        game = GAME, flags = { host = "::1", tls_dev = true, io_threads = threads },
      }
      local attached = perigee:client("attached", SIX)
      udp_client.attach(attached, { host = "::1" })
      local clients = {
        tcp = perigee:client("tcp", SIX),
        tls = perigee:client("tls", { host = "::1", tls = {} }),
        ws = web_socket.client(perigee.port, SIX):hello { name = "ws" },
        alone = udp_client.alone(perigee, "alone", { host = "::1" }),
        attached = attached,
      }
      talk(clients)
      for name in pairs(clients) do perigee:wait_log(name .. " at ::1") end
      assert.equal(200, HttpClient.connect(perigee.port, SIX):get("/healthz").status)
    end)
  end

  it("and over IPv4, at a server of all addresses, each is known by its own", function()
    local perigee = server.start { game = GAME, text = true, flags = { host = "::" } }
    talk {
      six = perigee:client("six", SIX),
      four = perigee:client "four",
      ws_four = web_socket.client(perigee.port):hello { name = "ws_four" },
    }
    perigee:wait_log "six at ::1"
    perigee:wait_log "four at 127.0.0.1"
    perigee:wait_log "ws_four at 127.0.0.1"
    local text = perigee:text("typist", SIX)
    text:join "lobby"
    perigee:wait_log(function(line) return line.name == "typist" or line.address == "::1" end)
  end)

  it("an address has so many connections", function()
    local perigee = server.start { game = GAME, flags = { host = "::", max_clients_per_address = 2 } }
    perigee:client("ann", SIX)
    perigee:client("bob", SIX)
    perigee:raw(SIX):expect_rejected "ServerFull"
    assert.equal(503, HttpClient.connect(perigee.port, SIX):get("/healthz").status)
    perigee:client "eve"
  end)

  it("the admin listener is reached, and locks those that guess", function()
    local token = "0123456789abcdef"
    local perigee = server.start { game = GAME, flags = { admin = "[::1]:0", admin_token = token } }
    local port = tonumber((perigee:wait_out "^perigee: MCP on http://%[::1%]:(%d+)/mcp$"))
    local function ask(given)
      local client = McpClient.connect(port, SIX)
      client.token = given
      client:post(client:request_body "ping", { host = "[::1]:" .. port })
      return client
    end
    local guesses = {}
    for i = 1, 6 do guesses[i] = ask "wrong" end
    for i = 1, 5 do guesses[i]:expect("RESPONSE", { status = 401 }) end
    guesses[6]:expect("RESPONSE", { status = 429 })
    assert.not_equal(401, ask(token):expect("RESPONSE").status)
  end)

  it("perigee connect finds a server by the address that it prints", function()
    local perigee = server.start { game = GAME, flags = { host = "::" } }
    local line = perigee:wait_log "to join from another terminal"
    local address = line.run:match " connect (%S+)$"
    assert.equal("[::1]:" .. perigee.port, address)
    local ann = perigee:client("ann", SIX)
    ann:join "lobby"
    local arguments = { "connect", address, "--room", "lobby", "--name", "bob" }
    local process = server.perigee(arguments, { stdin = true })
    process.stdin:write "hello\n"
    ann:expect("BROADCAST", { data = "hello" })
    process.stdin:shutdown()
    assert.equal(0, process:wait_exit())
  end)
end)
