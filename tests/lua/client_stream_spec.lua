--- The reliable packets of perigee.client: what is kept, what an acknowledgement lets go.
local streams = require "perigee.client.stream"

describe("the stream of reliable packets", function()
  it("keeps packets until they are acknowledged", function()
    local stream = streams.new()
    for _, data in ipairs { "a", "b", "c", "d" } do assert.is_true(stream:keep(data)) end
    assert.equal("abcd", stream:unacknowledged())
    assert.is_true(stream:acknowledge(3))
    assert.same({ 1, "d" }, { stream.waiting, stream:unacknowledged() })
    assert.is_true(stream:acknowledge(3))
    assert.is_true(stream:acknowledge(4))
    assert.same({ 0, "" }, { stream.waiting, stream:unacknowledged() })
  end)

  it("refuses counts that cannot be", function()
    local stream = streams.new()
    for _ = 1, 5 do stream:keep "x" end
    stream:acknowledge(2)
    for _, count in ipairs { 0, 1, 6, 2 ^ 31, 2 ^ 32 - 1 } do
      assert.is_false(stream:acknowledge(count), count)
    end
    assert.equal(3, stream.waiting)
  end)

  it("has a limit of packets and one of bytes", function()
    local stream = streams.new()
    for _ = 1, 1024 do assert.is_true(stream:keep "x") end
    assert.same({ nil, "1024 packets wait for the server", "QueueFull" }, { stream:keep "x" })
    stream:acknowledge(1)
    assert.is_true(stream:keep "x")
    stream = streams.new()
    assert.is_true(stream:keep(("x"):rep(9 * 1024 * 1024)))
    assert.is_nil((stream:keep "x"))
  end)

  it("counts round", function()
    local stream = streams.new()
    stream._acked, stream.received, stream._told = 2 ^ 32 - 2, 2 ^ 32 - 1, 2 ^ 32 - 1
    for _, data in ipairs { "a", "b", "c", "d" } do stream:keep(data) end
    assert.is_true(stream:acknowledge(1))
    assert.equal("d", stream:unacknowledged())
    stream:receive()
    assert.same({ 0, 1 }, { stream.received, stream:untold() })
    assert.equal(0, stream:tell())
    assert.equal(0, stream:untold())
  end)

  it("says when much has come", function()
    local stream = streams.new()
    for _ = 1, 63 do stream:receive() end
    assert.is_false(stream:is_due())
    stream:receive()
    assert.is_true(stream:is_due())
  end)
end)
