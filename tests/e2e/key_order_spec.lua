--- The order of keys in pairs and next, and texts of values with addresses: the same in each process of a
--- simulated server, although LuaJIT hashes strings with a random seed and objects by their addresses.
local server = require "tests.e2e.server"

local SECONDS = 60

-- Builds, changes and visits random tables. Prints the keys in the order in which loops visit them.
local GAME = [=[
  local state

  local function random(count)
    state = (state * 16807) % 2147483647
    return state % count + 1
  end

  local objects
  local MAKERS = {
    function() return random(40) end,
    function() return random(1000) / 8 - 60 end,
    function() return "k" .. random(60) end,
    function() return ("a name with a long start "):rep(random(2)) .. string.char(random(255)) end,
    function() return ("\0"):rep(random(9) - 1) end,
    function() return random(2) == 1 end,
    function(peers) return peers[random(#peers)] end,
    function() return objects[random(#objects)] end,
  }

  local function fill(kinds, count, peers)
    local filled = {}
    for _ = 1, count do
      filled[MAKERS[kinds[random(#kinds)]](peers)] = random(9)
    end
    return filled
  end

  -- Returns the keys that a loop over `source` visits, while it removes every third one. Checks that it
  -- visits each key once, with its value.
  local function visit(source, step, walk)
    local texts, seen = {}, {}
    for key, value in step, walk or source do
      assert(not seen[key] and rawget(source, key) == value)
      seen[key] = true
      texts[#texts + 1] = type(key) == "string" and ("%q"):format(key) or tostring(key)
      if #texts % 3 == 0 then source[key] = nil end
    end
    for key in pairs(source) do assert(seen[key]) end
    return table.concat(texts, " ")
  end

  local function check_order(source)
    local last
    for key in pairs(source) do
      local has_less = type(key) == "number" or type(key) == "string"
      assert(type(key) ~= type(last) or not has_less or last < key)
      last = key
    end
  end

  local lobby
  local game = { config = { handler_budget = 5 }, on_message = {} }
  game.rooms = { lobby = { auto_create = true, on_create = function(room) lobby = room end } }

  function game.on_message.visit(peer, seed)
    state, objects = seed, {}
    for i = 1, 12 do
      objects[i] = i % 3 == 0 and function() return i end or i % 3 == 1 and { name = i } or { inner = { i } }
    end
    local peers = lobby:peers()
    peers[#peers + 1] = lobby
    for round = 1, 300 do
      local kinds = {}
      for i = 1, random(4) do kinds[i] = random(#MAKERS) end
      local source = fill(kinds, random(round % 10 == 0 and 400 or 20), peers)
      check_order(source)
      print(round, visit(source, pairs(source)))
      print(round, visit(source, next))
      print(("%s %s"):format(objects[random(#objects)], tostring(source)))
    end
  end

  return game
]=]

local SPEC = [[
  local testing = require "perigee.testing"
  it("visits", function()
    local server = testing.server()
    local ann, bob = server:clients(2)
    ann:join "lobby"
    bob:join "lobby"
    for seed = %d, %d do ann:ask("visit", seed) end
    for _, line in ipairs(server.logs) do print(line.text) end
  end)
]]

-- Returns what the game prints in a process of its own.
local function run(seed)
  local files = { ["game.lua"] = GAME, ["spec/visit_spec.lua"] = SPEC:format(seed, seed + 4) }
  local process = server.perigee({ "test" }, { cwd = server.folder(files) })
  local code = process:wait_exit(SECONDS)
  local lines = {}
  for _, line in ipairs(process.out) do
    lines[#lines + 1] = not line:find "^%d+ success" and line or nil
  end
  assert.equal(0, code, table.concat(lines, "\n"):sub(-2000))
  return lines
end

describe("keys", function()
  after_each(server.stop_all)

  it("have one order in all processes", function()
    local first, second = run(1), run(1)
    assert.is_true(#first > 4000, #first)
    assert.same(first, second)
  end)
end)
