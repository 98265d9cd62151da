--- Inputs that come too late for their turn: lua/perigee/client/lockstep.lua with a server of the spec's own.
local fake_core = require "tests.lua.fake_core"

package.loaded["perigee.core"] = package.loaded["perigee.core"] or fake_core

local lockstep = require "perigee.client.lockstep"
local wire = require "perigee.lockstep.wire"

local ROOM, MATCH = 7, 9

-- A match that has begun, with an input delay of two turns; and what closes its next turn.
local function begin(game)
  game.step = game.step or function() end
  local sent = {}
  local match = lockstep.new(game, {
    room = { id = ROOM, joined = true },
    send = function(kind, bytes) table.insert(sent, { kind = kind, bytes = bytes }) end,
    after = function() return function() end end,
  })
  local pace = { interval = 50000, speed = 1, delay = 2 }
  match:receive(wire.START, wire.start(ROOM, {
    start = 1, match = MATCH, slot = 0, seat = ("s"):rep(16), seed = 1,
    how = wire.FRESH, turn = 0, hash_every = 1, max_input = 100, pace = pace,
  }))
  -- A turn with these entries; returns the inputs that are given for the turns that follow.
  local function turn(...)
    match:receive(wire.TURNS, wire.turns(ROOM, MATCH, match.turn + 1, { wire.turn { ... } }))
    return wire.read_input(sent[#sent].bytes, 100).inputs
  end
  return match, turn
end

local function given(data)
  return wire.entry(0, wire.GIVEN, data)
end

describe("an input that comes too late", function()
  it("goes into another turn when it was sent", function()
    local match, turn = begin {}
    match:send "build"
    match:send "march"
    assert.same({ "", "build" }, turn())
    assert.same({ "build", "march" }, turn())
    assert.same({ "march", "build" }, turn(wire.entry(0, wire.MISSING, ""))) -- turn 3, which "build" was for
    assert.same({ "build", "" }, turn(given "march"))
    assert.same({ "", "" }, turn(given "build"))
    assert.same({ "", "" }, turn())
  end)

  it("keeps its place among others, where several turns come at once", function()
    local match, turn = begin {}
    match:send "a"
    match:send "b"
    turn()
    assert.same({ "a", "b" }, turn())
    match:send "c"
    match:receive(wire.TURNS, wire.turns(ROOM, MATCH, 3, { wire.turn {}, wire.turn {} }))
    assert.same({ "b", "c" }, turn(given "a"))
  end)

  it("is gone where the one before stands for it", function()
    local match, turn = begin {}
    match:send "left"
    turn()
    assert.same({ "left", "" }, turn())
    assert.same({ "", "" }, turn(wire.entry(0, wire.REPEATED, "right")))
  end)

  it("is told of when the game gives inputs itself", function()
    local missed = {}
    local _, turn = begin {
      input = function(number) return "input " .. number end,
      on_missed = function(told) table.insert(missed, told) end,
    }
    turn(given "input 1")
    turn(wire.entry(0, wire.REPEATED, "input 1"), wire.entry(1, wire.GIVEN, "input 2"))
    turn()
    turn(given "input 4")
    assert.same({ { turn = 2, data = "input 2" }, { turn = 3, data = "input 3" } }, missed)
  end)
end)
