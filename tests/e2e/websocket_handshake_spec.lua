--- How a connection becomes a WebSocket, and which pages may open one.
local frames = require "tests.e2e.frames"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local web_socket = require "tests.e2e.web_socket"

local KEY = "Sec-WebSocket-Key: " .. web_socket.KEY
local VERSION = "Sec-WebSocket-Version: 13"
local UPGRADE, CONNECTION = "Upgrade: websocket", "Connection: Upgrade"

local ASKED = {
  { "as usual", { UPGRADE, CONNECTION, VERSION, KEY }, 101 },
  { "in another case", { "UPGRADE: WebSocket", "connection: UPGRADE", VERSION, KEY }, 101 },
  { "with more tokens", { "Upgrade: h2c, websocket", "Connection: keep-alive, Upgrade", VERSION, KEY }, 101 },
  { "with compression on offer", {
    UPGRADE, CONNECTION, VERSION, KEY,
    "Sec-WebSocket-Extensions: permessage-deflate; server_max_window_bits=99",
  }, 101 },
  { "without Upgrade", { CONNECTION, VERSION, KEY }, 426 },
  { "without Connection", { UPGRADE, VERSION, KEY }, 426 },
  { "with Connection: close alone", { UPGRADE, "Connection: keep-alive", VERSION, KEY }, 426 },
  { "to something else", { "Upgrade: h2c", CONNECTION, VERSION, KEY }, 426 },
  { "without a version", { UPGRADE, CONNECTION, KEY }, 426 },
  { "in version 8", { UPGRADE, CONNECTION, "Sec-WebSocket-Version: 8", KEY }, 426 },
  { "in version 12", { UPGRADE, CONNECTION, "Sec-WebSocket-Version: 12", KEY }, 426 },
  { "in version 14", { UPGRADE, CONNECTION, "Sec-WebSocket-Version: 14", KEY }, 426 },
  { "in version 13.0", { UPGRADE, CONNECTION, "Sec-WebSocket-Version: 13.0", KEY }, 426 },
  { "without a key", { UPGRADE, CONNECTION, VERSION }, 400 },
  { "with an empty key", { UPGRADE, CONNECTION, VERSION, "Sec-WebSocket-Key:" }, 400 },
  { "with a short key", { UPGRADE, CONNECTION, VERSION, "Sec-WebSocket-Key: YWJj" }, 400 },
  { "with a long key", { UPGRADE, CONNECTION, VERSION, KEY .. "AAAA" }, 400 },
  { "with a key that is no base64", {
    UPGRADE, CONNECTION, VERSION, "Sec-WebSocket-Key: dGhlIHNhbXBsZS!ub25jZQ==",
  }, 400 },
  { "with two keys", { UPGRADE, CONNECTION, VERSION, KEY, KEY }, 400 },
  { "with two versions", { UPGRADE, CONNECTION, VERSION, VERSION, KEY }, 400 },
  { "with a body", { UPGRADE, CONNECTION, VERSION, KEY, "Content-Length: 5" }, 413 },
  { "with two origins", { UPGRADE, CONNECTION, VERSION, KEY, "Origin: http://a", "Origin: http://a" }, 400 },
}

describe("a request for a WebSocket", function()
  local perigee
  setup(function() perigee = server.start { flags = { max_clients = 1000 } } end)
  teardown(server.stop_all)
  after_each(Stream.close_all)

  for _, case in ipairs(ASKED) do
    local how, fields, status = unpack(case)
    it(("%s gets %d"):format(how, status), function()
      local client = web_socket.ask(perigee.port, { fields = fields })
      local answer = client:expect "RESPONSE"
      assert.equal(status, answer.status)
      assert.is_nil(answer.headers["sec-websocket-extensions"])
      if status == 426 then assert.equal("13", answer.headers["sec-websocket-version"]) end
      if status == 101 then
        assert.equal(web_socket.ACCEPT, answer.headers["sec-websocket-accept"])
        client:fence()
      end
    end)
  end

  it("is answered with the subprotocol that it offers, and with none when it offers none", function()
    for offered, chosen in pairs {
      ["perigee.1"] = "perigee.1", ["chat, perigee.1"] = "perigee.1", chat = false, ["perigee.2"] = false,
    } do
      local client = web_socket.ask(perigee.port, { more = { "Sec-WebSocket-Protocol: " .. offered } })
      local answer = client:expect "RESPONSE"
      assert.equal(101, answer.status)
      assert.equal(chosen or nil, answer.headers["sec-websocket-protocol"])
    end
  end)

  it("is a GET of /ws in HTTP/1.1", function()
    for _, line in ipairs { "HEAD /ws HTTP/1.1", "GET /ws HTTP/1.0" } do
      local client = web_socket.ask(perigee.port, { fields = {} })
      client:expect "RESPONSE"
      client.heads = { line:sub(1, 4) == "HEAD" }
      client:write(line .. "\r\nHost: localhost\r\n" .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n\r\n")
      assert.equal(426, client:expect("RESPONSE").status)
    end
    local client = web_socket.ask(perigee.port, { fields = {} })
    client:expect "RESPONSE"
    client:request("GET", "/other", web_socket.FIELDS)
    assert.equal(404, client:expect("RESPONSE").status)
  end)

  it("may come after other requests, and frames right behind it", function()
    local client = web_socket.ask(perigee.port, { fields = {} })
    client:expect "RESPONSE"
    client.heads = { false, false }
    client:write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
      .. "GET /ws HTTP/1.1\r\nHost: localhost\r\n" .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n\r\n"
      .. frames.encode(frames.PING, "early")
      .. frames.encode(frames.BINARY, packet.encode { type = 1, payload = packet.hello { name = "ann" } }))
    assert.equal(200, client:expect("RESPONSE").status)
    assert.equal(101, client:expect("RESPONSE").status)
    client:expect("PONG", { payload = "early" })
    assert.equal("WELCOME", packet.decode(client:expect("BINARY").payload, 1).name)
  end)
end)

describe("the origin of a page", function()
  after_each(server.stop_all)

  local function status_of(perigee, origin, host)
    local client = web_socket.ask(perigee.port, { fields = {} })
    client:expect "RESPONSE"
    client.heads = { false }
    client:write("GET /ws HTTP/1.1\r\nHost: " .. (host or ("127.0.0.1:" .. perigee.port)) .. "\r\n"
      .. table.concat(web_socket.FIELDS, "\r\n") .. "\r\n"
      .. (origin and ("Origin: " .. origin .. "\r\n") or "") .. "\r\n")
    local status = client:expect("RESPONSE").status
    client:close()
    return status
  end

  it("is the server's own, or there is none", function()
    local perigee = server.start { flags = { hosts = "game.example" } }
    local own = "127.0.0.1:" .. perigee.port
    assert.equal(101, status_of(perigee, nil))
    assert.equal(101, status_of(perigee, "http://" .. own))
    assert.equal(101, status_of(perigee, "https://" .. own))
    assert.equal(101, status_of(perigee, "https://game.example", "game.example"))
    for _, origin in ipairs {
      "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "http://" .. own .. ".evil.example",
      "http://evil.example/" .. own, "http://" .. own .. "@evil.example", "null", "file://", own,
    } do
      assert.equal(403, status_of(perigee, origin), origin)
    end
    perigee:wait_log(function(line) return line.message == "refused" and line.status == 403 end)
  end)

  it("may be one that is listed", function()
    local perigee = server.start { flags = { allowed_origins = "https://a.example,https://b.example:8443" } }
    assert.equal(101, status_of(perigee, "https://a.example"))
    assert.equal(101, status_of(perigee, "https://b.example:8443"))
    assert.equal(101, status_of(perigee, "http://127.0.0.1:" .. perigee.port))
    assert.equal(403, status_of(perigee, "http://a.example"))
    assert.equal(403, status_of(perigee, "https://b.example"))
    assert.equal(403, status_of(perigee, "https://a.example.org"))
  end)

  it("may be any, where the operator says so", function()
    local perigee = server.start { flags = { allowed_origins = "*" } }
    assert.equal(101, status_of(perigee, "https://anywhere.example"))
    assert.equal(101, status_of(perigee, "null"))
  end)

  it("is warned of where the operator names what no page has", function()
    local perigee = server.start { flags = { allowed_origins = "https://a.example,b.example" } }
    local warning = perigee:wait_log "allowed_origins names what no page has"
    assert.equal("b.example", warning.origin)
    assert.equal(101, status_of(perigee, "https://a.example"))
  end)

  it("follows the game's settings", function()
    local game = 'return { config = { allowed_origins = { "https://%s.example" } } }'
    local perigee = server.start { game = game:format "a", watch = true }
    assert.equal(101, status_of(perigee, "https://a.example"))
    perigee:save("game.lua", game:format "b")
    perigee:wait_log "reloaded"
    assert.equal(403, status_of(perigee, "https://a.example"))
    assert.equal(101, status_of(perigee, "https://b.example"))
  end)
end)
