-- Fails for a file over 600 lines or a function over 80, in src/, clients/c/ and lua/, and prints the ten
-- longest functions so that they are seen. Run from the root: luajit scripts/sizes.lua
-- Goes by layout: a function ends at the first `}` or `end` that is as deep as its first line.
local FILE_MAX, FUNCTION_MAX = 600, 80
local functions, faults = {}, 0

local function fault(...)
  faults = faults + 1
  print(string.format(...))
end

local function add_function(path, name, first, last)
  local size = last - first + 1
  table.insert(functions, { size = size, where = path .. ":" .. first, name = name })
  if size > FUNCTION_MAX then fault("%s:%d: %s has %d lines", path, first, name, size) end
end

local function scan_c(path, lines)
  local name, first
  for i, line in ipairs(lines) do
    local starts = line:match("^[%a_].-([%w_]+)%(")
    if starts then name, first = starts, i end
    if name and line:find("^}$") then add_function(path, name, first, i) end
    if line:find("^}") or line:find(";$") and first == i then name = nil end
  end
end

local function scan_lua(path, lines)
  local open = {}  -- functions not yet ended, the innermost last
  for i, line in ipairs(lines) do
    local indent = line:match("^%s*")
    local inner = open[#open]
    if inner and indent == inner.indent and line:find("^%s*end%f[%W]") then
      add_function(path, inner.name, inner.first, i)
      table.remove(open)
    end
    local code = line:gsub("%-%-.*", "")
    if code:find("%f[%w]function%f[%W]") and not code:find("%f[%w]end%f[%W]") then
      local name = code:match("function%s+([%w_.:]+)") or code:match("([%w_.]+)%s*=%s*function")
      table.insert(open, { name = name or "function", first = i, indent = indent })
    end
  end
end

for path in io.popen("find src clients/c lua -name '*.[ch]' -o -name '*.lua' | sort"):lines() do
  local lines = {}
  for line in io.lines(path) do table.insert(lines, line) end
  if #lines > FILE_MAX then fault("%s:1: %d lines", path, #lines) end
  if path:find("%.lua$") then scan_lua(path, lines) else scan_c(path, lines) end
end

table.sort(functions, function(a, b) return a.size > b.size end)
for i = 1, math.min(10, #functions) do
  print(string.format("%4d  %s  %s", functions[i].size, functions[i].where, functions[i].name))
end
os.exit(faults == 0 and 0 or 1)
