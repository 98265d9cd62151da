-- Accounts in simulated servers, whose store is in memory.
local testing = require "perigee.testing"

local SOURCE = [[
  local game = { config = { accounts = true, account_token_days = 2 }, on_message = {} }
  function game.on_message.who(peer)
    local account = peer.account
    return { id = account and account.id, name = account and account.name, token = peer.token }
  end
  return game
]]

local HOUR = 3600

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

  it("are made at a limited rate from one address", function()
    local server = testing.server { source = [[
      local game = { config = { accounts = "required", accounts_insecure = true, accounts_per_minute = 3 } }
      function game.on_authenticate(credentials) return credentials end
      return game
    ]] }
    local function enters(address, how)
      local client, text, code = server:try_client {
        address = address, sign_in = how.sign_in, sign_up = how.sign_up,
      }
      return client ~= nil, text, code
    end
    local function device(n) return { sign_in = { device = ("d"):rep(20) .. n } } end
    -- Messages take time, so that the wait may be some seconds shorter than `most`.
    local function refused(address, how, most)
      local entered, text, code = enters(address, how)
      assert.same({ false, "RateLimited" }, { entered, code })
      local seconds = tonumber(text:match "^too many new accounts from this address; try again in (%d+) s$")
      assert.is_true(seconds <= most and seconds > most - 10, text)
    end
    local name = { sign_up = { name = "ada", password = "difference" } }

    assert.is_true(enters("192.0.2.1", device(1)))
    server:advance(10)
    assert.is_true(enters("192.0.2.1", name))
    assert.is_true(enters("192.0.2.1", device(2)))
    refused("192.0.2.1", device(3), 50)
    refused("192.0.2.1", { sign_up = { name = "bob", password = "difference" } }, 50)
    assert.is_true(enters("192.0.2.1", device(2))) -- this account exists
    assert.is_true(enters("192.0.2.1", { sign_in = name.sign_up }))
    assert.is_true(enters("192.0.2.1", { sign_in = { credentials = "c" } })) -- the game has judged it
    assert.is_true(enters("192.0.2.2", device(3)))
    for i = 1, 5 do assert.is_true(enters("127.0.0.1", device(10 + i))) end

    -- One subscriber has a network of IPv6.
    for i = 1, 3 do assert.is_true(enters("2001:db8:0:1::" .. i, device(20 + i))) end
    refused("2001:db8:0:1:ffff::9", device(24), 60)
    assert.is_true(enters("2001:db8:0:2::1", device(24)))

    server:advance(35)
    refused("192.0.2.1", device(4), 15)
    server:advance(15)
    for i = 4, 6 do assert.is_true(enters("192.0.2.1", device(i))) end
    refused("192.0.2.1", device(7), 60)
  end)

  it("get a new token when half of the old one's time is used", function()
    local server = testing.server { source = SOURCE }
    local first = server:client { name = "ann", sign_in = { device = ("d"):rep(20) } }
    local old = first:link({ name = "ada", password = "difference" }).token
    server:advance(23 * HOUR)
    local bob = server:client { name = "bob", token = old }
    assert.is_false((pcall(bob.expect_event, bob, "signed_in", nil, 1)))
    server:advance(2 * HOUR)
    local new = server:client({ name = "cem", token = old }):expect_event("signed_in").token
    assert.not_equal(old, new)
    server:advance(24 * HOUR)
    assert.error_matches(function() server:client { name = "dan", token = old } end, "sign in again")
    assert.equal("ada", server:client({ name = "eve", token = new }):ask("who").name)
  end)

  it("have at most 16 ways in", function()
    local server = testing.server { source = SOURCE }
    local ann = server:client { name = "ann", sign_in = { device = ("d"):rep(20) } }
    for i = 2, 16 do assert(ann:link { device = ("d"):rep(20) .. i }) end
    assert.same({ nil, "an account has at most 16 ways to sign in", "Rejected" },
      { ann:link { device = ("d"):rep(20) .. "17" } })
    assert(ann:link { device = ("d"):rep(20) .. "16" }) -- it is linked already
  end)
end)
