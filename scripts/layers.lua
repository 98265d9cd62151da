-- Fails where an include points up, where libuv or Lua are used outside their layer, and where a
-- source or test is missing from the CMakeLists.txt. Run from the root: luajit scripts/layers.lua
local LAYERS = { "base", "wire", "os", "net", "session", "relay", "script", "server", "app" }
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

local function check_include(path, line_number, layer, included)
  local target = included:match("^(%w+)/")
  if CONFINED[included] and not CONFINED[included][layer] then
    fault("%s:%d: <%s> may not be included in src/%s", path, line_number, included, layer)
  elseif rank[target] and rank[target] > rank[layer] then
    fault("%s:%d: %s is below %s and may not include it", path, line_number, layer, target)
  end
end

local function read(path) return assert(io.open(path)):read("*a") end

local sources, tests = read "CMakeLists.txt", read "tests/CMakeLists.txt"
for path in io.popen("find src -name '*.[ch]' | sort"):lines() do
  local layer = path:match("^src/(%w+)/")
  if not rank[layer] then fault("%s:1: not in a layer's folder", path) end
  if path:find("%.c$") and not sources:find(path, 1, true) then
    fault("%s:1: not listed in CMakeLists.txt", path)
  end
  local line_number = 0
  for line in io.lines(path) do
    line_number = line_number + 1
    local included = line:match('^%s*#%s*include%s*["<]([^">]+)')
    if included then check_include(path, line_number, layer, included) end
  end
end
for path in io.popen("find tests/c -name 'test_*.c' | sort"):lines() do
  local name = path:match("^tests/c/(.*)%.c$"):gsub("test_", "")
  if not tests:find(name .. "%f[%W]") then fault("%s:1: not listed in tests/CMakeLists.txt", path) end
end

os.exit(faults == 0 and 0 or 1)
