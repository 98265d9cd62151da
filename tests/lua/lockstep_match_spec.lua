--- The server's state of a match: lua/perigee/lockstep/match.lua with a fake world.
local fake_core = require "tests.lua.fake_core"

package.loaded["perigee.core"] = package.loaded["perigee.core"] or fake_core

local client_wire = require "tests.testing.lockstep.client_wire"
local matches = require "perigee.lockstep.match"
local wire = require "perigee.lockstep.wire"

local SETTINGS = {
  turn_rate = 20, input_delay = 2, max_input_delay = 12, on_missing = "wait", wait_limit = 1,
  history = 100000, players = 2, start = 1, hash_every = 1, max_input = 4096, snapshot_limit = 100000,
}

local function new_match()
  local world = { sent = {}, reports = {}, is_scarce = false }
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
    desync = function(report) table.insert(world.reports, report) end,
    warn = function() end,
    members_changed = function() end,
    is_scarce = function() return world.is_scarce end,
  })
  return match, world
end

local function enter(match, peer, now)
  return match:enter(peer, "p" .. peer, wire.read_enter(client_wire.enter(7, { gives = true })), now)
end

local function find(world, peer, kind)
  for i = #world.sent, 1, -1 do
    local packet = world.sent[i]
    if packet.peer == peer and packet.kind == kind then return packet.bytes end
  end
end

-- Makes peer 1 give turns of `bytes` bytes each, up to `last`; returns the time.
local function play(match, world, last, bytes, now)
  local start = client_wire.read_start(find(world, 1, wire.START))
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
    assert.is_true(match:held_bytes() <= 16384)
  end)

  it("counts a turn in which nothing happens", function()
    local match, world = new_match()
    enter(match, 1, 0)
    world.is_scarce = true
    play(match, world, 2000, 0, 0)
    assert.is_true(match.first_kept > 1000)
  end)

  it("counts inputs, and takes few ahead where memory is scarce", function()
    local match, world = new_match()
    local function give_ahead(peer)
      for first = 1, 64, 16 do
        local inputs = {}
        for i = 1, 16 do inputs[i] = ("x"):rep(4096) end
        match:input(peer, { start = match.members[peer].start, turn = 0, hash_turn = 0, hashes = {},
          first = first, inputs = inputs }, 0)
      end
    end
    enter(match, 1, 0)
    give_ahead(1)
    local full = match:held_bytes()
    assert.is_true(full >= 64 * 4096)
    world.is_scarce = true
    enter(match, 2, 0)
    give_ahead(2)
    assert.is_true(match:held_bytes() <= full + 13 * 4200)
    match:leave(1, 0)
    match:leave(2, 0)
    assert.equal(0, match:held_bytes())
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
    assert.is_true(match:held_bytes() < 300 * 60) -- bytes of turns; the state is no longer held
    match:leave(2, now)
    world.is_scarce = true
    give(3)
    assert.is_nil(find(world, 3, wire.SNAPSHOT))
    -- The new member needs no state, because all turns are kept.
    assert.equal(wire.FRESH, client_wire.read_start(find(world, 3, wire.START)).how)
  end)

  -- Plays for 20 seconds, and returns the number of closed turns. One player gives all inputs. Once a second,
  -- `come` returns another peer in the match, which gives one input and then none.
  local function play_beside(come)
    local match, world = new_match()
    enter(match, 1, 0)
    local start = client_wire.read_start(find(world, 1, wire.START)).start
    local other, came_at, now = nil, -1, 0
    local function give(peer, number, first)
      match:input(peer, { start = number, turn = match.closed, hash_turn = 0, hashes = {},
        first = first, inputs = { "x", "x" } }, now)
    end
    while now < 20 do
      give(1, start, match.closed + 1)
      match:tick(now)
      if now - came_at >= 1.01 then
        other, came_at = come(match, other, now), now
        give(other, match.members[other].start, match.closed + 1)
      end
      now = now + 0.005
    end
    return match.closed
  end

  it("waits for whoever comes anew no longer than for one who stays", function()
    local function enters(match, peer, now)
      match:enter(peer, "p" .. peer, wire.read_enter(client_wire.enter(7, {})), now)
      return peer
    end
    local stays = play_beside(function(match, peer, now)
      if not peer then return enters(match, 2, now) end
      match.members[peer].is_absent = false
      return peer
    end)
    local leaves = play_beside(function(match, peer, now)
      if peer then match:leave(peer, now) end
      return enters(match, 2, now)
    end)
    local another = play_beside(function(match, peer, now)
      if peer then match:leave(peer, now) end
      return enters(match, (peer or 1) + 1, now)
    end)
    local with_its_seat = play_beside(function(match, peer, now)
      local seat = peer and match.seats[match.members[peer].slot].key
      local id = (peer or 1) + 1
      match:enter(id, "p" .. id, wire.read_enter(client_wire.enter(7, { seat = seat })), now)
      return id
    end)
    for _, turns in ipairs { stays, leaves, another, with_its_seat } do
      -- Waiting stops the match for wait_limit, and then for a tenth of the time.
      assert.is_true(turns > 20 * 20 * 0.8, turns)
    end
  end)

  describe("for who comes when turns are gone", function()
    local STATE = "the state"
    local match, world, now

    -- Returns the number of the newest request for a state to this member; nil: none.
    local function asked(peer)
      local bytes = find(world, peer, wire.SNAPSHOT_ASK)
      return bytes and wire.read_number(bytes)
    end

    local function speaks(peer)
      local start = client_wire.read_start(find(world, peer, wire.START))
      match:input(peer, { start = start.start, turn = match.closed, hash_turn = 0, hashes = {}, first = 0,
        inputs = {} }, now)
    end

    local function gives(peer)
      match:piece(peer, wire.read_piece(wire.piece(7, asked(peer), match.closed, STATE, 0)), now)
    end

    -- Peer 1 has played so long that the server has dropped the first turns. Peer 2 watches.
    before_each(function()
      match, world = new_match()
      enter(match, 1, 0)
      now = play(match, world, 1100, 4000, 0)
      assert.is_true(match.first_kept > 1)
      match:pause(now)
      enter(match, 2, now)
      gives(1)
      speaks(1)
      speaks(2)
      world.sent, now = {
        { peer = 1, kind = wire.START, bytes = find(world, 1, wire.START) },
        { peer = 2, kind = wire.START, bytes = find(world, 2, wire.START) },
      }, now + 20 -- the server has dropped the state that peer 1 gave
    end)

    it("asks somebody again who was too busy once", function()
      match:leave(2, now)
      speaks(1)
      enter(match, 3, now)
      assert.is_number(asked(1))
      now = now + 6
      match:tick(now)
      assert.truthy(find(world, 3, wire.END)) -- the match goes on without a new member, which gets END
      now = now + 1
      speaks(1)
      assert.is_true(enter(match, 4, now))
      gives(1)
      assert.equal(STATE, wire.read_piece(find(world, 4, wire.SNAPSHOT)).data)
    end)

    it("asks each once in the time for which somebody waits", function()
      speaks(1)
      speaks(2)
      enter(match, 3, now)
      local first = asked(1) and 1 or 2
      now = now + 6
      match:tick(now)
      assert.is_number(asked(3 - first))
      world.sent, now = {}, now + 6
      match:tick(now)
      assert.is_nil(asked(1) or asked(2))
      assert.truthy(find(world, 3, wire.END))
    end)

    it("asks who is there before who is silent", function()
      speaks(2)
      enter(match, 3, now)
      assert.same({ nil, true }, { asked(1), asked(2) ~= nil })
      match:leave(3, now)
      now = now + 20
      match:tick(now)
      speaks(1)
      enter(match, 4, now)
      assert.is_number(asked(1))
    end)
  end)

  it("names no place in a state that would break a line of the log", function()
    for name, path in pairs { good = "good", ["new\nline"] = false, ["\27[31m"] = false } do
      local match, world = new_match()
      for peer = 1, 2 do enter(match, peer, 0) end
      for peer = 1, 2 do
        local start = match.members[peer].start
        match:input(peer, { start = start, turn = 0, hash_turn = 0, hashes = {},
          first = 1, inputs = { "x" } }, 0)
      end
      match:tick(0.05)
      for peer = 1, 2 do
        match:input(peer, { start = match.members[peer].start, turn = 1, hash_turn = 1, hashes = { peer },
          first = 2, inputs = {} }, 0.1)
      end
      for peer = 1, 2 do
        match:tree(peer, { turn = 1, json = require("cjson").encode { [name] = peer } })
      end
      assert.equal(1, #world.reports)
      assert.equal(path, world.reports[1].path or false)
    end
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
