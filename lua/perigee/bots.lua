--- `perigee bots GAME`: many clients that a script drives, and how it went.

local client = require "perigee.client"
local loop = require "perigee.client.loop"
local need = require "perigee.client.need"
local bot = require "perigee.bots.bot"
local figures = require "perigee.bots.figures"
local game = require "perigee.bots.game"
local line = require "perigee.bots.line"
local options = require "perigee.bots.options"
local uv = need("luv", "lua-luv", "luv")

local EXIT_GOOD, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
local SIGNALS = { sigint = 130, sigterm = 143, sighup = 129 }
local END_TIMEOUT = 2 -- seconds that bots have to end by themselves


local function fail(message)
  io.stderr:write("perigee: ", message, "\n")
  return EXIT_FAILED
end


--- The script: a function or a table; nil and what is wrong.
local function load_script(path)
  if not path then return {} end
  local chunk, problem = loadfile(path)
  if not chunk then return nil, problem end
  local ok, script = xpcall(chunk, function(text) return debug.traceback(tostring(text), 2) end)
  if not ok then return nil, script end
  if type(script) == "function" or type(script) == "table" then return script end
  return nil, path .. " returns neither a function nor a table"
end


-- Lets time pass, less where the run ends before.
local function pause(run, seconds)
  local deadline = client.now() + seconds
  while not run.is_over and client.now() < deadline do
    client.sleep(math.min(0.1, deadline - client.now()))
  end
end


--- Prints status lines: in place on a terminal, one below the other in a pipe.
local function show_status(run, chosen)
  local is_terminal = uv.guess_handle(1) == "tty"
  local every = chosen.every or (is_terminal and 1 or 5)
  while not run.is_over do
    pause(run, every)
    if run.is_over then break end
    io.stdout:write(is_terminal and "\r\27[K" or "", run.figures:status(), is_terminal and "" or "\n")
    io.stdout:flush()
  end
  if is_terminal then io.stdout:write "\r\27[K" end
end


--- The run is over: bots see it, and those that wait for anything are ended.
local function finish(run)
  if run.is_over then return end
  run.is_over = true
  loop.fill(run.ending)
end


local function watch_signals(run)
  local handles = {}
  for name, code in pairs(SIGNALS) do
    local signal = uv.new_signal()
    signal:start(name, function()
      run.exit_code = code
      finish(run)
    end)
    signal:unref()
    handles[#handles + 1] = signal
  end
  return function()
    for _, signal in ipairs(handles) do signal:close() end
  end
end


local function new_run(chosen, script)
  local run = {
    script = script, is_over = false, ending = loop.slot(), done = loop.slot(), playing = 0,
    clients = {}, figures = figures.new(chosen.count),
  }
  --- Calls a function of the script; what it raises is an error of the bot.
  function run.try(self, fn, ...)
    local ok, problem = xpcall(fn, function(text)
      return type(text) == "string" and debug.traceback(text, 2) or tostring(text)
    end, self, ...)
    -- What the end of a run breaks off is no fault.
    if ok or (run.is_over and self.client.reason) then return end
    run.figures.failures = run.figures.failures + 1
    run.figures:add_error(problem:gsub("\n%s*stack traceback:\n", "\n    "):gsub("\n%s+", "\n      "))
  end
  return run
end


local function play(number, chosen, run)
  local c = bot.play(number, chosen, run)
  if c and not c.reason and not run.is_over then
    c:close()
    run.figures.connected = run.figures.connected - 1
  end
  run.playing = run.playing - 1
  if run.playing == 0 and run.all_started then loop.fill(run.done) end
end


local function start_bots(chosen, run)
  local start = client.now()
  for number = 1, chosen.count do
    local due = start + (number - 1) / chosen.count * chosen.ramp
    pause(run, due - client.now())
    if run.is_over then break end
    run.playing = run.playing + 1
    client.spawn(play, number, chosen, run)
  end
  run.all_started = true
  if run.playing == 0 then loop.fill(run.done) end
end


-- Says goodbye for all that are still there.
local function close_all(run)
  local open, all_closed = 0, loop.slot()
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


--- Runs all bots; waits until the run is over and the bots are.
local function run_bots(chosen, run)
  client.spawn(start_bots, chosen, run)
  client.spawn(show_status, run, chosen)
  client.spawn(function()
    loop.wait(run.done)
    finish(run)
  end)
  loop.wait(run.ending, chosen.seconds)
  finish(run)
  loop.wait(run.done, END_TIMEOUT)
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
  end
  local host, port = options.address(run.address)
  if not host then return nil, port end
  if chosen.latency > 0 or chosen.jitter > 0 or chosen.loss > 0 then
    run.address = "127.0.0.1:" .. line.start(host, port, chosen, chosen.seed)
  end
  return stop or function() end
end


local function command(chosen)
  local script, problem = load_script(chosen.script)
  if not script then return fail(problem) end
  local run = new_run(chosen, script)
  local stop
  stop, problem = target(chosen, run)
  if not stop then return fail(problem) end
  run.figures.start = client.now()
  local ignore_signals = watch_signals(run)
  run_bots(chosen, run)
  io.stdout:write(run.summary)
  io.stdout:flush()
  ignore_signals()
  stop()
  if run.exit_code then return run.exit_code end
  local is_good = run.figures.came == chosen.count and run.figures.failures == 0
  return is_good and EXIT_GOOD or EXIT_FAILED
end


--- The command. Takes the arguments behind `perigee bots`; returns the exit code.
---@param ... string
---@return integer
return function(...)
  local chosen, problem = options.parse { ... }
  if not chosen then
    io.stderr:write("perigee: ", problem, "\n", options.USAGE, "\n")
    return EXIT_USAGE
  end
  if chosen.help then
    io.stdout:write(options.HELP)
    return EXIT_GOOD
  end
  return client.run(command, chosen)
end
