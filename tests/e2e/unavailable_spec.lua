--- Clients of each kind connect again by themselves after an on_connect that refuses with `retry`.
local client = require "perigee.client"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"
local TextClient = require "tests.e2e.text_client"
local web_socket = require "tests.e2e.web_socket"

-- Accepts a name after one refusal.
local GAME = [[
  local perigee = require "perigee"
  local game = {}
  local asked = {}
  function game.on_start() perigee.rooms.create "lobby" end
  function game.on_connect(peer)
    if peer.name == "never" or peer.transport == "text" then return false, "not today", { retry = 300 } end
    if not asked[peer.name] then
      asked[peer.name] = true
      return false, "the map is not there yet", { retry = 0 }
    end
  end
  return game
]]

describe("a client that gets Unavailable", function()
  after_each(server.stop_all)

  it("hears when, in packets and in lines", function()
    local perigee = server.start { game = GAME, text = true }
    local ann = perigee:raw()
    ann:control("HELLO", packet.hello { name = "never" })
    local event = ann:expect_rejected "Unavailable"
    assert.same({ "not today", 300 }, { event.text, event.retry })
    TextClient.connect(perigee.text_port):expect_line "! Unavailable: not today; try again in 300 s"
    local page = web_socket.client(perigee.port)
    page:control("HELLO", packet.hello { name = "never" })
    assert.equal(300, page:expect_rejected("Unavailable").retry)
    assert.equal(1013, page.close_frame.code)
  end)

  it("comes later by itself", function()
    local perigee = server.start { game = GAME }
    local attempts = {}
    local c = assert(client.connect("127.0.0.1:" .. perigee.port, {
      name = "ann", reconnect = { first = 0.01 },
      on = { reconnecting = function(event) attempts[#attempts + 1] = event.attempt end },
    }))
    assert.same({ 1, true }, { attempts[1], c.connected })
    c:close()
  end)

  for name, arguments in pairs { ["TCP"] = {}, ["UDP"] = { "--udp", "alone" } } do
    it("is also `perigee connect` by " .. name .. ", which says so", function()
      local perigee = server.start { game = GAME }
      local process = server.perigee({ "connect", "127.0.0.1:" .. perigee.port, "--room", "lobby",
        unpack(arguments) }, { stdin = true })
      process:wait_out "(joined lobby)"
      process.stdin:shutdown()
      assert.equal(0, process:wait_exit())
      assert.truthy(process.err[1]:find "^the server is not available yet; trying again in %d")
    end)
  end
end)
