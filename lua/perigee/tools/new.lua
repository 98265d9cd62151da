--- `perigee new NAME`: makes a small game that works and has tests. Copies the files of new/game/, with
--- those of a feature (`--with`) over them, and writes the annotations in meta/ for editors.

local arguments = require "perigee.tools.arguments"
local sorted_keys = require "perigee.util.sorted_keys"
local tool = require "perigee.tool"

local EXIT_GOOD = 0
local NAME_MAX = 64

local NEW, META = "perigee/tools/new/", "perigee/meta/"
local GAME = NEW .. "game/"
local LUARC = ".luarc.json"
-- Names of hidden files, by their names in new/, where hidden files would be easily overlooked.
local RENAMED = { ["luarc.json"] = LUARC, ["gitignore"] = ".gitignore" }

-- How players come to a new game, and the sentence about it, by the folder of the game's feature in new/.
local FEATURES = {
  game = { "%s connect localhost", "join it from another terminal, and type numbers" },
  accounts = { "http://localhost:7777/", "play it in a browser, as a guest or with a name" },
}

local ANNOTATIONS_HEAD =
  "-- Written by `perigee new`; `perigee new --annotations` brings it up to date. Changes are lost.\n"

local NEXT = [[
made %s, a small game with its tests. Next:

%s
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

local function game(name, feature)
  local texts = annotations()
  for _, folder in ipairs { "game", feature } do
    local prefix = NEW .. folder .. "/"
    for path, text in pairs(tool.bundled(prefix)) do
      path = path:sub(#prefix + 1)
      texts[RENAMED[path] or path] = path == "README.md" and text:gsub("NAME", name, 1) or text
    end
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

local function say_what_next(folder, feature)
  local program, where = quoted(tool.program), quoted(folder)
  local join = FEATURES[feature]
  local steps = {
    { program .. " run " .. where, "serve it; it is reloaded when you save a file" },
    { join[1]:format(program), join[2] },
    { program .. " test " .. where, "run its tests" },
    { program .. " check " .. where, "look for mistakes" },
  }
  local width, lines = 0, {}
  for _, step in ipairs(steps) do
    width = math.max(width, #step[1])
  end
  for i, step in ipairs(steps) do
    lines[i] = ("  %s%s  %s\n"):format(step[1], (" "):rep(width - #step[1]), step[2])
  end
  io.stdout:write(NEXT:format(folder, table.concat(lines), folder))
end

local function make(given, feature)
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
    ok, problem = write_all(folder, game(name, feature))
  end
  if not ok then
    return arguments.fail("%s", problem)
  end
  say_what_next(folder, feature)
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

local function set_feature(chosen, name)
  if name == "game" or not FEATURES[name] then
    return ("a new game can be made with accounts, not with %q"):format(name)
  end
  chosen.feature = name
end

local new = {}


---@param ... string the words after `perigee new` on the command line
---@return integer exit code
function new.main(...)
  local chosen = {}
  local problem = arguments.read(chosen, { ... }, {
    set = { ["--with"] = set_feature }, needed = { ["--with"] = "what the game is to have: accounts" },
    flags = { ["--annotations"] = "annotations" }, word = arguments.one_word "path",
  })
  if not problem and not chosen.annotations and (chosen.path or "") == "" then
    problem = "give the new game a name, such as `perigee new duel`"
  elseif not problem and chosen.annotations and chosen.feature then
    problem = "--with is for a new game, and --annotations for one that exists"
  end
  if problem then
    return arguments.fail_usage("new", problem)
  elseif chosen.annotations then
    return annotate(chosen.path and chosen.path:gsub("(.)/+$", "%1") or ".")
  end
  return make(chosen.path, chosen.feature or "game")
end

return new
