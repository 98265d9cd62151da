--- BROADCAST with room 0 goes to all clients if the game has client_broadcast. Also packets of the script on
--- channels that no client serves.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local ALLOWED = "return { config = { client_broadcast = true } }"

describe("a broadcast to everybody", function()
  after_each(server.stop_all)

  it("is refused unless the game allows it", function()
    local perigee = server.start { game = "return {}" }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    ann:broadcast(0, "hello")
    local refusal = ann:expect_error "Unauthorized"
    assert.equal("the server has client_broadcast = false: clients broadcast in rooms", refusal.text)
    ann:expect_error("Unauthorized", ann:request("BROADCAST", packet.u32(0) .. "hello"))
    bob:expect_quiet()
  end)

  it("reaches all others, in a room or not, by packets or lines", function()
    local perigee = server.start { game = ALLOWED, text = true }
    local ann, bob, tom = perigee:client "ann", perigee:client "bob", perigee:text "tom"
    ann:broadcast(0, "hello")
    local heard = bob:expect("BROADCAST", { room = 0, sender = ann.id, data = "hello" })
    assert.equal(2, heard.priority)
    tom:expect_match "^[^:]+: hello$"
    ann:expect_quiet()
    ann:control("BROADCAST", packet.u32(0) .. "again", { flags = packet.RELIABLE, priority = 3 })
    assert.equal(packet.RELIABLE, bob:expect("BROADCAST", { data = "again" }).flags)
  end)

  it("is a setting that the environment overrides", function()
    local perigee = server.start { game = ALLOWED, env = { PERIGEE_CLIENT_BROADCAST = "false" } }
    local ann = perigee:client "ann"
    ann:broadcast(0, "hello")
    ann:expect_error "Unauthorized"
  end)
end)

describe("a packet of the script", function()
  after_each(server.stop_all)

  it("on a channel that nobody serves gets ChannelNotFound", function()
    local perigee = server.start { game = [[
      local perigee = require "perigee"
      perigee.channel { name = "physics", id = 300 }
      return { channels = { ide = true }, on_message = {
        try = function(peer, channel)
          local ok, message, code = peer:send_packet(channel, 1, "x")
          return { ok = ok or false, message = message, code = code }
        end,
        opens = function(peer)
          local own = perigee.channel "own"
          return { sent = peer:send_packet(own.id, 1, "first") == true, id = own.id }
        end,
        closes = function() return perigee.channel { name = "physics", id = 300 }:close() end,
      } }
    ]] }
    local ann = perigee:client "ann"
    local NOBODY = { ok = false, message = "nobody serves this channel", code = "ChannelNotFound" }
    assert.same(NOBODY, ann:question(0, "try", 1000))
    assert.same({ ok = true }, ann:question(0, "try", 4000)) -- the number of a channel of the game
    assert.same({ ok = true }, ann:question(0, "try", 300))
    assert.is_true(ann:question(0, "closes"))
    assert.same(NOBODY, ann:question(0, "try", 300))
    local opened = ann:question(0, "opens")
    assert.is_true(opened.sent)
    ann:expect("PACKET", { channel = opened.id, payload = "first" })
    local plugin = perigee:client "plugin"
    local channel = plugin:expect_answer("CHANNEL_OPENED",
      plugin:request("CHANNEL_OPEN", packet.str8 "ide")).opened
    assert.same({ ok = true }, ann:question(0, "try", channel))
    plugin:control("CHANNEL_CLOSE", packet.u16(channel))
    plugin:fence()
    assert.same(NOBODY, ann:question(0, "try", channel))
  end)
end)
