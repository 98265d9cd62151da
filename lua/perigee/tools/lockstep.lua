--- `perigee lockstep`: describes a recording, and plays it with a game or with a simulation.

local hash_of = require("perigee.client.lockstep").hash_of
local recording = require "perigee.lockstep.recording"
local sim = require "perigee.sim"
local tool = require "perigee.tool"

local EXIT_GOOD, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

local function fail(format, ...)
  io.stderr:write("perigee: ", format:format(...), "\n")
  return EXIT_FAILED
end


local function usage(problem)
  io.stderr:write("perigee: ", problem, " (see `perigee help lockstep`)\n")
  return EXIT_USAGE
end

-- Players -----------------------------------------------------------------------


-- Loads a Lua file that returns the argument of room:lockstep.
local function load_simulation(path)
  local folder = path:match "^(.*)/[^/]*$" or "."
  package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(folder, folder, package.path)
  local chunk, problem = loadfile(path)
  if not chunk then return nil, problem end
  local ok, simulation = pcall(chunk)
  if not ok then return nil, tostring(simulation) end
  if type(simulation) ~= "table" or not simulation.step or not simulation.hash then
    return nil, path .. " returns no table with start(match), step(turn, entries) and hash()"
  end
  return simulation
end


-- Raises an error if the server's log has an error.
local function check_log(id)
  for _, line in ipairs(sim.log(id)) do
    if line.level == "error" then error(line.text, 0) end
  end
end


-- Loads a game that simulates in on_turn. The game runs in a separate server, and its turns have the recorded
-- duration.
local function load_game(path, head)
  local id, problem = sim.open { game = path, seed = 1 }
  if not id then return nil, problem end
  local now, step_ms = sim.now(id), math.max(1, math.floor(head.interval * 1000 + 0.5))
  local function advance()
    now = now + step_ms
    sim.iterate(id, now)
    check_log(id)
  end
  local at
  return {
    start = function()
      sim.inspect(id, "replay_begin", head)
      advance()
      if not sim.inspect(id, "replay_is_possible") then
        error(("%s: rooms like %s have no on_turn with lockstep"):format(path, head.room), 0)
      end
    end,
    step = function(turn, entries)
      at = turn
      sim.inspect(id, "replay_turn", turn, entries)
      advance()
    end,
    hash = function() return (sim.inspect(id, "replay_hash", at)) end,
  }
end


-- Checking ----------------------------------------------------------------------------------


local function describe(read)
  local inputs, names = 0, {}
  for _, entries in ipairs(read.turns) do
    for _, entry in ipairs(entries) do
      if entry.kind == "input" then inputs = inputs + 1 end
      if entry.kind == "joined" then names[#names + 1] = entry.name end
    end
  end
  local hashes = 0
  for _ in pairs(read.hashes) do hashes = hashes + 1 end
  print(("%s, match %d, seed %d: %d turns, %d inputs, %d hashes; %s"):format(read.head.room, read.head.match,
    read.head.seed, #read.turns, inputs, hashes, #names > 0 and table.concat(names, ", ") or "no players"))
end


-- Returns the number of compared hashes, and the first hash that differs. Skips turns for which `hash`
-- returns nil.
local function compare(read, player)
  local compared = 0
  if player.start then
    player.start { id = read.head.match, seed = read.head.seed, interval = read.head.interval }
  end
  for turn, entries in ipairs(read.turns) do
    player.step(turn, entries)
    local recorded = read.hashes[turn]
    local value = recorded and player.hash()
    if value then
      compared = compared + 1
      local hash = hash_of(value)
      if hash ~= recorded then return compared, { turn = turn, hash = hash, recorded = recorded } end
    end
  end
  return compared
end


local function play(read, player)
  local ok, compared, differs = pcall(compare, read, player)
  if not ok then return fail("%s", tostring(compared)) end
  if differs then
    return fail("turn %d: the simulation has the hash %d, the recording %d", differs.turn, differs.hash,
      differs.recorded)
  end
  print(compared > 0 and ("%d hashes compared: all the same"):format(compared)
    or "no hashes compared: there are none in the recording, or on_turn returns none")
  return EXIT_GOOD
end


--- Runs `perigee lockstep` with the arguments after that name; returns the exit code.
---@param ... string
---@return integer
return function(...)
  local arguments = { ... }
  for _, argument in ipairs(arguments) do
    if argument:find "^%-" then return usage(("there is no option %s"):format(argument)) end
  end
  if #arguments == 0 then return usage "which recording? write perigee lockstep FILE, or FILE GAME" end
  if #arguments > 2 then return usage(("%q is one argument too many"):format(arguments[3])) end
  local path, game = arguments[1], arguments[2]
  local file, problem = io.open(path, "rb")
  if not file then return fail("%s", problem) end
  local _, unreadable = file:read(0) -- for example because it is a folder
  if unreadable then return fail("%s: %s", path, unreadable) end
  local read, wrong = recording.read(file:lines())
  file:close()
  if not read then return fail("%s: %s", path, wrong) end
  describe(read)
  if not game then return EXIT_GOOD end
  local is_game = tool.kind(game) == "folder" or game:match "[^/]*$" == "game.lua"
  local player, why = (is_game and load_game or load_simulation)(game, read.head)
  if not player then return fail("%s", why) end
  return play(read, player)
end
