--- The admin listener over TLS: it gives the same answers as without TLS, also while clients break the rules
--- of TLS.
local cjson = require "cjson"
local HttpClient = require "tests.e2e.http_client"
local McpClient = require "tests.e2e.mcp_client"
local server = require "tests.e2e.server"
local Stream = require "tests.e2e.stream"
local wait = require "tests.e2e.wait"

local GAME = [[
  local perigee = require "perigee"
  perigee.mcp.tool { name = "echo", handler = function(arguments) return arguments.text or "?" end }
  perigee.mcp.tool { name = "slow", handler = function() perigee.sleep(1000) end }
  return {}
]]

local TOKEN = "0123456789abcdef-secret"

local perigee, port

local function connect(token, o)
  o = o or {}
  o.tls = o.tls or {}
  local client = McpClient.connect(port, o)
  client.token = token or TOKEN
  return client
end

describe("the admin listener over TLS", function()
  before_each(function()
    perigee, port = McpClient.serve {
      game = GAME, flags = { tls_dev = true, handshake_timeout = 1 }, env = { PERIGEE_ADMIN_TOKEN = TOKEN },
    }
  end)
  after_each(function()
    Stream.close_all()
    server.stop_all()
  end)

  it("answers as in the clear, which is served beside", function()
    local safe = connect():initialize()
    assert.equal("hello", McpClient.text_of(safe:call("echo", { text = "hello" })))
    local text = ("x"):rep(200000)
    assert.equal(text, McpClient.text_of(safe:call("echo", { text = text })))
    local clear = McpClient.connect(port)
    clear.token = TOKEN
    clear:initialize()
    assert.equal("hello", McpClient.text_of(clear:call("echo", { text = "hello" })))
    assert.equal(204, safe:status "DELETE")
  end)

  it("refuses wrong tokens, hosts and origins", function()
    local guesses = {}
    for i = 1, 6 do
      guesses[i] = connect "wrong"
      guesses[i]:post(guesses[i]:request_body "ping")
    end
    local statuses = {}
    for i = 1, 6 do statuses[i] = guesses[i]:expect("RESPONSE").status end
    table.sort(statuses)
    assert.same({ 401, 401, 401, 401, 401, 429 }, statuses)
    local body = cjson.encode(connect():request_body "ping")
    assert.equal(403, connect():status("POST", { body = body, host = "evil.example" }))
    assert.equal(403, connect():status("POST", { body = body, fields = { "Origin: https://evil.example" } }))
    connect():initialize()
  end)

  it("survives clients that break TLS, and those that leave in the middle", function()
    local before = perigee:open_files()
    for _, bytes in ipairs {
      "\22", "\22\3\1\0", "\22\3\1\255\255", "\22\3\1\0\4\1\0\0\0", ("\22\3\1\64\0"):rep(4000),
      "\22GET / HTTP/1.1\r\n\r\n",
    } do
      HttpClient.connect(port):write(bytes):close()
    end
    local garbage = HttpClient.connect(port)
    garbage:write("\22\3\1\0\4\1\0\0\0")
    garbage:expect(function(event) return event.name == "END" or garbage.fault end)
    local silent = HttpClient.connect(port) -- its handshake never ends
    silent:write "\22\3\1"
    for _ = 1, 3 do
      local client = connect():initialize()
      client:post(client:request_body("tools/call", { name = "slow" }))
      client:close()
    end
    silent:expect(function(event) return event.name == "END" end)
    connect():initialize():close()
    wait.for_true(function() return perigee:open_files() == before end)
  end)

  it("sends streams, and hears that their listener is gone", function()
    local client = connect():initialize()
    local listener = connect()
    listener.session = client.session
    listener:send "GET"
    listener:expect("RESPONSE", { status = 200 })
    perigee:save("game.lua", (GAME:gsub('"slow"', '"other"')))
    perigee:kill "sighup"
    local event = listener:expect "EVENT"
    assert.equal("notifications/tools/list_changed", event.data.method)
  end)
end)
