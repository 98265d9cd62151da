-- Fails if a file in src/, clients/c/, clients/lua/ or lua/ has over 600 lines, or a function over 80. Prints
-- the ten longest functions. Also fails if a measure exceeds its limit in scripts/goals.lua. It reads the
-- layout: a function ends at the first `}` or `end` that is as deep as its first line.
-- Run from the root: luajit scripts/sizes.lua [--report]
package.path = "scripts/?.lua;" .. package.path
local c_source = require "c_source"
local ledger = require "goals"

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
  local open = {}  -- functions that have not ended, the innermost last
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

local totals = { src = 0, lua = 0 }
local sources = {}
for path in io.popen("find src clients/c clients/lua lua -name '*.[ch]' -o -name '*.lua' | sort"):lines() do
  local lines = {}
  for line in io.lines(path) do table.insert(lines, line) end
  if #lines > FILE_MAX then fault("%s:1: %d lines", path, #lines) end
  if path:find("%.lua$") then scan_lua(path, lines) else scan_c(path, lines) end
  local folder = path:match "^%w+"
  local is_new = path:find("src/server/library/", 1, true) or path:find("src/app/operate.", 1, true)
  if totals[folder] and not is_new then totals[folder] = totals[folder] + #lines end
  if folder == "src" then
    local source = c_source.read(table.concat(lines, "\n") .. "\n")
    source.path, source.lines = path, lines
    table.insert(sources, source)
  end
end

table.sort(functions, function(a, b) return a.size > b.size end)
for i = 1, math.min(10, #functions) do
  print(string.format("%4d  %s  %s", functions[i].size, functions[i].where, functions[i].name))
end

-- Counts short static functions with one call. A function whose address is taken cannot be inlined, so it
-- does not count.
local SHORT = 8

local function count_mentions(source, fn)
  local calls, others = 0, 0
  local function add(mentions)
    local entry = mentions[fn.name]
    if entry then calls, others = calls + entry.calls, others + entry.others end
  end
  add(source.mentions)
  for _, user in ipairs(source.functions) do
    if user ~= fn then add(user.mentions) end
  end
  return calls, others
end

local short, by_folder, passed = {}, {}, 0
for _, source in ipairs(sources) do
  for _, fn in ipairs(source.path:find "%.c$" and source.functions or {}) do
    if fn.is_static and fn.last - fn.first < SHORT then
      local calls, others = count_mentions(source, fn)
      if calls == 1 and others == 0 then
        table.insert(short, ("%s:%d: %s"):format(source.path, fn.first, fn.name))
        local folder = source.path:match "^src/%w+"
        by_folder[folder] = (by_folder[folder] or 0) + 1
      elseif calls + others == 1 then
        passed = passed + 1
      end
    end
  end
end
for folder, count in pairs(by_folder) do table.insert(short, 1, ("%s: %d"):format(folder, count)) end
table.insert(short, 1, ("%d more are passed on or stored once"):format(passed))
local count = 0
for _, folder_count in pairs(by_folder) do count = count + folder_count end
ledger.note("short_statics", count, short)

-- Returns the fields of a struct, in the order of their declarations; flags are bools.
local function read_struct(name)
  local fields, flags = {}, {}
  for _, source in ipairs(sources) do
    local is_in = false
    for _, line in ipairs(source.lines) do
      local code = line:gsub("//.*", "")
      if code:find("^struct " .. name .. " {") or code:find("^typedef struct " .. name .. " {") then
        is_in = true
      elseif code:find "^}" then
        is_in = false
      elseif is_in and code:find ";%s*$" then
        for declared in code:match("^(.*);"):gsub("%b()", ""):gmatch "[^,]+" do
          local field = declared:gsub("%[.*", ""):gsub(":.*", ""):match "([%w_]+)%s*$"
          table.insert(fields, field)
          if code:find "^%s*bool " or code:find ":%s*1%s*;" then table.insert(flags, field) end
        end
      end
    end
  end
  return fields, flags
end

local fields, flags = read_struct "Conn"
assert(#fields > 0, "struct Conn is not where it was")
ledger.note("conn_fields", #fields, { table.concat(fields, " ") })
ledger.note("conn_flags", #flags, { table.concat(flags, " ") })

local machines = {}
for _, source in ipairs(sources) do
  local reads = false
  for _, fn in ipairs(source.path:find "^src/net/" and source.functions or {}) do
    reads = reads or fn.mentions.http_read_request ~= nil
  end
  if reads then table.insert(machines, source.path) end
end
ledger.note("http_machines", #machines, machines)

local in_root = {}
for path in io.popen("find lua/perigee -maxdepth 1 -name '*.lua' | sort"):lines() do
  table.insert(in_root, path:match "[^/]*$")
end
ledger.note("lua_root_files", #in_root, { table.concat(in_root, " ") })
ledger.note("lines", totals.src + totals.lua, { ("src %d, lua %d"):format(totals.src, totals.lua) })

faults = faults + ledger.finish()
ledger.print_elsewhere()
os.exit(faults == 0 and 0 or 1)
