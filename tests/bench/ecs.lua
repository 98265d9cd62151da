-- The time of perigee.world's queries, beside handwritten loops over arrays of the same tables. Each
-- measurement is a separate process, because the JIT's result for a program depends on what has run before.
-- LuaJIT's profiler is on, as in the server, where it makes compiled code check for interrupts.
--   luajit tests/bench/ecs.lua [ROUNDS]     from the root of the project
local ffi = require "ffi"

package.path = "./?.lua;lua/?.lua;" .. package.path

local ENTITIES = 10000
local RUNS = 300 -- runs in a process, after some to warm up; the best run counts
local TARGET_MS = 0.2 -- goal for a query of two components
local DT = 0.05

ffi.cdef [[
  typedef struct { long seconds, nanoseconds; } Clock;
  int clock_gettime(int which, Clock *clock);
]]

-- Returns seconds of the monotonic clock, because the clock of the process is coarse while the profiler runs.
local clock = ffi.new "Clock"
local function now()
  ffi.C.clock_gettime(1, clock)
  return tonumber(clock.seconds) + tonumber(clock.nanoseconds) / 1e9
end

-- Returns the API of perigee.world, which works without a server.
local function new_world()
  require("tests.lua.fake_core").new()
  local declared, live = require "perigee.world.declared", require "perigee.host.live"
  declared.on_use = function() end
  live.version = {}
  declared.begin(live.version)
  return require("perigee.world").api
end

local function move(position, velocity)
  position.x = position.x + velocity.x * DT
  position.y = position.y + velocity.y * DT
end

-- Makes entities with a position, and a velocity if `has_velocity` returns true.
local function fill(world, has_velocity)
  local positions, velocities = {}, {}
  for i = 1, ENTITIES do
    positions[i] = { x = i, y = -i }
    velocities[i] = has_velocity(i) and { x = 1, y = 2 } or false
    world:spawn { position = positions[i], velocity = velocities[i] or nil }
  end
  return positions, velocities
end

-- Returns a case, which makes two functions that do the same work.
local function moving(has_velocity)
  return function(world)
    local positions, velocities = fill(world, has_velocity)
    return function()
      for i = 1, ENTITIES do
        if velocities[i] then
          move(positions[i], velocities[i])
        end
      end
    end, function()
      for _, position, velocity in world:query("position", "velocity") do
        move(position, velocity)
      end
    end
  end
end

local CASES = {}
CASES["two components"] = moving(function() return true end)
CASES["two, half of them have both"] = moving(function(i) return i * 7919 % 10000 < 5000 end)
CASES["two, one in ten has both"] = moving(function(i) return i % 10 == 0 end)

CASES["one component"] = function(world)
  local positions = fill(world, function() return false end)
  return function()
    for i = 1, ENTITIES do
      positions[i].x = positions[i].x + DT
    end
  end, function()
    for _, position in world:query "position" do
      position.x = position.x + DT
    end
  end
end

CASES["four components"] = function(world)
  local a, b, c, d = {}, {}, {}, {}
  for i = 1, ENTITIES do
    a[i], b[i], c[i], d[i] = { n = i }, { n = 1 }, { n = 2 }, { n = 3 }
    world:spawn { a = a[i], b = b[i], c = c[i], d = d[i] }
  end
  return function()
    for i = 1, ENTITIES do
      a[i].n = b[i].n + c[i].n + d[i].n
    end
  end, function()
    for _, x, y, z, w in world:query("a", "b", "c", "d") do
      x.n = y.n + z.n + w.n
    end
  end
end

CASES["two, called as a system"] = function(world)
  local positions, velocities = fill(world, function() return true end)
  local query, plan = require "perigee.world.query", require("perigee.world.declared").plan
  local function system(_, position, velocity, dt)
    position.x = position.x + velocity.x * dt
    position.y = position.y + velocity.y * dt
  end
  return function()
    for i = 1, ENTITIES do
      move(positions[i], velocities[i])
    end
  end, function()
    query.each(plan("position", "velocity"), system, DT)
  end
end

CASES["get of each"] = function(world)
  local positions = fill(world, function() return false end)
  local entities = {}
  for entity in world:query "position" do
    entities[#entities + 1] = entity
  end
  return function()
    for i = 1, ENTITIES do
      positions[i].x = positions[i].x + DT
    end
  end, function()
    for i = 1, ENTITIES do
      local position = world:get(entities[i], "position")
      position.x = position.x + DT
    end
  end
end

local ORDER = {
  "two components", "two, half of them have both", "two, one in ten has both", "one component",
  "four components", "two, called as a system", "get of each",
}

local function best_of(run)
  for _ = 1, 30 do
    run()
  end
  local best = math.huge
  for _ = 1, RUNS do
    local start = now()
    run()
    best = math.min(best, now() - start)
  end
  return best
end

local function measure_one(name, way)
  local by_hand, by_query = CASES[name](new_world())
  require("jit.profile").start("li1000000", function() end)
  return best_of(way == "hand" and by_hand or by_query)
end

-- Runs this file in a new process for one measurement; returns milliseconds.
local function measure(name, way)
  local pipe = io.popen(("luajit tests/bench/ecs.lua one %q %s"):format(name, way))
  local seconds = tonumber((pipe:read "*l"))
  pipe:close()
  return assert(seconds, "a measurement failed") * 1e3
end

local function median(values)
  table.sort(values)
  return values[math.ceil(#values / 2)]
end

local function report(rounds)
  print(("%d entities; target: two components under %.1f ms\n"):format(ENTITIES, TARGET_MS))
  print "| query | by hand | perigee.world | ratio |\n|---|---|---|---|"
  for _, name in ipairs(ORDER) do
    local by_hand, by_query = {}, {}
    for i = 1, rounds do
      by_hand[i], by_query[i] = measure(name, "hand"), measure(name, "query")
    end
    local hand, query = median(by_hand), median(by_query)
    print(("| %s | %.3f ms | %.3f ms | %.2f × |"):format(name, hand, query, query / hand))
  end
end

if arg[1] ~= "one" then
  return report(tonumber(arg[1]) or 5)
end
print(measure_one(arg[2], arg[3]))
