--- The command line of `perigee test`.

local arguments = require "perigee.tools.arguments"

local USAGE = "usage: perigee test [GAME] [--seed N | --fuzz N | --fuzz-seed N] [FILES]"

local HELP = USAGE .. [[


Runs the specs of a game: GAME/spec/*_spec.lua, or NAME_spec.lua beside a NAME.lua.

  GAME               a folder with a game.lua, or a .lua file (default: that of FILES, or the
                     current folder)
  FILES              these specs instead: *_spec.lua files, or folders of them
  --seed N           seed of the random numbers and the simulated network (default: 1)
  --fuzz N           run the specs with N different timings and orders of events, until one fails
  --fuzz-seed N      run them with the Nth of these
  --filter PATTERN   only tests whose full name matches the Lua pattern; may be given several times
  --filter-out PATTERN
                     leaves these tests out
  --list             print the names of the tests
  --timeout SECONDS  processor time that a test may take (default: 10; 0: any)
  --no-keep-going    stop at the first failure
  --log              show the games' logs
  --verbose          tracebacks of failures
  --output NAME      busted's output: utfTerminal, plainTerminal, TAP, json, junit, gtest
  --help             this text

The specs are busted's (describe, it, assert) and use perigee.testing. The exit code is 0 if all
tests passed, 1 if not, 2 for a wrong command line.
]]

local options = { USAGE = USAGE, HELP = HELP }

local SEED_MAX = 2 ^ 31 - 1
local FLAGS = {
  ["--list"] = "list", ["--log"] = "log", ["--verbose"] = "verbose", ["-v"] = "verbose",
  ["--no-keep-going"] = "stop_early", ["--help"] = "help", ["-h"] = "help",
}
local OUTPUTS = { "utfTerminal", "plainTerminal", "TAP", "json", "junit", "gtest" }


-- Checks a pattern now, because busted would report an error only during the run.
local function add_pattern(key)
  return function(result, text, flag)
    local ok, problem = pcall(string.find, "", text)
    if not ok then return ("%s needs a Lua pattern, not %q: %s"):format(flag, text, problem) end
    table.insert(result[key], text)
  end
end


local function set_output(result, name)
  for _, output in ipairs(OUTPUTS) do
    if output == name then
      result.output = name
      return
    end
  end
  return ("there is no output %q; there are %s"):format(name, table.concat(OUTPUTS, ", "))
end


local SET = {
  ["--seed"] = arguments.number("seed", { 0, SEED_MAX, whole = true }),
  ["--fuzz"] = arguments.number("fuzz", { 1, SEED_MAX, whole = true }),
  ["--fuzz-seed"] = arguments.number("fuzz_seed", { 1, SEED_MAX, whole = true }),
  ["--filter"] = add_pattern "filter",
  ["--filter-out"] = add_pattern "filter_out",
  ["--output"] = set_output,
  ["--timeout"] = arguments.number("timeout", { 0, 86400 }),
}


local function take_word(result, word)
  if result.game or word:find "_spec%.lua$" then
    table.insert(result.files, word)
  else
    result.game = word
  end
end


--- Returns the options as a table: game (nil: not named), files, seed, fuzz, fuzz_seed, filter, filter_out,
--- timeout, list, log, verbose, stop_early, output, help; or nil and an error.
---@param given string[]
---@return table? options, string? problem
function options.parse(given)
  local result = { files = {}, filter = {}, filter_out = {}, timeout = 10 }
  local problem = arguments.read(result, given, { set = SET, flags = FLAGS, word = take_word })
  if problem then return nil, problem end
  local modes = (result.seed and 1 or 0) + (result.fuzz and 1 or 0) + (result.fuzz_seed and 1 or 0)
  if modes > 1 then return nil, "--seed, --fuzz and --fuzz-seed exclude each other" end
  return result
end


return options
