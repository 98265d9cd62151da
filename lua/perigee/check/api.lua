--- Names after `perigee.`, `perigee.rooms.`, `perigee.to.` and the like that do not exist, on
--- lines that a load does not run. Only where `perigee` is certain to be the library: a local that is
--- set once, from require, and used for nothing but its fields.

local instead = require "perigee.instead"
local sorted_keys = require "perigee.sorted_keys"
local tool = require "perigee.tool"

-- What an editor is told of the library is what there is.
local LIBRARY, MCP = "perigee/meta/perigee.lua", "perigee/meta/mcp.lua"
local LOCKSTEP = "perigee/meta/lockstep.lua"
local TABLES = { perigee = "perigee", rooms = "perigee.rooms", to = "perigee.to",
  mcp = "perigee.mcp", fixed = "perigee.fixed" }

local api = {}

local function blank(text)
  return (text:gsub("[^\n]", " "))
end

-- Where the string or comment that begins at `start` ends, or nil when none begins there.
local function end_of_quiet(text, start)
  local level = text:match("^%-%-%[(=*)%[", start) or text:match("^%[(=*)%[", start)
  if level then
    return select(2, text:find("]" .. level .. "]", start, true)) or #text
  elseif text:find("^%-%-", start) then
    return (text:find("\n", start, true) or #text + 1) - 1
  end
  local quote = text:match("^[\"']", start)
  local at = start + 1
  while quote do
    local stop = text:find("[\\\n" .. quote .. "]", at)
    if not stop or text:sub(stop, stop) ~= "\\" then
      return stop or #text
    end
    at = stop + 2
  end
end

-- The text with blanks in the place of strings and comments.
local function code_of(text)
  local pieces, at = {}, 1
  while true do
    local start = text:find("[%-%[\"']", at)
    if not start then
      pieces[#pieces + 1] = text:sub(at)
      return table.concat(pieces)
    end
    local stop = end_of_quiet(text, start)
    pieces[#pieces + 1] = text:sub(at, start - 1)
    pieces[#pieces + 1] = stop and blank(text:sub(start, stop)) or text:sub(start, start)
    at = (stop or start) + 1
  end
end

local function is_certain(text, code)
  if not text:find "%f[%w_]local%s+perigee%s*=%s*require%s*%(?%s*[\"']perigee[\"']" then
    return false
  end
  local others = 0
  for before, after in (" " .. code .. " "):gmatch "([^%w_])perigee%f[^%w_]()" do
    local is_field = (" " .. code .. " "):find("^%s*%.%s*[%a_]", after)
    others = others + (not is_field and not before:find "[.:]" and 1 or 0)
  end
  return others == 1 -- where it is declared
end

--- The names of the library, as sets by table: `perigee`, `rooms`, `to`, `mcp`, `fixed`.
---@return table<string, table<string, true>>
function api.names()
  local known = { perigee = {}, rooms = {}, to = { all = true }, mcp = {}, fixed = { ONE = true } }
  local text = tool.bundled(LIBRARY)[LIBRARY] .. tool.bundled(MCP)[MCP]
    .. tool.bundled(LOCKSTEP)[LOCKSTEP]
  local class = text:match "\n%-%-%-@class perigee\n(.-)\nlocal "
  for name in class:gmatch "@field ([%w_]+)" do
    known.perigee[name] = true
  end
  for owner, name in text:gmatch "\nfunction (%l+)%.([%w_]+)%(" do
    known[owner][name] = true
  end
  return known
end

-- What the game itself puts into the library is there.
local function add_assigned(known, code)
  for name in code:gmatch "%f[%w_]function%s+perigee%s*%.%s*([%w_]+)%s*%(" do
    known.perigee[name] = true
  end
  for name in code:gmatch "%f[%w_]perigee%s*%.%s*([%w_]+)%s*=%f[^=]" do
    known.perigee[name] = true
  end
  for owner, name in code:gmatch "%f[%w_]perigee%s*%.%s*(%l+)%s*%.%s*([%w_]+)%s*=%f[^=]" do
    if known[owner] then
      known[owner][name] = true
    end
  end
end

local function line_at(text, position)
  local _, count = text:sub(1, position):gsub("\n", "")
  return count + 1
end

local function hint(name, known)
  local meant = tool.nearest(name, sorted_keys(known))
  return meant and "; did you mean " .. meant .. "?" or ""
end

local function check_name(found, file, known, owner, name, position)
  if not known[owner][name] then
    local other = owner == "perigee" and instead[name]
    found[#found + 1] = {
      path = file.path, line = line_at(file.code, position), kind = "error",
      message = ("%s has no %s%s"):format(TABLES[owner], name,
        other and "; write " .. other or hint(name, known[owner])),
    }
  end
end

local function check_file(found, file, known)
  for at, name, after in file.code:gmatch "()%f[%w_]perigee%s*%.%s*([%a_][%w_]*)()" do
    if not file.code:sub(1, at - 1):find "[.:]%s*$" then
      check_name(found, file, known, "perigee", name, after - 1)
      local inner = name ~= "perigee" and TABLES[name] and file.code:match("^%s*%.%s*([%a_][%w_]*)", after)
      if inner then
        check_name(found, file, known, name, inner, after)
      end
    end
  end
end


--- Findings about files that a game runs: { path, line, kind, message }.
---@param texts table<string, string> by path
---@return table[]
function api.check(texts)
  local found, known, files = {}, api.names(), {}
  for path, text in pairs(texts) do
    local code = code_of(text)
    add_assigned(known, code)
    if is_certain(text, code) then
      files[#files + 1] = { path = path, code = code }
    end
  end
  for _, file in ipairs(files) do
    check_file(found, file, known)
  end
  return found
end

return api
