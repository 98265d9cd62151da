--- Hot loops over pairs, each program in a new LuaJIT, because the JIT's result depends on everything that
--- ran before. Without perigee.guard.next_workaround, Debian's LuaJIT gets over half of these loops wrong.
local PROGRAM = [[
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

describe("pairs", function()
  it("gives each entry once in loops within loops", function()
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write(PROGRAM)
    file:close()
    local luajit = assert(io.popen("luajit " .. path))
    assert.equal("0\n", luajit:read "*a")
    luajit:close()
    os.remove(path)
  end)
end)
