local testing = require "perigee.testing"

local PAINT, MAP = 1, 2

describe("the editor", function()
  local server, ann, bob, channel

  before_each(function()
    server = testing.server()
    ann, bob = unpack { server:clients(2) }
    channel = ann:ask("editor")
  end)

  it("paints, and the others see it", function()
    assert.equal("painted", ann:ask_packet(channel, PAINT, "\2\0#"))
    bob:expect_event("packet", { channel = channel, number = PAINT, payload = "\2\0#" })
    assert.equal("..#.", bob:ask_packet(channel, MAP):sub(1, 4))
  end)

  it("refuses what is outside of the map", function()
    assert.equal("refused", ann:ask_packet(channel, PAINT, "\16\0#"))
    assert.equal("refused", ann:ask_packet(channel, PAINT, "\1"))
    assert.equal(("."):rep(128), ann:ask_packet(channel, MAP))
  end)

  it("keeps the map and its number over a reload", function()
    ann:ask_packet(channel, PAINT, "\0\0#")
    assert(server:reload())
    assert.equal(channel, bob:ask("editor"))
    assert.equal("#...", bob:ask_packet(channel, MAP):sub(1, 4))
  end)
end)
