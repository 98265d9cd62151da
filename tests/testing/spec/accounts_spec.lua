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

  it("sign text peers in", function()
    local server = testing.server { source = SOURCE }
    server:client { name = "ann", sign_up = { name = "ada", password = "difference" } }
    local how = { name = "ada", password = "difference" }
    local text = server:client { text = true, name = "teo", sign_in = how }
    text:expect_line "* signed in as ada"
    assert.equal("ada", server:peer(text).account.name)
    local guest = server:client { text = true, name = "gil" }
    assert.is_nil(server:peer(guest).account)
    local nobody, message, code =
      server:try_client { text = true, sign_in = { name = "ada", password = "indifference" } }
    assert.same({ nil, "the name or the password is wrong", "Unauthorized" }, { nobody, message, code })
    assert.is_nil(server:trace():find("difference", 1, true))
  end)

  it("are not for text peers of other machines without TLS", function()
    local server = testing.server { source = SOURCE }
    local nobody, _, code = server:try_client {
      text = true, address = "192.0.2.1", sign_in = { name = "ada", password = "difference" },
    }
    assert.same({ nil, "Unauthorized" }, { nobody, code })
  end)
end)
