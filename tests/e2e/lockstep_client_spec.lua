--- Lockstep by the Lua client over real connections, one of which is cut again and again. The match continues
--- with the client's state, both in the resumed session and in a new one.
local bit = require "bit"
local client = require "perigee.client"
local cutting_proxy = require "tests.e2e.cutting_proxy"
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local GAME = [[
  return { rooms = { match = { auto_create = true, auto_delete = 30,
    lockstep = { turn_rate = 50, start = 2, players = 2 } } } }
]]
local CUTS = 5

local function play(address, name)
  local c = assert(client.connect(address, { name = name, reconnect = { first = 0.01, max = 0.05 } }))
  local room = assert(c:join "match:1")
  local self = { client = c, hashes = {}, starts = 0, restores = 0 }
  local state, given = 0, 0
  self.match = room:lockstep {
    start = function(match) state, self.starts = match.seed, self.starts + 1 end,
    step = function(turn, entries)
      for _, entry in ipairs(entries) do
        for i = 1, #entry.data do state = bit.bxor(state, entry.data:byte(i) * turn + entry.slot) end
      end
      state = bit.bxor(bit.rol(bit.tobit(state), 5), turn)
      self.hashes[turn] = state
    end,
    hash = function() return state % 2 ^ 32 end,
    snapshot = function() return tostring(state) end,
    restore = function(bytes) state, self.restores = tonumber(bytes), self.restores + 1 end,
    input = function()
      given = given + 1
      return name .. given
    end,
  }
  return self
end

local function plays(how, resume)
  it("goes on over a session that is " .. how, function()
    math.randomseed(7)
    local s = server.start { game = GAME, resume = resume }
    local proxy = cutting_proxy.start(s.port, {
      random = math.random, cuts_max = 0, bytes_max = 20000,
    })
    local ann, bob = play("127.0.0.1:" .. s.port, "ann"), play("127.0.0.1:" .. proxy.port, "bob")
    wait.for_true(function() return bob.match.turn > 5 end)
    proxy.cuts_max = CUTS
    local told = 0
    bob.client:on(how, function() told = told + 1 end)
    wait.for_true(function() return proxy.cuts == CUTS and told > 0 end, 60)
    local turn = bob.match.turn
    wait.for_true(function() return bob.match.turn > turn + 50 and ann.match.turn >= bob.match.turn end, 30)
    local compared = 0
    for at, hash in pairs(bob.hashes) do
      if ann.hashes[at] then
        compared = compared + 1
        assert.equal(ann.hashes[at], hash)
      end
    end
    assert.is_true(compared > 50)
    assert.same({ 1, 0 }, { bob.starts, bob.restores })
    ann.client:close()
    bob.client:close()
    proxy:stop()
    s:stop()
  end)
end

describe("a match", function()
  plays("resumed", true)
  plays("lost", false)

  it("that cannot be says why", function()
    local s = server.start {
      game = [[return { rooms = {
        plain = { auto_create = true }, match = { auto_create = true, lockstep = {} },
      } }]],
    }
    local c = assert(client.connect("127.0.0.1:" .. s.port))
    local ended
    local match = assert(c:join "plain:1"):lockstep {
      step = function() end, on_end = function(...) ended = { ... } end,
    }
    wait.for_true(function() return ended end)
    assert.same({ "rooms of this kind have no lockstep", "Unsupported" }, ended)
    assert.is_false(match.is_ready)
    match = assert(c:join "match"):lockstep {
      step = function() end, on_end = function(...) ended = { ... } end,
    }
    wait.for_true(function() return match.is_ready end)
    c:close()
    assert.same({ "this client is out of the room (ConnectionClosed)", "ConnectionClosed" }, ended)
    s:stop()
  end)
end)
