-- Shared by the specs: a match without bots and random events, unless a spec asks for them.
local testing = require "perigee.testing"

local helper = {}

-- Returns the game with fixed numbers, so that a designer's change of them breaks no spec. `changes` is Lua:
-- "rules.fill_to = 3".
function helper.source(changes)
  return ([[
    local rules = require "arena.rules"
    rules.bullet_speed, rules.fill_to, rules.safe_after_spawn = 700, 0, 0
    rules.speed, rules.grip, rules.dash_speed, rules.dash_every = 270, 14, 1150, 1.4
    rules.health, rules.damage, rules.health_for_a_kill, rules.fire_every = 100, 20, 0, 0.15
    rules.bullet_seconds, rules.respawn_after, rules.round_seconds, rules.kills_to_win = 1.1, 2.5, 180, 20
    local map = require "arena.map"
    map.width, map.height = 1600, 1000
    map.walls = { { 780, 400, 40, 200 } }
    map.spawns = { { 200, 500 }, { 600, 500 }, { 600, 100 } }
    map.items = { { 1500, 900 } }
    %s
    local arena = require "rooms.arena"
    -- Lets specs place a fighter, which players cannot.
    function arena.on_message.put(room, _, value)
      local fighter = require("arena.fighters").find(room, value.id)
      for key, new in pairs(value) do fighter[key] = new end
      fighter.vx, fighter.vy = 0, 0
    end
    local game = { config = { rate_limit = 120, rate_limit_kick = true }, rooms = { arena = arena } }
    function game.on_suspend(peer) arena.suspend(peer:rooms()[1], peer) end
    return game
  ]]):format(changes or "")
end

function helper.server(changes)
  return testing.server { source = helper.source(changes) }
end

-- Starts a server without fuzzing, for specs that check exact paths and times.
function helper.exact_server(changes)
  return testing.server { source = helper.source(changes), fuzz = false }
end

-- Adds a client to the match. It numbers its inputs, as the page does.
function helper.player(server, name, options)
  local client = server:client { name = name, schema = options and options.schema }
  local player = { client = client, id = client.id, room = client:join "arena:1", n = 0 }

  assert(player.room:ask("play", name))

  function player:input(keys)
    self.n = self.n + 1
    self.room:send("input", { n = self.n, x = keys.x or 0, y = keys.y or 0, a = keys.a or 0,
      f = keys.f == 1, d = keys.d == 1 }, { reliable = false })
  end

  -- Holds keys for some seconds. Repeats the input now and then, as a page does.
  function player:hold(keys, seconds)
    for _ = 1, math.floor(seconds / 0.1 + 0.5) do
      self:input(keys)
      server:advance(0.1)
    end
  end

  -- Shoots in that direction until its enemy must be dead, and waits until all bullets have ended.
  function player:shoot(angle)
    self:hold({ a = angle, f = 1 }, 1)
    self:hold({ a = angle }, 0.5)
  end

  -- Moves this fighter to a position, and sets further fields of it.
  function player:put(x, y, fields)
    local value = { id = self.id, x = x, y = y }
    for key, new in pairs(fields or {}) do value[key] = new end
    self.room:send("put", value)
    server:advance(0.02)
  end

  -- Returns the server's state of the fighter.
  function player:fighter()
    for _, fighter in ipairs(server:room("arena:1").state.fighters) do
      if fighter.id == self.id then return fighter end
    end
  end

  return player
end

-- Starts a match of two fighters that face each other: if ann shoots to the right, she hits bob.
function helper.duel()
  local server = helper.exact_server()
  local ann, bob = helper.player(server, "ann"), helper.player(server, "bob")
  ann:put(200, 500)
  bob:put(500, 500)
  return server, ann, bob
end

return helper
