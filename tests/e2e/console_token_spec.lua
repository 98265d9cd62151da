--- The token of the console: where it is, who can read it, and what the listener does without it.
local ApiClient = require "tests.e2e.api_client"
local console = require "tests.e2e.console_client"
local Process = require "tests.e2e.process"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local GAME = "return {}"
local CONSOLE = "/api/console"

local function mode_of(path) return uv.fs_stat(path).mode % 512 end

describe("the console's token", function()
  after_each(server.stop_all)

  it("is new at each start, in a file of mode 0600, which goes with the server", function()
    local seen = {}
    for _ = 1, 2 do
      local perigee, _, port = console.serve { game = GAME }
      local token, address = console.token(perigee)
      assert.matches("^%x+$", token)
      assert.equal(48, #token)
      assert.equal("127.0.0.1:" .. port, address)
      assert.equal(tonumber("600", 8), mode_of(console.path(perigee)))
      assert.is_nil(seen[token])
      seen[token] = true
      perigee:stop()
      assert.is_nil(uv.fs_stat(console.path(perigee)))
    end
  end)

  it("is needed on loopback, too, where other requests need none", function()
    local _, api, port = console.serve { game = GAME, flags = { admin_write = true } }
    local token = api.token
    for _, path in ipairs { CONSOLE, CONSOLE .. "/complete" } do
      api = ApiClient.connect(port)
      local text = api:refused(401, "Unauthorized", "POST", path, { line = "1" })
      assert.matches("perigee console", text)
      for _, wrong in ipairs { token:sub(1, -2), token .. "0", token:upper() .. "g", " ", "\1" } do
        local other = ApiClient.connect(port)
        other:request("POST", path, { "Authorization: Bearer " .. wrong, "Content-Length: 0" })
        local status = other:expect("RESPONSE").status
        assert.is_true(status == 401 or status == 429 or status == 400, wrong .. status)
        other:close()
      end
    end
    api = ApiClient.connect(port)
    assert.is_table(api:done("GET", "/api/stats"))
    api.token = token
    assert.not_equal(401, (api:ask("POST", CONSOLE, { line = "1" })))
  end)

  it("is not needed less by another way of writing the address", function()
    local _, _, port = console.serve { game = GAME, flags = { admin_write = true } }
    for _, path in ipairs {
      "//api/console", "/api//console", "/api/./console", "/API/console", "/api/%63onsole", "/api/console/",
      "/api/console?line=1", "/api/console#", "/api/console%00", "/x/../api/console",
      "/api/rooms/../console", "/api/console/complete/",
    } do
      local api = ApiClient.connect(port)
      local status = api:ask("POST", path, { line = "1" })
      assert.is_true(status == 401 or status == 404 or status == 405 or status == 400,
        path .. " " .. status)
      api:close()
    end
  end)

  it("is the admin_token, if that is set", function()
    local perigee, api = console.serve { game = GAME,
      env = { PERIGEE_ADMIN_TOKEN = "0123456789abcdef" } }
    assert.equal("0123456789abcdef", (console.token(perigee)))
    assert.not_equal(401, (api:ask("POST", CONSOLE, { line = "1" })))
  end)

  it("replaces a file that somebody has put there, and follows no symlink", function()
    local perigee = console.serve { game = GAME }
    local path, port = console.path(perigee), perigee.port
    perigee:stop()
    local victim = perigee.folder .. "/victim"
    Process.write_file(victim, "precious")
    for _, name in ipairs { path, path .. ".new" } do
      assert(uv.fs_symlink(victim, name))
    end
    perigee = console.serve { game = GAME, flags = { port = port } }
    assert.equal("file", uv.fs_lstat(path).type)
    assert.equal(tonumber("600", 8), mode_of(path))
    assert.equal("precious", io.open(victim):read "*a")
    assert.equal(48, #console.token(perigee))
  end)

  it("is not written without a game or a listener", function()
    local perigee = ApiClient.serve {}
    assert.is_nil(uv.fs_stat(console.path(perigee)))
    perigee = server.start { game = GAME }
    assert.is_nil(uv.fs_stat(console.path(perigee)))
    wait.until_closed()
  end)
end)
