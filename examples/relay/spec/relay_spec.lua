local testing = require "perigee.testing"

describe("the relay", function()
  it("gives what one sends to all others at the table", function()
    local server = testing.server()
    local ann, bob, cid = server:clients(3)
    local hers = ann:join "table:1"
    bob:join "table:1"
    cid:join "table:2"
    hers:broadcast "three of spades"
    bob:expect_broadcast "three of spades"
    assert.same({ [ann.id] = "ann" }, bob:room("table:1").members)
    cid:clear()
    assert.is_nil(cid:recv(1))
  end)

  it("has eight seats at a table", function()
    local server = testing.server()
    for _, client in ipairs { server:clients(8) } do client:join "table:1" end
    local _, _, code = server:client("late"):try_join "table:1"
    assert.equal("RoomFull", code)
  end)

  it("keeps an empty table for a minute", function()
    local server = testing.server()
    local table_1 = server:client("ann"):join "table:1"
    table_1:leave()
    server:advance(59)
    assert.is_not_nil(server:room "table:1")
    server:advance(2)
    assert.is_nil(server:room "table:1")
  end)
end)
