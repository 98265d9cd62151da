--- `perigee new NAME`: makes a small game that works and has tests. Copies the files of new/game/, and writes
--- the annotations in meta/ for editors.

local arguments = require "perigee.tools.arguments"
local sorted_keys = require "perigee.util.sorted_keys"
local tool = require "perigee.tool"

local EXIT_GOOD = 0
local NAME_MAX = 64

local GAME, META = "perigee/tools/new/game/", "perigee/meta/"
local LUARC = ".luarc.json"
local RENAMED = { ["luarc.json"] = LUARC } -- among sources, a hidden file is easily overlooked

local ANNOTATIONS_HEAD =
  "-- Written by `perigee new`; `perigee new --annotations` brings it up to date. Changes are lost.\n"

local NEXT = [[
made %s, a small game with its tests. Next:

  %-WIDTHs  serve it; it is reloaded when you save a file
  %-WIDTHs  join it from another terminal, and type numbers
  %-WIDTHs  run its tests
  %-WIDTHs  look for mistakes

Then open %s/game.lua in your editor. A Lua language server knows the API by way of .luarc.json.
]]

-- Files to write: texts by path in the folder of the game ----------------------------------------


-- Returns the texts of the annotations by path. The first line of each text must stay first, because it names
-- the module.
local function annotations()
  local texts = {}
  for name, text in pairs(tool.bundled(META)) do
    texts[".perigee/" .. name:sub(#META + 1)] = text:gsub("\n", "\n" .. ANNOTATIONS_HEAD, 1)
  end
  return texts
end

local function game(name)
  local texts = annotations()
  for path, text in pairs(tool.bundled(GAME)) do
    path = path:sub(#GAME + 1)
    texts[RENAMED[path] or path] = path == "README.md" and text:gsub("NAME", name, 1) or text
  end
  return texts
end

-- Writing ----------------------------------------------------------------------------------


-- Makes a folder and its parents. Returns nil and an error on failure.
local function make_folder(path)
  if path == "" or tool.kind(path) == "folder" then
    return true
  end
  local ok, problem = make_folder(path:match "^(.*)/[^/]+$" or "")
  if ok then
    ok, problem = tool.make_folder(path)
    problem = problem and ("cannot make the folder %s: %s"):format(path, problem)
  end
  return ok, problem
end

local function write_file(path, text)
  local ok, problem = make_folder(path:match "^(.*)/[^/]+$" or "")
  if not ok then
    return nil, problem
  end
  local file
  file, problem = io.open(path, "wb")
  if not file then
    return nil, "cannot write " .. problem
  end
  ok, problem = file:write(text)
  local closed, close_problem = file:close()
  if not (ok and closed) then
    return nil, ("cannot write %s: %s"):format(path, problem or close_problem)
  end
  return true
end

local function write_all(folder, texts)
  for _, path in ipairs(sorted_keys(texts)) do
    local ok, problem = write_file(folder .. "/" .. path, texts[path])
    if not ok then
      return nil, problem
    end
  end
  return true
end

-- The commands -----------------------------------------------------------------------------


-- Returns a text for a shell, in quotes if necessary.
local function quoted(text)
  return text:find "[^%w_./@%%+=:,-]" and "'" .. text:gsub("'", "'\\''") .. "'" or text
end

local function say_what_next(folder)
  local program, where = quoted(tool.program), quoted(folder)
  local commands = {
    program .. " run " .. where, program .. " connect localhost", program .. " test " .. where,
    program .. " check " .. where,
  }
  local width = 0
  for _, command in ipairs(commands) do
    width = math.max(width, #command)
  end
  io.stdout:write((NEXT:gsub("WIDTH", width)):format(folder, commands[1], commands[2], commands[3],
    commands[4], folder))
end

local function make(given)
  local folder = given:gsub("(.)/+$", "%1")
  local name = folder:match "[^/]*$"
  if not name:find "^%a[%w_-]*$" or #name > NAME_MAX then
    return arguments.fail_usage("new", ("a game's name is up to %d letters, digits, - and _, and begins with "
      .. "a letter; not \"%s\""):format(NAME_MAX, name))
  elseif tool.kind(folder) then
    return arguments.fail("%s is there already, and nothing in it was changed; choose another name",
      folder)
  end
  local ok, problem = make_folder(folder)
  if ok then
    ok, problem = write_all(folder, game(name))
  end
  if not ok then
    return arguments.fail("%s", problem)
  end
  say_what_next(folder)
  return EXIT_GOOD
end

-- Writes the annotations of this version's API for editors, for an existing game.
local function annotate(folder)
  if not tool.kind(folder .. "/game.lua") then
    return arguments.fail("there is no game.lua in %s; give the folder of a game",
      folder == "." and "this folder" or folder)
  end
  local texts = annotations()
  local has_luarc = tool.kind(folder .. "/" .. LUARC) ~= nil
  if not has_luarc then
    texts[LUARC] = tool.bundled(GAME)[GAME .. "luarc.json"]
  end
  local ok, problem = write_all(folder, texts)
  if not ok then
    return arguments.fail("%s", problem)
  end
  print(("wrote %s/.perigee%s"):format(folder, has_luarc
    and "; .luarc.json stays as it is" or " and .luarc.json"))
  return EXIT_GOOD
end

local new = {}


---@param ... string the words after `perigee new` on the command line
---@return integer exit code
function new.main(...)
  local chosen = {}
  local problem = arguments.read(chosen, { ... }, {
    set = {}, flags = { ["--annotations"] = "annotations" }, word = arguments.one_word "path",
  })
  if not problem and not chosen.annotations and (chosen.path or "") == "" then
    problem = "give the new game a name, such as `perigee new duel`"
  end
  if problem then
    return arguments.fail_usage("new", problem)
  elseif chosen.annotations then
    return annotate(chosen.path and chosen.path:gsub("(.)/+$", "%1") or ".")
  end
  return make(chosen.path)
end

return new
