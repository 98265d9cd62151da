--- `perigee schema [GAME]`: shows the schema of a game to people and to other programs.

local arguments = require "perigee.tools.arguments"
local files = require "perigee.tools.check.files"
local schema = require "perigee.schema"
local sim = require "perigee.sim"
local to_c = require "perigee.schema.to_c"
local to_js = require "perigee.schema.to_js"
local to_ts = require "perigee.schema.to_ts"
local tool = require "perigee.tool"

local EXIT_GOOD, EXIT_FAILED = 0, 1
local FILE = "schema.perigee"
local PREFIX = "game" -- prefix of the names in C
local FLAGS = { "--c", "--hash", "--js", "--ts" }

local PRINT = {}

PRINT["--hash"] = function(found)
  return found.hash .. "\n"
end

PRINT["--c"] = function(found, prefix)
  return to_c.header(found, prefix or PREFIX)
end

PRINT["--js"] = to_js.module
PRINT["--ts"] = to_ts.declarations

local function listing(found)
  return found.text .. "hash " .. found.hash .. "\n"
end

-- Describes the error in an argument that begins with a hyphen, or returns nil.
local function problem_of(argument, flag, value, is_second)
  if not PRINT[flag] then
    local meant = tool.nearest(argument, FLAGS)
    return ("there is no option %s%s"):format(argument, meant and "; did you mean " .. meant .. "?" or "")
  elseif is_second then
    return "one of --c, --hash, --js and --ts is enough"
  elseif value and flag ~= "--c" then
    return flag .. " has no value"
  elseif value and (not value:find "^%l[%l%d_]*$" or (value .. "_"):find "__" or value == "perigee") then
    return ('--c=%s: names in C begin with it; it is of a to z, digits and single "_", begins with a letter, '
      .. 'and is not "perigee"'):format(value)
  end
end

local function read_arguments(...)
  local game, print_as, prefix
  for _, argument in ipairs { ... } do
    if argument:find "^%-" then
      local flag, value = argument:match "^([^=]*)=(.*)$"
      flag = flag or argument
      local problem = problem_of(argument, flag, value, print_as)
      if problem then
        return nil, problem
      end
      print_as, prefix = PRINT[flag], value
    elseif game then
      return nil, ('unexpected argument "%s"'):format(argument)
    else
      game = argument
    end
  end
  return game or ".", print_as or listing, prefix
end

-- Returns the schema file of a game, or the file itself.
local function path_of(game)
  if game:find "%.perigee$" then
    return game
  end
  return (files.main(game):match "^.*/" or "") .. FILE
end

-- Returns the values that a game declares with perigee.protocol. The game runs for a moment in a simulated
-- server, without clients.
local function declared_by(game)
  local id, problem = sim.open { game = game, seed = 1 }
  if not id then
    error(problem, 0)
  end
  local declared = sim.inspect(id, "declared")
  sim.close(id)
  return declared
end

-- Returns the schema of a text. Its hash includes the game's declarations. Returns nil if the game has
-- neither a text nor declarations. Raises an error if the text or the game has an error.
local function read(game, text, path, is_game)
  local found = text and schema.parse(text, path)
  return is_game and schema.declare(found, declared_by(game)) or found
end

local command = {}


---@param ... string the words after `perigee schema` on the command line
---@return integer exit code
function command.main(...)
  local game, print_as, prefix = read_arguments(...)
  if not game then
    return arguments.fail_usage("schema", print_as)
  end
  local path = path_of(game):gsub("^%./", "")
  local text, is_game = files.read(path), game ~= path
  if is_game and not tool.kind(game) then
    return arguments.fail("%s: there is no such game; give a folder with a game.lua, or a .lua file", game)
  end
  local ok, found = pcall(read, game, text, path, is_game)
  if not ok then
    io.stderr:write(found, "\n")
    return EXIT_FAILED
  elseif not found then
    return arguments.fail("%s: there is no such file; a game without one sends all messages as JSON", path)
  end
  io.write(print_as(found, prefix))
  return EXIT_GOOD
end

return command
