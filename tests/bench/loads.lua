-- The loads of tests/e2e/loads.lua on one binary or several side by side, in rounds; prints for each the
-- worst PING, WELCOME and tick of a room that has nothing to do with the load, and how long the server
-- takes to end after SIGTERM.
--   luajit tests/bench/loads.lua SECONDS ROUNDS BINARY [BINARY...]
local loads = require "tests.e2e.loads"
local server = require "tests.e2e.server"
local uv = require "luv"

local COLUMNS = { "ping", "welcome", "tick", "stop" }
local seconds, rounds = tonumber(arg[1]), tonumber(arg[2])
local binaries = { unpack(arg, 3) }

local function measure(load, binary)
  uv.os_setenv("PERIGEE_BIN", binary)
  local worst = loads.measure(load, seconds, { log_level = "error" })
  pcall(server.stop_all) -- kills servers that have not ended
  return worst
end

local function row(load)
  local worst = {}
  for _ = 1, rounds do
    for i, binary in ipairs(binaries) do
      local found = measure(load, binary)
      worst[i] = worst[i] or {}
      for _, column in ipairs(COLUMNS) do
        worst[i][column] = math.max(worst[i][column] or 0, found[column])
      end
    end
  end
  local cells = { load.label }
  for _, column in ipairs(COLUMNS) do
    local values = {}
    for i = 1, #binaries do values[i] = ("%.0f"):format(worst[i][column]) end
    cells[#cells + 1] = table.concat(values, " / ")
  end
  print("| " .. table.concat(cells, " | ") .. " |")
end

print("worst of " .. rounds .. " rounds of " .. seconds .. " s, in ms: " .. table.concat(binaries, " / "))
print "| load | PING | WELCOME | another room's tick | end after SIGTERM |"
print "|---|---|---|---|---|"
for _, load in ipairs(loads.all) do row(load) end
