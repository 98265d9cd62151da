--- A client in lockstep by itself, with a server of the spec's own: one that means ill.
local lockstep = require "perigee.client.lockstep"
local matches = require "perigee.client.matches"
local wire = require "perigee.lockstep.wire"

local ROOM, MATCH = 9, 5

-- A match that this client takes part in, and what it does.
local function new_match(game)
  local world = { sent = {}, pauses = {}, timers = {}, stepped = 0 }
  game = game or {}
  game.step = game.step or function(turn) world.stepped = turn end
  local match = lockstep.new(game, {
    room = { id = ROOM },
    send = function(kind, bytes) table.insert(world.sent, { kind = kind, bytes = bytes }) end,
    ask = function(kind, bytes)
      table.insert(world.sent, { kind = kind, bytes = bytes })
      return #world.sent
    end,
    patience = 30,
    after = function(seconds, fn)
      table.insert(world.pauses, seconds)
      world.timers[seconds] = fn
      return function() world.timers[seconds] = nil end
    end,
  })
  return match, world
end

local function start(match, values)
  local all = { start = 1, match = MATCH, slot = 0, seat = wire.NO_SEAT, seed = 7, how = wire.FRESH, turn = 0,
    hash_every = 1, max_input = 256, pace = { interval = 50000, speed = 1, delay = 2 } }
  for name, value in pairs(values or {}) do all[name] = value end
  match:receive(wire.START, wire.start(ROOM, all))
end

local function turns(first, count)
  local list = {}
  for i = 1, count do list[i] = wire.turn {} end
  return wire.turns(ROOM, MATCH, first, list)
end

describe("a client in lockstep", function()
  it("passes over what is cut off, whatever it is", function()
    for kind = 127, 139 do
      for size = 4, 60 do
        local match = new_match {
          snapshot = function() return "s" end, hash = function() return { a = 1 } end,
        }
        start(match)
        match:receive(wire.TURNS, turns(1, 3))
        match:receive(kind, wire.u32(ROOM) .. ("\1"):rep(size - 4))
      end
    end
  end)

  it("keeps few turns that wait for others", function()
    local match, world = new_match()
    start(match)
    for first = 2, 100000, 255 do match:receive(wire.TURNS, turns(first, 255)) end
    match:receive(wire.TURNS, turns(1, 1))
    assert.equal(256, world.stepped)
  end)

  it("keeps a state as it comes, in order, and none that is too large", function()
    local restored
    local match = new_match { restore = function(bytes) restored = bytes end }
    local function piece(size, offset, data)
      match:receive(wire.SNAPSHOT, wire.u32(ROOM) .. wire.u32(MATCH) .. wire.u32(3) .. wire.u32(size)
        .. wire.u32(offset) .. data)
    end
    start(match, { how = wire.FROM_SNAPSHOT })
    for _ = 1, 3 do piece(2 ^ 32 - 1, 0, "x") end
    piece(4, 0, "ab")
    piece(4, 3, "d") -- it lacks one
    assert.is_false(match.is_ready)
    piece(4, 2, "cd")
    assert.equal("abcd", restored)
    local other = new_match()
    start(other, { how = wire.FROM_SNAPSHOT })
    for offset = 0, 2 ^ 20, wire.PIECE do
      other:receive(wire.SNAPSHOT, wire.u32(ROOM) .. wire.u32(MATCH) .. wire.u32(3) .. wire.u32(2 ^ 30)
        .. wire.u32(offset) .. ("x"):rep(wire.PIECE))
    end
    assert.equal(0, #(other._pieces or {}))
  end)

  it("hears why it is not let in, by the answer to what it asked last", function()
    local ends = {}
    local match, world = new_match { on_end = function(...) table.insert(ends, { ... }) end }
    match:enter()
    match:enter()
    local client = { _matches = { [{ id = ROOM }] = match } }
    assert.is_false(matches.refuse(client, { answers = 1, message = "no", code = "Unsupported" }))
    assert.is_false(matches.refuse(client, { message = "no", code = "Unsupported" }))
    assert.is_true(matches.refuse(client, { answers = 2, message = "no", code = "Unsupported" }))
    assert.same({ { "no", "Unsupported" } }, ends)
    assert.equal(wire.EXIT, world.sent[3].kind)
    start(match) -- was under way
    assert.is_false(match.is_ready)
    assert.is_nil(next(world.timers))
  end)

  it("asks again where it asked too soon", function()
    local match, world = new_match()
    match:enter()
    match:refuse("once a second", "RateLimited")
    world.timers[1.5]()
    assert.equal(wire.ENTER, world.sent[2].kind)
    assert.equal(2, #world.sent)
  end)

  it("gives a server up that sends no state, and not one that has begun", function()
    local ends = {}
    local match, world = new_match { on_end = function(_, code) table.insert(ends, code) end }
    match:enter()
    world.timers[30]()
    assert.same({ "timeout" }, ends)
    match, world = new_match { on_end = function(_, code) table.insert(ends, code) end }
    match:enter()
    start(match)
    assert.is_nil(world.timers[30])
    match:enter() -- in another session
    world.timers[30]()
    assert.same({ "timeout" }, ends)
    assert.is_true(match.is_ready)
  end)

  it("leaves a server whose inputs may have no bytes, and raises nothing", function()
    local ends = {}
    local match = new_match {
      input = function() return "x" end, on_end = function(...) table.insert(ends, { ... }) end,
    }
    start(match, { max_input = 0 })
    assert.same({ { "an input of 1 bytes; the kind's max_input is 0", "PayloadTooLarge" } }, ends)
    assert.is_false(match.is_ready)
  end)

  it("gives the server no more inputs than a thousand a second", function()
    local match, world = new_match()
    start(match, { pace = { interval = 0, speed = 100, delay = 2 } })
    for _, seconds in ipairs(world.pauses) do assert.is_true(seconds >= 0.001) end
    assert.is_true(#world.pauses > 0)
  end)
end)
