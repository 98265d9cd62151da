--- Tests `on_accept`, which decides about a connection before the server reads from it, and `peer.port`.
local Client = require "tests.e2e.client"
local server = require "tests.e2e.server"
local udp_client = require "tests.e2e.udp_client"

local GAME = [[
  local perigee = require "perigee"
  local seen, banned = 0, false
  local game = { on_message = {} }
  function game.on_accept(address, port)
    seen = seen + 1
    assert(address == "127.0.0.1" and port >= 1024, port)
    if banned == "fault" then error(perigee.fault "Banned") end
    if banned == "fails" then error "on purpose" end
    if banned == "waits" then perigee.sleep(0.1) end
    if banned == "five" then return 5 end
    while banned == "loops" do end
    if banned == "news" then perigee.send(perigee.to.all, "refused", port) end
    return not banned, "banned"
  end
  function game.on_message.ban(peer, how) banned = how end
  function game.on_message.seen() return seen end
  function game.on_message.port(peer) return peer.port end
  return game
]]

-- Returns what a new connection gets: the end without a byte, or WELCOME.
local function try(perigee, o)
  local client = Client.connect(perigee.port, o)
  client:control("HELLO", require("tests.e2e.packet").hello { name = "bob" })
  return client
end

local function expect_refused(perigee, o)
  local client = try(perigee, o)
  local event = client:expect_next(function(found) return found.name == "END" end)
  assert.equal("END", event.name)
end

for _, threads in ipairs { 0, 2 } do
  describe(("on_accept, with %d io threads,"):format(threads), function()
    after_each(server.stop_all)

    local function start(o)
      o = o or {}
      o.game, o.flags = o.game or GAME, o.flags or {}
      o.flags.io_threads = threads
      return server.start(o)
    end

    it("refuses a connection without a byte", function()
      local perigee = start()
      local ann = perigee:client "ann"
      assert.equal(1, ann:question(0, "seen"))
      ann:question(0, "ban", true)
      expect_refused(perigee)
      assert.equal(2, ann:question(0, "seen"))
      ann:question(0, "ban", false)
      try(perigee):expect "WELCOME"
      assert.equal(3, ann:question(0, "seen"))
    end)

    it("that fails, waits, raises a fault or returns nonsense refuses", function()
      local perigee = start()
      local ann = perigee:client "ann"
      for how, text in pairs { fails = "on_accept failed: .*on purpose", waits = "cannot wait in on_accept",
        five = "on_accept returned 5" } do
        ann:question(0, "ban", how)
        expect_refused(perigee)
        perigee:wait_log(function(line) return line.level == "error" and line.message:find(text) end)
      end
      local errors = perigee:count_log(function(line) return line.level == "error" end)
      ann:question(0, "ban", "fault")
      expect_refused(perigee)
      ann:question(0, "ban", "news")
      expect_refused(perigee)
      ann:expect("MESSAGE", { message = "refused" })
      assert.equal(errors, perigee:count_log(function(line) return line.level == "error" end))
      ann:question(0, "ban", false)
      try(perigee):expect "WELCOME"
    end)

    it("that loops for ever does not hold the others for long", function()
      local perigee = start()
      local ann = perigee:client "ann"
      ann:question(0, "ban", "loops")
      local clients = {}
      for i = 1, 20 do clients[i] = Client.connect(perigee.port) end
      local seen = ann:question(0, "seen")
      assert.is_true(seen < 20, seen)
      for _, client in ipairs(clients) do client:expect "END" end
      assert.equal(21, ann:question(0, "seen"))
    end)

    it("runs for a client by UDP alone, but not for one that attaches", function()
      local perigee = start()
      local ann = udp_client.alone(perigee, "ann")
      assert.equal(1, ann:question(0, "seen"))
      assert.is_true(ann:question(0, "port") >= 1024)
      ann:question(0, "ban", true)
      expect_refused(perigee)
      assert.equal(2, ann:question(0, "seen"))
    end)

    it("is not asked about those who are there when a reload brings it", function()
      local perigee = start { game = "return {}" }
      local ann = perigee:client "ann"
      perigee:save("game.lua", "return { on_accept = function() return false end }")
      perigee:kill "sighup"
      perigee:wait_log "reloaded"
      ann:fence()
      expect_refused(perigee)
    end)
  end)
end

describe("the port of a peer", function()
  after_each(server.stop_all)

  it("is that of its connection, and in the log", function()
    local perigee = server.start { game = GAME }
    local ann = perigee:client "ann"
    local port = ann:question(0, "port")
    assert.equal(ann.tcp:getsockname().port, port)
    local line = perigee:wait_log '"connected"'
    assert.same({ "127.0.0.1", port }, { line.address, line.port })
    ann:close()
    assert.equal(port, perigee:wait_log('"disconnected"').port)
  end)
end)
