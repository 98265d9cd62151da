-- Accounts in simulated servers, whose store is in memory.
local testing = require "perigee.testing"

local SOURCE = [[
  local game = { config = { accounts = true }, on_message = {} }
  function game.on_message.who(peer)
    local account = peer.account
    return { id = account and account.id, name = account and account.name, token = peer.token }
  end
  return game
]]

describe("accounts", function()
  it("work in simulated servers", function()
    local server = testing.server { source = SOURCE }
    local guest = server:client { name = "ann", sign_in = { device = ("d"):rep(20) } }
    local who = guest:ask "who"
    assert.equal("", who.token)
    guest:link { name = "ada", password = "difference" }
    local again = server:client { name = "bob", sign_in = { name = "ADA", password = "difference" } }
    assert.equal(who.id, again:ask("who").id)
    assert.equal("ada", again:ask("who").name)
    assert.is_nil(server:client("eve"):ask("who").id)
  end)
end)
