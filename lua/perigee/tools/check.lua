--- `perigee check [GAME]`: reports the errors in a game without serving the game. Loads the game as `perigee
--- run` does, and adds errors in code that a load does not run (check/files.lua).

local arguments = require "perigee.tools.arguments"
local files = require "perigee.tools.check.files"
local sim = require "perigee.sim"
local sorted_keys = require "perigee.util.sorted_keys"
local tool = require "perigee.tool"

local EXIT_GOOD, EXIT_FAILED = 0, 1
local LEVELS = { warn = "warning", error = "error" }

-- Shows "./game.lua" as game.lua.
local function shown(path)
  return (path:gsub("^%./", ""))
end

-- Lines --------------------------------------------------------------------------------------


-- Patterns that find a name in a message without a line number. The most reliable pattern comes first.
-- Example: `on_jion` in "there is no handler duel.on_jion; did you mean ...".
local SUBJECTS = {
  "[%w_]%.([%w_]+)%f[^%w_.]", "%f[%w_](%l+_[%w_]+)", '"([%w_]+)"', "(%l+) is ",
}

local function subjects(message)
  local list = {}
  for _, pattern in ipairs(SUBJECTS) do
    for word in message:gmatch(pattern) do
      list[#list + 1] = word
    end
  end
  return list
end

-- Returns the number of the first line that assigns to this name; nil if no line does.
local function line_of(text, name)
  local number = 0
  for line in (text .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    local code = line:gsub("%-%-.*", "")
    if code:find("%f[%w_]" .. name .. '["\']?%]?%s*=%f[^=]')
      or code:find("function%s+[%w_.]*[.:]" .. name .. "%s*%(") then
      return number
    end
  end
end

local function find_line(text, message)
  for _, name in ipairs(subjects(message)) do
    local number = line_of(text, name)
    if number then
      return number
    end
  end
end

-- Splits a message of the server into place and message. If the message has no line, finds the line by the
-- names in it.
local function read_finding(text, kind, main, given)
  local path, line, message = text:match "^([^\n]-%.lua):(%d+): (.*)$"
  if not path then
    path, line, message = text:match "^([^\n]-%.perigee):(%d+):%d+: ([^\n]*)"
  end
  if not path then
    path, message = text:match "^([^\n]-%.lua): (.*)$"
    path, message = path or main, message or text
    local source = files.read(path, given)
    line = source and find_line(source, message)
  end
  return { path = path, line = tonumber(line), message = message, kind = kind }
end

-- Findings -----------------------------------------------------------------------------------


-- Returns the findings of a load. If the text comes from standard input, its author may be an LLM that must
-- not read the environment's secrets or the files that .perigeeignore names.
local function load_game(game, given)
  local findings, main = {}, files.main(game)
  local ok, problem, lines = sim.check { game = game, files = given, env = given and {}, hide = given ~= nil }
  for _, line in ipairs(lines or {}) do
    if LEVELS[line.level] then
      local text = line.text:gsub("%s+v=%S+$", "")
      findings[#findings + 1] = read_finding(text, LEVELS[line.level], main, given)
    end
  end
  if not ok then
    problem = problem:gsub("\nstack traceback:\n.*$", "") -- a finding consists only of a place and an error
    findings[#findings + 1] = read_finding(problem, "error", main, given)
  end
  return findings
end

local function place(finding)
  return shown(finding.path) .. (finding.line and ":" .. finding.line or "")
end

-- Merges two lists and sorts them by place. The error that ended the load replaces other findings at its
-- place.
local function merge(of_load, of_files)
  local merged, failed_at = {}, {}
  for _, finding in ipairs(of_load) do
    merged[#merged + 1] = finding
    failed_at[place(finding)] = finding.kind == "error"
  end
  for _, finding in ipairs(of_files) do
    if not failed_at[place(finding)] then
      merged[#merged + 1] = finding
    end
  end
  table.sort(merged, function(a, b)
    if a.path ~= b.path then
      return a.path < b.path
    elseif a.line ~= b.line then
      return (a.line or 0) < (b.line or 0)
    elseif a.kind ~= b.kind then
      return a.kind == "error"
    end
    return a.message < b.message
  end)
  return merged
end

local function count(number, word)
  return ("%d %s%s"):format(number, word, number == 1 and "" or "s")
end

local function print_finding(finding)
  print(("%s: %s: %s"):format(place(finding), finding.kind, finding.message))
end

local function report(game, findings, file_count)
  local counts = { error = 0, warning = 0 }
  for _, finding in ipairs(findings) do
    counts[finding.kind] = counts[finding.kind] + 1
    print_finding(finding)
  end
  local parts = {}
  for _, kind in ipairs { "error", "warning" } do
    parts[#parts + 1] = counts[kind] > 0 and count(counts[kind], kind) or nil
  end
  print(("%s: %s"):format(game, #parts > 0 and table.concat(parts, ", ")
    or ("nothing to complain about in %s"):format(count(file_count, "file"))))
  return counts.error == 0 and EXIT_GOOD or EXIT_FAILED
end

-- The command --------------------------------------------------------------------------------


-- Returns the error that `perigee run` would report for this path; nil if the path is a game.
local function problem_of(path)
  local kind = tool.kind(path)
  if not kind then
    return "there is no such game; give a folder with a game.lua, or a .lua file"
  elseif kind == "folder" then
    return not tool.kind(path .. "/game.lua")
      and "there is no game.lua in this folder; `perigee new NAME` makes a game" or nil
  elseif not path:find "%.lua$" then
    return "a game is a folder with a game.lua, or a .lua file"
  end
end

-- Prints the result for a server that will reload the game (loader.read_check): the files with their
-- signatures, and the errors. Does not load the game, because the server does so.
local function report_to_server(game)
  local findings, used = files.check_used(game)
  for _, path in ipairs(sorted_keys(used.signatures)) do
    print(used.signatures[path] .. "\t" .. path)
  end
  print ""
  local code = EXIT_GOOD
  for _, finding in ipairs(merge({}, findings)) do
    if finding.kind == "error" then
      print_finding(finding)
      code = EXIT_FAILED
    end
  end
  return code
end

-- Returns whether a path can be a file of the game.
local function is_inside(name)
  return name ~= "" and not name:find "[%z\\]" and not ("/" .. name .. "/"):find("//", 1, true)
    and not ("/" .. name .. "/"):find "/%.%.?/"
end

local RULES = {
  set = { ["--stdin"] = arguments.text "name" },
  needed = { ["--stdin"] = "a file of the game, such as game.lua" },
  flags = { ["--for-reload"] = "is_for_reload" },
  word = arguments.one_word "game",
}

local check = {}


---@param ... string the words after `perigee check` on the command line
---@return integer exit code
function check.main(...)
  local chosen = {}
  local wrong = arguments.read(chosen, { ... }, RULES)
  if wrong then
    return arguments.fail_usage("check", wrong)
  end
  local game, name = chosen.game or ".", chosen.name
  local problem = problem_of(game)
  if problem then
    return arguments.fail("%s: %s", game, problem)
  elseif name and not is_inside(name) then
    return arguments.fail("the path is that of a file within the game's folder, such as game.lua")
  elseif chosen.is_for_reload then
    return report_to_server(game)
  end
  local given = name and { [(files.main(game):match "^.*/" or "") .. name] = io.read "*a" } -- text by path
  local found, file_count = files.check(game, given)
  return report(game, merge(load_game(game, given), found), file_count)
end

return check
