-- Faults, tools of plugins, broadcasts to everybody and bans, in simulated servers.
local testing = require "perigee.testing"

local SOURCE = [[
  local perigee = require "perigee"
  local banned = {}
  local game = { on_message = {}, channels = { ide = true }, config = { client_broadcast = true } }
  function game.on_accept(address) return not banned[address] end
  function game.on_message.ban(peer, address) banned[address] = true end
  function game.on_message.buy(peer, price) error(perigee.fault("Poor", { missing = price })) end
  function game.on_message.port(peer) return peer.port end
  game.rooms = { club = { auto_create = true, auto_delete = 60,
    on_join = function() error(perigee.fault("Members", { fee = 5 })) end } }
  return game
]]

describe("a simulated server", function()
  local server, ann

  before_each(function()
    server = testing.server { source = SOURCE }
    ann = server:client "ann"
  end)

  it("answers with faults, which are no errors", function()
    local answer, message, code, value = ann:ask("buy", 5)
    assert.is_nil(answer)
    assert.same({ 'Poor: {"missing":5}', "Poor", { missing = 5 } }, { message, code, value })
    local room
    room, message, code, value = ann:try_join "club:1"
    assert.is_nil(room)
    assert.same({ 'Members: {"fee":5}', "Members", { fee = 5 } }, { message, code, value })
    ann:send("buy", 6)
    local event = ann:expect_event("error", { code = "Poor" })
    assert.same({ missing = 6 }, event.value)
    local tom = server:client { name = "tom", text = true }
    local _, text, text_code = tom:try_join "club:1"
    assert.same({ '{"fee":5}', "Members" }, { text, text_code })
  end)

  it("asks on_accept, and knows ports", function()
    assert.is_true(ann:ask "port" >= 49152)
    ann:ask("ban", "10.1.2.3", 0.1)
    local _, _, code = server:try_client { name = "bob", address = "10.1.2.3" }
    assert.matches("^Connection", code) -- reset or closed, depending on the network
    assert.is_true(server:client({ name = "bob", address = "10.1.2.4" }).connected)
  end)

  it("relays to everybody", function()
    local bob = server:client "bob"
    ann:broadcast "hello"
    local _, event = bob:expect_broadcast "hello"
    assert.equal(ann.id, event.sender)
  end)
end)
