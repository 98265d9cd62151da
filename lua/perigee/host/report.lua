--- Describes a reload, in one line if that is short enough, otherwise in one line for each part.

local handlers = require "perigee.host.handlers"
local live = require "perigee.host.live"

local getinfo, dump = debug.getinfo, string.dump

local report = {}

local LINE_MAX = 160 -- bytes, including the text that C writes before it
local LIST_MAX = 8 -- names in a list
local TEXT_MAX = 2 ^ 18 -- bytes of a file whose lines are compared

local function list(names)
  local rest = #names - LIST_MAX
  if rest <= 1 then -- "and 1 more" is not shorter than most names
    return table.concat(names, ", ")
  end
  return ("%s and %d more"):format(table.concat(names, ", ", 1, LIST_MAX), rest)
end

local function add_list(parts, what, names)
  if #names > 0 then
    table.sort(names)
    parts[#parts + 1] = what .. " " .. list(names)
  end
end


--- Returns a number with its noun, such as "1 room" or "2 rooms".
---@param count integer
---@param what string
---@param several string? plural of the noun, if it is not the noun with an s
---@return string
function report.count(count, what, several)
  return ("%d %s"):format(count, count == 1 and what or several or what .. "s")
end


-- Adds lists of the changed, added and removed names, in the given order.
local function compare(parts, what, before, after, is_same, order)
  local lists = { changed = {}, added = {}, removed = {} }
  for name, value in next, after do
    local list_of = before[name] == nil and lists.added or not is_same(before[name], value) and lists.changed
    if list_of then
      list_of[#list_of + 1] = name
    end
  end
  for name in next, before do
    lists.removed[#lists.removed + 1] = after[name] == nil and name or nil
  end
  for _, kind in ipairs(order) do
    add_list(parts, ("%s %s:"):format(what, kind), lists[kind])
  end
end

-- Returns the positions at which the lines of a text begin, and then the position after the text. As in
-- LuaJIT, a line ends with \n, \r, or both in either order.
local function find_lines(text)
  local starts, count, at = {}, 0, 1
  while at do
    count = count + 1
    starts[count] = at
    at = text:find("[\r\n]", at)
    local pair = at and text:sub(at, at + 1)
    at = at and at + ((pair == "\r\n" or pair == "\n\r") and 2 or 1)
  end
  starts[count + 1] = #text + 1
  return starts
end

-- Returns a table of a version's files by path. The first access to a path finds the lines of that file. The
-- table gives false for other paths, and for files that are too long to compare.
local function files_of(version)
  return setmetatable({}, { __index = function(files, path)
    local text = version.texts[path]
    files[path] = text ~= nil and #text <= TEXT_MAX and { text = text, starts = find_lines(text) }
    return files[path]
  end })
end

-- Returns the lines of a function without comments and blank lines.
local function lines_of(fn, files)
  local info = getinfo(fn, "S")
  local lines, file = {}, files[info.source:sub(2)]
  if not file then
    return nil
  end
  for number = info.linedefined, info.lastlinedefined do
    local line = file.text:sub(file.starts[number], file.starts[number + 1] - 1):match "^%s*(.-)%s*$"
    lines[#lines + 1] = line ~= "" and not line:find "^%-%-[^%[]" and line or nil
  end
  return table.concat(lines, "\n")
end

-- Returns whether two functions are equal except for their places and comments: their lines or their bytecode
-- are equal. Lines and bytecode include the functions inside. A local of the file or a module that the
-- function uses may still have changed; the report then names the changed file.
local function is_same_code(a, old, b, new)
  if getinfo(a, "S").what == "C" or getinfo(b, "S").what == "C" then
    return getinfo(a, "S").what == getinfo(b, "S").what
  end
  if dump(a, true) == dump(b, true) then
    return true
  end
  local in_old, in_new = lines_of(a, old), lines_of(b, new)
  return in_old ~= nil and in_old == in_new
end


--- Describes the code of old versions that may still run.
---@param groups table[] result of old_code.find
---@return string? part
function report.old_code(groups)
  local names, rest = {}, 0
  for i, group in ipairs(groups) do
    if i <= LIST_MAX then
      names[i] = ("%s of %s"):format(report.count(group.count, group.what), group.place)
    else
      rest = rest + group.count
    end
  end
  if #names > 0 then
    return "old code goes on in " .. table.concat(names, ", ")
      .. (rest > 0 and (" and %d more"):format(rest) or "")
  end
end


--- Describes the changes from one version to another.
---@param old perigee.Version
---@param new perigee.Version
---@return string[] parts
function report.changes(old, new)
  local parts = {}
  local old_files, new_files = files_of(old), files_of(new)
  compare(parts, "files", old.texts, new.texts, rawequal, { "changed", "added", "removed" })
  compare(parts, "handlers", handlers.all(old), handlers.all(new), function(a, b)
    return is_same_code(a, old_files, b, new_files)
  end, { "added", "removed", "changed" })
  if #parts == 0 then
    parts[1] = "nothing changed"
  end
  return parts
end


--- Joins a headline and parts.
---@param head string
---@param parts string[]
---@return string
function report.join(head, parts)
  local line = table.concat({ head, unpack(parts) }, "; ")
  if #line <= LINE_MAX and not line:find("\n", 1, true) then
    return line
  end
  return table.concat({ head, unpack(parts) }, "\n")
end


--- Returns the name of a version, such as "version 3.1a2b3c4".
---@param version perigee.Version
---@return string
function report.version(version)
  return "version " .. live.name(version.number)
end

return report
