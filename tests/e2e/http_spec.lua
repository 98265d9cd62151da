--- Files and pages over HTTP on the game's port.
local uv = require "luv"
local server = require "tests.e2e.server"
local HttpClient = require "tests.e2e.http_client"
local web_socket = require "tests.e2e.web_socket"

local GAME = "return {}"

local function start(files, o)
  o = o or {}
  o.files = { ["game.lua"] = GAME }
  for name, text in pairs(files or {}) do
    o.files[name] = text
  end
  return server.start(o)
end

describe("the game's files", function()
  after_each(server.stop_all)

  it("are served with their types", function()
    local perigee = start {
      ["public/index.html"] = "<h1>hello</h1>",
      ["public/game.js"] = "1",
      ["public/m.mjs"] = "2",
      ["public/style.css"] = "3",
      ["public/data.json"] = "{}",
      ["public/code.wasm"] = "\0asm",
      ["public/a.svg"] = "<svg/>",
      ["public/notes.txt"] = "x",
      ["public/game.js.map"] = "{}",
      ["public/a.woff2"] = "x",
      ["public/thing"] = "x",
    }
    local types = {
      ["/"] = "text/html; charset=utf-8",
      ["/index.html"] = "text/html; charset=utf-8",
      ["/game.js"] = "text/javascript; charset=utf-8",
      ["/m.mjs"] = "text/javascript; charset=utf-8",
      ["/style.css"] = "text/css; charset=utf-8",
      ["/data.json"] = "application/json",
      ["/code.wasm"] = "application/wasm",
      ["/a.svg"] = "image/svg+xml",
      ["/notes.txt"] = "text/plain; charset=utf-8",
      ["/game.js.map"] = "application/json",
      ["/a.woff2"] = "font/woff2",
      ["/thing"] = "application/octet-stream",
    }
    local client = HttpClient.connect(perigee.port) -- one connection for all
    for target, kind in pairs(types) do
      local answer = client:get(target)
      assert.equal(200, answer.status)
      assert.equal(kind, answer.headers["content-type"])
      assert.equal("nosniff", answer.headers["x-content-type-options"])
      assert.equal("keep-alive", answer.headers.connection)
    end
    assert.equal("<h1>hello</h1>", client:get("/?v=1").body)
    assert.equal("\0asm", client:get("/code.wasm").body)
  end)

  it("are sent whole, whatever their size, and in order when asked for at once", function()
    local big = {}
    for i = 1, 200000 do
      big[i] = ("%07d\n"):format(i)
    end
    big = table.concat(big)
    local perigee = start { ["public/big.txt"] = big, ["public/small.txt"] = "s", ["public/none.txt"] = "" }
    local client = HttpClient.connect(perigee.port)
    for _, target in ipairs { "/big.txt", "/small.txt", "/none.txt", "/big.txt", "/healthz" } do
      client:request("GET", target)
    end
    assert.is_true(client:expect("RESPONSE").body == big)
    assert.equal("s", client:expect("RESPONSE").body)
    assert.equal("", client:expect("RESPONSE").body)
    assert.is_true(client:expect("RESPONSE").body == big)
    assert.equal("ok\n", client:expect("RESPONSE").body)
    client:expect_nothing()
  end)

  it("wait for a client that reads slowly", function()
    local big = ("0123456789"):rep(400000)
    local perigee = start { ["public/big.txt"] = big }
    local client = HttpClient.connect(perigee.port, { recv_buffer = 65536 })
    client:request("GET", "/big.txt")
    client:stall()
    local other = HttpClient.connect(perigee.port)
    for _ = 1, 50 do
      assert.equal("ok\n", other:get("/healthz").body)
    end
    client:resume_reading()
    assert.is_true(client:expect("RESPONSE").body == big)
  end)

  it("have a folder's index.html, and its slash", function()
    local perigee = start { ["public/game.js"] = "root" }
    uv.fs_mkdir(perigee.folder .. "/public/deep", 493)
    perigee:save("public/deep/index.html", "deep")
    local client = HttpClient.connect(perigee.port)
    local moved = client:get "/deep?x=1"
    assert.equal(301, moved.status)
    assert.equal("/deep/", moved.headers.location)
    assert.equal("deep", client:get("/deep/").body)
    assert.equal(404, client:get("/deep/no").status)
    assert.equal(404, client:get("/game.js/").status)
    assert.equal(404, client:get("/game.js/x").status)
  end)

  it("are told apart by version", function()
    local perigee = start { ["public/a.txt"] = "first" }
    local client = HttpClient.connect(perigee.port)
    local first = client:get "/a.txt"
    local tag, changed = first.headers.etag, first.headers["last-modified"]
    assert.truthy(tag:match '^"[%x-]+"$')
    local again = client:get("/a.txt", { "If-None-Match: " .. tag })
    assert.equal(304, again.status)
    assert.equal(tag, again.headers.etag)
    assert.is_nil(again.headers["content-length"])
    assert.equal(304, client:get("/a.txt", { "If-Modified-Since: " .. changed }).status)
    perigee:save("public/a.txt", "second")
    local second = client:get("/a.txt", { "If-None-Match: " .. tag })
    assert.equal(200, second.status)
    assert.equal("second", second.body)
    assert.are_not.equal(tag, second.headers.etag)
  end)

  it("come in parts", function()
    local perigee = start { ["public/a.txt"] = "0123456789" }
    local client = HttpClient.connect(perigee.port)
    local part = client:get("/a.txt", { "Range: bytes=2-4" })
    assert.equal(206, part.status)
    assert.equal("234", part.body)
    assert.equal("bytes 2-4/10", part.headers["content-range"])
    assert.equal("789", client:get("/a.txt", { "Range: bytes=-3" }).body)
    local none = client:get("/a.txt", { "Range: bytes=10-" })
    assert.equal(416, none.status)
    assert.equal("bytes */10", none.headers["content-range"])
    assert.equal("", none.body)
    assert.equal("0123456789", client:get("/a.txt", { "Range: bytes=0-1,3-4" }).body)
    local tag = part.headers.etag
    assert.equal(206, client:get("/a.txt", { "Range: bytes=0-1", "If-Range: " .. tag }).status)
    assert.equal(200, client:get("/a.txt", { "Range: bytes=0-1", 'If-Range: "x"' }).status)
  end)

  it("have a head without the rest", function()
    local perigee = start { ["public/a.txt"] = "0123456789" }
    local client = HttpClient.connect(perigee.port)
    client:request("HEAD", "/a.txt")
    local head = client:expect "RESPONSE"
    assert.equal(200, head.status)
    assert.equal("10", head.headers["content-length"])
    client:request("HEAD", "/nothing")
    assert.equal(404, client:expect("RESPONSE").status)
    client:request("HEAD", "/healthz")
    assert.equal(200, client:expect("RESPONSE").status)
    assert.equal("0123456789", client:get("/a.txt").body)
  end)

  it("are not kept without asking while they are being edited", function()
    local files = { ["public/index.html"] = "x", ["public/a.js"] = "x" }
    local edited = HttpClient.connect(start(files, { watch = true }).port)
    assert.equal("no-cache", edited:get("/").headers["cache-control"])
    assert.equal("no-cache", edited:get("/a.js").headers["cache-control"])
    local served = HttpClient.connect(start(files).port)
    assert.equal("no-cache", served:get("/").headers["cache-control"])
    assert.equal("max-age=60", served:get("/a.js").headers["cache-control"])
  end)

  it("may be those beside a single file", function()
    local perigee = start { ["public/a.txt"] = "beside" }
    local other = server.start { path = perigee.folder .. "/game.lua" }
    assert.equal("beside", HttpClient.connect(other.port):get("/a.txt").body)
  end)
end)

describe("what is not the game's", function()
  after_each(server.stop_all)

  local SECRET = "this is a secret"

  local function tree()
    local perigee = start {
      ["public/index.html"] = "home",
      ["public/.hidden"] = SECRET,
      ["secret.txt"] = SECRET,
    }
    local folder = perigee.folder
    assert(uv.fs_mkdir(folder .. "/public/.git", 493))
    perigee:save("public/.git/config", SECRET)
    assert(uv.fs_mkdir(folder .. "/public-other", 493))
    perigee:save("public-other/a.txt", SECRET)
    assert(uv.fs_symlink("../secret.txt", folder .. "/public/up.txt"))
    assert(uv.fs_symlink(folder .. "/secret.txt", folder .. "/public/absolute.txt"))
    assert(uv.fs_symlink("..", folder .. "/public/parent"))
    assert(uv.fs_symlink("../public-other", folder .. "/public/other"))
    assert(uv.fs_symlink("/", folder .. "/public/root"))
    assert(uv.fs_symlink("/dev/zero", folder .. "/public/zero"))
    assert(uv.fs_symlink("loop", folder .. "/public/loop"))
    assert(uv.fs_symlink("index.html", folder .. "/public/inside.html"))
    os.execute(("mkfifo '%s/public/pipe'"):format(folder))
    return perigee
  end

  it("is not found, however it is asked for", function()
    local perigee = tree()
    local client = HttpClient.connect(perigee.port)
    for _, target in ipairs {
      "/.hidden", "/.git/config", "/%2egit/config", "/up.txt", "/absolute.txt", "/parent/secret.txt",
      "/parent/", "/other/a.txt", "/root/etc/passwd", "/zero", "/loop", "/pipe", "/nothing",
      "/index.html/", "/public/index.html", "/secret.txt", "/game.lua",
    } do
      local answer = client:get(target)
      assert.equal(404, answer.status, target)
      assert.is_nil(answer.body:find(SECRET, 1, true))
    end
    assert.equal("home", client:get("/inside.html").body)
  end)

  it("is not well asked for", function()
    local perigee = tree()
    for _, target in ipairs {
      "/../secret.txt", "/%2e%2e/secret.txt", "/%2e%2e%2fsecret.txt", "/..%2fsecret.txt",
      "/..%5csecret.txt", "/..\\secret.txt", "/./index.html", "/a/../index.html", "//index.html",
      "/a//b", "/index.html%00.js", "/%00", "/%", "/%zz", "/%c0%ae%c0%ae/secret.txt", "/%ff",
      "/index.html#x", "/%0d%0aX:%20y",
    } do
      local client = HttpClient.connect(perigee.port)
      client:request("GET", target)
      local answer = client:expect_refused(400)
      assert.is_nil(answer.body:find(SECRET, 1, true))
    end
  end)

  it("is not shown in pages about faults", function()
    local client = HttpClient.connect(start({}).port)
    local answer = client:get "/%3Cscript%3Ealert(1)%3C/script%3E"
    assert.is_nil(answer.body:find("alert", 1, true))
    assert.truthy(answer.headers["content-security-policy"]:find("default-src 'none'", 1, true))
  end)
end)

describe("the server's own pages", function()
  after_each(server.stop_all)

  it("say that it is well", function()
    local client = HttpClient.connect(server.start().port)
    assert.equal("ok\n", client:get("/healthz").body)
    assert.equal("no-store", client:get("/healthz").headers["cache-control"])
  end)

  it("say what runs here where the game has no page", function()
    for _, perigee in ipairs { server.start(), start {} } do
      local client = HttpClient.connect(perigee.port)
      local answer = client:get "/"
      assert.equal(200, answer.status)
      assert.truthy(answer.body:find("perigee connect 127.0.0.1", 1, true))
      -- Without this link, browsers ask for /favicon.ico, and the console shows an error.
      assert.truthy(answer.body:find('<link rel="icon" href="data:,">', 1, true))
      assert.truthy(answer.headers["content-security-policy"]:find("img-src data:", 1, true))
      assert.equal(404, client:get("/index.html").status)
    end
  end)

  it("have the client", function()
    local client, etags = HttpClient.connect(server.start().port), {}
    for _, path in ipairs { "/perigee.js", "/lockstep.js" } do
      local answer = client:get(path)
      assert.equal(200, answer.status)
      assert.equal("text/javascript; charset=utf-8", answer.headers["content-type"])
      assert.equal("*", answer.headers["access-control-allow-origin"])
      assert.truthy(answer.body:find("export", 1, true))
      etags[path] = answer.headers.etag
      assert.equal(304, client:get(path, { "If-None-Match: " .. etags[path] }).status)
    end
    assert.not_equal(etags["/perigee.js"], etags["/lockstep.js"])
  end)

  it("are counted, and told of at the end", function()
    local perigee = server.start()
    local client = HttpClient.connect(perigee.port)
    client:get "/healthz"
    client:get "/nothing"
    client:get "/%"
    web_socket.raw(perigee.port)
    perigee:stop()
    local counters = perigee:wait_log(function(fields) return fields.message == "HTTP" end)
    assert.equal(4, counters.requests)
    assert.equal(1, counters.refused)
    assert.equal(1, counters.upgraded)
    assert.equal(0, counters.stalled)
  end)

  it("come before the game's files of the same name", function()
    local perigee = start { ["public/healthz"] = "mine", ["public/ws"] = "mine" }
    local client = HttpClient.connect(perigee.port)
    assert.equal("ok\n", client:get("/healthz").body)
    assert.equal(426, client:get("/ws").status)
  end)
end)

describe("the connection", function()
  after_each(server.stop_all)

  it("ends when it is asked to, and for HTTP/1.0", function()
    local perigee = server.start()
    local client = HttpClient.connect(perigee.port)
    assert.equal("close", client:get("/healthz", { "Connection: close" }).headers.connection)
    client:expect_end()
    client = HttpClient.connect(perigee.port)
    client:write "GET /healthz HTTP/1.0\r\n\r\n"
    assert.equal("close", client:expect("RESPONSE").headers.connection)
    client:expect_end()
  end)

  it("is answered after it was half closed", function()
    local perigee = start { ["public/a.txt"] = ("x"):rep(300000) }
    local client = HttpClient.connect(perigee.port)
    client:request("GET", "/a.txt")
    client:half_close()
    assert.equal(300000, #client:expect("RESPONSE").body)
    client:expect_end()
  end)

  it("may come byte by byte", function()
    local client = HttpClient.connect(server.start().port)
    for byte in ("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"):gmatch "." do
      client:write(byte):wrote()
    end
    assert.equal("ok\n", client:expect("RESPONSE").body)
  end)

  it("ends while a file is on its way, and leaves nothing behind", function()
    local perigee = start { ["public/big.txt"] = ("x"):rep(5000000) }
    for i = 1, 40 do
      local client = HttpClient.connect(perigee.port)
      client:request("GET", "/big.txt")
      if i % 3 == 0 then client:wrote() end
      if i % 2 == 0 then client:reset() else client:close() end
    end
    assert.equal("ok\n", HttpClient.connect(perigee.port):get("/healthz").body)
  end)

  it("does not hold up the end of the server", function()
    local perigee = start { ["public/big.txt"] = ("x"):rep(5000000) }
    local idle = HttpClient.connect(perigee.port)
    idle:get "/healthz"
    local slow = HttpClient.connect(perigee.port, { recv_buffer = 4096 })
    slow:request("GET", "/big.txt"):stall()
    local begun = HttpClient.connect(perigee.port)
    begun:write "GET / HT"
    perigee:stop()
  end)
end)
