--- Finds the specs of a game.

local path = require "pl.path"
local dir = require "pl.dir"

local files = {}

-- `perigee run` reports the same texts.
local NO_GAME = "%s: there is no such game; give a folder with a game.lua, or a .lua file"
local NO_MAIN = "%s: there is no game.lua in this folder; `perigee new NAME` makes a game"


--- Returns the specs in a file or folder, in order.
---@param name string
---@return string[]? specs, string? problem
function files.under(name)
  local list = {}
  if path.isdir(name) then
    for _, found in ipairs(dir.getallfiles(name, "*_spec.lua")) do list[#list + 1] = found end
    if #list == 0 then return nil, ("there are no *_spec.lua files in %s"):format(name) end
  elseif path.isfile(name) then
    list[1] = name
  else
    return nil, ("there is no file %s, nor a folder of that name"):format(name)
  end
  table.sort(list)
  return list
end


--- Returns the game of a spec, by the spec's folder; nil if none is found.
---@param spec string
---@return string? game
function files.game_of(spec)
  local beside = spec:gsub("_spec%.lua$", ".lua")
  if beside ~= spec and path.isfile(beside) then return beside end
  local folder = path.dirname(path.abspath(spec))
  while folder ~= path.dirname(folder) do
    if path.isfile(path.join(folder, "game.lua")) then
      local game = path.relpath(folder)
      return game ~= "" and game or "."
    end
    folder = path.dirname(folder)
  end
  return nil
end


--- Returns the specs of a game: GAME/spec/*_spec.lua, or NAME_spec.lua beside NAME.lua.
---@param game string
---@return string[]? specs, string? problem
function files.of_game(game)
  if game:find "%.lua$" then
    if not path.isfile(game) then return nil, NO_GAME:format(game) end
    local spec = game:gsub("%.lua$", "_spec.lua")
    if path.isfile(spec) then return { spec } end
    return nil, ("%s has no specs: write one in %s"):format(game, spec)
  end
  if not path.exists(game) then return nil, NO_GAME:format(game) end
  if not path.isfile(path.join(game, "game.lua")) then return nil, NO_MAIN:format(game) end
  local folder = game == "." and "spec" or path.join(game, "spec")
  local list = path.isdir(folder) and files.under(folder)
  if list then return list end
  return nil, ("%s has no specs: write one in %s"):format(
    game == "." and "this game" or game, path.join(folder, "game_spec.lua"))
end


return files
