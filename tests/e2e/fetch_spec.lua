--- perigee.http: requests of a game to other servers.
local cjson = require "cjson"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"
local web_server = require "tests.e2e.web_server"

local GAME = [[
  local perigee = require "perigee"
  local game = { config = { http_hosts = { HOSTS }, http_max_bytes = 4096 }, on_message = {} }
  function game.on_message.get(peer, request)
    local answer, problem, code = perigee.http(request)
    return { answer = answer, problem = problem, code = code }
  end
  function game.on_message.many(peer, request)
    local codes, left = {}, request.count
    for i = 1, request.count do
      perigee.spawn(function()
        if i == request.count then peer:send "all begun" end
        local answer, problem, code = perigee.http(request.request)
        local key = answer and tostring(answer.status) or code or problem
        codes[key] = (codes[key] or 0) + 1
        left = left - 1
      end)
    end
    while left > 0 do perigee.sleep(0.02) end
    return codes
  end
  function game.on_message.version() return "VERSION" end
  function game.on_message.ready() return true end
  return game
]]

local function game(hosts, version)
  return (GAME:gsub("HOSTS", hosts):gsub("VERSION", version or "one"))
end

local function reply(status, headers, body)
  return ("HTTP/1.1 %s\r\nContent-Length: %d\r\n%s\r\n%s"):format(status, #body, headers, body)
end

-- Returns the answer to an earlier `ask`.
local function answer_of(client, ref)
  local answer = client:expect("MESSAGE", { ref = ref })
  return answer.value
end

-- Answers by target.
local ANSWERS = {
  ["/"] = reply("200 OK", "X-Name: a\r\nX-NAME: b \r\n", "hello"),
  ["/?a=1"] = reply("200 OK", "", "query"),
  ["/empty"] = "HTTP/1.1 204 No Content\r\n\r\n",
  ["/continue"] = "HTTP/1.1 100 Continue\r\nX-Old: 1\r\n\r\n" .. reply("201 Created", "", "new"),
  ["/moved"] = reply("302 Found", "Location: http://127.0.0.2:1/secret\r\n", ""),
  ["/missing"] = reply("404 Not Found", "", "nothing"),
  ["/limit"] = reply("200 OK", "", ("x"):rep(4096)),
  ["/large"] = reply("200 OK", "", ("x"):rep(4097)),
  ["/endless"] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    .. ("1000\r\n" .. ("x"):rep(4096) .. "\r\n"):rep(8),
  ["/large_head"] = "HTTP/1.1 200 OK\r\n" .. ("X-A: " .. ("y"):rep(1000) .. "\r\n"):rep(80) .. "\r\n",
  ["/large_trailers"] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n"
    .. ("X-A: " .. ("y"):rep(1000) .. "\r\n"):rep(80) .. "\r\n",
  ["/many_heads"] = ("HTTP/1.1 100 Continue\r\n\r\n"):rep(4000) .. reply("200 OK", "", "late"),
  ["/garbage"] = "\0\1\2 this is no HTTP\r\n\r\n",
  ["/chunks"] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    .. "3\r\nabc\r\n2\r\nde\r\n0\r\nX-Trailer: t\r\n\r\n",
}

describe("perigee.http", function()
  local web, perigee, ann, base
  local waiting, most = 0, 0 -- requests for /late
  local held -- sockets of these requests, until the test answers them; nil: they are answered after 100 ms

  setup(function()
    web = web_server.start(function(request, socket)
      local answer = ANSWERS[request.target]
      if request.target == "/half" then
        socket:write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", function() socket:close() end)
      elseif request.target == "/nothing" then
        socket:close()
      elseif answer then
        socket:write(answer)
      elseif request.target == "/late" and held then
        held[#held + 1] = socket
      elseif request.target == "/late" then
        local timer = uv.new_timer()
        waiting = waiting + 1
        most = math.max(most, waiting)
        timer:start(100, 0, function()
          timer:close()
          waiting = waiting - 1
          socket:write(ANSWERS["/"])
        end)
      elseif request.target ~= "/never" then
        socket:write(reply("200 OK", "Content-Type: application/json\r\n", cjson.encode(request)))
      end
    end)
    base = "http://127.0.0.1:" .. web.port
    perigee = server.start { game = game(([["127.0.0.1:%d", "localhost", "127.0.0.1:1"]]):format(web.port)),
      env = { http_proxy = "http://127.0.0.1:1", ALL_PROXY = "http://127.0.0.1:1" } }
    ann = perigee:client "ann"
  end)

  teardown(function()
    server.stop_all()
    web:stop()
  end)

  local function get(request)
    local answer = ann:question(0, "get", request)
    return answer.answer, answer.problem, answer.code
  end

  local function raises(request, message)
    ann:expect_error("Internal", ann:ask(0, "get", request))
    perigee:wait_log(message)
  end

  it("returns status, headers and body of the answer to a URL", function()
    local answer = get(base)
    assert.same({ status = 200, headers = { ["content-length"] = "5", ["x-name"] = "a, b" }, body = "hello" },
      answer)
    local request = web.requests[#web.requests]
    assert.same({ "GET", "/", "127.0.0.1:" .. web.port },
      { request.method, request.target, request.headers.host })
    assert.truthy(request.headers["user-agent"]:find "^perigee/")
    assert.equal("query", get(base .. "?a=1#part").body)
    assert.equal("hello", get("http://LOCALHOST:" .. web.port).body)
    assert.same({ 204, "" }, { get(base .. "/empty").status, get(base .. "/empty").body })
    local created = get(base .. "/continue")
    assert.same({ 201, "new", nil }, { created.status, created.body, created.headers["x-old"] })
    assert.equal("abcde", get(base .. "/chunks").body)
    assert.equal(404, get(base .. "/missing").status)
  end)

  it("sends method, headers and body", function()
    local function echo(request)
      request.url = base .. "/echo"
      return cjson.decode(get(request).body)
    end
    local sent = echo { json = { content = "ann won" } }
    assert.same({ "POST", "application/json", '{"content":"ann won"}' },
      { sent.method, sent.headers["content-type"], sent.body })
    sent = echo { method = "PUT", body = "text",
      headers = { ["Content-Type"] = "text/plain", Empty = "", N = 5 } }
    assert.same({ "PUT", "text/plain", "text", "", "5" },
      { sent.method, sent.headers["content-type"], sent.body, sent.headers.empty, sent.headers.n })
    sent = echo { method = "POST" }
    assert.same({ "POST", "0" }, { sent.method, sent.headers["content-length"] })
    assert.is_nil(sent.headers["content-type"])
    sent = echo { body = "a\0b" }
    assert.same({ "POST", "a\0b" }, { sent.method, sent.body })
    for _, method in ipairs { "DELETE", "PATCH", "OPTIONS" } do
      assert.equal(method, echo({ method = method }).method)
    end
    local head = get { url = base, method = "HEAD" }
    assert.same({ 200, "" }, { head.status, head.body })
  end)

  it("refuses hosts that http_hosts does not list, and names both", function()
    local before = #web.requests
    for url, host in pairs {
      ["http://127.0.0.2:" .. web.port] = "127.0.0.2:" .. web.port,
      ["http://127.0.0.1:2/key?token=secret"] = "127.0.0.1:2", ["https://example.org/x"] = "example.org",
      ["http://localhost.example.org"] = "localhost.example.org", ["http://[::1]/"] = "[::1]",
    } do
      local answer, problem, code = get(url)
      assert.is_nil(answer)
      assert.equal(("the setting http_hosts does not allow %s; add it in game.config: "
        .. "http_hosts = { \"%s\" }"):format(host, host), problem)
      assert.equal("Unauthorized", code)
    end
    assert.equal(before, #web.requests)
  end)

  it("does not follow redirects", function()
    local answer = get(base .. "/moved")
    assert.same({ 302, "http://127.0.0.2:1/secret" }, { answer.status, answer.headers.location })
  end)

  it("limits the answer", function()
    assert.equal(4096, #get(base .. "/limit").body)
    for _, target in ipairs { "/large", "/endless", "/large_head", "/large_trailers", "/many_heads" } do
      local answer, problem, code = get(base .. target)
      assert.is_nil(answer)
      assert.same({ "the answer is larger than http_max_bytes", "PayloadTooLarge" }, { problem, code })
    end
  end)

  it("has a code for each failure", function()
    for url, wanted in pairs {
      [base .. "/half"] = "Unavailable", [base .. "/nothing"] = "Unavailable",
      ["http://127.0.0.1:1/"] = "Unavailable", [base .. "/garbage"] = "Protocol",
    } do
      local answer, problem, code = get(url)
      assert.same({ nil, wanted }, { answer, code }, url)
      assert.is_true(#problem > 5)
    end
    local answer, problem, code = get { url = base .. "/never", timeout = 0.05 }
    assert.same({ nil, "timeout", nil }, { answer, problem, code })
    assert.equal("hello", get({ url = base .. "/late", timeout = 5 }).body)
  end)

  it("refuses what no request can have", function()
    raises({ url = base, headers = { ["X-A"] = "a\r\nX-B: b" } }, "line end or another control character")
    raises({ url = base, headers = { ["X A"] = "a" } }, "cannot be a header's name")
    raises({ url = base, headers = { Host = "example.org" } }, "the connection sets it")
    raises({ url = base, method = "GET / HTTP/1.1\r\nX: y" }, "perigee.http has no method")
    raises({ url = base, methd = "GET" }, "did you mean method?")
    raises({ url = base, body = "", json = {} }, "takes body or json, not both")
    raises({ url = base, timeout = 61 }, "at most 60 seconds, not 61")
    raises({ url = base, headers = { a = ("x"):rep(17000) } }, "more than 16384 bytes")
    raises("file:///etc/passwd", "the URL must begin with")
    raises("http://ann:secret@127.0.0.1/", "the URL has a user or a password")
    raises("http://127.0.0.1/a b", "must be written as %20")
    raises("http://127.0.0.1:99999/", "no valid host")
    raises("http:///x", "no valid host")
    raises({}, "takes a URL")
    for _, line in ipairs(perigee.err) do assert.is_nil(line:find("secret", 1, true)) end
  end)

  it("runs 32 requests at a time, queues 256, and refuses more", function()
    held, most = {}, 0
    local asked = ann:ask(0, "many", { request = { url = base .. "/late", timeout = 20 }, count = 300 })
    ann:expect("MESSAGE", { message = "all begun" })
    wait.for_true(function() return #held >= 32 end)
    local first = held
    held = nil
    for _, socket in ipairs(first) do socket:write(ANSWERS["/"]) end
    assert.same({ ["200"] = 288, RateLimited = 12 }, answer_of(ann, asked))
    assert.equal(32, math.max(most, #first))
  end)

  it("does not delay anybody else", function()
    local asked = ann:ask(0, "get", { url = base .. "/never", timeout = 0.5 })
    local bob = perigee:client "bob"
    assert.is_true((bob:question(0, "ready")))
    assert.equal("timeout", answer_of(ann, asked).problem)
  end)

  it("goes on during a reload, with its version", function()
    local before = #web.requests
    local asked = ann:ask(0, "get", { url = base .. "/late", timeout = 5 })
    wait.for_true(function() return #web.requests > before end)
    perigee:save("game.lua", game([["none.example"]], "two"))
    perigee:kill "sighup"
    wait.for_true(function() return ann:question(0, "version") == "two" end)
    assert.equal("hello", answer_of(ann, asked).answer.body)
    assert.equal("Unauthorized", select(3, get(base)))
  end)
end)

describe("a server with requests under way", function()
  after_each(server.stop_all)

  it("stops at once", function()
    local web = web_server.start(function() end)
    local perigee = server.start { game = game(([["127.0.0.1:%d"]]):format(web.port)) }
    local ann = perigee:client "ann"
    ann:ask(0, "get", { url = "http://127.0.0.1:" .. web.port, timeout = 30 })
    wait.until_true(function() return #web.requests == 1 end)
    local before = uv.hrtime()
    perigee:stop()
    assert.is_true((uv.hrtime() - before) / 1e9 < 2 * wait.SLOWNESS)
    web:stop()
  end)

  it("names the package of a missing library, and works once it is there", function()
    local folder = server.folder { ["libcurl.so.4"] = "none", ["libcurl-gnutls.so.4"] = "none" }
    local web = web_server.start(function(_, socket) socket:write(ANSWERS["/"]) end)
    local perigee = server.start { game = game [["127.0.0.1"]], env = { LD_LIBRARY_PATH = folder } }
    local ann, url = perigee:client "ann", "http://127.0.0.1:" .. web.port
    for _ = 1, 2 do
      local got = ann:question(0, "get", url)
      assert.same({ "perigee.http needs libcurl; install Debian's package libcurl4", "Unsupported" },
        { got.problem, got.code })
    end
    os.execute(("rm %s/*"):format(folder))
    assert.equal(200, ann:question(0, "get", url).answer.status)
    web:stop()
  end)

  it("checks certificates", function()
    local folder = server.folder {}
    os.execute(("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
      .. "-subj /CN=localhost -keyout key.pem -out cert.pem 2>/dev/null"):format(folder))
    local perigee = server.start { game = game [["127.0.0.1"]],
      flags = { tls_cert = folder .. "/cert.pem", tls_key = folder .. "/key.pem" } }
    local ann = perigee:client("ann", { tls = {} })
    local got = ann:question(0, "get", "https://127.0.0.1:" .. perigee.port)
    assert.same({ nil, "Unavailable" }, { got.answer, got.code })
    assert.truthy(got.problem:lower():find("certificate", 1, true), got.problem)
  end)

  it("trusts the certificates in SSL_CERT_FILE", function()
    local folder = server.folder {}
    os.execute(("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes "
      .. "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem 2>/dev/null")
      :format(folder))
    local perigee = server.start { game = game [["127.0.0.1"]],
      env = { SSL_CERT_FILE = folder .. "/cert.pem" },
      flags = { tls_cert = folder .. "/cert.pem", tls_key = folder .. "/key.pem" } }
    local ann = perigee:client("ann", { tls = {} })
    local got = ann:question(0, "get", "https://127.0.0.1:" .. perigee.port)
    assert.same({ 200, nil }, { got.answer and got.answer.status, got.problem })
  end)

  it("warns of entries of http_hosts that are no hosts", function()
    local perigee = server.start {
      game = game [["[::1]:80", "::1", "*.a.example:443", "https://b.example", "10.0.0.1"]],
    }
    local line = perigee:wait_log "http_hosts names what is no host"
    assert.equal("https://b.example", line.host)
  end)

  it("refuses all hosts by default", function()
    local perigee = server.start { game = game "" }
    local answer = perigee:client("ann"):question(0, "get", "http://127.0.0.1/")
    assert.truthy(answer.problem:find("http_hosts does not allow 127.0.0.1", 1, true))
  end)
end)
