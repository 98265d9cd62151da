--- The admin listener and Streamable HTTP: which clients may use it, and the status of each request.
local server = require "tests.e2e.server"
local McpClient = require "tests.e2e.mcp_client"

local GAME = [[
  local perigee = require "perigee"
  perigee.mcp.tool { name = "echo", handler = function(arguments) return arguments.text or "?" end }
  return {}
]]

local PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
local INITIALIZE = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":'
  .. '"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}'

local function start(o)
  o = o or {}
  o.game = o.game or GAME
  return McpClient.serve(o)
end

local function session(port, o)
  return McpClient.connect(port):initialize(o)
end

-- Returns the status of one request on a connection of its own.
local function status(port, method, o)
  local client = McpClient.connect(port)
  client.session = o and o.session
  local got = client:status(method, o)
  client:close()
  return got
end

describe("who may ask the admin listener", function()
  after_each(server.stop_all)

  it("is told by Host and Origin", function()
    local _, port = start { flags = { admin_hosts = "game.example.com,other.example" } }
    local here = ":" .. port
    for _, case in ipairs {
      { 200, "127.0.0.1" .. here }, { 200, "localhost" .. here }, { 200, "LOCALHOST" },
      { 200, "[::1]" .. here }, { 200, "localhost:9" }, { 200, "game.example.com" },
      { 200, "other.example:80" },
      { 403, "evil.example" .. here }, { 403, "localhost.evil.example" }, { 403, "127.0.0.1.nip.io" },
      { 403, "game.example" }, { 403, "127.0.0.2" }, { 400, "" }, { 400, "a b" },
      { 403, "localhost:80:80" }, { 403, "localhost:" }, { 403, "localhost:x" }, { 403, "localhost:123456" },
      { 403, "[::1" }, { 403, "[::1]x" }, { 403, "[::1]:x" }, { 403, "::1" }, { 403, "[]" }, { 403, ":80" },
      { 403, "localhost." }, { 400, "user@localhost" }, { 400, "localhost:80@evil.example" },
      { 403, "127.1" }, { 403, "2130706433" }, { 403, "0.0.0.0" }, { 400, "localhost,evil.example" },
      { 200, "localhost", "http://localhost" .. here }, { 200, "localhost", "http://127.0.0.1" },
      { 200, "localhost", "https://game.example.com" }, { 200, "localhost", "http://[::1]:80" },
      { 403, "localhost", "http://evil.example" }, { 403, "localhost", "null" },
      { 403, "localhost", "http://localhost.evil.example" }, { 403, "localhost", "file://localhost" },
      { 403, "localhost", "http://" }, { 403, "localhost", "localhost" },
      { 403, "localhost", "http://localhost:80@evil.example" }, { 403, "localhost", "http://localhost/" },
      { 403, "localhost", "http://localhost:80/x" },
      { 403, "localhost", "http://localhost http://evil.example" },
      { 403, "localhost", "HTTP://" }, { 200, "localhost", "HTTP://LOCALHOST:5" },
      { 403, "localhost", "http:///localhost" },
      { 403, "localhost", "ws://localhost" }, { 403, "localhost", "http://[::1" },
      { 403, "evil.example", "http://localhost" },
    } do
      local want, host, origin = unpack(case)
      local got = status(port, "POST", {
        host = host, body = INITIALIZE, fields = origin and { "Origin: " .. origin },
      })
      assert.equal(want, got, host .. " " .. tostring(origin))
    end
    assert.equal(400, status(port, "POST", { body = INITIALIZE, fields = { "Host: localhost" } }))
    assert.equal(400, status(port, "POST", {
      body = INITIALIZE, fields = { "Origin: http://localhost", "Origin: http://localhost" },
    }))
  end)

  it("lets a client with the right token in at once, however many others guess", function()
    local token = "0123456789abcdef-secret"
    local _, port = start { env = { PERIGEE_ADMIN_TOKEN = token } }
    local function ask(authorization)
      return status(port, "POST", {
        body = INITIALIZE, fields = authorization and { "Authorization: " .. authorization },
      })
    end
    assert.equal(401, ask(nil))
    assert.equal(200, ask("Bearer " .. token))
    assert.equal(200, ask("bearer " .. token))
    local guesses = {}
    local function guess(authorization)
      local client = McpClient.connect(port)
      client:send("POST", { body = INITIALIZE, fields = { "Authorization: " .. authorization } })
      guesses[#guesses + 1] = client
    end
    local right = "Bearer " .. token
    for _, wrong in ipairs { right .. "x", "Bearer x", "Basic " .. token, token, "Bearer wrong" } do
      guess(wrong)
    end
    for _, client in ipairs(guesses) do assert.equal(401, client:expect("RESPONSE").status) end
    guess "Bearer wrong"
    assert.equal(200, ask(right))
    assert.equal(429, guesses[6]:expect("RESPONSE").status)
    assert.equal(200, ask(right))
  end)

  it("needs a token where others can reach it", function()
    for _, address in ipairs { "0.0.0.0:0", "[::]:0" } do
      local perigee = server.launch { game = GAME, flags = { admin = address } }
      assert.equal(1, perigee:wait_exit())
      assert.matches("where others can reach it: set admin_token", table.concat(perigee.err, "\n"))
    end
    local short = server.launch { game = GAME, flags = { admin = "127.0.0.1:0", admin_token = "x" } }
    assert.equal(1, short:wait_exit())
    assert.matches("at least 16 characters", table.concat(short.err, "\n"))
  end)

  it("a chosen port that is taken is an error", function()
    local _, port = start()
    local second = server.launch { game = GAME, flags = { admin = "127.0.0.1:" .. port } }
    assert.equal(1, second:wait_exit())
    assert.matches("admin cannot listen on 127.0.0.1:" .. port .. ": the port is in use",
      table.concat(second.err, "\n"), 1, true)
  end)
end)

describe("Streamable HTTP", function()
  after_each(server.stop_all)

  it("has a status for whatever is wrong with a request", function()
    local _, port = start()
    local client = session(port)
    local id = client.session
    local JSON = "Content-Type: application/json"
    local BOTH = "Accept: application/json, text/event-stream"
    local function with(fields, body, method)
      fields = { unpack(fields) }
      return status(port, method or "POST", { bare = true, fields = fields, body = body or PING })
    end
    local SESSION = "Mcp-Session-Id: " .. id
    assert.equal(200, with { JSON, BOTH, SESSION })
    assert.equal(200, with { JSON, BOTH, SESSION, "MCP-Protocol-Version: 2025-06-18" })
    assert.equal(200, with { JSON .. "; charset=utf-8", "Accept: */*", SESSION })
    assert.equal(400, with { JSON, BOTH })
    assert.equal(404, with { JSON, BOTH, "Mcp-Session-Id: " .. ("0"):rep(48) })
    assert.equal(400, with { JSON, BOTH, SESSION, SESSION })
    assert.equal(400, with { JSON, BOTH, SESSION, "MCP-Protocol-Version: 1999-01-01" })
    assert.equal(400, with { JSON, BOTH, SESSION, "MCP-Protocol-Version: 2025-06-18",
      "MCP-Protocol-Version: 2025-06-18" })
    assert.equal(415, with { BOTH, SESSION })
    assert.equal(415, with { "Content-Type: text/plain", BOTH, SESSION })
    assert.equal(406, with { JSON, "Accept: application/json", SESSION })
    assert.equal(406, with { JSON, SESSION })
    for _, body in ipairs { "", "{", "nonsense", "5", "[]", "null", '"x"', "{}", '{"jsonrpc":"2.0"}',
      '{"jsonrpc":"1.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":null,"method":"ping"}',
      '{"jsonrpc":"2.0","id":1.5,"method":"ping"}', '{"jsonrpc":"2.0","id":{},"method":"ping"}',
      '{"jsonrpc":"2.0","id":1,"method":5}', '{"jsonrpc":"2.0","id":1,"method":"\255"}',
      '{"jsonrpc":"2.0","id":1,"method":"ping","x":' .. ("["):rep(70) .. ("]"):rep(70) .. "}",
      '{"jsonrpc":"2.0","id":1,"method":"ping","x":1e999}', "[" .. PING .. "]" } do
      assert.equal(400, with({ JSON, BOTH, SESSION }, body), body:sub(1, 60))
    end
    assert.equal(202, with({ JSON, BOTH, SESSION }, '{"jsonrpc":"2.0","method":"notifications/x"}'))
    assert.equal(202, with({ JSON, BOTH, SESSION }, '{"jsonrpc":"2.0","id":77,"result":{}}'))
    assert.equal(405, status(port, "PUT", { body = PING, session = id }))
    assert.equal(405, status(port, "OPTIONS"))
    assert.equal(404, status(port, "POST", { target = "/nothing", body = PING, session = id }))
    assert.equal(404, status(port, "GET", { target = "/mcp/", session = id }))
    assert.equal(400, status(port, "GET", { body = "x", session = id }))
    assert.equal(400, status(port, "GET"))
    assert.equal(406, status(port, "GET", { bare = true, fields = { SESSION } }))
    assert.equal(400, status(port, "GET", { session = id, fields = { "Last-Event-ID: 9-9" } }))
    assert.equal(400, status(port, "DELETE"))
    assert.equal(204, status(port, "DELETE", { session = id }))
    assert.equal(404, status(port, "DELETE", { session = id }))
    assert.equal(404, with { JSON, BOTH, SESSION })
  end)

  it("agrees on a version, and on batches where the version has them", function()
    local _, port = start()
    for asked, given in pairs { ["2025-11-25"] = "2025-11-25", ["2025-06-18"] = "2025-06-18",
      ["2025-03-26"] = "2025-03-26", ["2024-11-05"] = "2025-11-25", ["x"] = "2025-11-25" } do
      assert.equal(given, session(port, { version = asked }).info.protocolVersion)
    end
    local old = session(port, { version = "2025-03-26" })
    old:post("[" .. PING .. ',{"jsonrpc":"2.0","method":"notifications/x"},'
      .. '{"jsonrpc":"2.0","id":"b","method":"nope"}]',
      { bare = true, fields = { "Content-Type: application/json", "Accept: */*",
        "Mcp-Session-Id: " .. old.session } })
    local body = old:expect("RESPONSE", { status = 200 }).body
    assert.matches('^%[{"id":1,.-"result":{}},{.-32601.-"id":"b".-%]$', body)
  end)

  it("takes bodies in pieces and in chunks, and none that are too large", function()
    local _, port = start()
    local client = session(port)
    local head = ("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      .. "Accept: */*\r\nMcp-Session-Id: %s\r\n"):format(client.session)
    local function raw(bytes)
      local other = McpClient.connect(port)
      for at = 1, #bytes, 7 do other:write(bytes:sub(at, at + 6)) end
      return other
    end
    assert.equal(200, raw(head .. "Content-Length: " .. #PING .. "\r\n\r\n" .. PING)
      :expect("RESPONSE").status)
    local chunks = ("%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n"):format(9, PING:sub(1, 9), #PING - 9,
      PING:sub(10))
    local two = raw(head .. "Transfer-Encoding: chunked\r\n\r\n" .. chunks
      .. head .. "Content-Length: " .. #PING .. "\r\n\r\n" .. PING)
    assert.equal(200, two:expect("RESPONSE").status)
    assert.equal(200, two:expect("RESPONSE").status)
    for _, case in ipairs {
      { 413, "Content-Length: 1048577\r\n\r\n" }, { 413, "Content-Length: 99999999999999\r\n\r\n" },
      { 400, "Content-Length: -1\r\n\r\n" }, { 400, "Content-Length: 1x\r\n\r\n" },
      { 400, "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx" },
      { 400, "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" },
      { 501, "Transfer-Encoding: gzip\r\n\r\n" }, { 501, "Transfer-Encoding: gzip, chunked\r\n\r\n" },
      { 413, "Transfer-Encoding: chunked\r\n\r\n100001\r\n" },
      { 413, "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n" },
      { 400, "Transfer-Encoding: chunked\r\n\r\nx\r\n" },
      { 400, "Transfer-Encoding: chunked\r\n\r\n1;a=b\r\n" },
      { 400, "Transfer-Encoding: chunked\r\n\r\n1\r\nxy" },
      { 400, "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n" },
    } do
      assert.equal(case[1], raw(head .. case[2]):expect("RESPONSE").status, case[2])
    end
  end)

  it("is served over TLS too, and says that a body may come", function()
    local _, port = start { flags = { tls_dev = true } }
    local client = McpClient.connect(port, { tls = {} }):initialize()
    assert.same({}, client:ask("ping").result)
    local plain = session(port)
    plain:send("POST", { body = PING, fields = { "Expect: 100-continue" } })
    assert.equal(100, plain:expect("RESPONSE").status)
    assert.equal(200, plain:expect("RESPONSE").status)
  end)

  it("does not wait for ever for half a request", function()
    local _, port = start { flags = { handshake_timeout = 0.2 } }
    local half = McpClient.connect(port)
    half:write "POST /mcp HTT"
    assert.equal(408, half:expect("RESPONSE").status)
    half:expect_end()
  end)

  it("bounds the sessions, and the connections", function()
    local _, port = start()
    local client = McpClient.connect(port)
    for _ = 1, 64 do
      assert.equal(200, client:status("POST", { body = INITIALIZE }))
    end
    assert.equal(503, client:status("POST", { body = INITIALIZE }))
    local many = {}
    for i = 1, 140 do many[i] = McpClient.connect(port) end
    many[140]:send("POST", { body = INITIALIZE })
    assert.equal(503, many[140]:expect("RESPONSE").status)
    for _, other in ipairs(many) do other:close() end
    assert.equal(503, client:status("POST", { body = INITIALIZE })) -- it still works
  end)
end)
