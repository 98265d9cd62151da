--- Passwords and tokens of accounts are in no log, no resource or tool of MCP, no answer of the control API,
--- no error that a client gets, and no output of a spec.
local ApiClient = require "tests.e2e.api_client"
local cjson = require "cjson"
local McpClient = require "tests.e2e.mcp_client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local TextClient = require "tests.e2e.text_client"

local GAME = [[
  local game = { config = { accounts = true, durable = true }, rooms = {}, on_message = {} }
  game.rooms.duel = { durable = true, auto_create = true }
  function game.on_authenticate(credentials)
    if credentials.fail then error "no ticket" end
    return credentials.ticket
  end
  function game.on_connect(peer) peer.state.name = peer.name return true end
  return game
]]

local PASSWORD, WRONG = "open-sesame-17", "shut-sesame-18"
local TICKET, DEVICE = "golden-ticket-19", "device-20-0123456789"
local SECRETS = { PASSWORD, WRONG, TICKET, DEVICE }

describe("passwords and tokens", function()
  local s, texts, addresses

  setup(function()
    texts, addresses = {}, 1
    s = server.start { game = GAME, text = true, resume = true,
      flags = { admin = "127.0.0.1:0", log_level = "debug", mcp_source = true } }
  end)
  teardown(server.stop_all)

  local function raw()
    addresses = addresses + 1
    return s:raw { from = "127.0.0." .. addresses }
  end

  -- Notes a text that somebody can read.
  local function note(text)
    texts[#texts + 1] = type(text) == "string" and text or cjson.encode(text)
  end

  local function sign(request, player)
    player = player or raw()
    local text = type(request) == "string" and request or cjson.encode(request)
    return player:expect_answer("SIGNED_IN", player:request("SIGN_IN", text)).value, player
  end

  local function refused(request, code, player)
    player = player or raw()
    local text = type(request) == "string" and request or cjson.encode(request)
    note(player:expect_error(code, player:request("SIGN_IN", text)).text)
  end

  -- Keeps a token, and its signature alone, as secrets.
  local function keep(token)
    SECRETS[#SECRETS + 1] = token
    SECRETS[#SECRETS + 1] = token:sub(-60)
  end

  it("are used, rightly and wrongly", function()
    local up, ann = sign { ["do"] = "sign_up", name = "ada", password = PASSWORD }
    keep(up.token)
    ann:hello { name = "ann", token = up.token }
    ann:join "duel:1"
    keep(sign({ ["do"] = "link", device = DEVICE }, ann).token)
    keep(sign({ ["do"] = "sign_in", credentials = { ticket = TICKET } }).token)
    refused({ ["do"] = "sign_in", name = "ada", password = WRONG }, "Unauthorized")
    refused({ ["do"] = "sign_up", name = "a", password = PASSWORD }, "Protocol")
    refused({ ["do"] = "become", password = PASSWORD }, "Protocol")
    refused({ ["do"] = "sign_in", name = { PASSWORD }, password = { PASSWORD } }, "Unauthorized")
    refused({ ["do"] = "sign_in", device = DEVICE:rep(9) }, "Protocol")
    refused({ ["do"] = "sign_in", jwt = PASSWORD }, "Unauthorized")
    refused({ ["do"] = "sign_in", credentials = { fail = true, ticket = TICKET } }, "Internal")
    for _, text in ipairs {
      '{"do":"sign_in","name":"ada","password":"' .. PASSWORD, '"' .. PASSWORD .. '"', PASSWORD,
      '{"do":"sign_in","password":"' .. PASSWORD .. '\255"}', ("[%q,"):format(PASSWORD):rep(200),
    } do
      refused(text, "Protocol")
    end
    local eve = raw()
    eve:control("HELLO", packet.hello { name = "eve", token = up.token:sub(1, -2) })
    note(eve:expect_rejected("Unauthorized").text)
    local line = TextClient.connect(s.text_port)
    line:expect_line "* /login NAME, or anything else to go on as a guest"
    line:line "/login ada"
    line:line(PASSWORD)
    line:expect_line "* signed in as ada"
    local again = TextClient.connect(s.text_port)
    again:expect_line "* /login NAME, or anything else to go on as a guest"
    again:line "/login ada"
    again:line(WRONG)
    again:expect_line "! Unauthorized: the name or the password is wrong"
  end)

  it("are not what MCP shows", function()
    local port = tonumber((s:wait_out "^perigee: MCP on http://[^/]+:(%d+)/mcp$"))
    local mcp = McpClient.connect(port):initialize()
    local count = 0
    for _, tool in ipairs { "rooms", "peers", "stats", "logs", "errors" } do
      note(assert(mcp:call(tool, cjson.decode "{}")))
    end
    for _, resource in ipairs(mcp:ask("resources/list", cjson.decode "{}").result.resources) do
      note(mcp:ask("resources/read", { uri = resource.uri }))
      count = count + 1
    end
    assert.is_true(count > 2)
  end)

  it("are not what the control API shows", function()
    local port = tonumber((s:wait_out "^perigee: control API on http://[^/]+:(%d+)/api/$"))
    local api = ApiClient.connect(port)
    for _, path in ipairs { "rooms", "rooms/duel:1", "peers", "peers/1", "stats" } do
      note(api:done("GET", "/api/" .. path))
    end
  end)

  it("are nowhere in all that", function()
    s:crash()
    for _, line in ipairs(s.err) do note(line) end
    s = server.start { path = s.folder, flags = { log_level = "debug" } }
    s:wait_log "restored: 1 rooms"
    s:stop()
    for _, line in ipairs(s.err) do note(line) end
    assert.is_true(#texts > 40)
    for _, text in ipairs(texts) do
      for _, secret in ipairs(SECRETS) do
        assert.is_nil(text:find(secret, 1, true), "a secret is in " .. text)
      end
    end
  end)

  it("are masked in the output of a spec that fails", function()
    local folder = server.folder {
      ["game.lua"] = GAME,
      ["spec/leak_spec.lua"] = ([[
        local testing = require "perigee.testing"
        local how = { name = "ada", password = %q }
        local function enter() return testing.server():client { name = "ann", sign_up = how } end
        it("fails by an expectation", function()
          enter():expect_event("signed_in", { token = "x" }, 1)
        end)
        it("fails by an assertion", function()
          assert.same({}, { how, enter():expect_event "signed_in" })
        end)
        it("fails by an error", function()
          error(enter():expect_event "signed_in".found)
        end)
        it("fails by its trace", function()
          local server = testing.server()
          server:client { name = "ann", sign_up = how }
          error(server:trace())
        end)
      ]]):format(PASSWORD),
    }
    for _, output in ipairs { "plainTerminal", "TAP" } do
      local process = server.perigee({ "test", "--output", output }, { cwd = folder })
      assert.equal(1, process:wait_exit(30))
      local said = table.concat(process.out, "\n") .. table.concat(process.err, "\n")
      assert.truthy(said:find("***", 1, true), said)
      assert.is_nil(said:find(PASSWORD, 1, true), said)
      assert.is_nil(said:find "p1%.%w", said)
    end
  end)
end)
