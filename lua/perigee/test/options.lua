--- The command line of `perigee test`.

local arguments = require "perigee.arguments"

local USAGE = "usage: perigee test [GAME] [--seed N | --fuzz N | --fuzz-seed N] [FILES]"

local HELP = USAGE .. [[


Runs the specs of a game: GAME/spec/*_spec.lua, or NAME_spec.lua beside a NAME.lua.

  GAME               a folder with a game.lua, or a .lua file (default: that of FILES, or the
                     current folder)
  FILES              these specs instead: *_spec.lua files, or folders of them
  --seed N           what chance and the simulated network follow from (default: 1)
  --fuzz N           run the specs under N timings and orders of things, until one fails
  --fuzz-seed N      run them under the Nth of these
  --filter PATTERN   only tests whose full name matches the Lua pattern; may be given several times
  --filter-out PATTERN
                     not those
  --list             print the names of the tests
  --no-keep-going    stop at the first failure
  --log              show what the games log
  --verbose          tracebacks of failures
  --output NAME      busted's output: utfTerminal, plainTerminal, TAP, json, junit, gtest
  --help             this text

The specs are busted's (describe, it, assert) and use perigee.testing. The exit code is 0 when all
passed, 1 when not, 2 for a wrong command line.
]]

local options = { USAGE = USAGE, HELP = HELP }

local SEED_MAX = 2 ^ 31 - 1
local FLAGS = {
  ["--list"] = "list", ["--log"] = "log", ["--verbose"] = "verbose", ["-v"] = "verbose",
  ["--no-keep-going"] = "stop_early", ["--help"] = "help", ["-h"] = "help",
}
local IS_OUTPUT = {
  utfTerminal = true, plainTerminal = true, TAP = true, json = true, junit = true, gtest = true,
}


local function set_number(key, flag, least)
  return function(result, text)
    local number = tonumber(text)
    if not number or number % 1 ~= 0 or number < least or number > SEED_MAX then
      return ("%s needs a whole number from %d to %d, not %q"):format(flag, least, SEED_MAX, text)
    end
    result[key] = number
  end
end


-- Busted would only find out while it runs.
local function add_pattern(key, flag)
  return function(result, text)
    local ok, problem = pcall(string.find, "", text)
    if not ok then return ("%s needs a Lua pattern, not %q: %s"):format(flag, text, problem) end
    table.insert(result[key], text)
  end
end


local function set_output(result, name)
  if not IS_OUTPUT[name] then return ("there is no output %q"):format(name) end
  result.output = name
end


local SET = {
  ["--seed"] = set_number("seed", "--seed", 0),
  ["--fuzz"] = set_number("fuzz", "--fuzz", 1),
  ["--fuzz-seed"] = set_number("fuzz_seed", "--fuzz-seed", 1),
  ["--filter"] = add_pattern("filter", "--filter"),
  ["--filter-out"] = add_pattern("filter_out", "--filter-out"),
  ["--output"] = set_output,
}


local function take_word(result, word)
  if result.game or word:find "_spec%.lua$" then
    table.insert(result.files, word)
  else
    result.game = word
  end
end


--- The options as a table: game (nil: not said), files, seed, fuzz, fuzz_seed, filter, filter_out, list, log,
--- verbose, stop_early, output, help; or nil and what is wrong.
---@param given string[]
---@return table? options, string? problem
function options.parse(given)
  local result = { files = {}, filter = {}, filter_out = {} }
  local problem = arguments.read(result, given, { set = SET, flags = FLAGS, word = take_word })
  if problem then return nil, problem end
  local modes = (result.seed and 1 or 0) + (result.fuzz and 1 or 0) + (result.fuzz_seed and 1 or 0)
  if modes > 1 then return nil, "--seed, --fuzz and --fuzz-seed exclude each other" end
  return result
end


return options
