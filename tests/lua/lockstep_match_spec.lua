--- What a match on the server keeps: lua/perigee/lockstep/match.lua with a world of the spec's own.
local fake_core = require "tests.lua.fake_core"

package.loaded["perigee.core"] = package.loaded["perigee.core"] or fake_core

local matches = require "perigee.lockstep.match"
local wire = require "perigee.lockstep.wire"

local SETTINGS = {
  turn_rate = 20, input_delay = 2, max_input_delay = 12, on_missing = "wait", wait_limit = 1,
  history = 100000, players = 2, start = 1, hash_every = 1, max_input = 4096, snapshot_limit = 100000,
}

local function new_match()
  local world = { sent = {}, is_scarce = false }
  local random = 0
  local match = matches.new(7, SETTINGS, {
    send = function(peer, kind, bytes)
      table.insert(world.sent, { peer = peer, kind = kind, bytes = bytes })
    end,
    cast = function() end,
    random = function()
      random = random + 1
      return random
    end,
    latency = function() return 0 end,
    closed = function() end,
    agreed = function() end,
    desync = function() end,
    warn = function() end,
    members_changed = function() end,
    is_scarce = function() return world.is_scarce end,
  })
  return match, world
end

local function enter(match, peer, now)
  return match:enter(peer, "p" .. peer, wire.read_enter(wire.enter(7, { gives = true })), now)
end

local function find(world, peer, kind)
  for i = #world.sent, 1, -1 do
    local packet = world.sent[i]
    if packet.peer == peer and packet.kind == kind then return packet.bytes end
  end
end

-- Turns of `bytes` bytes each, up to `last`, given by peer 1; returns the time.
local function play(match, world, last, bytes, now)
  local start = wire.read_start(find(world, 1, wire.START))
  while match.closed < last do
    now = now + 0.05
    match:input(1, { start = start.start, turn = match.closed, hash_turn = 0, hashes = {},
      first = match.closed + 1, inputs = { ("x"):rep(bytes) } }, now)
    match:tick(now)
  end
  return now
end

describe("a match", function()
  it("keeps 4 MiB of turns at most, and little where memory is scarce", function()
    local match, world = new_match()
    assert.is_true(enter(match, 1, 0))
    local now = play(match, world, 2000, 4000, 0)
    assert.is_true(match:held_bytes() > 3.9 * 2 ^ 20 and match:held_bytes() <= 4 * 2 ^ 20)
    assert.is_true(match.first_kept > 1)
    world.is_scarce = true
    play(match, world, 2001, 4000, now)
    assert.is_true(match:held_bytes() <= 65536)
  end)

  it("takes no state where memory is scarce, and forgets one that nobody needs", function()
    local match, world = new_match()
    enter(match, 1, 0)
    local now = play(match, world, 50, 10, 0)
    local function give(peer)
      assert.is_true(enter(match, peer, now))
      local request = wire.read_number(find(world, 1, wire.SNAPSHOT_ASK))
      local state = ("s"):rep(20000)
      for offset = 0, 20000, wire.PIECE do
        match:piece(1, wire.read_piece(wire.piece(7, request, 50, state, offset)), now)
      end
    end
    give(2)
    assert.truthy(find(world, 2, wire.SNAPSHOT))
    assert.is_true(match:held_bytes() > 20000)
    now = play(match, world, 300, 10, now)
    assert.is_true(match:held_bytes() < 300 * 20)
    match:leave(2, now)
    world.is_scarce = true
    give(3)
    assert.is_nil(find(world, 3, wire.SNAPSHOT))
    assert.equal(wire.FRESH, wire.read_start(find(world, 3, wire.START)).how) -- all turns are there
  end)

  it("tells of who has come and gone once for each slot", function()
    local match, world = new_match()
    enter(match, 1, 0)
    local now = play(match, world, 5, 1, 0)
    for peer = 10, 400 do
      enter(match, peer, now)
      match:leave(peer, now)
    end
    enter(match, 9, now)
    play(match, world, 6, 1, now)
    local entries = wire.read_turn(match.kept[6], 1)
    assert.equal(2, #entries)
    assert.same({ "joined", 1, 9 }, { entries[1].kind, entries[1].slot, entries[1].id })
    assert.equal("input", entries[2].kind)
  end)
end)
