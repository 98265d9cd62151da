-- Fails if an include points up, if libuv or Lua are used outside their layers, if the client's core in
-- clients/c includes a header of the operating system, if CMakeLists.txt lacks a source or test, or if files
-- call each other in more ways than scripts/goals.lua allows.
-- Run from the root: luajit scripts/layers.lua [--report]
package.path = "scripts/?.lua;" .. package.path
local c_source = require "c_source"
local ledger = require "goals"

local LAYERS = { "base", "wire", "os", "net", "session", "relay", "store", "account", "script", "server",
  "app" }
local CONFINED = {
  ["uv.h"] = { os = true, net = true }, ["lua.h"] = { script = true }, ["lualib.h"] = { script = true },
  ["lauxlib.h"] = { script = true }, ["luajit.h"] = { script = true },
}

local rank, faults = {}, 0
for i, layer in ipairs(LAYERS) do rank[layer] = i end

local function fault(...)
  faults = faults + 1
  print(string.format(...))
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

local function list(command)
  local paths, pipe = {}, assert(io.popen(command))
  for path in pipe:lines() do paths[#paths + 1] = path end
  pipe:close()
  return paths
end

-- Includes ------------------------------------------------------------------------------------------

local function check_include(path, line_number, layer, included)
  local target = included:match("^(%w+)/")
  if CONFINED[included] and not CONFINED[included][layer] then
    fault("%s:%d: <%s> is used in another layer", path, line_number, included)
  elseif rank[target] and rank[target] > rank[layer] then
    fault("%s:%d: %s is below %s and may not include it", path, line_number, layer, target)
  end
end

-- The files of src: text, layer and include lines.
local files = {}
local sources, tests = read "CMakeLists.txt", read "tests/CMakeLists.txt"
for _, path in ipairs(list "find src -name '*.[ch]' | sort") do
  local layer = path:match("^src/(%w+)/")
  if not rank[layer] then fault("%s:1: not in a layer's folder", path) end
  if path:find("%.c$") and not sources:find(path, 1, true) then
    fault("%s:1: not listed in CMakeLists.txt", path)
  end
  local file = { path = path, layer = layer, text = read(path), includes = {} }
  local line_number = 0
  for line in file.text:gmatch "([^\n]*)\n" do
    line_number = line_number + 1
    local included = line:match('^%s*#%s*include%s*["<]([^">]+)')
    if included then
      check_include(path, line_number, layer, included)
      table.insert(file.includes, { line = line_number, path = "src/" .. included })
    end
  end
  files[#files + 1] = file
end
-- The client and its Lua module depend on no operating system, except os.c. They may include these headers of
-- standard C, which have no clock. The client's core includes no header of the driver.
local PURE = {
  ["lua.h"] = true, ["lauxlib.h"] = true,
  ["assert.h"] = true, ["sodium.h"] = true, ["stdarg.h"] = true, ["stdbool.h"] = true, ["stddef.h"] = true,
  ["stdint.h"] = true, ["stdio.h"] = true, ["stdlib.h"] = true, ["string.h"] = true,
}
local IN_DRIVER = { ["driver.c"] = true, ["poll.c"] = true, ["driver.h"] = true, ["os.h"] = true }
for _, path in ipairs(list "find clients/c clients/lua -maxdepth 1 -name '*.[ch]' ! -name os.c | sort") do
  local name, line_number = path:match "[^/]+$", 0
  local is_export = name == "module.h" -- Windows marks the function that a library exports
  for line in read(path):gmatch "([^\n]*)\n" do
    line_number = line_number + 1
    local quote, included = line:match '^%s*#%s*include%s*(["<])([^">]+)'
    if quote == "<" and not PURE[included] then
      fault("%s:%d: <%s> is of the operating system, which os.c alone knows", path, line_number, included)
    elseif line:find "_WIN32" and not is_export then
      fault("%s:%d: what differs in Windows belongs in os.c", path, line_number)
    elseif quote and IN_DRIVER[included] and not IN_DRIVER[name] then
      fault("%s:%d: %s is the driver's, which the client's core may not include", path, line_number, included)
    end
  end
end
for _, path in ipairs(list "find tests/c -name 'test_*.c' | sort") do
  local name = path:match("^tests/c/(.*)%.c$"):gsub("test_", "")
  if not tests:find(name .. "%f[%W]") then fault("%s:1: not listed in tests/CMakeLists.txt", path) end
end

-- Calls ---------------------------------------------------------------------------------------------
-- A file uses another if it mentions a function that the other defines, whether it calls it or passes it on.
-- Functions in a header count for the .c file of its name. A call through a table is no use.

local definer = {}  -- file of each function that is not static
for _, file in ipairs(files) do
  file.source = file.path:gsub("%.h$", ".c")
  for name, value in pairs(c_source.read(file.text)) do file[name] = value end
  for _, fn in ipairs(file.functions) do
    if not fn.is_static or file.path:find "%.h$" then definer[fn.name] = file.source end
  end
end

local uses = {}  -- by source: the sources that it uses, each with the names of the functions
for _, file in ipairs(files) do
  local own = {}
  for _, fn in ipairs(file.functions) do own[fn.name] = true end
  local used = uses[file.source] or {}
  uses[file.source] = used
  local function add(mentions)
    for name in pairs(mentions) do
      local other = not own[name] and definer[name]
      if other and other ~= file.source then
        used[other] = used[other] or {}
        used[other][name] = true
      end
    end
  end
  add(file.mentions)
  for _, fn in ipairs(file.functions) do add(fn.mentions) end
end

-- Returns the part of `uses` among these files.
local function among(is_in)
  local nodes, part = {}, {}
  for source, used in pairs(uses) do
    if is_in(source) then
      nodes[#nodes + 1], part[source] = source, {}
      for other in pairs(used) do part[source][other] = is_in(other) or nil end
    end
  end
  table.sort(nodes)
  return nodes, part
end

local KNOWN_CYCLES = { net = true, session = true, relay = true }
for _, layer in ipairs(LAYERS) do
  local cycles = c_source.cycles(among(function(source) return source:find("^src/" .. layer .. "/") end))
  local longest = cycles[1] or {}
  if KNOWN_CYCLES[layer] then
    ledger.note("cycle_" .. layer, #longest, longest)
  elseif #longest > 3 then
    fault("src/%s: %d files call each other in a cycle: %s", layer, #longest, table.concat(longest, ", "))
  end
end

-- The inside of net ---------------------------------------------------------------------------------
-- The levels, from the bottom: the core (the files beside conn.c, and out/); the parts of a connection
-- (transport/, protocol/, udp/); io_threads/; and net.c, which joins all of them. A use is against this
-- direction if it goes up, or if it is in a cycle of files of the same level.

local function level(source)
  if source == "src/net/net.c" then return 4 end
  if source:find "^src/net/io_threads[/.]" then return 3 end
  if source:find "^src/net/transport/" or source:find "^src/net/protocol/" or source:find "^src/net/udp/" then
    return 2
  end
  return source:find "^src/net/" and 1 or nil
end

local function keys(set)
  local names = {}
  for name in pairs(set) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local net_sources, net_uses = among(level)
local upward, core_calls = {}, {}
local in_cycle = {}  -- files in a cycle of their level -> that cycle
for i = 1, 4 do
  local nodes, part = among(function(source) return level(source) == i end)
  for _, cycle in ipairs(c_source.cycles(nodes, part)) do
    for _, source in ipairs(cycle) do in_cycle[source] = cycle end
  end
end
local pair_count = 0
for _, source in ipairs(net_sources) do
  for _, other in ipairs(keys(net_uses[source])) do
    pair_count = pair_count + 1
    local is_up = level(other) > level(source)
    if is_up or in_cycle[source] and in_cycle[source] == in_cycle[other] then
      local names = table.concat(keys(uses[source][other]), " ")
      table.insert(upward, ("%s uses %s: %s"):format(source, other, names))
    end
    if level(source) == 1 and is_up and other ~= "src/net/net.c" then
      for name in pairs(uses[source][other]) do core_calls[name] = true end
    end
  end
end
table.insert(upward, ("of %d pairs"):format(pair_count))
ledger.note("upward_pairs", #upward - 1, upward)
ledger.note("core_calls", #keys(core_calls), { table.concat(keys(core_calls), " ") })

-- Returns the lines that `is_found` accepts, of the files that `is_looked_at` accepts.
local function find_lines(is_looked_at, is_found)
  local found = {}
  for _, file in ipairs(files) do
    local line_number = 0
    for line in (is_looked_at(file) and file.text or ""):gmatch "([^\n]*)\n" do
      line_number = line_number + 1
      if is_found(line) then
        table.insert(found, ("%s:%d: %s"):format(file.path, line_number, line:match "^%s*(.*)"))
      end
    end
  end
  return found
end

local KINDS = { "tls", "socket", "http", "admin", "udp", "servicer", "proxy", "io_thread", "web", "sim" }
local branches = find_lines(function(file) return level(file.source) == 1 end, function(line)
  if not line:find "%f[%w]if %(" then return false end
  for _, kind in ipairs(KINDS) do
    if line:find("%->" .. kind .. "%f[^%w_]") then return true end
  end
  return line:find "%->protocol [!=]=" or line:find "%->transport [!=]="
end)
ledger.note("core_branches", #branches, branches)

-- Returns whether a file may include the header of a table: only net.c and files in the header's folder may.
local function may_include(file, folder)
  return file.source == "src/net/net.c" or file.path:sub(1, #folder) == folder
end

local includes = {}
for _, file in ipairs(files) do
  for _, include in ipairs(file.layer == "net" and file.includes or {}) do
    local folder = include.path:match "^src/net/io_threads/" or include.path:match "^src/net/transport/"
      or include.path:match "^src/net/protocol/"
    if folder and not may_include(file, folder) then
      table.insert(includes, ("%s:%d: %s"):format(file.path, include.line, include.path))
    end
  end
end
ledger.note("table_includes", #includes, includes)

-- Files that set up threads, and files of the setting, may mention them.
local words = find_lines(function(file)
  local is_about_threads = file.path:find "^src/net/io_threads[/.]" or file.source == "src/net/net.c"
    or file.layer == "server" or file.layer == "app"
  return not is_about_threads
end, function(line)
  line = line:lower()
  return line:find "servicer" or line:find "io_?thread" or line:find "io thread"
end)
ledger.note("thread_words", #words, words)

-- The core: the files of net that are in none of its folders.
local function is_core(file) return file.path:find "^src/net/[^/]+%.c$" and level(file.source) == 1 end

-- Counts the places in a file that take the address of a function; outside of the core, also its calls.
local function count_places(fn, file)
  local count = 0
  local function add(mentions)
    local entry = mentions[fn.name]
    if entry then count = count + entry.others + (is_core(file) and 0 or entry.calls) end
  end
  add(file.mentions)
  for _, user in ipairs(file.functions) do add(user.mentions) end
  return count
end

local places = {}
for _, core in ipairs(files) do
  for _, fn in ipairs(is_core(core) and core.functions or {}) do
    local takes_bytes = fn.parameters:find "const uint8_t %*" and not fn.name:find "write"
    for _, file in ipairs(takes_bytes and files or {}) do
      local is_seen = file == core or not fn.is_static
      for _ = 1, is_seen and count_places(fn, file) or 0 do
        table.insert(places, file.path .. ": " .. fn.name)
      end
    end
  end
end
ledger.note("byte_entries", #places, places)

-- The end of a connection ---------------------------------------------------------------------------
-- ARCHITECTURE.md follows conn_close, in lines of `file function ...; file function ...`. # begins a remark.

local defined = {}
for _, file in ipairs(files) do
  for _, fn in ipairs(file.functions) do defined[file.path .. " " .. fn.name] = true end
end
local steps, step_files = {}, {}
local path_text = read("ARCHITECTURE.md"):match "\n```close\n(.-)\n```\n"
if not path_text then fault("ARCHITECTURE.md: there is no block of lines that begins with ```close") end
for line in (path_text or ""):gmatch "[^\n]+" do
  for path, names in (line:find "^%s*#" and "" or line):gmatch "([%w_/]+%.c)([^;]*)" do
    step_files["src/net/" .. path] = true
    for name in names:gmatch "[%w_]+" do
      local step = "src/net/" .. path .. " " .. name
      steps[#steps + 1] = step
      if not defined[step] then fault("ARCHITECTURE.md: there is no %s", step) end
    end
  end
end
ledger.note("close_steps", #steps, steps)
ledger.note("close_files", #keys(step_files), keys(step_files))

faults = faults + ledger.finish()
os.exit(faults == 0 and 0 or 1)
