--- `perigee lockstep`: records a match from outside, and checks it; and lockstep over real connections by
--- the Lua client.
local client = require "perigee.client"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  return { rooms = { match = { auto_create = true, auto_delete = 30,
    lockstep = { turn_rate = 50, start = 2, players = 2 } } } }
]]

-- A simulation as the command wants it, which the players of the spec run as well.
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
    hash = function() return state % 2 ^ 32 end,
  }
]]

local function simulation(more)
  return (SIMULATION:gsub("MORE", more or ""))
end

local function play(address, name)
  local c = assert(client.connect(address, { name = name }))
  local room = assert(c:join "match:1")
  local game, given = loadstring(simulation())(), 0
  function game.input()
    given = given + 1
    return given % 3 == 0 and name .. given or ""
  end
  return { client = c, match = room:lockstep(game) }
end

describe("a recorded match", function()
  it("is checked against a simulation", function()
    local running = server.start { game = GAME }
    local address = "127.0.0.1:" .. running.port
    local files = server.folder {
      ["right.lua"] = simulation(), ["wrong.lua"] = simulation " if turn == 30 then state = 0 end",
      ["none.lua"] = "return {}", ["bad.lockstep"] = "hello\n",
    }
    local path = files .. "/match.lockstep"
    local ann, bob = play(address, "ann"), play(address, "bob")
    local recorder = server.perigee { "lockstep", "--record", address, "match:1", path }
    wait.for_true(function()
      local file = io.open(path)
      local text = file and file:read "*a" or ""
      if file then file:close() end
      return select(2, text:gsub('"hash"', "")) > 60
    end, 30)
    assert.is_true(ann.match.turn > 60 and bob.match.turn > 60)
    ann.client:close()
    bob.client:close()
    running:stop()
    assert.equal(0, recorder:wait_exit(10), table.concat(recorder.err, "\n"))
    assert.truthy(recorder.out[1]:find "turns$")

    local function check(...)
      local process = server.perigee { "lockstep", ... }
      local code = process:wait_exit(20)
      return code, table.concat(process.out, "\n") .. table.concat(process.err, "\n")
    end

    local code, text = check(path)
    assert.equal(0, code, text)
    assert.truthy(text:find("match:1, match %d+, seed %d+: %d+ turns, %d+ inputs, %d+ hashes; "), text)
    code, text = check(path, files .. "/right.lua")
    assert.equal(0, code, text)
    assert.truthy(text:find "hashes compared: all the same", text)
    code, text = check(path, files .. "/wrong.lua")
    assert.equal(1, code)
    assert.truthy(text:find("turn 30: the simulation has the hash %d+, the recording %d+"), text)
    code, text = check(path, files .. "/none.lua")
    assert.equal(1, code)
    assert.truthy(text:find("returns no table with start", 1, true), text)
    code, text = check(files .. "/bad.lockstep")
    assert.equal(1, code)
    assert.truthy(text:find("line 1 is none of a recording", 1, true), text)
    assert.equal(1, (check(files .. "/nothing.lockstep")))
    assert.equal(2, (check()))
    assert.equal(2, (check "--what"))
  end)
end)
