-- Traces of simulated servers have neither passwords nor tokens.
local testing = require "perigee.testing"

local GAME = [[
local game = { config = { accounts = true }, on_message = {} }
function game.on_authenticate(credentials) return credentials.ticket end
function game.on_message.token(peer) return peer.token end
return game
]]

describe("a trace", function()
  it("masks passwords, devices, credentials and tokens", function()
    local server = testing.server { source = GAME }
    local ann = server:client { name = "ann", sign_up = { name = "ada", password = "open sesame" } }
    ann:link { device = "device of ann 0123456789" }
    server:client { name = "bob", sign_in = { credentials = { ticket = "golden ticket" } } }
    local cid = server:client { name = "cid", token = "own token of cid" }
    assert.equal("own token of cid", cid:ask "token")
    local wrong = { name = "ada", password = "wrong one" }
    local none, message = server:try_client { name = "dan", sign_in = wrong }
    assert.is_nil(none)
    local _, signed_in = pcall(ann.expect_event, ann, "signed_in")
    assert.is_string(signed_in.token)
    local trace = server:trace()
    for _, secret in ipairs { "open sesame", "0123456789", "golden ticket", "own token", "wrong one",
      signed_in.token, signed_in.token:sub(-40) } do
      assert.is_nil(trace:find(secret, 1, true), secret)
      assert.is_nil(message:find(secret, 1, true))
    end
    assert.truthy(trace:find('"name":"ada"', 1, true))
    assert.truthy(trace:find("***", 1, true))
  end)
end)
