--- TLS on the game's port: native packets, HTTP and WebSockets through it, beside unencrypted connections.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
local game = {}
game.rooms = { lobby = {} }
function game.on_message() return "first" end
return game
]]

-- Runs a program until it ends; returns its output and standard error.
local function run(command, stdin)
  local process = server.spawn("/bin/sh", { "-c", command .. " 2>&1" }, { stdin = true })
  if stdin then process.stdin:write(stdin) end
  process.stdin:shutdown()
  local code = process:wait_exit()
  return table.concat(process.out, "\n"), code
end

local function s_client(port, options, stdin)
  return run(("openssl s_client -connect 127.0.0.1:%d %s"):format(port, options), stdin)
end

local function start(o)
  o = o or {}
  o.flags = o.flags or {}
  o.flags.tls_dev = true
  return server.start(o)
end

-- Makes a key and a certificate, name.key and name.cert, in the folder.
local function make_pair(folder, name)
  local text, code = run(
    ("cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 "):format(folder)
      .. ("-subj /CN=%s -keyout %s.key -out %s.cert"):format(name, name, name)
  )
  assert.equal(0, code, text)
end

local function subject(perigee)
  return s_client(perigee.port, ""):match "subject=CN = (%S+)"
end

describe("TLS", function()
  after_each(server.stop_all)

  it("carries packets, and plain clients are in the same room", function()
    local perigee = start()
    local ann = perigee:client("ann", { tls = {} })
    local bob = perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    for _, size in ipairs { 0, 1, 16383, 16384, 16385, 60000 } do
      local data = ("x"):rep(size)
      ann:broadcast(room, data)
      bob:expect("BROADCAST", { data = data })
      bob:broadcast(room, data)
      ann:expect("BROADCAST", { data = data })
    end
    for i = 1, 2000 do
      bob:broadcast(room, ("%d"):format(i))
      if i % 200 == 0 then bob:fence() end
    end
    for i, event in ipairs(ann:expect_many(2000, "BROADCAST")) do
      assert.equal(tostring(i), event.data)
    end
  end)

  it("is 1.2 or 1.3", function()
    local perigee = start()
    local any = "-cipher ALL:@SECLEVEL=0 "
    for _, version in ipairs { "-tls1", "-tls1_1" } do
      local text, code = s_client(perigee.port, any .. version)
      assert.equal(1, code)
      assert.truthy(text:find "alert protocol version")
    end
    assert.truthy(s_client(perigee.port, "-tls1_2"):find "New, TLSv1.2, Cipher is ECDHE")
    local text = s_client(perigee.port, "-tls1_3 -alpn h2,http/1.1")
    assert.truthy(text:find "New, TLSv1.3, Cipher is TLS_")
    assert.truthy(text:find "ALPN protocol: http/1.1")
    perigee:wait_log "unsupported protocol"
    perigee:stop()
    local counters = perigee:wait_log(function(fields) return fields.message == "TLS" end)
    assert.equal(2, counters.handshakes)
    assert.equal(2, counters.failed)
  end)

  it("takes tickets", function()
    local perigee = start()
    local file = server.folder() .. "/session"
    for _, version in ipairs { "-tls1_2", "-tls1_3" } do
      -- In TLS 1.3 the ticket comes after the handshake, so the test waits for an answer.
      local request = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
      local options = version .. " -ign_eof -sess_%s " .. file
      assert.truthy(s_client(perigee.port, options:format "out", request):find "New, TLSv1")
      assert.truthy(s_client(perigee.port, options:format "in", request):find "Reused, TLSv1")
    end
  end)

  it("has a certificate for localhost", function()
    local perigee = start()
    local fingerprint = perigee:wait_out "^perigee: its certificate is for this run, SHA%-256 (%S+)$"
    perigee:wait_out "^perigee: TLS on (https://127%.0%.0%.1:%d+ and wss://127%.0%.0%.1:%d+/ws)$"
    local file = server.folder() .. "/cert"
    local command = "openssl s_client -connect 127.0.0.1:%d </dev/null | openssl x509 -out %s"
    run(command:format(perigee.port, file))
    local text = run("openssl x509 -noout -fingerprint -sha256 -in " .. file)
    assert.equal(fingerprint, text:match "=(%S+)$")
    for _, name in ipairs { "-verify_hostname localhost", "-verify_ip 127.0.0.1", "-verify_ip ::1" } do
      local options = name .. " -verify_return_error -CAfile " .. file
      assert.truthy(s_client(perigee.port, options):find "Verification: OK", nil, true)
    end
  end)

  it("ends in order with close_notify, and else with a reset", function()
    local perigee = start()
    perigee:client("ann", { tls = {} }):half_close()
    perigee:wait_log(function(fields)
      return fields.peer and fields.name == "ann" and fields.reason == "ConnectionClosed"
    end)
    perigee:client("bob", { tls = {} }):reset()
    perigee:wait_log(function(fields)
      return fields.peer and fields.name == "bob" and fields.reason == "ConnectionReset"
    end)
  end)

  it("tells CLOSING before its end", function()
    local perigee = start()
    local ann = perigee:client("ann", { tls = {} })
    perigee:kill "sigterm"
    ann:expect_closing "Unavailable"
    perigee:stop()
  end)

  it("has as long for the handshake as for HELLO", function()
    local perigee = start { flags = { handshake_timeout = 0.2 } }
    local client = perigee:raw()
    client:write "\22\3\1\2\0\1\0\1"
    client:expect_end()
    perigee:wait_log "TLS handshake failed"
  end)

  it("is refused without a certificate", function()
    local perigee = server.start()
    local _, code = s_client(perigee.port, "")
    assert.equal(1, code)
    perigee:wait_log "refused: a TLS hello, and there is no certificate"
    perigee:client "ann"
  end)

  it("carries HTTP", function()
    local perigee = start()
    local text = s_client(
      perigee.port,
      "-quiet -ign_eof",
      "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    )
    assert.truthy(text:find "HTTP/1.1 200 OK")
  end)

  it("carries WebSockets", function()
    local perigee = start()
    local client = perigee:raw { tls = {} }
    client.cut = function(bytes, from)
      local _, stop = bytes:find("\r\n\r\n", from, true)
      if stop then return { name = "HEAD", text = bytes:sub(from, stop) }, stop + 1 end
    end
    client:write(
      ("GET /ws HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: Upgrade\r\n"):format(perigee.port)
        .. "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        .. "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    assert.truthy(client:expect("HEAD").text:find "HTTP/1.1 101")
    client.cut = function(bytes, from)
      local size = bytes:byte(from + 1)
      if not size or #bytes < from + 1 + size then return nil end
      assert.is_true(size < 126)
      local inside = packet.decode(bytes:sub(from + 2, from + 1 + size), 1)
      return inside, from + 2 + size
    end
    local hello = packet.encode { type = packet.CLIENT.HELLO, payload = packet.hello { name = "ann" } }
    assert.is_true(#hello < 126)
    client:write("\130" .. string.char(128 + #hello) .. "\0\0\0\0" .. hello)
    client:expect "WELCOME"
  end)
end)

describe("tls_cert and tls_key", function()
  after_each(server.stop_all)

  local function start_with(name)
    local folder = server.folder()
    make_pair(folder, name)
    local flags = { tls_cert = folder .. "/live.cert", tls_key = folder .. "/live.key" }
    local function use(cert, key)
      local command = "cd %s && cp %s.cert live.cert && cp %s.key live.key"
      run(command:format(folder, cert, key or cert))
    end
    use(name)
    return server.start { game = GAME, watch = true, flags = flags }, use, folder
  end

  it("are read again by a reload, and connections stay", function()
    local perigee, use, folder = start_with "one"
    local ann = perigee:client("ann", { tls = {} })
    assert.equal("one", subject(perigee))
    make_pair(folder, "two")
    use "two"
    perigee:kill "sighup"
    wait.for_true(function() return subject(perigee) == "two" end)
    ann:fence()

    use("one", "two")
    perigee:kill "sighup"
    perigee:wait_log(function(fields)
      return fields.message == "TLS goes on as it was" and fields.error:find "belong together"
    end)
    assert.equal("two", subject(perigee))
    local reload = server.perigee { "reload", "--port", tostring(perigee.port) }
    assert.equal(1, reload:wait_exit())
    local said = table.concat(reload.out, "\n") .. table.concat(reload.err, "\n")
    assert.truthy(said:find "reloaded: version 4.+TLS goes on as it was: tls_key: the key in ")

    use "one"
    perigee:save("game.lua", GAME:gsub("first", "second"))
    wait.for_true(function() return subject(perigee) == "one" end)
    ann:fence()
  end)

  it("are read again by a plain relay too", function()
    local folder = server.folder()
    make_pair(folder, "one")
    make_pair(folder, "two")
    local flags = { tls_cert = folder .. "/one.cert", tls_key = folder .. "/one.key" }
    local perigee = server.start { flags = flags }
    run(("cd %s && cp two.cert one.cert && cp two.key one.key"):format(folder))
    local reload = server.perigee { "reload", "--port", tostring(perigee.port) }
    assert.equal(0, reload:wait_exit())
    assert.equal("two", subject(perigee))
  end)

  it("may come and go with game.config", function()
    local folder = server.folder()
    make_pair(folder, "one")
    local perigee = server.start { game = GAME }
    assert.is_nil(subject(perigee))
    local config = ("game.config = { tls_cert = %q, tls_key = %q }\nreturn game"):format(
      folder .. "/one.cert",
      folder .. "/one.key"
    )
    perigee:save("game.lua", (GAME:gsub("return game", config)))
    perigee:kill "sighup"
    wait.for_true(function() return subject(perigee) == "one" end)
    local ann = perigee:client("ann", { tls = {} })
    perigee:save("game.lua", GAME)
    perigee:kill "sighup"
    wait.for_true(function() return subject(perigee) == nil end)
    ann:fence()
  end)

  local function fails(flags, sentence)
    local perigee = server.launch { flags = flags }
    assert.equal(1, perigee:wait_exit())
    assert.equal("perigee: " .. sentence, perigee.err[#perigee.err])
  end

  it("keep a server with a fault in them from starting", function()
    local folder = server.folder()
    make_pair(folder, "one")
    local cert, key = folder .. "/one.cert", folder .. "/one.key"
    fails({ tls_cert = cert }, "tls_cert is given and tls_key is not; give both or neither")
    fails({ tls_key = key }, "tls_key is given and tls_cert is not; give both or neither")
    fails(
      { tls_cert = cert, tls_key = key .. "s" },
      ("tls_key: cannot read %ss: no such file or directory; the path is taken from the "):format(key)
        .. "folder in which perigee was started"
    )
  end)
end)
