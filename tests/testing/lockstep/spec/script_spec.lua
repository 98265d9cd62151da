-- The script's part in lockstep: on_turn, on_desync, on_snapshot, and room.lockstep.
local players = require "player"
local testing = require "perigee.testing"

local function start(count, source, network, options)
  local server = testing.server { trace = false, network = network, source = source, fuzz = network ~= nil }
  local list = {}
  for i = 1, count do
    list[i] = players.new(server:client("p" .. i), options):play "match:1"
  end
  return server, list
end

-- Simulates the same game as tests/testing/lockstep/player.lua.
local SIMULATES = [[
  local match = { auto_create = true, auto_delete = 60, lockstep = {}, on_message = {} }
  local function mix(hash, value)
    hash = bit.bxor(hash, bit.tobit(value))
    hash = bit.tobit(bit.tobit(hash * 0x193) + bit.lshift(hash, 24))
    return bit.bxor(hash, bit.rshift(hash, 15))
  end
  function match.on_turn(room, turn, entries)
    local state = turn == 1 and bit.tobit(room.lockstep.seed) or room.state.hash
    for _, entry in ipairs(entries) do
      for i = 1, #entry.data do state = mix(state, entry.data:byte(i) + entry.slot * 256) end
      state = mix(state, #entry.kind)
    end
    room.state.hash, room.state.turn = mix(state, turn), turn
    return room.state.hash
  end
  function match.on_snapshot(room)
    room.state.given = (room.state.given or 0) + 1
    return room.state.turn .. " " .. room.state.hash .. " "
  end
  function match.on_desync(room, report)
    room.state.desync = { turn = report.turn, names = {}, tie = report.tie }
    for i, peer in ipairs(report.peers) do
      room.state.desync.names[i] = peer.name
      room.lockstep:resync(peer)
    end
  end
  return { rooms = { match = match } }
]]

local function assert_same(a, b)
  for turn = 1, math.min(a.turn, b.turn) do
    if a.hashes[turn] and b.hashes[turn] then assert.equal(a.hashes[turn], b.hashes[turn]) end
  end
end

describe("a script that simulates", function()
  it("has the last word on who is right, even of two", function()
    local server, list = start(2, SIMULATES, { latency = 0.02 })
    server:advance(1)
    list[1].flips_at = 30
    server:advance(4)
    local state = server:room("match:1").state
    assert.same({ turn = 30, names = { "p1" }, tie = false }, state.desync)
    assert.is_true(#list[1].hashes > 60)
    assert.equal(list[2].hashes[list[2].turn - 5], list[1].hashes[list[2].turn - 5])
  end)

  it("gives the state to who comes late, whoever else is there", function()
    local server, list = start(1, SIMULATES, { latency = 0.02 }, { garbage = true })
    server:advance(5)
    local late = players.new(server:client "late", { garbage = true }):play "match:1"
    server:advance(2)
    assert.equal(1, late.restored)
    assert_same(list[1], late)
    list[1].client:close()
    late.client:close()
    server:advance(5)
    local last = players.new(server:client "last"):play "match:1"
    server:advance(1)
    assert.equal(1, last.restored)
    assert.is_nil(server:room("match:1").state.desync)
    assert_same(late, last)
  end)

  it("is not believed any more when a turn of it has failed", function()
    local source = SIMULATES:gsub("return room.state.hash\n",
      "if turn == 20 then error 'lost' end return room.state.hash\n", 1)
    local server, list = start(2, source, { latency = 0.02 })
    server:advance(4)
    server:expect_error "match.on_turn failed: .*game.lua:14: lost"
    local late = players.new(server:client "late"):play "match:1"
    server:advance(3)
    assert_same(list[1], late)
    assert.near(list[1].turn, late.turn, 2)
    assert.is_nil(server:room("match:1").state.desync)
  end)
end)

describe("on_turn", function()
  local function with(body)
    return ([[
      local perigee = require "perigee"
      local match = { auto_create = true, auto_delete = 60, lockstep = {} }
      function match.on_turn(room, turn, entries) %s end
      return { rooms = { match = match } }
    ]]):format(body)
  end

  it("has every turn, in order, with what everybody did", function()
    local server = start(3, with [[
      local state = room.state
      assert(turn == (state.turn or 0) + 1)
      state.turn, state.kinds, state.names = turn, state.kinds or {}, state.names or {}
      for _, entry in ipairs(entries) do
        state.kinds[entry.kind] = (state.kinds[entry.kind] or 0) + 1
        if entry.kind == "joined" then state.names[entry.slot + 1] = entry.name end
        if entry.kind == "input" then assert(entry.data:find "^%d+$") end
      end]])
    server:advance(5)
    local state = server:room("match:1").state
    assert.is_true(state.turn >= 85)
    assert.equal(3, state.kinds.joined)
    assert.is_true(state.kinds.input > 200)
    table.sort(state.names)
    assert.same({ "p1", "p2", "p3" }, state.names)
  end)

  it("that fails, waits or returns nonsense does not hold up the match", function()
    for body, why in pairs {
      ["error 'no'"] = "match.on_turn failed: .*game.lua:3: no",
      ["return 'hash'"] = "on_turn returns the hash of the state, a whole number of 32 bits",
      ["return 0.5"] = "or nothing, not 0.5",
      ["while true do end"] = "ran longer than its budget",
      ["perigee.sleep(1)"] = false,
    } do
      local server, list = start(2, with(body))
      server:advance(3)
      assert.is_true(list[1].turn > 55, body)
      assert_same(list[1], list[2])
      if why then server:expect_error(why) end
    end
  end)
end)

describe("on_leave", function()
  it("that fails does not stop the match", function()
    local server, list = start(3, [[
      local match = { auto_create = true, auto_delete = 60, lockstep = {} }
      function match.on_leave() error "never mind" end
      return { rooms = { match = match } }
    ]], { latency = 0.03 })
    server:advance(1)
    for i = 3, 2, -1 do
      local turn = list[1].turn
      list[i].client:close()
      server:advance(2)
      assert.is_true(list[1].turn > turn + 35)
    end
    server:expect_error "never mind"
  end)
end)

describe("room.lockstep", function()
  it("is for rooms of kinds that have it", function()
    local server = testing.server { source = [[
      local perigee = require "perigee"
      return {
        rooms = { match = { lockstep = {} } },
        on_message = {
          plain = function() return perigee.rooms.get("lobby").lockstep.turn end,
          wrong = function() return perigee.rooms.get("match:1").lockstep:set_speed(100) end,
          field = function() return perigee.rooms.get("match:1").lockstep.trun end,
        },
        on_start = function()
          perigee.rooms.create "lobby"
          perigee.rooms.create "match:1"
        end,
      }
    ]] }
    local ann = server:client "ann"
    for name, why in pairs {
      plain = "rooms of the kind lobby have no lockstep; give the kind lockstep = {}",
      wrong = "the speed must be from 0.1 to 8, not 100",
      field = "a lockstep has no trun; did you mean turn?",
    } do
      ann:ask(name)
      server:expect_error(why)
    end
  end)

  it("does nothing of what a handler asked for that fails", function()
    local server, list = start(2, [[
      local match = { auto_create = true, auto_delete = 60, lockstep = {}, on_message = {} }
      function match.on_message.pause(room)
        room.lockstep:pause()
        error "never mind"
      end
      return { rooms = { match = match } }
    ]])
    server:advance(1)
    list[1].room:send "pause"
    local turn = list[1].turn
    server:advance(1)
    assert.near(turn + 20, list[1].turn, 2)
    server:expect_error "never mind"
  end)
end)

describe("an on_snapshot that fails", function()
  it("has a member asked at once", function()
    local server, list = start(1, [[
      local match = { auto_create = true, auto_delete = 60, lockstep = {} }
      function match.on_turn() end
      function match.on_snapshot() error "no state" end
      return { rooms = { match = match } }
    ]])
    server:advance(2)
    local late = players.new(server:client "late"):play "match:1"
    server:expect_error "no state"
    server:advance(1)
    assert.equal(1, late.restored)
    assert.equal(1, list[1].given)
    assert_same(list[1], late)
  end)
end)

describe("a match whose room is deleted", function()
  local DELETES = [[
    local match = { auto_create = true, lockstep = {}, on_message = {} }
    function match.on_turn(room, turn)
      if turn == 20 then room:delete() end
    end
    function match.on_message.fail(room)
      room:delete()
      error "not so"
    end
    return { rooms = { match = match } }
  ]]

  it("is over for all that play", function()
    local server, list = start(2, DELETES)
    server:advance(3)
    for _, one in ipairs(list) do
      assert.is_true(one.has_ended)
      assert.is_true(one.turn >= 20 and one.turn < 23, one.turn)
    end
  end)

  it("cannot be entered", function()
    local server, list = start(2, DELETES)
    server:advance(3)
    local why
    list[1].room:lockstep { step = function() end, on_end = function(_, code) why = code end }
    server:advance(1)
    assert.equal("NoSuchRoom", why)
  end)

  it("goes on when the handler that deleted it fails", function()
    local server, list = start(2, DELETES)
    list[1].room:send "fail"
    server:expect_error "not so"
    server:advance(0.5)
    assert.is_nil(list[1].has_ended)
    assert.is_true(list[1].turn > 5)
  end)
end)
