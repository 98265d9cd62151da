local fake_core = require "tests.lua.fake_core"

describe("targets and options", function()
  local core, perigee, ann, bob, room

  before_each(function()
    core = fake_core.new()
    core.rooms_by_id[7] = "hall"
    perigee = require "perigee.init"
    require "perigee.api.peer"
    require "perigee.api.room"
    local registry = require "perigee.host.registry"
    ann, bob, room = registry.peers[1], registry.peers[2], registry.rooms[7]
  end)

  -- Returns the commands that perigee.send with these arguments causes.
  local function sent(...)
    core.pending = {}
    perigee.send(...)
    return core.pending
  end

  local function fails(text, fn, ...)
    local ok, problem = pcall(fn, ...)
    assert.is_false(ok)
    assert.truthy(problem:find(text, 1, true), problem)
    assert.truthy(problem:find("targets_spec.lua:%d+: "), problem)
  end

  it("are peers, rooms, everybody, everybody but some, and groups", function()
    local body = '["hi",null]'
    assert.same({ { "send", 0, 1, 0, "hi", body, 0, 2, 0, 0 } }, sent(ann, "hi"))
    assert.same({ { "send", 0, 1, 0, "hi", body, 0, 2, 0, 0 } }, sent(perigee.to.one(ann), "hi"))
    assert.same({ { "send", 1, 7, 7, "hi", body, 0, 2, 0, 0 } }, sent(room, "hi"))
    assert.same({ { "send", 2, 0, 0, "hi", body, 0, 2, 0, 0 } }, sent(perigee.to.all, "hi"))
    local but_ann = sent(perigee.to.all_except(ann), "hi", nil, { except = bob })[1]
    assert.same({ 1, 2 }, but_ann[12])
    local group = sent(perigee.to.group { ann, bob, ann }, "hi", nil, { except = { bob } })
    assert.same({ { "send", 0, 1, 0, "hi", body, 0, 2, 0, 0 } }, group)
  end)

  it("may be a table of peers with whatever keys", function()
    local group = sent(perigee.to.group { ["the second"] = bob }, "hi")
    assert.same({ { "send", 0, 2, 0, "hi", '["hi",null]', 0, 2, 0, 0 } }, group)
    assert.same({ 1, 2 }, sent(perigee.to.all_except { [7] = ann, [900] = bob }, "hi")[1][12])
  end)

  it("leave out a peer that is the only one", function()
    assert.same({}, sent(ann, "hi", nil, { except = { bob, ann } }))
    assert.same(1, #sent(ann, "hi", nil, { except = bob }))
    core.pending = {}
    assert.is_true(ann:send("hi", 1, { except = ann }))
    assert.is_true(ann:send_packet(5, 1, "x", { except = ann }))
    assert.same({}, core.pending)
  end)

  it("take priority, reliable, key and except", function()
    local options = { priority = "critical", reliable = true, key = "pos", except = { ann } }
    local send = sent(room, "hi", 1, options)[1]
    assert.same({ "send", 1, 7, 7, "hi", '["hi",1]', 6, 0, 1, 0, "pos", { 1 } }, send)
  end)

  it("say what is wrong with them, at the script's line", function()
    fails("takes a peer, a room or one of perigee.to, not nil", perigee.send, nil, "x")
    fails("perigee.to.all_except itself; call it", perigee.send, perigee.to.all_except, "x")
    fails("perigee.to.all stands without parentheses", function() perigee.to.all() end)
    fails("perigee.to.one takes a peer, not a room", perigee.to.one, room)
    fails("entry 2 is a number", perigee.to.group, { ann, 5 })
    fails('must be "critical", "high", "normal" or "low", not "urgent"', perigee.send, ann, "x", 1,
      { priority = "urgent" })
    fails("there is no option prioritty; did you mean priority?", perigee.send, ann, "x", 1,
      { prioritty = "low" })
    fails("options must be a table such as { except = peer }, not a peer", perigee.send, room, "x", 1, ann)
    fails("options must be a table such as { except = peer }, not a string", perigee.send, ann, "x", 1, "low")
    fails("reliable must be a boolean, not a number", perigee.send, ann, "x", 1, { reliable = 1 })
    fails("leaves out must be a peer or a list of peers, not nil", perigee.to.all_except, nil, ann)
    fails("is a boolean", perigee.to.group, { [ann] = true })
    fails("except must be a peer or a list of peers, not a string", perigee.send, room, "x", 1,
      { except = "ann" })
    fails("a peer has no nmae; did you mean name?", function() return ann.nmae end)
    fails("a peer's score cannot be set; peer.state.score is free for the game", function()
      ann.score = 1
    end)
    for _, field in ipairs { "id", "name", "connected", "send" } do
      fails(("a peer's %s cannot be set; peer.state.%s is"):format(field, field), function()
        ann[field] = 1
      end)
    end
    for _, field in ipairs { "id", "name", "kind", "count" } do
      fails(("a room's %s cannot be set; room.state.%s is"):format(field, field), function()
        room[field] = 1
      end)
    end
    assert.same({ 1, 7, "hall", "hall" }, { ann.id, room.id, room.name, room.kind })
    fails("a room has no nmae; did you mean name?", function() return room.nmae end)
    fails("a room has no bradcast; did you mean broadcast?", function() room:bradcast() end)
    fails("room:send takes a peer, not a string; room:broadcast(name, value) is for all members", function()
      room:send("x", 1)
    end)
    fails("a room has no members; write room:peers()", function() return room.members end)
    fails("a peer has no broadcast; write room:broadcast(name, value, { except = peer })", function()
      ann:broadcast("x", 1)
    end)
    fails("room:broadcast is called with a colon, on a room", function() room.broadcast("x") end)
    fails("peer:send is called with a colon, on a peer", function() ann.send("x", 1) end)
    fails("reason must be a string, not a table", function() room:kick(ann, {}) end)
    fails("room:has takes a peer, not a number", function() room:has(1) end)
    fails("a room's name must be a string, not a room; room.name is one", function()
      perigee.rooms.get(room)
    end)
    fails("channel must be a number, not a string; that of a plugin channel is perigee.channel(name).id",
      function() ann:send_packet("ide", 1, "") end)
    fails("channel must be a whole number from 3 to 65535, not 2", function()
      ann:send_packet(2, 1, "x")
    end)
  end)
end)
