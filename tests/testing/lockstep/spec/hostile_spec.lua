-- Clients that break the rules do not harm other players.
local client_wire = require "client_wire"
local players = require "player"
local testing = require "perigee.testing"
local wire = require "perigee.lockstep.wire"

local function start(count, options)
  local server = testing.server { trace = false }
  local list = {}
  for i = 1, count do
    list[i] = players.new(server:client("p" .. i), options):play "match:1"
  end
  server:advance(1)
  return server, list
end

-- Sends a packet without the client's own checks, which would refuse it.
local function send(client, kind, bytes)
  client:write(string.char(wire.CHANNEL, 0, kind, 0, 2, 0, 0, 0) .. wire.u32(#bytes) .. bytes)
end

-- Returns the protocol's number of the room, which differs from the clients' number.
local function id_of(room)
  return room.client.server:room(room.name).id
end

local function input(one, turn, hashes, first, inputs)
  return client_wire.input(id_of(one.room), 1, turn, turn, hashes, first, inputs)
end

local function assert_same(list)
  for i = 2, #list do
    for turn = 1, math.min(list[1].turn, list[i].turn) do
      if list[1].hashes[turn] and list[i].hashes[turn] then
        assert.equal(list[1].hashes[turn], list[i].hashes[turn])
      end
    end
  end
end

-- Checks that the other players go on with equal states, at the usual rate.
local function plays_on(server, list)
  local turn = list[1].turn
  server:advance(5)
  assert.is_true(list[1].turn - turn >= 95, "turns went by: " .. list[1].turn - turn)
  assert_same(list)
end

describe("a hostile client", function()
  it("that sends what no packet is, is disconnected", function()
    local room_id
    local cases = {
      function() return wire.INPUT, "" end,
      function() return wire.ENTER, wire.u32(room_id) .. "x" end,
      function() return wire.ENTER, client_wire.enter(room_id, {}):gsub("^(....%z?.)..", "%1\255\255") end,
      function() return wire.INPUT, wire.u32(room_id) .. ("\255"):rep(20) end,
      function() return wire.INPUT, client_wire.input(room_id, 1, 1, 0, {}, 5, { ("x"):rep(257) }) end,
      function() return wire.INPUT, client_wire.input(room_id, 1, 1, 0, {}, 5, {}) .. "x" end,
      function()
        return wire.INPUT, client_wire.input(room_id, 1, 1, 0, { 1, 2, 3, 4, 5, 6, 7, 8, 9 }, 5, {})
      end,
      function() return wire.NEED, wire.u32(room_id) end,
      function() return wire.SNAPSHOT_UP, wire.u32(room_id) .. "x" end,
      function() return wire.TREE, client_wire.tree(room_id, 1, ("x"):rep(wire.TREE_BYTES + 1)) end,
      function() return wire.EXIT, wire.u32(room_id) .. "x" end,
    }
    local server, list = start(2)
    room_id = id_of(list[1].room)
    for i, case in ipairs(cases) do
      local mallory = server:client("m" .. i)
      mallory:join "match:1"
      local kind, bytes = case()
      send(mallory, kind, bytes)
      mallory:expect_closed "Protocol"
    end
    plays_on(server, list)
  end)

  it("that has no business there is told so", function()
    local server, list = start(1)
    local mallory = server:client "mallory"
    send(mallory, wire.ENTER, client_wire.enter(id_of(list[1].room), {}))
    mallory:expect_event("error", { code = "NotInRoom" })
    local plain = mallory:join "plain"
    send(mallory, wire.ENTER, client_wire.enter(id_of(plain), {}))
    mallory:expect_event("error", { code = "Unsupported" })
    local room = mallory:join "match:1"
    send(mallory, 77, wire.u32(id_of(room)))
    mallory:expect_event("error", { code = "Unsupported" })
    send(mallory, wire.ENTER, client_wire.enter(id_of(room), {}):gsub("^(....).", "%1\9"))
    mallory:expect_event("error", { code = "VersionMismatch" })
    for _ = 1, 3 do send(mallory, wire.ENTER, client_wire.enter(id_of(room), {})) end
    mallory:expect_event("error", { code = "RateLimited" })
    send(mallory, wire.INPUT, client_wire.input(id_of(room) + 4096, 1, 1, 0, {}, 1, { "x" }))
    plays_on(server, list)
  end)

  it("that gives inputs for turns far ahead, long gone, and twice, changes nothing", function()
    local server, list = start(3)
    local mallory = list[3]
    for _ = 1, 100 do
      local turn = mallory.turn
      send(mallory.client, wire.INPUT, input(mallory, turn, {}, turn + 60, { "a", "b", "c", "d", "e", "f" }))
      send(mallory.client, wire.INPUT, input(mallory, turn, {}, 0xfffffff0, { "x", "y" }))
      send(mallory.client, wire.INPUT, input(mallory, turn, {}, 1, { "x", "y", "z" }))
      send(mallory.client, wire.INPUT, input(mallory, turn, {}, turn + 3, { "other" }))
      send(mallory.client, wire.INPUT, input(mallory, 0xffffffff, {}, turn + 3, { "other" }))
      server:advance(0.05)
    end
    plays_on(server, list)
  end)

  it("that lies about its hashes is the one who is named", function()
    local server, list = start(3)
    list[3]._hash = function() return 4711 end
    plays_on(server, list)
    local desyncs = server:room("match:1").state.desyncs
    assert.equal(1, #desyncs)
    assert.same({ "p3" }, desyncs[1].names)
    -- If a player enters again and again, it gets at most one report a second.
    for _ = 1, 40 do
      list[3].match:enter()
      server:advance(0.25)
    end
    assert.is_true(#server:room("match:1").state.desyncs <= 12)
    assert_same { list[1], list[2] }
  end)

  it("that comes and goes all the time is one entry of a turn, and is let in once a second", function()
    local server, list = start(2)
    local changes = 0
    local step = list[1]._step
    list[1]._step = function(self, turn, entries)
      local of_turn = 0
      for _, entry in ipairs(entries) do
        if entry.kind == "joined" or entry.kind == "left" then of_turn = of_turn + 1 end
      end
      assert.is_true(of_turn <= 2)
      changes = changes + of_turn
      return step(self, turn, entries)
    end
    local mallory = server:client "mallory"
    local room = mallory:join "match:1"
    for _ = 1, 100 do
      for _ = 1, 20 do
        send(mallory, wire.ENTER, client_wire.enter(id_of(room), {}))
        send(mallory, wire.EXIT, wire.number(id_of(room)))
      end
      server:advance(0.05)
    end
    assert.is_true(changes <= 2 * 7, "joined and left: " .. changes)
    plays_on(server, list)
  end)

  it("can do as it likes while the match stands still: no more is told than what came of it", function()
    local server, list = start(2)
    list[1].room:send "pause"
    server:advance(1)
    local most = 0
    local step = list[1]._step
    list[1]._step = function(self, turn, entries)
      most = math.max(most, #entries)
      return step(self, turn, entries)
    end
    for i = 1, 300 do
      local mallory = players.new(server:client("m" .. i)):play "match:1"
      server:advance(0.02)
      if i < 300 then mallory.client:close() end
    end
    list[1].room:send "resume"
    server:advance(1)
    assert.is_true(most <= 8 + 8, "entries: " .. most)
    plays_on(server, list)
  end)

  it("does not get its way by watching in great numbers", function()
    local server, list = start(2)
    local fans = {}
    for i = 1, 6 do
      fans[i] = players.new(server:client("fan" .. i), { watches = true }):play "match:1"
      server:advance(0.1)
    end
    server:advance(2)
    for _, fan in ipairs(fans) do fan._hash = function() return 4711 end end
    server:advance(3)
    local named = {}
    for _, desync in ipairs(server:room("match:1").state.desyncs) do
      for _, name in ipairs(desync.names) do
        assert.truthy(name:find "^fan", name)
        assert.is_nil(named[name])
        named[name] = true
      end
    end
    for i = 1, 6 do assert.is_true(named["fan" .. i]) end
    -- Players get no reports about spectators.
    assert.same({}, list[1].desyncs)
    assert.is_true(fans[1].desyncs[1].is_odd)
    assert.same({ 255 }, fans[1].desyncs[1].slots)
    plays_on(server, list)
  end)

  it("that finds every snapshot wrong takes nobody the state away who comes later", function()
    local server, list = start(3)
    server:advance(6)
    for i = 1, 8 do
      local mallory = players.new(server:client("m" .. i)):play "match:1"
      mallory._hash = function() return i end
      server:advance(4)
      mallory.client:close()
    end
    local late = players.new(server:client "late"):play "match:1"
    server:advance(3)
    assert.equal(1, late.restored)
    assert_same { list[1], late }
    assert.near(list[1].turn, late.turn, 2)
    local asked = 0
    for _, one in ipairs(list) do asked = asked + one.given end
    assert.is_true(asked <= 1 + 8 * 3, "snapshots: " .. asked)
    plays_on(server, list)
  end)

  it("that differs again and again is given the state now and then", function()
    local server, list = start(3)
    local room, given = list[1].room, list[1].given + list[2].given
    local mallory = list[3]
    for _ = 1, 200 do
      mallory.flips_at = mallory.turn + 1
      room:send("resync", mallory.client.id)
      server:advance(0.1)
    end
    assert.is_true(list[1].given + list[2].given - given <= 6)
    assert.is_true(mallory.restored <= 6)
    plays_on(server, { list[1], list[2] })
  end)

  it("that takes its slot back from the one who was to give the state leaves no gap behind", function()
    local server = testing.server { trace = false, source = [[
      local match = { auto_create = true, auto_delete = 60, on_message = {} }
      match.lockstep = { history = 100, players = 2 }
      function match.on_message.members(room) return #room.lockstep:members() end
      return { rooms = { match = match } }
    ]] }
    local first = players.new(server:client "first"):play "match:1"
    server:advance(10)
    local call = first.client._call
    function first.client._call(self, method, ...)
      if method ~= "lockstep_snapshot" then return call(self, method, ...) end
      return true
    end
    local second = players.new(server:client "second"):play "match:1"
    server:advance(1.5)
    second.match.seat = first.match.seat
    second.match:exit()
    second = players.new(server:client "third", { seat = first.match.seat }):play "match:1"
    server:advance(3)
    assert.is_true(first.has_ended)
    assert.equal(0, second.match.slot)
    assert.is_true(second.turn > 20)
    local other = players.new(server:client "other"):play "match:1"
    server:advance(2)
    assert.equal(1, other.match.slot)
    assert_same { second, other }
    assert.equal(2, (other.room:ask "members"))
  end)

  it("that gives garbage for a snapshot is not asked again", function()
    local server, list = start(1, { garbage = true })
    for i = 2, 3 do list[i] = players.new(server:client("p" .. i)):play "match:1" end
    server:advance(1)
    -- The server asks the first player first: it has the lowest id of the players with the newest turn.
    local late = players.new(server:client "late"):play "match:1"
    server:advance(8)
    assert_same { list[2], list[3], late }
    assert.near(list[2].turn, late.turn, 2)
    local members = list[2].room:ask "members"
    assert.equal(4, #members)
  end)

  it("that gives no snapshot, or one that never ends, is passed over", function()
    for _, how in ipairs { "nothing", "huge", "part", "other" } do
      local server, list = start(1)
      local mallory = list[1]
      local call = mallory.client._call
      function mallory.client._call(self, method, room, request, ...)
        if method ~= "lockstep_snapshot" then return call(self, method, room, request, ...) end
        local function piece(size, offset, bytes)
          send(mallory.client, wire.SNAPSHOT_UP, wire.u32(id_of(mallory.room)) .. wire.u32(request)
            .. wire.u32(mallory.turn) .. wire.u32(size) .. wire.u32(offset) .. bytes)
        end
        if how == "huge" then piece(0xffffffff, 0, ("x"):rep(wire.PIECE)) end
        if how == "part" then piece(100000, 0, ("x"):rep(wire.PIECE)) end
        if how == "other" then
          piece(40000, 0, ("x"):rep(wire.PIECE))
          piece(40000, 30000, "x")
        end
      end
      local late = players.new(server:client "late"):play "match:1"
      server:advance(8)
      assert.is_nil(late.restored) -- the player has simulated all turns
      assert_same { mallory, late }
      assert.near(mallory.turn, late.turn, 2)
    end
  end)

  it("that asks for turns all the time gets them at times", function()
    local server, list = start(2)
    server:advance(10)
    local mallory = list[2]
    local before = server:peer(mallory.client).stats.bytes_out
    for _ = 1, 50 do
      for _ = 1, 20 do send(mallory.client, wire.NEED, wire.number(mallory.room.id, 1)) end
      server:advance(0.02)
    end
    local sent = server:peer(mallory.client).stats.bytes_out - before
    assert.is_true(sent < 7 * 8000, "bytes: " .. sent)
    plays_on(server, list)
  end)

  it("that guesses at seats gets none but its own", function()
    local server, list = start(2)
    local mallory = players.new(server:client "mallory", { seat = ("\1"):rep(16) }):play "match:1"
    server:advance(1)
    assert.equal(2, mallory.match.slot)
    plays_on(server, list)
  end)

  it("that answers for trees it was not asked for, or with what is none, is passed over", function()
    local server, list = start(3, { tree = true })
    local deep = ('{"a":'):rep(40) .. "1" .. ("}"):rep(40)
    for _, json in ipairs { "", "null", "[1]", "{", '{"a":"b"}', '{"a":', deep } do
      send(list[3].client, wire.TREE, client_wire.tree(list[3].room.id, list[3].turn, json), true)
    end
    list[3].match._trees = setmetatable({}, { __newindex = function() end })
    list[3].flips_at = list[3].turn + 5
    plays_on(server, { list[1], list[2] })
    local desync = server:room("match:1").state.desyncs[1]
    assert.same({ "p3" }, desync.names)
  end)

  it("cannot do anything with bytes of chance", function()
    local server, list = start(2)
    local state = 99
    local function chance(count)
      state = (state * 1103515245 + 12345) % 2 ^ 31
      return math.floor(state / 65536) % count
    end
    for i = 1, 300 do
      local mallory = server:client("m" .. i)
      mallory:join "match:1"
      send(mallory, wire.ENTER, client_wire.enter(list[1].room.id, { gives = true }), true)
      for _ = 1, 5 do
        local bytes = { wire.u32(list[1].room.id) }
        for _ = 1, chance(60) do
          bytes[#bytes + 1] = string.char(chance(3) == 0 and chance(256) or chance(4))
        end
        send(mallory, 1 + chance(6), table.concat(bytes))
      end
      server:advance(0.02)
      mallory:close()
    end
    server:advance(2)
    plays_on(server, list)
  end)
end)
