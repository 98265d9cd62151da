--- Eight players of a lockstep match across a network (tests/wan) that loses 5 % of its packets and delays
--- the rest by 80 ms +- 20 each way: seven by the client in C over UDP, one by the JavaScript client over
--- WebSocket. One of them is killed and comes back, and in another a bit flips. PERIGEE_WAN_TURNS=10000 makes
--- the match long enough for meaningful figures, which are printed.
local Process = require "tests.e2e.process"
local wait = require "tests.e2e.wait"
local wan = require "tests.e2e.wan"

local TURNS = tonumber(os.getenv "PERIGEE_WAN_TURNS") or 120
local IS_SHORT = TURNS < 1000
local KILLED_AT, FLIPPED_AT = math.floor(TURNS * 0.3), math.floor(TURNS * 0.7)
local TURN_MS, HALF_ROUND_TRIP_MS, WAIT_LIMIT_MS = 50, 80, 1000
local LATE_MS = 50 -- delay of timers on a machine that runs other tests, too
local NETWORK = { loss = 5, delay = HALF_ROUND_TRIP_MS, jitter = 20 }
local NAMES = { "p1", "p2", "p3", "p4", "p5", "p6", "p7", "js" }
local KILLED, FLIPPED = 3, 5

local GAME = [[
  local match = { auto_create = true, auto_delete = 60,
    lockstep = { turn_rate = %d, players = %d, start = %d, wait_limit = 1, record = "recordings" } }
  function match.on_desync(room, report)
    print("desync " .. report.text)
    for _, peer in ipairs(report.peers) do room.lockstep:resync(peer) end
  end
  function match.on_turn(room, turn)
    if turn %% 10 ~= 0 then return end
    local stats = room.lockstep:stats()
    print(("turn %%d stalls=%%d stalled=%%.3f longest_stall=%%.3f late_inputs=%%d desyncs=%%d"):format(turn,
      stats.stalls, stats.stalled, stats.longest_stall, stats.late_inputs, stats.desyncs))
  end
  return { rooms = { match = match } }
]]

-- The game of the players, for `perigee lockstep`.
local SIMULATION = [[
  local bit = require "bit"
  local KINDS = { input = 0, missing = 1, repeated = 2, joined = 3, left = 4 }
  local state = 0
  local function mix(byte)
    state = bit.bxor(state, byte)
    state = bit.tobit(bit.tobit(state * 0x193) + bit.lshift(state, 24))
  end
  local function mix_number(number)
    for shift = 0, 24, 8 do mix(bit.band(bit.rshift(bit.tobit(number), shift), 0xff)) end
  end
  return {
    start = function(match) state = bit.tobit(match.seed) end,
    step = function(turn, entries)
      for _, entry in ipairs(entries) do
        mix(entry.slot)
        mix(KINDS[entry.kind])
        if entry.id then mix_number(entry.id) end
        local data = entry.name or entry.data
        for i = 1, #data do mix(data:byte(i)) end
      end
      mix_number(turn)
    end,
    hash = function() return state % 2 ^ 32 end,
  }
]]

local function numbers_in(text)
  local figures = {}
  for name, value in text:gmatch "(%S+)=(%-?[%d.]+)" do figures[name] = tonumber(value) end
  return figures
end

local function read_hashes(path)
  local hashes, first, last = {}, nil, 0
  for line in io.lines(path) do
    local turn, hash = line:match "^(%d+) (%d+)$"
    if turn then -- the last line of a killed player may be incomplete
      last = tonumber(turn)
      hashes[last], first = hash, first or last
    end
  end
  return hashes, first, last
end

-- Returns how many hashes are equal, up to the first that differs, among the turns that both have.
local function count_same(a, b, from, to)
  local count = 0
  for turn = from, to do
    if a[turn] and b[turn] then
      if a[turn] ~= b[turn] then return count, turn end
      count = count + 1
    end
  end
  return count
end

local function new_match(rate, players)
  local network = wan.start(NETWORK)
  local folder = Process.folder {
    ["game.lua"] = GAME:format(rate, players, players), ["simulation.lua"] = SIMULATION,
  }
  local host = network.server
  local self = { network = network, folder = folder, address = host.address .. ":7777", players = {} }
  self.server = network:spawn(host, Process.binary(), { "run", folder, "--host", host.address,
    "--port", "7777", "--admin", "false", "--no-watch" })
  self.server:wait_out "^perigee: ready()$"
  return self
end

local function play(self, i, turns, file, ...)
  local name = NAMES[i]
  local path = self.folder .. "/" .. file
  local args = { self.address, "udp", name, tostring(turns), path, ... }
  local program = wan.program "player"
  if name == "js" then
    table.insert(args, 1, Process.ROOT .. "/tests/wan/player.mjs")
    program = self.node
  end
  local player = self.network:spawn(self.network.client, program, args)
  player.path = path
  return player
end

-- Waits until the server's log reports this turn or a later one.
local function wait_for_turn(self, turn)
  wait.for_true(function()
    if self.server.code then self.server:fail "the server has ended" end
    for i = #self.server.err, 1, -1 do
      local at = self.server.err[i]:match "turn (%d+) stalls="
      if at then return tonumber(at) >= turn end
    end
  end, turn / 20 * 3 + 30)
end

local function which_node()
  local process = io.popen "command -v node"
  local path = process:read "*l"
  process:close()
  return assert(path, "there is no node")
end

local function find_log(server, pattern)
  local found = {}
  for _, line in ipairs(server.err) do
    found[#found + 1] = line:match(pattern)
  end
  return found
end

-- Prints the newest figures of the server and of each player; returns those of the server.
local function print_figures(self)
  local stats = find_log(self.server, "(turn %d+ stalls=.-) room=")
  print(stats[#stats])
  for i, player in ipairs(self.players) do
    print(NAMES[i] .. ": " .. player.out[#player.out])
  end
  return numbers_in(stats[#stats])
end

local function stop(self)
  self.server:kill "sigterm"
  assert.equal(0, self.server:wait_exit(10))
  self.network:stop()
end

describe("a match across a bad network", function()
  after_each(Process.clean_up)

  if not wan.is_possible() then
    pending "needs root and /dev/net/tun for networks of its own"
    return
  end

  it("stays the same for all, loses nobody, and names who differs", function()
    local self = new_match(20, #NAMES)
    self.node = which_node()
    for i in ipairs(NAMES) do
      self.players[i] = play(self, i, TURNS, "hashes" .. i, "-", tostring(i == FLIPPED and FLIPPED_AT or 0))
    end
    local slot, seat = self.players[KILLED]:wait_out("^match 0 (%d+) 0 (%x+)$", 30)
    wait_for_turn(self, KILLED_AT)
    local killed = self.players[KILLED]
    killed:kill "sigkill"
    killed:wait_exit()
    local again = play(self, KILLED, TURNS, "hashes_again", seat)
    self.players[KILLED] = again
    assert.equal(slot, (again:wait_out("^match 1 (%d+) %d+ %x+$", 30)))
    for _, player in ipairs(self.players) do
      if player:wait_exit(TURNS / 20 * 3 + 60) ~= 0 then player:fail "a player has failed" end
    end

    local hashes = {}
    for i, player in ipairs(self.players) do hashes[i] = { read_hashes(player.path) } end
    local right = hashes[1][1]
    for i, own in ipairs(hashes) do
      assert.equal(TURNS, own[3])
      local to = i == FLIPPED and FLIPPED_AT - 1 or TURNS
      local count, differs = count_same(right, own[1], 1, to)
      assert.is_nil(differs, NAMES[i] .. " differs")
      assert.equal(to - (i == KILLED and own[2] - 1 or 0), count)
    end
    local before, first, last = read_hashes(killed.path)
    assert.same({ 1, nil }, { first, (select(2, count_same(right, before, 1, last))) })
    assert.equal(right[TURNS], hashes[FLIPPED][1][TURNS]) -- the player has taken the state of the others
    assert.same({ ("turn %d: p5 has another state than the others"):format(FLIPPED_AT) },
      find_log(self.server, "desync (.-) room="))

    local figures = print_figures(self)
    assert.is_true(figures.longest_stall * 1000 <= WAIT_LIMIT_MS + (IS_SHORT and LATE_MS or 0))
    -- In a short match, a single second of waiting for a TCP packet would decide the result.
    for _, player in ipairs(IS_SHORT and {} or self.players) do
      assert.is_true(numbers_in(player.out[#player.out]).over <= HALF_ROUND_TRIP_MS + TURN_MS)
    end

    stop(self)
    local recording = io.popen("ls " .. self.folder .. "/recordings"):read "*l"
    local check = Process.spawn(Process.binary(),
      { "lockstep", self.folder .. "/recordings/" .. recording, self.folder .. "/simulation.lua" })
    if check:wait_exit(60) ~= 0 then check:fail "the recording differs" end
    local compared = check.out[#check.out]:match "^(%d+) hashes compared: all the same$"
    assert.is_true(tonumber(compared) > TURNS - 100)
  end)

  -- A round trip is 16 turns here, so more inputs are under way than an INPUT can have.
  it("has everybody's inputs, however fast it is", function()
    local self = new_match(100, 3)
    for i = 1, 3 do self.players[i] = play(self, i, 300, "hashes" .. i) end
    for _, player in ipairs(self.players) do
      if player:wait_exit(60) ~= 0 then player:fail "a player has failed" end
    end
    print_figures(self)
    for _, player in ipairs(self.players) do
      local figures = numbers_in(player.out[#player.out])
      assert.is_true(figures.missing <= 5)
      -- Keys that were pressed in the last turns have no effect any more.
      assert.is_true(figures.landed >= figures.pressed - figures.highest_delay)
      assert.is_true(figures.over <= HALF_ROUND_TRIP_MS + 10 + (IS_SHORT and 2 * LATE_MS or 0))
    end
    stop(self)
  end)
end)
