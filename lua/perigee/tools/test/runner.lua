--- Runs specs with parts of busted, because busted's own runner would read the arguments and end the program.

local busted_core = require "busted.core"
local limit = require "perigee.tools.test.limit"
local term = require "term"
local secrets = require "perigee.util.secrets"
local testing = require "perigee.testing"

local runner = {}

local control = testing.control


local function check_dependency(element, _, message)
  io.stderr:write(("perigee: cannot load the output %s: %s\n"):format(element.name, message))
  return nil, true
end


-- Checks the servers of a test at its end. Errors in the game count as a failure of the test.
local function watch_tests(busted)
  local wrapped = {}
  busted.subscribe({ "register", "it" }, function(name, fn, ...)
    if wrapped[fn] then return nil, true end
    local info = debug.getinfo(fn, "S")
    local where = ("%s:%d: "):format(info.short_src, info.linedefined)
    local function test()
      fn()
      local problem = control.verdict()
      if problem then busted.fail(where .. problem, 0) end
    end
    setfenv(test, getfenv(fn))
    wrapped[test] = true
    busted.publish({ "register", "it" }, name, test, ...)
    return nil, false
  end, { priority = 1 })
  local function close_all()
    control.close_all()
    return nil, true
  end
  busted.subscribe({ "test", "end" }, close_all)
  busted.subscribe({ "file", "end" }, close_all)
end


-- Masks passwords and tokens in failures and errors, before any output gets these. The output has subscribed
-- before, so that this is called first.
local function mask_secrets(busted)
  for _, event in ipairs { { "failure", "it" }, { "error", "it" }, { "failure" }, { "error" } } do
    busted.subscribe(event, function(element, parent, message, ...)
      local masked = type(message) == "string" and secrets.mask(message) or message
      if masked == message then return nil, true end
      busted.publish(event, element, parent, masked, ...)
      return nil, false
    end, { priority = 1 })
  end
end


-- Counts the results, and stops at a failure if the command line requires that.
local function count_results(busted, chosen, counts)
  local function count()
    counts.faults = counts.faults + 1
    if chosen.stop_early then busted.skipAll = true end
    return nil, true
  end
  busted.subscribe({ "error", "output" }, check_dependency)
  busted.subscribe({ "error" }, count)
  busted.subscribe({ "failure" }, count)
  busted.subscribe({ "test", "start" }, function()
    counts.tests = counts.tests + 1
    return nil, true
  end)
end


local function load_output(busted, chosen)
  local is_terminal = io.type(io.stdout) == "file" and term.isatty(io.stdout)
  local default = is_terminal and "utfTerminal" or "plainTerminal"
  require "busted.modules.output_handler_loader"()(busted, chosen.output or default, {
    defaultOutput = default,
    verbose = chosen.verbose or false,
    suppressPending = false,
    language = "en",
    deferPrint = false,
    arguments = {},
  })
end


local function load_specs(busted, chosen, specs)
  require "busted.modules.filter_loader"()(busted, {
    tags = {}, excludeTags = {},
    filter = chosen.filter, filterOut = chosen.filter_out,
    list = chosen.list, nokeepgoing = chosen.stop_early, suppressPending = false,
  })
  require "busted.modules.test_file_loader"(busted, { "lua" })(specs, { "_spec%.lua$" }, {
    excludes = {}, verbose = chosen.verbose, recursive = true,
  })
end


--- Runs the specs, `runs` times if given. The function `output` gets busted and replaces busted's own output.
---@param chosen table options of the command line
---@param specs string[]
---@param runs? integer
---@param output? fun(busted: table)
---@return { tests: integer, faults: integer } counts
function runner.run(chosen, specs, runs, output)
  local busted, counts = busted_core(), { tests = 0, faults = 0 }
  require "busted"(busted)
  count_results(busted, chosen, counts)
  if output then
    output(busted)
  else
    load_output(busted, chosen)
  end
  mask_secrets(busted)
  require "busted.luajit"()
  if not chosen.list then watch_tests(busted) end
  if chosen.timeout > 0 then limit.watch(busted, chosen.timeout) end
  load_specs(busted, chosen, specs)
  require "busted.execute"(busted)(runs or 1, {})
  busted.publish({ "exit" })
  return counts
end


return runner
