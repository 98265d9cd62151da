--- `perigee test --fuzz N`: runs the specs repeatedly, with different timing and order of events each time,
--- until one fails. Seeds increase, so the first failing seed is the smallest.

local runner = require "perigee.tools.test.runner"
local term = require "term"
local testing = require "perigee.testing"

local fuzz = {}

local CLEAR = "\r\27[K"


-- Prints the line on the screen during the run.
local function progress()
  local is_terminal = io.type(io.stdout) == "file" and term.isatty(io.stdout)
  local function show(format, ...)
    if not is_terminal then return end
    io.stdout:write(CLEAR, format:format(...))
    io.stdout:flush()
  end
  return show
end


local function full_name(busted, element)
  local names = { element.name or element.descriptor }
  local parent = busted.api.parent(element)
  while parent and parent.name and parent.descriptor ~= "file" do
    table.insert(names, 1, parent.name)
    parent = busted.api.parent(parent)
  end
  return table.concat(names, " ")
end


-- Sets the seed of each run, and stores the first failure.
local function listen(busted, found, seeds)
  local show = progress()
  busted.subscribe({ "suite", "start" }, function(_, run)
    found.seed = run
    testing.control.configure { seed = run, fuzz = true }
    show("seed %d of %d", run, seeds)
    return nil, true
  end)
  local function note(element, _, message)
    found.name = found.name or full_name(busted, element)
    found.message = found.message or tostring(message)
    busted.skipAll = true
    return nil, true
  end
  busted.subscribe({ "failure" }, note)
  busted.subscribe({ "error" }, note)
  busted.subscribe({ "suite", "end" }, function()
    show ""
    return nil, true
  end)
end


--- Runs the specs under `chosen.fuzz` seeds, or until one fails.
---@param chosen table options of the command line
---@param specs string[]
---@return integer? seed seed of the failure; nil without a failure
---@return { tests: integer } counts
function fuzz.run(chosen, specs)
  local found = {}
  local counts = runner.run(chosen, specs, chosen.fuzz, function(busted)
    listen(busted, found, chosen.fuzz)
  end)
  if counts.faults == 0 then
    print(("%d seeds, %d tests: all passed"):format(chosen.fuzz, counts.tests))
    return nil, counts
  end
  print(("seed %d of %d fails: %s\n%s"):format(found.seed, chosen.fuzz, found.name, found.message))
  return found.seed, counts
end


return fuzz
