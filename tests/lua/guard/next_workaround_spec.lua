--- Hot loops over pairs, each program in a new LuaJIT, because the JIT's result depends on everything that
--- ran before. Without perigee.guard.next_workaround, Debian's LuaJIT gets over half of these loops wrong.
local LOOPS = [[
  dofile "lua/perigee/guard/next_workaround.lua"
  local five = { 1, 2, 3, 4, 5 }
  local tables = { a = five, b = five, c = five, d = five, e = five }
  local function warm(...) for _ = 1, 100 do end end
  local wrong = 0
  for _ = 1, 100000 do
    warm()
    local count = 0
    for _, inner in pairs(tables) do
      for _ in pairs(inner) do end
      count = count + 1
    end
    wrong = wrong + (count == 5 and 0 or 1)
  end
  print(wrong)
]]

-- Counts the compiled traces that contain next.
local TRACES = [[
  dofile "lua/perigee/guard/next_workaround.lua"
  local compiled, has_next, sum = 0, false, 0
  jit.attach(function(_, fn) has_next = has_next or fn == next end, "record")
  jit.attach(function(what)
    compiled = compiled + (what == "stop" and has_next and 1 or 0)
    has_next = false
  end, "trace")
  for _ = 1, 10000 do
    for _, value in pairs { a = 1, b = 2 } do sum = sum + value end
  end
  print(compiled)
]]

local function run(program)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program)
  file:close()
  local luajit = assert(io.popen("luajit " .. path))
  local printed = luajit:read "*a"
  luajit:close()
  os.remove(path)
  return printed
end

describe("pairs", function()
  it("gives each entry once in loops within loops", function()
    assert.equal("0\n", run(LOOPS))
  end)

  it("is not compiled, because compiled calls of next may crash", function()
    assert.equal("0\n", run(TRACES))
  end)
end)
