--- BROADCAST: every other member gets the sender's bytes unchanged.
local bit = require "bit"
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

describe("a broadcast", function()
  local perigee, ann, bob, cid, room

  before_each(function()
    perigee = server.start()
    ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    room = ann:join "lobby"
    bob:join "lobby"
    cid:join "lobby"
    ann:expect_many(2, "PEER_JOINED")
    bob:expect "PEER_JOINED"
  end)

  after_each(server.stop_all)

  it("reaches every other member and not its sender", function()
    ann:broadcast(room, "hello"):expect_quiet()
    for _, client in ipairs { bob, cid } do
      local event = client:expect_next "BROADCAST"
      assert.same({ room, ann.id, "hello" }, { event.room, event.sender, event.data })
      client:expect_quiet()
    end
  end)

  it("is on the wire as the page has it, to the byte", function()
    ann:broadcast(room, "\0\255abc")
    local payload = packet.u32(room) .. packet.u32(ann.id) .. "\0\255abc"
    local raw = "\0\0\132\0\2\0\0\0" .. packet.u32(#payload) .. payload
    assert.equal(raw, bob:expect_next("BROADCAST").raw)
  end)

  it("carries its bytes as they are, none or many, whatever they are", function()
    local all = {}
    for i = 0, 255 do
      all[i + 1] = string.char(i)
    end
    local bodies = { "", "x", table.concat(all), ("long "):rep(13000) }
    for _, body in ipairs(bodies) do
      ann:broadcast(room, body)
    end
    for _, body in ipairs(bodies) do
      assert.equal(body, bob:expect_next("BROADCAST").data)
    end
  end)

  it("carries priority and RELIABLE, and neither ref nor REQUEST", function()
    for priority = 0, 3 do
      for _, flags in ipairs { 0, packet.RELIABLE, packet.REQUEST, 3 } do
        local ref = bit.band(flags, packet.REQUEST) ~= 0 and 12 or 0
        ann:broadcast(room, "x", { priority = priority, flags = flags, ref = ref })
        local event = bob:expect_next "BROADCAST"
        assert.equal(priority, event.priority)
        assert.equal(bit.band(flags, packet.RELIABLE), event.flags)
        assert.equal(0, event.ref)
      end
    end
    ann:expect_quiet()
  end)

  it("stays in order within a priority", function()
    for i = 1, 3000 do
      ann:broadcast(room, tostring(i), { priority = i % 4 })
    end
    for _, client in ipairs { bob, cid } do
      local last = { [0] = 0, 0, 0, 0 }
      for _, event in ipairs(client:expect_many(3000, "BROADCAST")) do
        local number = tonumber(event.data)
        assert.equal(number % 4, event.priority)
        assert.is_true(number > last[event.priority])
        last[event.priority] = number
      end
    end
  end)

  it("from several senders comes to all in one order, and to none what it sent", function()
    local dan = perigee:client "dan"
    dan:join "lobby"
    local senders = { a = ann, b = bob }
    for i = 1, 500 do
      for key, client in pairs(senders) do
        client:broadcast(room, key .. i)
      end
    end
    local orders = {}
    for key, client in pairs { a = ann, b = bob, c = cid, d = dan } do
      local next_of, order = { a = 1, b = 1 }, {}
      for _, event in ipairs(client:expect_many(senders[key] and 500 or 1000, "BROADCAST")) do
        local from, number = event.data:match "(%a)(%d+)"
        assert.not_equal(key, from)
        assert.equal(senders[from].id, event.sender)
        assert.equal(next_of[from], tonumber(number))
        next_of[from] = next_of[from] + 1
        order[#order + 1] = event.data
      end
      orders[key] = table.concat(order, " ")
    end
    assert.equal(orders.c, orders.d)
    for _, client in ipairs { ann, bob, cid } do
      client:expect("PEER_JOINED", { peer = dan.id })
      client:expect_quiet()
    end
  end)

  it("for a room that one is not in is refused, and nobody gets it", function()
    local dan = perigee:client "dan"
    dan:broadcast(room, "psst", { flags = packet.REQUEST, ref = 5 })
    dan:expect_error("NotInRoom", 5)
    dan:broadcast(room, "psst")
    dan:expect_error "NotInRoom"
    ann:leave(room)
    bob:expect "PEER_LEFT"
    cid:expect "PEER_LEFT"
    ann:broadcast(room, "late", { flags = packet.REQUEST, ref = 6 })
    ann:expect_error("NotInRoom", 6)
    bob:expect_quiet()
    cid:expect_quiet()
  end)

  it("for a room that is not there is refused", function()
    for i, id in ipairs { room + 1, 0x7FFFFFFF, 0xFFFFFFFF } do
      ann:broadcast(id, "x", { flags = packet.REQUEST, ref = i })
      ann:expect_error("NoSuchRoom", i)
    end
    bob:expect_quiet()
  end)

  it("to an empty room goes nowhere", function()
    bob:leave(room)
    cid:leave(room)
    ann:broadcast(room, "anyone?")
    ann:expect_many(2, "PEER_LEFT")
    ann:expect_quiet()
  end)

  it("comes after the PEER_JOINED of its sender, and a newcomer gets none from before", function()
    for i = 1, 20 do
      local dan = perigee:client("dan" .. i)
      ann:broadcast(room, "before")
      ann:fence()
      dan:join "lobby"
      dan:broadcast(room, "from dan")
      bob:expect_next("BROADCAST", { data = "before" })
      bob:expect_next("PEER_JOINED", { peer = dan.id })
      bob:expect_next("BROADCAST", { sender = dan.id })
      dan:expect_quiet()
      dan:leave(room)
      bob:expect_next("PEER_LEFT", { peer = dan.id })
      dan:close()
    end
  end)
end)

describe("a frame", function()
  after_each(server.stop_all)

  -- One flush a second: a packet after a flush waits for the next one.
  local perigee, ann, bob, room

  before_each(function()
    perigee = server.start { flags = { batch_hz = 1 } }
    ann, bob = perigee:client "ann", perigee:client "bob"
    room = ann:join "lobby"
    bob:join "lobby"
    ann:broadcast(room, "first"):fence()
    bob:expect("BROADCAST", { data = "first" })
  end)

  it("is not waited for by what is critical, and what is high goes first in it", function()
    for i, priority in ipairs { 3, 2, 1, 0 } do
      ann:broadcast(room, tostring(i), { priority = priority })
    end
    for i = 4, 1, -1 do
      bob:expect_next("BROADCAST", { data = tostring(i) })
    end
  end)

  it("is not waited for by answers", function()
    local uv = require "luv"
    local before = uv.hrtime()
    for _ = 1, 30 do
      bob:leave(room)
      bob:join "lobby"
      bob:list_rooms()
    end
    -- Ninety answers are in one message; otherwise there would be ninety messages.
    assert.is_true((uv.hrtime() - before) / 1e9 < 30)
  end)
end)

describe("broadcasts without batching", function()
  after_each(server.stop_all)

  it("arrive too", function()
    local perigee = server.start { flags = { batch_hz = 0 } }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    for i = 1, 1000 do
      ann:broadcast(room, tostring(i), { priority = 1 + i % 3 })
    end
    bob:expect_many(1000, "BROADCAST")
    bob:expect_quiet()
  end)
end)
