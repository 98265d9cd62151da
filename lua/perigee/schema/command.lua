--- `perigee schema [GAME]`: what the schema of a game says, for people and for other programs.

local files = require "perigee.check.files"
local schema = require "perigee.schema"
local to_js = require "perigee.schema.to_js"
local to_ts = require "perigee.schema.to_ts"
local tool = require "perigee.tool"

local EXIT_GOOD, EXIT_FAILED, EXIT_USAGE = 0, 1, 2
local FILE = "schema.perigee"

local function fail(code, message, ...)
  io.stderr:write("perigee: ", message:format(...), "\n")
  return code
end

local PRINT = {}

PRINT["--hash"] = function(found)
  return found.hash .. "\n"
end

PRINT["--js"] = to_js.module
PRINT["--ts"] = to_ts.declarations

local function listing(found)
  return found.text .. "hash " .. found.hash .. "\n"
end

local function read_arguments(...)
  local game, print_as
  for _, argument in ipairs { ... } do
    if PRINT[argument] and not print_as then
      print_as = PRINT[argument]
    elseif argument:find "^%-" then
      local flags = { "--hash", "--js", "--ts" }
      local meant = tool.nearest(argument, flags)
      return nil, PRINT[argument] and "one of --hash, --js and --ts is enough"
        or ('unknown flag "%s"%s'):format(argument, meant and "; did you mean " .. meant .. "?" or "")
    elseif game then
      return nil, ('unexpected argument "%s"'):format(argument)
    else
      game = argument
    end
  end
  return game or ".", print_as or listing
end

-- The file of a game, or the file itself.
local function path_of(game)
  if game:find "%.perigee$" then
    return game
  end
  return (files.main(game):match "^.*/" or "") .. FILE
end

local command = {}


---@param ... string what follows `perigee schema` on the command line
---@return integer exit code
function command.main(...)
  local game, print_as = read_arguments(...)
  if not game then
    return fail(EXIT_USAGE, "%s (see `perigee help schema`)", print_as)
  end
  local path = path_of(game):gsub("^%./", "")
  local text = files.read(path)
  if not text then
    return fail(EXIT_FAILED, "%s: there is no such file; a game without one sends all messages as JSON", path)
  end
  local ok, found = pcall(schema.parse, text, path)
  if not ok then
    io.stderr:write(found, "\n")
    return EXIT_FAILED
  end
  io.write(print_as(found))
  return EXIT_GOOD
end

return command
