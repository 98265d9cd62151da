--- Rooms for clients: joining, leaving, listing, and errors.
local packet = require "tests.e2e.packet"
local server = require "tests.e2e.server"

local LOBBY_AND_DEN = [[
  local perigee = require "perigee"
  return {
    on_start = function()
      perigee.rooms.create "lobby"
      perigee.rooms.create "den"
    end,
  }
]]

-- Returns the names of a list of members or rooms, in alphabetical order.
local function names(list)
  local found = {}
  for i, item in ipairs(list) do
    found[i] = item.name
  end
  table.sort(found)
  return table.concat(found, " ")
end

describe("joining a room", function()
  after_each(server.stop_all)

  it("works in the lobby of a server without a script", function()
    local ann = server.start():client()
    ann:control("JOIN", packet.str8 "lobby")
    local joined = ann:expect_next "JOINED"
    assert.equal("lobby", joined.room_name)
    assert.equal(ann.id, joined.peer)
    assert.same({}, joined.members)
    assert.equal(0, joined.flags)
    assert.equal(0, joined.ref)
    assert.is_true(joined.room > 0)
  end)

  it("answers a request with its ref", function()
    local ann = server.start():client()
    ann:control("JOIN", packet.str8 "lobby", { flags = packet.REQUEST, ref = 65535 })
    local joined = ann:expect_next "JOINED"
    assert.equal(packet.RESPONSE, joined.flags)
    assert.equal(65535, joined.ref)
  end)

  it("tells who is there, and tells them who came", function()
    local perigee = server.start()
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local room = ann:join "lobby"
    local _, joined = bob:join "lobby"
    assert.same({ { id = ann.id, name = "ann" } }, joined.members)
    assert.equal(room, joined.room)
    _, joined = cid:join "lobby"
    assert.equal("ann bob", names(joined.members))
    ann:expect_next("PEER_JOINED", { room = room, peer = bob.id, peer_name = "bob" })
    ann:expect_next("PEER_JOINED", { room = room, peer = cid.id, peer_name = "cid" })
    bob:expect_next("PEER_JOINED", { room = room, peer = cid.id, peer_name = "cid" })
    cid:expect_quiet()
  end)

  it("is refused where there is no such room", function()
    local ann = server.start():client()
    ann:expect_error("NoSuchRoom", ann:request("JOIN", packet.str8 "nowhere"))
    ann:control("JOIN", packet.str8 "nowhere")
    ann:expect_error "NoSuchRoom"
    ann:expect_quiet()
  end)

  it("is refused to those who are in", function()
    local ann = server.start():client()
    ann:join "lobby"
    ann:expect_error("AlreadyInRoom", ann:request("JOIN", packet.str8 "lobby"))
    ann:expect_quiet()
  end)

  it("is refused for names that are none, and the connection stays", function()
    local ann = server.start():client()
    for _, name in ipairs { "", ("r"):rep(65), "lob\nby", "lobby\0", "\255\254", "a\194\128" } do
      ann:expect_error("Protocol", ann:request("JOIN", packet.str8(name)))
    end
    ann:join "lobby"
  end)

  it("tells a crowd that does not fit into one packet one by one", function()
    local perigee = server.start { flags = { max_payload = 1024 } }
    local crowd, expected = {}, {}
    for i = 1, 40 do
      local name = ("member %02d "):format(i) .. ("x"):rep(50)
      crowd[i] = perigee:client(name)
      crowd[i]:join "lobby"
      expected[i] = name
    end
    local ann = perigee:client "ann"
    local _, joined = ann:join "lobby"
    assert.is_true(#joined.payload <= 1024)
    ann:fence()
    local members = joined.members
    for _, event in ipairs(ann:expect_many(40 - #members, "PEER_JOINED")) do
      members[#members + 1] = { id = event.peer, name = event.peer_name }
    end
    assert.equal(table.concat(expected, " "), names(members))
    ann:expect_nothing()
  end)
end)

describe("leaving a room", function()
  after_each(server.stop_all)

  it("is confirmed, and the others are told", function()
    local perigee = server.start()
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local room = ann:join "lobby"
    bob:join "lobby"
    ann:expect "PEER_JOINED"
    local left = bob:leave(room)
    assert.equal(room, left.room)
    assert.equal("ConnectionClosed", left.code)
    ann:expect_next("PEER_LEFT", { room = room, peer = bob.id })
    ann:broadcast(room, "still there?"):expect_quiet()
    bob:expect_quiet()
  end)

  it("without REQUEST is confirmed without a ref", function()
    local ann = server.start():client()
    local room = ann:join "lobby"
    ann:control("LEAVE", packet.u32(room))
    ann:expect_next("LEFT", { room = room, flags = 0, ref = 0 })
  end)

  it("is refused where one is not", function()
    local perigee = server.start { game = LOBBY_AND_DEN }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local den = bob:join "den"
    ann:expect_error("NotInRoom", ann:request("LEAVE", packet.u32(den)))
    for _, id in ipairs { 0, 4711, 0xFFFFFFFF } do
      ann:expect_error("NoSuchRoom", ann:request("LEAVE", packet.u32(id)))
    end
    bob:expect_quiet()
  end)

  it("can be followed by joining again", function()
    local ann = server.start():client()
    for _ = 1, 50 do
      ann:leave((ann:join "lobby"))
    end
    ann:join "lobby"
  end)

  it("happens to those whose connection ends", function()
    local perigee = server.start()
    local ann = perigee:client "ann"
    local room = ann:join "lobby"
    for _, ending in ipairs { "close", "reset", "half_close" } do
      local bob = perigee:client "bob"
      bob:join "lobby"
      ann:expect("PEER_JOINED", { peer = bob.id })
      bob[ending](bob)
      ann:expect("PEER_LEFT", { room = room, peer = bob.id })
    end
  end)
end)

describe("several rooms", function()
  after_each(server.stop_all)

  it("are listed with their members", function()
    local perigee = server.start { game = LOBBY_AND_DEN }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local lobby, den = ann:join "lobby", ann:join "den"
    bob:join "den"
    local listed = bob:list_rooms()
    assert.equal(2, #listed)
    assert.equal("den lobby", names(listed))
    for _, room in ipairs(listed) do
      assert.equal(room.name == "den" and 2 or 1, room.members)
      assert.equal(room.name == "den" and den or lobby, room.id)
    end
    assert.not_equal(den, lobby)
  end)

  it("are listed without a request too", function()
    local ann = server.start():client()
    ann:control "ROOM_LIST"
    local listed = ann:expect_next("ROOMS", { flags = 0, ref = 0 })
    assert.equal("lobby", names(listed.rooms))
  end)

  it("keep their broadcasts apart", function()
    local perigee = server.start { game = LOBBY_AND_DEN }
    local ann, bob, cid = perigee:client "ann", perigee:client "bob", perigee:client "cid"
    local lobby, den = ann:join "lobby", ann:join "den"
    bob:join "lobby"
    cid:join "den"
    ann:broadcast(lobby, "to the lobby"):broadcast(den, "to the den"):fence()
    bob:expect_next("BROADCAST", { room = lobby, sender = ann.id, data = "to the lobby" })
    cid:expect_next("BROADCAST", { room = den, sender = ann.id, data = "to the den" })
    bob:expect_quiet()
    cid:expect_quiet()
    ann:leave(lobby)
    cid:broadcast(den, "still here"):fence()
    ann:expect("BROADCAST", { room = den, data = "still here" })
  end)

  it("are too many for one peer at some point, and it stays in those that it has", function()
    local perigee = server.start { game = "return { rooms = { r = { auto_create = true } } }" }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local first = bob:join "r:1"
    local joined = 0
    repeat
      joined = joined + 1
      local ref = ann:request("JOIN", packet.str8("r:" .. joined))
      local answer = ann:expect(function(event) return event.ref == ref end)
    until answer.name == "ERROR" or joined > 1000
    assert.equal(257, joined)
    ann:expect_error("RoomFull", ann:request("JOIN", packet.str8 "r:1000"))
    bob:broadcast(first, "still here?")
    ann:expect("BROADCAST", { data = "still here?" })
  end)

  it("can be many for one peer", function()
    local perigee = server.start { game = "return { rooms = { r = { auto_create = true } } }" }
    local ann, bob = perigee:client "ann", perigee:client "bob"
    local ids = {}
    for i = 1, 200 do
      ids[i] = ann:join("r:" .. i)
      bob:join("r:" .. i)
    end
    assert.equal(200, #ann:list_rooms())
    for i = 200, 1, -1 do
      ann:broadcast(ids[i], tostring(i))
    end
    for i, event in ipairs(bob:expect_many(200, "BROADCAST")) do
      assert.equal(ids[201 - i], event.room)
      assert.equal(tostring(201 - i), event.data)
    end
    ann:close()
    bob:expect_many(200, "PEER_LEFT", { peer = ann.id })
  end)
end)
