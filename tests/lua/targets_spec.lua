local fake_core = require "tests.lua.fake_core"

describe("targets and options", function()
  local core, perigee, ann, bob, room

  before_each(function()
    core = fake_core.new()
    core.rooms_by_id[7] = "hall"
    perigee = require "perigee.init"
    require "perigee.peer"
    require "perigee.room"
    local registry = require "perigee.registry"
    ann, bob, room = registry.peers[1], registry.peers[2], registry.rooms[7]
  end)

  -- The arguments of core.send from this call.
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

  it("take priority, reliable, key and except", function()
    local options = { priority = "critical", reliable = true, key = "pos", except = { ann } }
    local send = sent(room, "hi", 1, options)[1]
    assert.same({ "send", 1, 7, 7, "hi", '["hi",1]', 6, 0, 1, 0, "pos", { 1 } }, send)
  end)

  it("say what is wrong with them, at the script's line", function()
    fails("takes a peer, a room or one of perigee.to, not nil", perigee.send, nil, "x")
    fails("perigee.to.all_except itself; call it", perigee.send, perigee.to.all_except, "x")
    fails("perigee.to.one takes a peer, not a room", perigee.to.one, room)
    fails("entry 2 is a number", perigee.to.group, { ann, 5 })
    fails('must be "critical", "high", "normal" or "low", not "urgent"', perigee.send, ann, "x", 1,
      { priority = "urgent" })
    fails("there is no option prioritty; did you mean priority?", perigee.send, ann, "x", 1,
      { prioritty = "low" })
    fails("reliable must be a boolean, not a number", perigee.send, ann, "x", 1, { reliable = 1 })
    fails("except must be a table, not a string", perigee.send, room, "x", 1, { except = "ann" })
    fails("a peer has no nmae; did you mean name?", function() return ann.nmae end)
    fails("peer.state.score is free for the game", function() ann.score = 1 end)
    fails("a room has no bradcast; did you mean broadcast?", function() room:bradcast() end)
    fails("channel must be a whole number from 3 to 65535, not 2", function()
      ann:send_packet(2, 1, "x")
    end)
  end)
end)
