--- Recordings of matches: the server writes them if the kind has `record`, and `perigee lockstep` plays them.
local client = require "perigee.client"
local server = require "tests.e2e.server"
local uv = require "luv"
local wait = require "tests.e2e.wait"

local function game(settings, more)
  return ([[
    local match = { auto_create = true, auto_delete = 1, on_message = {},
      lockstep = { turn_rate = 50, start = 2, players = 2, record = "recordings", %s } }
    function match.on_message.restart(room) room.lockstep:restart() end
    %s
    return { rooms = { match = match } }
  ]]):format(settings or "", more or "")
end

-- A simulation for the command; the players of the spec run the same one.
local SIMULATION = [[
  local bit = require "bit"
  local state = 0
  return {
    start = function(match) state = bit.tobit(match.seed) end,
    step = function(turn, entries)
      for _, entry in ipairs(entries) do
        for i = 1, #entry.data do state = bit.bxor(state * 31 % 2 ^ 32, entry.data:byte(i) + entry.slot) end
        state = bit.tobit(state + #entry.kind)
      end
      state = bit.bxor(state, turn) MORE
    end,
    hash = function() return HASH end,
  }
]]

-- SIMULATION, as the on_turn of a game.
local ON_TURN = [[
  function match.on_turn(room, turn, entries)
    local state = turn == 1 and bit.tobit(room.lockstep.seed) or room.state.hash
    for _, entry in ipairs(entries) do
      for i = 1, #entry.data do state = bit.bxor(state * 31 % 2 ^ 32, entry.data:byte(i) + entry.slot) end
      state = bit.tobit(state + #entry.kind)
    end
    room.state.hash = bit.bxor(state, turn) MORE
    return room.state.hash
  end
]]

local function fill_in(text, more, hash)
  return (text:gsub("MORE", more or ""):gsub("HASH", hash or "state %% 2 ^ 32"))
end

local TREE = "{ sum = state %% 2 ^ 32, part = { one = 1 } }"

local function play(port, name, hash)
  local c = assert(client.connect("127.0.0.1:" .. port, { name = name }))
  local room = assert(c:join "match:1")
  local simulated, given = loadstring(fill_in(SIMULATION, nil, hash))(), 0
  function simulated.input()
    given = given + 1
    return given % 3 == 0 and name .. given or ""
  end
  return { client = c, room = room, match = room:lockstep(simulated) }
end

local function reach(players, turn)
  wait.for_true(function()
    for _, player in ipairs(players) do
      if player.match.turn < turn then return false end
    end
    return true
  end, 30)
end

-- Returns the paths of the recordings of a server, the oldest first.
local function recordings(s)
  local list, folder = {}, s.folder .. "/recordings"
  local scan = uv.fs_scandir(folder)
  for name in function() return scan and uv.fs_scandir_next(scan) end do
    list[#list + 1] = folder .. "/" .. name
  end
  table.sort(list, function(a, b)
    local x, y = uv.fs_stat(a).birthtime, uv.fs_stat(b).birthtime
    return x.sec < y.sec or x.sec == y.sec and x.nsec < y.nsec
  end)
  return list
end

local function check(...)
  local process = server.perigee { "lockstep", ... }
  local code = process:wait_exit(30)
  return code, table.concat(process.out, "\n") .. table.concat(process.err, "\n")
end

local function assert_check(code, pattern, ...)
  local got, text = check(...)
  assert.equal(code, got, text)
  assert.truthy(text:find(pattern), text)
  return text
end

-- Plays a match of that number of turns; returns the newest turn that a member has simulated.
local function play_match(s, turns, hash)
  local ann, bob = play(s.port, "ann", hash), play(s.port, "bob", hash)
  reach({ ann, bob }, turns)
  local last = math.max(ann.match.turn, bob.match.turn)
  ann.client:close()
  bob.client:close()
  return last
end

local function turns_in(path)
  local _, text = check(path)
  return tonumber(text:match ": (%d+) turns")
end

describe("a recording", function()
  after_each(server.stop_all)

  it("is played with a simulation, and with the game's on_turn", function()
    local s = server.start { game = game() }
    play_match(s, 60)
    s:stop()
    local path = recordings(s)[1]
    assert.truthy(path:find "/match%-%d%d%d%d%d%d%d%d%-%d%d%d%d%d%d%-%d+%.lockstep$", path)
    local wrong = " if turn == 30 then %s = 0 end"
    local files = server.folder {
      ["right.lua"] = fill_in(SIMULATION), ["wrong.lua"] = fill_in(SIMULATION, wrong:format "state"),
      ["none.lua"] = "return {}", ["broken.lua"] = "return {",
      ["right/game.lua"] = game("", fill_in(ON_TURN)),
      ["wrong/game.lua"] = game("", fill_in(ON_TURN, wrong:format "room.state.hash")),
      ["fails/game.lua"] = game("", fill_in(ON_TURN, "if turn == 30 then error 'no' end")),
      ["silent/game.lua"] = game("", "function match.on_turn() end"),
      ["without/game.lua"] = game(),
    }
    assert_check(0, "match:1, match %d+, seed %d+: %d+ turns, %d+ inputs, %d+ hashes; %a+, %a+", path)
    assert_check(0, "%d%d hashes compared: all the same", path, files .. "/right.lua")
    local differs = "turn 30: the simulation has the hash %d+, the recording %d+"
    assert_check(1, differs, path, files .. "/wrong.lua")
    assert_check(1, "returns no table with start", path, files .. "/none.lua")
    assert_check(1, "broken.lua", path, files .. "/broken.lua")
    assert_check(0, "%d%d hashes compared: all the same", path, files .. "/right")
    assert_check(0, "%d%d hashes compared: all the same", path, files .. "/right/game.lua")
    assert_check(1, differs, path, files .. "/wrong")
    assert_check(1, "match.on_turn failed: .*game.lua:%d+: no", path, files .. "/fails")
    assert_check(0, "no hashes compared", path, files .. "/silent")
    assert_check(1, "rooms like match:1 have no on_turn with lockstep", path, files .. "/without")
    assert_check(1, "nothing", path, files .. "/nothing")
  end)

  it("has hashes of trees too", function()
    local s = server.start { game = game() }
    play_match(s, 40, TREE)
    s:stop()
    local files = server.folder { ["right.lua"] = fill_in(SIMULATION, nil, TREE) }
    assert_check(0, "%d%d hashes compared: all the same", recordings(s)[1], files .. "/right.lua")
  end)

  it("is whole when the match is over, the room is deleted, the server ends or is killed", function()
    local s = server.start { game = game() }
    local ann, bob = play(s.port, "ann"), play(s.port, "bob")
    reach({ ann, bob }, 30)
    local first = ann.match.id
    ann.room:send "restart"
    local function is_another(player) return player.match.id ~= first and player.match.turn > 20 end
    wait.for_true(function() return is_another(ann) and is_another(bob) end)
    local list = recordings(s)
    assert.equal(2, #list)
    assert.is_true(turns_in(list[1]) >= 30)
    local last = math.max(ann.match.turn, bob.match.turn)
    ann.client:close()
    bob.client:close()
    assert.is_true(turns_in(list[2]) >= last)
    wait.for_true(function() -- the room has ended with its members
      local c = assert(client.connect("127.0.0.1:" .. s.port, { name = "cid" }))
      local rooms = c:rooms()
      c:close()
      return #rooms == 0
    end, 10)
    for fd in uv.fs_scandir_next, (assert(uv.fs_scandir("/proc/" .. s.pid .. "/fd"))) do
      local target = uv.fs_readlink("/proc/" .. s.pid .. "/fd/" .. fd)
      assert.is_nil((target or ""):match "%.lockstep$")
    end
    last = play_match(s, 30)
    s:stop()
    assert.is_true(turns_in(recordings(s)[3]) >= last)

    local other = server.start { game = game() }
    last = play_match(other, 30)
    other:kill "sigkill"
    other:wait_exit()
    other.signal = 0
    local path = recordings(other)[1]
    assert.is_true(turns_in(path) >= last)
    local file = assert(io.open(path, "ab"))
    file:write '{"turn":'
    file:close()
    assert.is_true(turns_in(path) >= last)
    file = assert(io.open(path, "ab"))
    file:write "\n{}\n"
    file:close()
    assert_check(1, "line %d+ is not part of a recording", path)
  end)

  it("has so many bytes at most", function()
    local s = server.start { game = game "record_limit = 2048" }
    play_match(s, 60)
    s:wait_log(function(fields)
      return (fields.message or ""):find("it has record_limit = 2048 bytes", 1, true)
    end)
    s:stop()
    local path = recordings(s)[1]
    assert.is_true(uv.fs_stat(path).size <= 2048)
    assert.is_true(turns_in(path) >= 5)
  end)

  it("is not made where it cannot be, and the match goes on", function()
    local s = server.start { files = { ["game.lua"] = game(), recordings = "a file" } }
    play_match(s, 30)
    s:wait_log(function(fields) return (fields.message or ""):find("no recording: ", 1, true) end)
    s:stop()
  end)

  it("is none that is something else", function()
    local files = server.folder { ["bad.lockstep"] = "hello\n", ["empty.lockstep"] = "" }
    assert_check(1, "line 1 is not part of a recording", files .. "/bad.lockstep")
    assert_check(1, "the file is empty", files .. "/empty.lockstep")
    assert_check(1, "nothing.lockstep", files .. "/nothing.lockstep")
    assert_check(2, "which recording%? write perigee lockstep FILE, or FILE GAME")
    assert_check(2, '"more" is one argument too many', "match", "game", "more")
    assert_check(2, "there is no option %-%-what", "--what")
  end)
end)
