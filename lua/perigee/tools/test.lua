--- `perigee test [GAME]`: runs the specs of a game with busted.

local arguments = require "perigee.tools.arguments"
local limit = require "perigee.tools.test.limit"
local options = require "perigee.tools.test.options"

local EXIT_GOOD, EXIT_FAILED = 0, 1
local SEED = 1 -- fixed, so that a test that passed once passes again
local NEEDED = { "lfs", "term", "pl.path", "busted.core" } -- the parts of busted


-- Quotes a word for a shell.
local function quote(word)
  if word:find "^[%w_./:=-]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end


--- Returns the command that repeats a failure.
local function command(chosen, flag, seed)
  local words = { "perigee", "test" }
  if chosen.game ~= "." then words[#words + 1] = quote(chosen.game) end
  for _, pattern in ipairs(chosen.filter) do words[#words + 1] = "--filter " .. quote(pattern) end
  for _, pattern in ipairs(chosen.filter_out) do
    words[#words + 1] = "--filter-out " .. quote(pattern)
  end
  for _, file in ipairs(chosen.files) do words[#words + 1] = quote(file) end
  words[#words + 1] = ("%s %d"):format(flag, seed)
  return table.concat(words, " ")
end


-- Adds the game's folder to the path, so that specs can require modules by the same names as the game.
local function add_path(chosen)
  local game = chosen.game
  local root = game:find "%.lua$" and (game:match "^(.*)/[^/]*$" or ".") or game:gsub("/+$", "")
  package.path = ("%s/?.lua;%s/?/init.lua;%s"):format(root, root, package.path)
  if chosen.timeout > 0 then limit.watch_modules(root) end
end


local function find_specs(chosen)
  local files = require "perigee.tools.test.files"
  if #chosen.files == 0 then return files.of_game(chosen.game) end
  local specs = {}
  for _, name in ipairs(chosen.files) do
    local found, problem = files.under(name)
    if not found then return nil, problem end
    for _, spec in ipairs(found) do specs[#specs + 1] = spec end
  end
  return specs
end


local function run_fuzzed(chosen, specs)
  local seed, counts = require "perigee.tools.test.fuzz".run(chosen, specs)
  if seed then
    print(("\nthe same again: %s"):format(command(chosen, "--fuzz-seed", seed)))
    return EXIT_FAILED
  end
  return counts
end


local function run_once(chosen, specs)
  local is_fuzzed = chosen.fuzz_seed ~= nil
  local seed = chosen.fuzz_seed or chosen.seed or SEED
  require("perigee.testing").control.configure { seed = seed, fuzz = is_fuzzed }
  local counts = require "perigee.tools.test.runner".run(chosen, specs)
  if counts.faults == 0 then return counts end
  if is_fuzzed or chosen.seed then
    print(("\nThe seed was %d; the same again: %s"):format(seed,
      command(chosen, is_fuzzed and "--fuzz-seed" or "--seed", seed)))
  end
  return EXIT_FAILED
end


local function run(chosen)
  local spec = chosen.files[1]
  chosen.game = chosen.game or spec and require "perigee.tools.test.files".game_of(spec) or "."
  local specs, problem = find_specs(chosen)
  if not specs then return arguments.fail("%s", problem) end
  add_path(chosen)
  package.preload.perigee = function() return require "perigee.testing.library" end
  require("perigee.testing").control.configure { game = chosen.game, echo = chosen.log }
  local result = chosen.fuzz and run_fuzzed(chosen, specs) or run_once(chosen, specs)
  if type(result) == "number" then return result end
  if result.tests == 0 and not chosen.list then return arguments.fail "there is no such test" end
  return EXIT_GOOD
end


--- Runs `perigee test`.
return arguments.command(options, function(chosen)
  for _, name in ipairs(NEEDED) do
    if not pcall(require, name) then
      return arguments.fail("specs need busted: install it with `apt install lua-busted` (there is no %s)",
        name)
    end
  end
  return run(chosen)
end)
