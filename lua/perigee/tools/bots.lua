--- `perigee bots GAME`: runs many clients that a script drives, and reports the results.

local address = require "perigee.client.address"
local arguments = require "perigee.tools.arguments"
local client = require "perigee.client"
local loop = require "perigee.client.loop"
local bot = require "perigee.tools.bots.bot"
local figures = require "perigee.tools.bots.figures"
local game = require "perigee.tools.bots.game"
local line = require "perigee.tools.bots.line"
local options = require "perigee.tools.bots.options"
local describe = require "perigee.util.describe"
local on_signals = require "perigee.tools.signals"
local uv = require "perigee.tools.uv"

local EXIT_GOOD, EXIT_FAILED = 0, 1
local PARTS = { on_message = "table", on_ask = "table", run = "function" } -- fields of a script that is a
                                                                           -- table
local PING_EVERY, MEASURE_STEP = 1, 0.01 -- seconds
local PINGS_MAX = 1000 -- pings a second, of all bots together
-- How the garbage collector works: it begins at this percentage of the memory in use, and then works so much
-- faster than the program allocates. Both keep memory low, because bots are many.
local GC_PAUSE, GC_SPEED = 110, 5000
local END_TIMEOUT = 2 -- seconds that bots have to end after the end of the run


-- Returns an error with the part of its traceback that is in the script.
local function tell(problem)
  problem = problem:gsub("\n%s*%[C%]: in function 'xpcall'.*", ""):gsub("\n%s*stack traceback:", "")
  return (problem:gsub("\n%s+", "\n      "))
end


-- Returns the error in a part of a script, or nil.
local function part_problem(name, part)
  if not PARTS[name] then
    return ("a script has no part %q; there are on_message, on_ask and run"):format(tostring(name))
  elseif type(part) ~= PARTS[name] then
    return ("%s must be a %s, not %s"):format(name, PARTS[name], describe.kind(part))
  end
  for event, handler in pairs(PARTS[name] == "table" and part or {}) do
    if type(handler) ~= "function" then
      return ("%s.%s must be a function, not %s"):format(name, tostring(event), describe.kind(handler))
    end
  end
end


--- Returns the script, a function or a table; or nil and an error.
local function load_script(path)
  if not path then return {} end
  local folder = path:match "^(.*)/[^/]*$" or "." -- folder of the modules that the script requires
  package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(folder, folder, package.path)
  local chunk, problem = loadfile(path)
  if not chunk then return nil, problem end
  local ok, script = xpcall(chunk, function(text) return debug.traceback(tostring(text), 2) end)
  if not ok then return nil, tell(script) end
  if type(script) == "function" then return script end
  if type(script) ~= "table" then
    return nil, ("%s returns neither a function nor a table; does it end with `return`?"):format(path)
  end
  for name, part in pairs(script) do
    local wrong = part_problem(name, part)
    if wrong then return nil, ("%s: %s"):format(path, wrong) end
  end
  return script
end


--- Prints status lines. On a terminal, each line replaces the previous line. In a pipe, the lines follow each
--- other.
local function show_status(run, chosen)
  local is_terminal = uv.guess_handle(1) == "tty"
  local every = chosen.every or (is_terminal and 1 or 5)
  while not run.is_over do
    run.wait(every)
    if run.is_over then break end
    io.stdout:write(is_terminal and "\r\27[K" or "", run.figures:status(), is_terminal and "" or "\n")
    io.stdout:flush()
  end
  if is_terminal then io.stdout:write "\r\27[K" end
end


--- Ends the run and all waits of bots.
local function finish(run)
  if run.is_over then return end
  run.is_over = true
  loop.fill(run.ending)
  run.wake()
end


local function with_traceback(problem)
  return type(problem) == "string" and debug.traceback(problem, 2) or problem
end


local function new_run(chosen, script)
  local run = {
    script = script, is_over = false, ending = loop.future(), done = loop.future(), playing = 0,
    clients = {}, figures = figures.new(chosen.count, chosen.udp), seed = chosen.seed,
  }
  local waits = {} -- future -> client whose end also ends the wait, or true
  --- Lets time pass. Returns early if the run ends, or if client `c` is closed. Returns whether neither has.
  function run.wait(seconds, c)
    if run.is_over then return false end
    local future = loop.future()
    waits[future] = c or true
    loop.wait(future, seconds)
    waits[future] = nil
    return not run.is_over and not (c and c.reason)
  end
  --- Ends the waits for a client, or all waits.
  function run.wake(c)
    local ended = {}
    for future, about in pairs(waits) do
      if not c or about == c then ended[#ended + 1] = future end
    end
    for _, future in ipairs(ended) do loop.fill(future) end
  end
  local is_worse = chosen.latency > 0 or chosen.jitter > 0 or chosen.loss > 0
  --- Returns the line between a bot and the server, or nil.
  function run.line(number)
    return is_worse and line.new(chosen, chosen.seed, number) or nil
  end
  --- Calls a function of the script and returns its result. Counts an error of the function as an error of
  --- the bot.
  function run.try(c, fn, ...)
    local ok, problem = xpcall(fn, with_traceback, ...)
    if ok then return problem end
    run.fail(c, problem)
  end
  --- Counts an error of a bot.
  function run.fail(c, problem)
    -- The end of a run interrupts bots, which is not an error.
    if problem == bot.OVER or run.summary or (run.is_over and c.reason) then return end
    run.figures.failures = run.figures.failures + 1
    run.figures:add_error(tell(tostring(problem)))
  end
  return run
end


local function count_end(run)
  run.playing = run.playing - 1
  if run.playing == 0 and run.all_started then loop.fill(run.done) end
end


-- Ends a bot whose script has ended.
local function leave(c, run)
  bot.count_end(c)
  if not c.reason and not run.is_over then
    run.figures:add_udp(c)
    run.clients[c] = nil
    c:close()
    run.figures.connected = run.figures.connected - 1
  end
  count_end(run)
end


-- Runs the script of a bot. Calls as few functions as possible around it, because each bot has a stack.
local function play(c, run)
  local ok, problem = xpcall(bot.play, with_traceback, c)
  if not ok then run.fail(c, problem) end
  return leave(c, run)
end


local function start_bot(number, chosen, run)
  local c = bot.connect(number, chosen, run)
  -- The script gets a coroutine of its own, because a coroutine keeps the large stack that connecting needs.
  if c then client.spawn(play, c, run) else count_end(run) end
end


local function start_bots(chosen, run)
  local start = client.now()
  for number = 1, chosen.count do
    local due = start + (number - 1) / chosen.count * chosen.ramp
    if due > client.now() then run.wait(due - client.now()) end
    if run.is_over then break end
    run.playing = run.playing + 1
    client.spawn(start_bot, number, chosen, run)
  end
  run.all_started = true
  if run.playing == 0 then loop.fill(run.done) end
end


-- Measures the round trip of each bot once in PING_EVERY seconds, a few bots at a time. Measures many bots
-- less often, because PINGS_MAX limits all pings together.
local function measure(run)
  while not run.is_over do
    local clients = {}
    for c in pairs(run.clients) do clients[#clients + 1] = c end
    local every = math.max(PING_EVERY, #clients / PINGS_MAX)
    local step = math.max(MEASURE_STEP, every / math.max(#clients, 1))
    local at_once = math.ceil(#clients * step / every)
    for at, c in ipairs(clients) do
      if run.clients[c] then loop.enter(bot.measure, c, run.figures) end
      if at % at_once == 0 then run.wait(step) end
    end
    if #clients == 0 then run.wait(MEASURE_STEP) end
  end
end


-- Closes the clients of all bots that are still connected.
local function close_all(run)
  local open, all_closed = 0, loop.future()
  for c in pairs(run.clients) do
    open = open + 1
    client.spawn(function()
      c:close()
      open = open - 1
      if open == 0 then loop.fill(all_closed) end
    end)
  end
  if open > 0 then loop.wait(all_closed, END_TIMEOUT) end
end


--- Runs all bots; waits until the run is over and all bots have ended.
local function run_bots(chosen, run)
  client.spawn(start_bots, chosen, run)
  client.spawn(show_status, run, chosen)
  client.spawn(measure, run)
  client.spawn(function()
    loop.wait(run.done)
    finish(run)
  end)
  loop.wait(run.ending, chosen.seconds)
  finish(run)
  loop.wait(run.done, END_TIMEOUT)
  for c in pairs(run.clients) do run.figures:add_udp(c) end
  run.summary = run.figures:summary()
  close_all(run)
end


local function target(chosen, run)
  local stop
  run.address = chosen.game
  if game.is_one(chosen.game) then
    chosen.schema = chosen.schema or game.schema(chosen.game)
    run.address, stop = game.serve(chosen.game)
    if not run.address then return nil, stop end
    return stop
  end
  if not address.parse(run.address) then
    return nil, ("there is no game %q, and an address is host, host:port or [v6]:port"):format(run.address)
  end
  return function() end
end


local function command(chosen)
  local script, problem = load_script(chosen.script)
  if not script then return arguments.fail("%s", problem) end
  local run = new_run(chosen, script)
  local stop
  stop, problem = target(chosen, run)
  if not stop then return arguments.fail("%s", problem) end
  run.figures.start = client.now()
  local ignore_signals = on_signals(function(code)
    run.exit_code = code
    finish(run)
  end)
  collectgarbage("setpause", GC_PAUSE)
  collectgarbage("setstepmul", GC_SPEED)
  run_bots(chosen, run)
  io.stdout:write(run.summary)
  io.stdout:flush()
  ignore_signals()
  stop()
  if run.exit_code then return run.exit_code end
  local is_good = run.figures.came == chosen.count and run.figures.failures == 0
  return is_good and EXIT_GOOD or EXIT_FAILED
end


--- Runs `perigee bots`.
return arguments.command(options, function(chosen)
  local code = client.run(command, chosen)
  uv.run "nowait" -- luv crashes if the program ends while a handle is closing
  return code
end)
