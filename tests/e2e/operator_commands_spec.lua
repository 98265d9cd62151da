--- perigee status, rooms, peers, kick and stop; and the lines of curl in docs/operating.md.
local ApiClient = require "tests.e2e.api_client"
local pages = require "tests.pages"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local function perigee_does(...)
  local command = server.perigee { ... }
  return command:wait_exit(), table.concat(command.out, "\n"), table.concat(command.err, "\n")
end

local QUEUE = [[
  require("perigee").matchmaker("ranked", { room = "duel", players = 2 })
  return { rooms = { duel = {} } }
]]

describe("a command for operators", function()
  local perigee, port

  before_each(function()
    perigee = server.start()
    port = tostring(perigee.port)
  end)
  after_each(server.stop_all)

  it("shows figures, rooms and peers", function()
    perigee:client("ann"):join "lobby"
    local code, out = perigee_does("status", "--port", port)
    assert.equal(0, code)
    assert.matches("\nport +" .. port .. "\n", out)
    assert.matches("\npeers +1\n", out)
    code, out = perigee_does("rooms", "--port=" .. port)
    assert.equal(0, code)
    assert.matches("^ID +MEMBERS +NAME\n%d+ +1 +lobby$", out)
    code, out = perigee_does("peers", "--port", port)
    assert.equal(0, code)
    assert.matches("^ID .- NAME\n%d+ +tcp .- 127%.0%.0%.1 +ann$", out)
  end)

  it("shows the queues of a game", function()
    local code, out = perigee_does("queues", "--port", port)
    assert.equal(0, code)
    assert.equal("TICKETS  PLAYERS  MATCHES  WAIT  NAME", out)
    local other = server.start { game = QUEUE }
    local ann = other:client "ann"
    ann:ask(0, "matchmaker.enter", { queue = "ranked" })
    wait.for_true(function()
      code, out = perigee_does("queues", "--port", tostring(other.port))
      return out:find "\n1 +1 +0 +%- +ranked$"
    end)
    assert.equal(0, code)
  end)

  it("kicks a peer with a reason", function()
    local ann = perigee:client "ann"
    local _, out = perigee_does("peers", "--port", port)
    local id = out:match "\n(%d+)"
    local code, _, err = perigee_does("kick", id, ("x"):rep(130), "--port", port)
    assert.equal(1, code)
    assert.equal("perigee: reason has at most 127 bytes", err)
    assert.equal(0, (perigee_does("kick", id, "50% & \226\152\131\n", "--port", port)))
    assert.equal("50% & \226\152\131\n", ann:expect("CLOSING").text)
    code, _, err = perigee_does("kick", id, "--port", port)
    assert.equal(1, code)
    assert.equal("perigee: there is no peer " .. id, err)
  end)

  it("kicks a peer by its name, where no other has it", function()
    local ann, bob = perigee:client "a/b?n&m%", perigee:client "bob"
    assert.equal(0, (perigee_does("kick", "a/b?n&m%", "away", "--port", port)))
    assert.equal("away", ann:expect("CLOSING").text)
    local other = perigee:client "bob"
    local code, _, err = perigee_does("kick", "bob", "--port", port)
    assert.equal(1, code)
    assert.equal("perigee: 2 peers are called bob; name one by its id", err)
    other:close()
    bob:close()
    code, _, err = perigee_does("kick", "nobody", "--port", port)
    assert.equal(1, code)
    assert.equal("perigee: there is no peer nobody", err)
  end)

  it("stops the server with a reason", function()
    local code, out = perigee_does("stop", "an update", "--port", port)
    assert.equal(0, code)
    assert.equal("perigee: the server has stopped", out)
    perigee:check_end()
    assert.equal("an update", perigee:wait_log("stopping").reason)
  end)

  it("says what is wrong", function()
    for _, command in ipairs { "status", "rooms", "peers", "stop" } do
      local code, _, err = perigee_does(command, "--port", "1")
      assert.equal(1, code)
      assert.matches("^perigee: no server of yours is running on port 1; ", err)
      assert.equal(2, (perigee_does(command, "--prot", "1")))
      assert.equal(2, (perigee_does(command, "--port", "x")))
      assert.equal(2, (perigee_does(command, "--port")))
      assert.equal(0, (perigee_does(command, "--help")))
    end
    assert.equal(2, (perigee_does("kick", "", "--port", port)))
    assert.equal(2, (perigee_does("stop", "--port", "1", "--timeout", "-1")))
    assert.equal(2, (perigee_does("stop", "--port", "1", "--timeout")))
    assert.equal(2, (perigee_does("status", "--port", "1", "--timeout", "1")))
    assert.equal(2, (perigee_does "kick"))
    assert.equal(2, (perigee_does("kick", "1", "a", "b")))
  end)

  it("goes through all pages", function()
    local other = server.start { flags = { admin = false },
      game = "return { on_start = function() for i = 1, 1003 do "
        .. "require('perigee').rooms.create('room:' .. i) end end }" }
    local code, out = perigee_does("rooms", "--port", tostring(other.port))
    assert.equal(0, code)
    local count = select(2, out:gsub("\n", "\n"))
    assert.equal(1003, count)
  end)
end)

describe("docs/operating.md", function()
  after_each(server.stop_all)

  it("has lines of curl that work", function()
    local token = "a token of the tests"
    local perigee, port = ApiClient.serve { env = { PERIGEE_ADMIN_TOKEN = token } }
    local ann = perigee:client "ann"
    local api = ApiClient.connect(port)
    api.token = token
    local id = api:done("GET", "/api/peers").peers[1].id
    local section = pages.read("docs/operating.md"):match "\n## The control API\n(.-)\n## "
    section = section:gsub(" \\\n +", " ") -- joins lines that are continued
    local count = 0
    for line in section:gmatch "\n    (curl [^\n]+)" do
      line = line:gsub("127%.0%.0%.1:7778", "127.0.0.1:" .. port):gsub("$PEER", tostring(id))
      if not line:find("$AUTH", 1, true) then line = line:gsub("^curl", 'curl -H "$AUTH"') end
      local answer = server.spawn("/bin/sh", { "-c",
        ('AUTH="Authorization: Bearer %s"; JSON="Content-Type: application/json"\n'
          .. "API=http://127.0.0.1:%d/api\n%s")
          :format(token, port, line:gsub("^curl", "curl -s -S -w '\\nstatus %%{http_code}\\n'")) })
      assert.equal(0, answer:wait_exit())
      local status = table.concat(answer.out, "\n"):match "status (%d+)"
      local expected = line:find "/reload" and "409" or "20[01]"
      assert.matches("^" .. expected .. "$", status, line)
      count = count + 1
    end
    assert.equal(12, count)
    ann:expect("CLOSING")
    perigee:check_end()
  end)
end)
