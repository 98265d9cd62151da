-- The cost of misbehaving rooms for the others: a client in the 95 good rooms of games/offenders records how
-- late each of their ticks is. Prints the 99th percentile beside 1.5 times handler_budget.
--   luajit tests/bench/offenders.lua ADDRESS [SECONDS]
package.path = "lua/?.lua;" .. package.path

local client = require "perigee.client"
local uv = require "luv"

local ADDRESS, SECONDS = arg[1], tonumber(arg[2]) or 10
local ROOMS, INTERVAL_MS, BUDGET_MS = 95, 50, 50
local TARGET_MS = 1.5 * BUDGET_MS

local function connect(name)
  return assert(client.connect(ADDRESS, { name = name }))
end

-- Records how late each tick is, in milliseconds beyond its interval; returns the sorted list.
local function watch(c, rooms)
  local late, last = {}, {}
  local started = uv.hrtime() / 1e6
  repeat
    local event = c:recv(0.1)
    local now = uv.hrtime() / 1e6
    if event and event.type == "message" and event.room and rooms[event.room.id] then
      local id = event.room.id
      if last[id] then late[#late + 1] = math.max(0, now - last[id] - INTERVAL_MS) end
      last[id] = now
    end
  until now - started > SECONDS * 1000
  table.sort(late)
  return late
end

local c, asker = connect "watcher", connect "asker"
local rooms = {}
for i = 1, ROOMS do rooms[assert(c:join("good:" .. i)).id] = true end
local late = watch(c, rooms)
local errors = assert(asker:ask("errors", 1))

print(("%d ticks of %d rooms in %g s: late by %.1f ms (median), %.1f ms (p99), %.1f ms (worst)"):format(
  #late, ROOMS, SECONDS, late[math.ceil(#late / 2)], late[math.ceil(#late * 0.99)], late[#late]))
local names = {}
for name in pairs(errors) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do print(("  %s: ended %d times"):format(name, errors[name])) end
local p99 = late[math.ceil(#late * 0.99)]
print(("p99 %.1f ms, target < %.1f ms (1.5 x handler_budget): %s; both clients are connected: %s"):format(
  p99, TARGET_MS, p99 < TARGET_MS and "reached" or "NOT reached",
  tostring(c.connected and asker.connected)))
os.exit(p99 < TARGET_MS and #names >= 5 and c.connected and asker.connected and 0 or 1)
