local testing = require "perigee.testing"

describe("the IDE", function()
  it("lets one plugin at a time serve its channel", function()
    local server = testing.server()
    local plugin, other = server:client "plugin", server:client "other"
    local channel = assert(plugin:channel "ide")
    assert.equal(1000, channel.id)
    local none, _, code = other:channel "ide"
    assert.is_nil(none)
    assert.equal("ChannelTaken", code)
  end)

  it("lets nobody from elsewhere serve it", function()
    local server = testing.server()
    local stranger = server:client { name = "stranger", address = "192.0.2.1" }
    local none, message, code = stranger:channel "ide"
    assert.is_nil(none)
    assert.equal("only the channel ide is served, from the server's own machine", message)
    assert.equal("Rejected", code)
  end)
end)
