--- Names by which clients may call the game's port. A page of a stranger that lets its own name lead here
--- (DNS rebinding) gets nothing.
local HttpClient = require "tests.e2e.http_client"
local server = require "tests.e2e.server"
local web_socket = require "tests.e2e.web_socket"

local GAME = 'return { rooms = { lobby = {} } }'

-- Returns the answer to a request for a WebSocket by a page of http://HOST, or to a GET of `path`.
local function ask(perigee, host, path)
  local client = HttpClient.connect(perigee.port)
  client.heads = { false }
  local fields = { ("GET %s HTTP/1.1"):format(path or "/ws"), "Host: " .. host }
  if not path then
    fields[#fields + 1] = "Origin: http://" .. host
    fields[#fields + 1] = table.concat(web_socket.FIELDS, "\r\n")
  end
  client:write(table.concat(fields, "\r\n") .. "\r\n\r\n")
  local answer = client:expect "RESPONSE"
  client:close()
  return answer
end

local function status_of(perigee, host, path) return ask(perigee, host, path).status end

local function is_notice(line) return line.message == "refused: the server is not known by this name" end

local function machine_name()
  local file = assert(io.open "/proc/sys/kernel/hostname")
  local name = file:read "*l"
  file:close()
  return name
end

local function make_cert(folder, name, extension)
  local command = ("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 "
    .. "-subj /CN=common.example -keyout %s.key -out %s.cert %s"):format(folder, name, name, extension)
  assert.equal(0, server.spawn("/bin/sh", { "-c", command }):wait_exit())
end

describe("a host by which browsers call the server", function()
  after_each(server.stop_all)

  it("is none that a stranger can have lead here", function()
    local perigee = server.start { game = GAME }
    for _, host in ipairs {
      "evil.example", "evil.example:" .. perigee.port, "localhost.evil.example", "127.0.0.1.nip.io",
      "evil.local",
    } do
      local answer = ask(perigee, host)
      assert.equal(403, answer.status, host)
      assert.truthy(answer.body:find "hosts = { ")
    end
    for _, malformed in ipairs { "localhost:", "localhost:80:80", "[::1", "::1", "localhost:x" } do
      assert.equal(400, status_of(perigee, malformed), malformed)
    end
    for _, path in ipairs { "/", "/perigee.js", "/schema.js", "/nothing" } do
      assert.equal(403, status_of(perigee, "evil.example", path), path)
    end
    assert.truthy(ask(perigee, "evil.example:1").body:find("hosts = { &quot;evil.example&quot; }", 1, true))
    -- Requests for /healthz may use any name.
    assert.equal(200, status_of(perigee, "evil.example", "/healthz"))
  end)

  it("may be localhost, an address, and this machine's name", function()
    local perigee = server.start { game = GAME }
    local machine = machine_name()
    for _, host in ipairs {
      "localhost", "LOCALHOST:7777", "game.localhost", "127.0.0.1", "192.168.1.20:7777", "[::1]",
      "[fe80::1]:7777", machine, machine:match "^[^.]+" .. ".local:7777",
    } do
      assert.equal(101, status_of(perigee, host), host)
      assert.equal(200, status_of(perigee, host, "/"), host)
    end
  end)

  it("may be one in hosts, which a reload changes, in each of the threads too", function()
    for _, threads in ipairs { 0, 2 } do
      local game = 'return { config = { hosts = { "game.example", "*.play.example" } } }'
      local perigee = server.start { game = game, flags = { io_threads = threads }, watch = true }
      assert.equal(101, status_of(perigee, "Game.Example:7777"))
      assert.equal(101, status_of(perigee, "eu.play.example"))
      assert.equal(403, status_of(perigee, "play.example"))
      assert.equal(403, status_of(perigee, "evil.example"))
      perigee:save("game.lua", (game:gsub("game%.example", "other.example")))
      perigee:wait_log "reloaded"
      assert.equal(403, status_of(perigee, "game.example"))
      assert.equal(101, status_of(perigee, "other.example"))
    end
  end)

  it("may be any, where the operator says so", function()
    local perigee = server.start { flags = { hosts = "a.example,*" } }
    assert.equal(101, status_of(perigee, "evil.example"))
  end)

  it("may be one of the certificate's", function()
    local folder = server.folder {}
    make_cert(folder, "names", "-addext subjectAltName=DNS:game.example,DNS:*.play.example")
    make_cert(folder, "plain", "")
    local perigee = server.start { flags = {
      tls_cert = folder .. "/names.cert", tls_key = folder .. "/names.key", io_threads = 1,
    } }
    assert.equal(101, status_of(perigee, "game.example:7777"))
    assert.equal(101, status_of(perigee, "eu.play.example"))
    assert.equal(403, status_of(perigee, "a.eu.play.example"))
    assert.equal(403, status_of(perigee, "common.example"))
    perigee = server.start { flags = {
      tls_cert = folder .. "/plain.cert", tls_key = folder .. "/plain.key",
    } }
    assert.equal(101, status_of(perigee, "common.example"))
    assert.equal(403, status_of(perigee, "game.example"))
  end)

  it("is logged once where it is refused, with what would allow it", function()
    local perigee = server.start { game = GAME, watch = true }
    for _ = 1, 3 do ask(perigee, "evil.example:7777") end
    local line = perigee:wait_log(is_notice)
    assert.equal("warn", line.level)
    assert.equal("evil.example", line.host)
    assert.equal('hosts = { "evil.example" }', line.to_allow_it)
    for i = 1, 100 do ask(perigee, ("a%d.example"):format(i)) end
    perigee:stop()
    assert.equal(32, perigee:count_log(is_notice))
  end)

  it("that no request can name is warned of", function()
    local perigee = server.start { flags = { hosts = "game.example,https://b.example" } }
    assert.equal("https://b.example", perigee:wait_log("hosts names what is no host").host)
  end)
end)
