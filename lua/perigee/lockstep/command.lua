--- `perigee lockstep`: records a match, and checks a recording against a simulation.

local recording = require "perigee.lockstep.recording"

local EXIT_GOOD, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
local FLUSH_TURNS = 20

local function fail(format, ...)
  io.stderr:write("perigee: ", format:format(...), "\n")
  return EXIT_FAILED
end


local function usage(problem)
  io.stderr:write("perigee: ", problem, " (see `perigee help lockstep`)\n")
  return EXIT_USAGE
end


-- Recording ---------------------------------------------------------------------------------

-- When another match begins the file begins anew.
local function recorder(path, room)
  local file, count, game = nil, 0, {}
  local function write(line)
    file:write(line, "\n")
  end
  function game.start(match)
    if file then file:close() end
    file = assert(io.open(path, "wb"))
    write(recording.head(room.name, match))
  end
  function game.step(turn, entries)
    write(recording.turn(turn, entries))
    count = turn
    if turn % FLUSH_TURNS == 0 then file:flush() end
  end
  function game.on_hash(turn, hash)
    write(recording.hash(turn, hash))
  end
  local function finish()
    if file then file:close() end
    return count
  end
  return game, finish
end


local function record(address, name, path)
  local client = require "perigee.client"
  local c, problem = client.connect(address, { name = "recorder", reconnect = false })
  if not c then return fail("%s", problem) end
  local room, why = c:join(name)
  if not room then return fail("cannot join %s: %s", name, why) end
  local game, finish = recorder(path, room)
  local reason
  room:lockstep(game)
  repeat
    local event = c:recv()
    if event and event.type == "error" then reason = event.message end
    if event and event.type == "closed" then reason = event.code ~= "ConnectionClosed" and event.message end
  until not event or event.type == "closed" or reason
  local count = finish()
  if reason then return fail("%s", reason) end
  print(("%s: %d turns"):format(path, count))
  return EXIT_GOOD
end


-- Checking ----------------------------------------------------------------------------------

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


local function check(path, simulation_path)
  local file, problem = io.open(path, "rb")
  if not file then return fail("%s", problem) end
  local read, wrong = recording.read(file:lines())
  file:close()
  if not read then return fail("%s: %s", path, wrong) end
  describe(read)
  if not simulation_path then return EXIT_GOOD end
  local simulation, why = load_simulation(simulation_path)
  if not simulation then return fail("%s", why) end
  local ok, compared, differs = pcall(recording.play, read, simulation)
  if not ok then return fail("%s", tostring(compared)) end
  if differs then
    return fail("turn %d: the simulation has the hash %d, the recording %d", differs.turn, differs.hash,
      differs.recorded)
  end
  print(("%d hashes compared: all the same"):format(compared))
  return EXIT_GOOD
end


--- The command. Takes the arguments behind `perigee lockstep`; returns the exit code.
---@param ... string
---@return integer
return function(...)
  local arguments = { ... }
  if arguments[1] == "--record" then
    if #arguments ~= 4 then return usage "--record takes an address, a room and a file" end
    return record(arguments[2], arguments[3], arguments[4])
  end
  for _, argument in ipairs(arguments) do
    if argument:find "^%-" then return usage(("there is no flag %s"):format(argument)) end
  end
  if #arguments == 0 or #arguments > 2 then return usage "a recording, and perhaps a simulation" end
  return check(arguments[1], arguments[2])
end
