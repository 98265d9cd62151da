--- Malformed HTTP: requests that two readers understand differently, floods, slow and half-open clients.
--- Other clients notice nothing.
local server = require "tests.e2e.server"
local HttpClient = require "tests.e2e.http_client"
local Stream = require "tests.e2e.stream"
local wait = require "tests.e2e.wait"
local web_socket = require "tests.e2e.web_socket"

local HOST = "Host: 127.0.0.1\r\n"

-- Bytes and the status that they get; the connection ends after it.
local CASES = {
  -- how lines end
  { "GET / HTTP/1.1\nHost: a\n\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\n\n", 400 },
  { "GET / HTTP/1.1\rHost: a\r\r", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\nX: a\rY: b\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n\tfolded\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400 },
  -- Host
  { "GET / HTTP/1.1\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a\r\nhOST: b\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost: <script>\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400 },
  -- two lengths
  { "POST / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5, 5\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: -5\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: +5\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5x\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 18446744073709551616\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Content-Length: 5\r\n\r\nhello", 413 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "Transfer-Encoding: xchunked\r\n\r\n", { [400] = true, [413] = true } },
  -- characters
  { "GET / HTTP/1.1\r\n" .. HOST .. "X: a\0b\r\n\r\n", 400 },
  { "GET /\0 HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "X\0: a\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "X: \1\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "X: \127\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "(x): a\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. ": a\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "no colon\r\n\r\n", 400 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "X\195\164: a\r\n\r\n", 400 },
  -- the request line
  { "GET  / HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET /  HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET\t/\tHTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/1.1 \r\n" .. HOST .. "\r\n", 400 },
  { "GET /\r\n" .. HOST .. "\r\n", 400 },
  { "GET HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET http://127.0.0.1/ HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET healthz HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET * HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/0.9\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/1.2\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/2.0\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/3\r\n" .. HOST .. "\r\n", 400 },
  { "GET / HTTP/1.1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET / XTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET / http/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GE T / HTTP/1.1\r\n" .. HOST .. "\r\n", { [400] = true, [405] = true } },
  { "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", { [400] = true, [405] = true } },
  -- methods
  { "POST / HTTP/1.1\r\n" .. HOST .. "Content-Length: 0\r\n\r\n", 405 },
  { "PUT / HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  { "DELETE / HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  { "OPTIONS * HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  { "TRACE / HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  { "CONNECT a:80 HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  { "BREW / HTTP/1.1\r\n" .. HOST .. "\r\n", 405 },
  -- well-formed, but no honest client sends it
  { "GET /%2e%2e/ HTTP/1.1\r\n" .. HOST .. "\r\n", 400 },
  { "GET /" .. ("a/"):rep(520) .. " HTTP/1.1\r\n" .. HOST .. "\r\n", 414 },
  { "GET /ws HTTP/1.1\r\n" .. HOST .. "Origin: http://evil.example\r\n"
    .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n\r\n", 403 },
  -- sizes
  { "GET /" .. ("a"):rep(2048) .. " HTTP/1.1\r\n" .. HOST .. "\r\n", 414 },
  { "GET /" .. ("a"):rep(100000), 414 },
  { "GET / HTTP/1.1\r\n" .. HOST .. ("X: y\r\n"):rep(64) .. "\r\n", 431 },
  { "GET / HTTP/1.1\r\n" .. HOST .. "X: " .. ("y"):rep(8192) .. "\r\n\r\n", 431 },
  { "GET / HTTP/1.1\r\n" .. HOST .. ("X: y\r\n"):rep(2000), 431 },
  { "GET / HTTP/1.1\r\n" .. HOST .. ("y"):rep(100000), 431 },
}

describe("a request that is not well-formed", function()
  local perigee
  setup(function() perigee = server.start { flags = { max_clients = 1000 } } end)
  teardown(server.stop_all)
  after_each(Stream.close_all)

  for i, case in ipairs(CASES) do
    local bytes, status = unpack(case)
    it(("%d is refused: %q"):format(i, bytes:sub(1, 60)), function()
      local client = HttpClient.connect(perigee.port)
      client:write(bytes)
      local answer = client:expect "RESPONSE"
      local is_right = type(status) == "table" and status[answer.status] or answer.status == status
      assert.is_true(is_right, "status " .. answer.status)
      assert.equal("close", answer.headers.connection)
      client:expect_end()
    end)
  end

  it("is one line of the log, and not one more for each that comes behind it", function()
    local client = HttpClient.connect(perigee.port)
    client:write(("GET /% HTTP/1.1\r\n" .. HOST .. "X: y\r\n\r\n"):rep(1000))
    local before = perigee:count_log '"message":"refused"'
    client:expect_refused(400)
    HttpClient.connect(perigee.port):get "/healthz"
    assert.is_true(perigee:count_log '"message":"refused"' - before <= 1)
  end)

  it("is not read as two", function()
    local client = HttpClient.connect(perigee.port)
    client:write("POST / HTTP/1.1\r\n" .. HOST .. "Content-Length: 60\r\n\r\n"
      .. "GET /healthz HTTP/1.1\r\n" .. HOST .. "\r\n")
    client:expect_refused(405)
  end)

  it("does not harm those before it", function()
    local client = HttpClient.connect(perigee.port)
    client:write("GET /healthz HTTP/1.1\r\n" .. HOST .. "\r\n" .. "GET / HTTP/9.9\r\n\r\n")
    assert.equal(200, client:expect("RESPONSE").status)
    client:expect_refused(400)
  end)

  it("is Perigee's protocol when it begins with no capital letter", function()
    local client = perigee:raw()
    client:write "get / http/1.1\r\n\r\n"
    client:expect_closing "Protocol"
  end)
end)

describe("slow clients", function()
  after_each(server.stop_all)

  local function flags(more)
    local all = { handshake_timeout = 0.3 }
    for key, value in pairs(more or {}) do
      all[key] = value
    end
    return { flags = all }
  end

  it("have the time of a handshake for a request, however they send it", function()
    local perigee = server.start(flags())
    local client = HttpClient.connect(perigee.port)
    client:trickle("GET / HTTP/1.1\r\nHost: a\r\n" .. ("X: y\r\n"):rep(100), 0.05)
    client:expect_refused(408)
    perigee:wait_log(function(line) return line.message == "refused" and line.status == 408 end)
  end)

  it("have it for the second request too", function()
    local perigee = server.start(flags())
    local client = HttpClient.connect(perigee.port)
    client:get "/healthz"
    client:write "GET /healthz HT"
    client:expect_refused(408)
  end)

  it("have it for a WebSocket's first message", function()
    local perigee = server.start(flags())
    local ws = web_socket.raw(perigee.port)
    ws:trickle(("\137\128\1\2\3\4"):rep(100), 0.05) -- pings are not messages
    local close
    wait.for_true(function()
      for _, event in ipairs(ws.inbox) do
        if event.name == "CLOSE" then close = event end
      end
      return ws.ended
    end)
    assert.equal(4017, close.code)
  end)

  it("that say nothing are told so in packets", function()
    local perigee = server.start(flags())
    perigee:raw():expect_closing "HandshakeTimeout"
  end)

  it("do not hold up others", function()
    local perigee = server.start(flags { handshake_timeout = 60, max_clients = 300 })
    for i = 1, 200 do
      local client = HttpClient.connect(perigee.port)
      client:write(("GET / HTTP/1.1\r\nX: %d"):format(i))
    end
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:broadcast(room, "x")
    bob:expect("BROADCAST", { data = "x" })
    assert.equal(200, HttpClient.connect(perigee.port):get("/healthz").status)
  end)
end)

describe("crowds of browsers", function()
  after_each(server.stop_all)

  it("have a limit of their own", function()
    local perigee = server.start { flags = { max_clients = 2 } }
    local crowd, refused = {}, 0
    for i = 1, 100 do
      crowd[i] = HttpClient.connect(perigee.port)
      crowd[i]:request("GET", "/healthz")
    end
    for _, client in ipairs(crowd) do
      local answer = client:expect "RESPONSE"
      if answer.status == 503 then
        refused = refused + 1
        assert.equal("close", answer.headers.connection)
        client:expect_end()
      end
    end
    assert.equal(100 - 66, refused)
    perigee:wait_log(function(line) return line.status == 503 end)
    -- They do not count as clients.
    perigee:client "ann":fence()
    perigee:client "bob":fence()
    for _, client in ipairs(crowd) do
      client:close()
    end
    wait.for_true(function()
      local client = HttpClient.connect(perigee.port)
      return client:get("/healthz").status == 200
    end)
  end)

  it("count among the connections of their address", function()
    local perigee = server.start { flags = { max_clients_per_address = 2, resume_timeout = 0 } }
    perigee:client "ann"
    local browser = HttpClient.connect(perigee.port)
    assert.equal(200, browser:get("/healthz").status)
    assert.equal(503, HttpClient.connect(perigee.port):get("/healthz").status)
    local late = perigee:raw()
    late:control("HELLO", require("tests.e2e.packet").hello { name = "late" })
    late:expect_rejected "ServerFull"
    local elsewhere = HttpClient.connect(perigee.port, { from = "127.0.0.2" })
    assert.equal(200, elsewhere:get("/healthz").status)
    browser:close()
    wait.for_true(function()
      return HttpClient.connect(perigee.port):get("/healthz").status == 200
    end)
  end)

  it("leave nothing behind", function()
    local perigee = server.start { flags = { max_clients = 1000 } }
    for round = 1, 5 do
      for i = 1, 60 do
        local client = HttpClient.connect(perigee.port)
        if i % 3 == 0 then client:request("GET", "/") end
        if i % 3 == 1 then client:write "GET / HTTP/1.1\r\nHo" end
        if (i + round) % 2 == 0 then client:reset() else client:close() end
      end
    end
    local ann = perigee:client()
    assert.equal(0, ann:list_rooms()[1].members)
  end)
end)

describe("a download", function()
  after_each(server.stop_all)

  local SIZE = 8 * 1024 * 1024 -- more than the kernel buffers of it

  -- Returns clients that have read the beginning of an answer and no more.
  local function stalled(perigee, count)
    local clients = {}
    for i = 1, count do
      local client = HttpClient.connect(perigee.port, { recv_buffer = 65536 })
      client.total = 0
      client.cut = function(buffer, from)
        return from <= #buffer and { size = #buffer - from + 1 } or nil, #buffer + 1
      end
      client.took = function(_, piece)
        client.total = client.total + piece.size
        return true
      end
      client:request("GET", "/big")
      wait.for_true(function() return client.total > 0 end)
      client:stall()
      clients[i] = client
    end
    return clients
  end

  local function start(o)
    o.files = { ["game.lua"] = "return {}", ["public/big"] = ("x"):rep(SIZE) }
    return server.start(o)
  end

  it("holds no descriptor of its file, however slow it is", function()
    local perigee = start {}
    local clients = stalled(perigee, 20)
    wait.for_true(function() return perigee:open_files "public/big" == 0 end)
    clients[1]:resume_reading()
    wait.for_true(function() return clients[1].total > SIZE end)
    for _, client in ipairs(clients) do client:close() end
  end)

  it("ends where its file has become another", function()
    local perigee = start {}
    local client = stalled(perigee, 1)[1]
    perigee:save("public/new", ("y"):rep(SIZE))
    assert(os.rename(perigee.folder .. "/public/new", perigee.folder .. "/public/big"))
    client:resume_reading()
    wait.for_true(function() return client.ended end)
    assert.is_true(client.total < SIZE)
  end)

  it("waits where no descriptor is left, and goes on", function()
    local perigee = start { open_files = 40, flags = { handshake_timeout = 60 } }
    local client = stalled(perigee, 1)[1]
    local crowd = {}
    for i = 1, 60 do crowd[i] = perigee:raw() end
    perigee:wait_log "out of file descriptors"
    client:resume_reading()
    for _, one in ipairs(crowd) do one:close() end
    wait.for_true(function() return client.total > SIZE end)
  end)
end)

describe("a server out of file descriptors", function()
  after_each(server.stop_all)

  it("says so to browsers that are there, and serves them again later", function()
    local perigee = server.start {
      files = { ["game.lua"] = "return {}", ["public/a.txt"] = "a" },
      open_files = 40,
      flags = { handshake_timeout = 60 },
    }
    local client = HttpClient.connect(perigee.port)
    assert.equal("a", client:get("/a.txt").body)
    local crowd = {}
    for i = 1, 60 do
      crowd[i] = perigee:raw()
    end
    perigee:wait_log "out of file descriptors"
    assert.equal(503, client:get("/a.txt").status)
    assert.equal(200, client:get("/healthz").status)
    for _, one in ipairs(crowd) do
      one:close()
    end
    wait.for_true(function() return client:get("/a.txt").status == 200 end)
  end)
end)
