local instrument = require "perigee.instrument"
local prototypes = require "tests.lua.prototypes"
local random_program = require "tests.lua.random_program"

local MUTANTS = 3000
local PROGRAMS = 300

local function compile(text, path)
  return load(text, "@" .. (path or "game.lua"), "t")
end

-- A counter that never runs out.
local function idle()
  return { 2 ^ 52, function() end, nil, nil, 2 ^ 52, 2 ^ 52, 2 ^ 52 }
end

-- A counter that raises from the `looks`th look on, and the function that tells how many there were.
local function bounded(looks)
  local counter, count = { 50, nil, nil, nil, 50, 50, 50 }, 0
  counter[2] = function()
    count = count + 1
    local left = count < looks and 50 or 0
    counter[1], counter[5], counter[6], counter[7] = left, left, left, left
    if left == 0 then
      error("over", 2)
    end
  end
  return counter, function() return count end
end

local function checks_in(source)
  local count = 0
  for _ in source.guarded:gmatch("local c=" .. source.name .. "%f[^%w_]") do
    count = count + 1
  end
  return count
end

-- The lines on which checks stand; for texts whose lines end as usual.
local function lines_with_checks(source)
  local lines, number = {}, 0
  for line in (source.guarded .. "\n"):gmatch "(.-)\n" do
    number = number + 1
    lines[number] = line:find(source.name, 1, true) and true or nil
  end
  return lines
end

-- Both ways of loading have to say the same of a text, in the same words; what both take has to be
-- the same, but for the checks.
local function compare(text, path)
  local plain, problem = compile(text, path)
  local source, told = instrument.source(text, path or "game.lua")
  if not plain then
    assert.is_nil(source)
    assert.equal(problem, told)
    return false
  end
  assert.truthy(source, told)
  local guarded, fault = compile(source.guarded, path)
  assert.truthy(guarded, fault)
  if not text:find "\r" then
    assert.is_nil(prototypes.differ(plain, guarded {}, lines_with_checks(source)))
  end
  return source
end

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read "*a"
  if file then
    file:close()
  end
  return text
end

local function lua_files()
  local folders = "lua tests scripts examples /usr/share/lua/5.1 /usr/share/luajit-2.1*"
  local pipe = io.popen("find -L " .. folders .. " -name '*.lua' -type f 2>/dev/null | sort")
  local files = {}
  for path in pipe:lines() do
    files[#files + 1] = path
  end
  pipe:close()
  return files
end

describe("checks", function()
  -- How many each construct gets.
  local CONSTRUCTS = {
    { 0, "" }, { 0, "-- nothing" }, { 0, "--[==[ while 1 do ]] end\n]==]" }, { 0, "#!shebang" },
    { 1, "#!shebang do while\nwhile x do end" }, { 1, "\239\187\191while x do end" },
    { 1, "\239\187\191# line\r\nwhile x do end" }, { 1, "# line\n\rwhile x do end" },
    { 1, "while true do end" }, { 1, "for i = 1, 2 do end" }, { 1, "for k, v in pairs {} do end" },
    { 1, "repeat local x until x" }, { 1, "repeat until(x)" }, { 0, "do local x end" },
    { 0, "if x then elseif y then else end" }, { 1, "if x then while x do end end" },
    { 1, "function f() end" }, { 1, "function a.b.c:d(e, ...) end" }, { 1, "local function f() end" },
    { 1, "return function(...) return ... end" }, { 2, "f(function() while 1 do break end end)" },
    { 1, "function --[[ ) ]] f -- )\n . g ( a --[[ ) ]] , b ) end" },
    { 3, "while (function() while x do end end)() do do end end" },
    { 2, "for _, v in (function(...) return ... end)() do v() end" },
    { 1, "goto x ::x::" }, { 1, "::x:: goto x" }, { 1, ":: x -- do\n :: goto --[[ y ]] x" },
    { 1, "do goto continue end ::continue::" }, { 1, "if x then goto a end ::a::" },
    { 1, "local x = y goto a ::a::" }, { 1, "local x = ... goto a ::a::" },
    { 1, "f() goto a ::a::" }, { 1, "f {} goto a ::a::" }, { 1, "f '' goto a ::a::" },
    { 1, "local x goto a ::a::" }, { 2, "repeat goto a ::a:: until x" }, { 1, "goto 'x' goto a ::a::" },
    { 0, "goto = 1" }, { 0, "local goto x = 1" }, { 0, "local x = goto y = 1" }, { 0, "a.goto.b = 1" },
    { 0, "if goto then end" }, { 0, "if x then elseif goto then end" }, { 0, "x = not goto y = 1" },
    { 0, "x = 1 + goto y = 1" }, { 0, "return goto" }, { 0, "do return goto end" }, { 0, "goto()" },
    { 0, "x = y and goto y = 1" }, { 0, "local a, goto b = 1" }, { 1, "while goto do end" },
    { 1, "for goto = 1, 2 do end" }, { 1, "repeat until goto x = 1" }, { 0, "goto:go() goto.x = 1" },
    { 1, "function goto(goto) end" }, { 1, "function goto.goto:goto() end" }, { 0, "f(goto, goto)" },
    { 0, "x = { goto } y = { goto = 1, [goto] = goto }" }, { 1, "::goto:: do goto a end ::a::" },
    { 0, "x = a--b\n-c" }, { 0, "x = 1LL y = 2ULL z = 0x3ull w = 4i v = 0b101 u = 0x.8p-1 t = .5e+1" },
    { 0, "x = 0xep1 y = 0xA.8p0 z = 1e+1 w = 3. v = 0x1p4i" }, { 1, "x = 5 while x do end" },
    { 0, [[x = "\a\b\f\n\r\t\v\\\"\'\065\x41\u{20AC}\z
      do while" y = 'do\
      while']] }, { 0, "x = '\\\r\ndo' y = '\\\rdo'" },
    { 0, "x = [[\n]] y = [=[ ]] ]=] z = [===[ ]==]]===]" },
    { 0, "x = a[b[c]] y = a[ [[do]] ] f[[while]] f'do' f\"do\"" }, { 0, "x = 'it\\'s' == \"--[[\"" },
    { 1, "héllo = 1 while héllo do end" }, { 0, "döner, ende, dot, whiles, format, _do = 1" },
    { 0, "end_, do1, until_, function_, goto_, repeat_ = 1" }, { 0, "x = a.b.c['do']; y = 1;" },
    { 0, "local a = { f = g, 1; 2, [3] = 4, } ; f{}.x = #a - -1 ^ 2 .. 'x'" },
    { 0, "a:b():c'x':d{}:e(1).f[2] = 1" }, { 1, "while 1 do if x then break end end" },
    { 1, "x = 1\rwhile x do\rend" }, { 1, "x = 1\r\nwhile x do -- do\r\nend" },
    { 0, "x = ''..1 ..'' y = ... " },
    { 2, "function f() end;(function() end)()" }, { 1, "local f = function() return end f()" },
  }

  it("stand in every construct that can run on, and in no other", function()
    for _, case in ipairs(CONSTRUCTS) do
      local source = compare(case[2])
      assert.truthy(source, ("%s: %s"):format(case[2], (select(2, compile(case[2])))))
      assert.equal(case[1], checks_in(source), case[2])
    end
  end)

  it("are refused with Lua's own message, by line and name", function()
    local long = ("deep/"):rep(30) .. "game.lua"
    for _, text in ipairs {
      "x = = 1", "\n\nend", "end local function f(...)", "while", "for i = 1 do", "x = 'a\nb'", "--[[",
      "x = [==[ ]]", "goto nowhere", "break", "do ; end", "f\n(g)", "x = 08z", "x = '\\q'", "#!x\n\ny y",
      "\r\n\rz z", "local function f() return ... end", "goto goto", "\27LJ", "x = \1", "function f( end",
      "repeat while x do until y end", "do local x ::a:: ::a:: end", "goto a local x ::a:: f()", "x = [=",
      "if x then else elseif end", "until x", "for do end", "return 1 return 2", "while 1 do break f() end",
    } do
      assert.is_false(compare(text))
      assert.is_false(compare(text, long))
      assert.same({ compile(text, long) }, { instrument.load(text, long, {}, idle()) })
    end
  end)

  it("read whatever Lua source is at hand", function()
    local count, bytes = 0, 0
    for _, path in ipairs(lua_files()) do
      local text = read(path)
      if compile(text, path) then
        assert.truthy(compare(text, path))
        count, bytes = count + 1, bytes + #text
      end
    end
    assert.is_true(count > 150, count .. " files")
    assert.is_true(bytes > 1e6, bytes .. " bytes")
  end)
end)

describe("code with checks", function()
  -- What a program does: what it notes and returns, or its error, as text.
  local function deeds(load_it, text, ...)
    local log = {}
    local environment = setmetatable({}, { __index = _G })
    local function note(...)
      for i = 1, select("#", ...) do
        local value = select(i, ...)
        log[#log + 1] = (type(value) == "table" or type(value) == "function") and type(value)
          or tostring(value):gsub("0x%x+", "address")
      end
      log[#log + 1] = ";"
      return ...
    end
    environment.note = note
    environment.loud = function(value) note "loud" return value end
    environment.shared = 0
    note(pcall(assert(load_it(text, environment)), ...))
    return table.concat(log, " ")
  end

  local function plainly(text, environment)
    return load(text, "@game.lua", "t", environment)
  end

  local function with_checks(text, environment)
    return instrument.load(text, "game.lua", environment, idle())
  end

  it("does what it did", function()
    for seed = 1, PROGRAMS do
      local text = random_program.new(seed)
      assert.truthy(compare(text))
      assert.equal(deeds(plainly, text, 1, "b"), deeds(with_checks, text, 1, "b"), "seed " .. seed)
    end
  end)

  it("keeps the lines of errors, however lines end", function()
    for _, ending in ipairs { "\n", "\r\n", "\r", "\n\r" } do
      local text = table.concat({ "#!x", "while true do", "local function f(a,", "b)", "repeat",
        "goto out", "::out::", "return a.x", "until true end f() end" }, ending)
      local plain = deeds(plainly, text)
      assert.truthy(plain:find("game.lua:8: attempt to index local 'a'", 1, true), plain)
      assert.equal(plain, deeds(with_checks, text))
    end
  end)

  it("gets the arguments of the file, and none of the counter", function()
    local chunk = instrument.load("return select('#', ...), ...", "game.lua", _G, idle())
    assert.same({ 0 }, { chunk() })
    assert.same({ 3, 1, nil, 3 }, { chunk(1, nil, 3) })
  end)

  it("may use any name", function()
    local text = "local __check, __check_ = 1, 2 for i = 1, 2 do __check = __check + __check_ end "
      .. "return __check"
    assert.equal(5, instrument.load(text, "game.lua", {}, idle())())
    assert.is_nil(instrument.load("return __check", "game.lua", {}, idle())())
  end)

  it("shares what was read of one text", function()
    local source = assert(instrument.source("n = (n or 0) + 1 while true do return n end", "game.lua"))
    local a, b = {}, {}
    instrument.load(source, "game.lua", a, idle())()
    instrument.load(source, "game.lua", a, idle())()
    assert.equal(1, instrument.load(source, "game.lua", b, idle())())
    assert.equal(2, a.n)
  end)
end)

describe("code that runs on", function()
  local RUNAWAYS = {
    "while true do end", "repeat until false", "for i = 1, math.huge do end", "for i = 1, 1e15 do end",
    "for i = 1, 2, 0 do end", "for _ in function() return 1 end do end", "::a:: goto a",
    "::a:: do goto b end ::b:: goto a", "while true do goto continue ::continue:: end",
    "local function f() return f() end f()", "local function f() f() end f()",
    "local function f(n) if n > 0 then f(n - 1) f(n - 1) end end f(100)",
    "local a, b function a() return b() end function b() return a() end a()",
    "while true do local f = function() end f() end", "while true do pcall(error) end",
    "while true do pcall(function() while true do end end) end",
    "local function f() pcall(f) return f() end f()",
    "local function f() return pcall(f) end while true do f() end",
    "local function f() xpcall(f, f) end while true do f() end",
    "local co = coroutine.wrap(function() while true do coroutine.yield() end end) while true do co() end",
    "coroutine.wrap(function() while true do end end)()",
    "local function f() return coroutine.wrap(f)() end f()",
    "while true do coroutine.wrap(function() end)() end",
    "local t = setmetatable({}, { __index = function(t, k) return t[k] end }) return t.x",
    "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] or t[k] end }) return t[1]",
    "local m = {} m.__add = function(a, b) return a + b end local t = setmetatable({}, m) return t + t",
    "local m = {} m.__call = function(self) return self() end setmetatable(m, m)()",
    "local m = {} m.__lt = function(a, b) return a < b end local t = setmetatable({}, m) return t < t",
    "local m = {} m.__concat = function(a, b) return a .. b end local t = setmetatable({}, m) return t .. ''",
    "local m = {} m.__newindex = function(t, k, v) t[k] = v end setmetatable({}, m).x = 1",
    "table.sort({ 3, 2, 1 }, function() while true do end end)",
    "('x'):gsub('x', function() repeat until false end)", "while true do local x = 'x' .. 1 end",
    "local function f() for _ = 1, 2 do f() end end f()", "while true do if x then break end end",
    "for i = 1, 1e9 do for j = 1, 1e9 do do local x = i * j end end end",
  }

  it("is ended by the counter, with the line of the game", function()
    for _, text in ipairs(RUNAWAYS) do
      local counter, looks = bounded(20)
      local ok, problem = pcall(instrument.load("\n" .. text, "game.lua", _G, counter))
      assert.is_true(not ok or looks() >= 20, text)
      assert.is_true(looks() >= 20, text)
      if not ok then
        assert.equal("game.lua:2: over", (problem:gsub("^.*(game.lua:2: over)$", "%1")), text)
      end
    end
  end)

  it("is ended where compiled, too", function()
    local counter, looks = bounded(1e5)
    local ok = pcall(instrument.load("local x = 0 while true do x = x + 1 end", "game.lua", _G, counter))
    assert.is_false(ok)
    assert.equal(1e5, looks())
  end)
end)

describe("the limits of Lua", function()
  local function list(count, form, between)
    local items = {}
    for i = 1, count do
      items[i] = form:gsub("#", i)
    end
    return table.concat(items, between or ", ")
  end

  -- Runs with checks, and is stopped like anything else.
  local function holds(text, want)
    assert.truthy(compile(text), (select(2, compile(text))))
    local chunk, problem = instrument.load(text, "game.lua", { tostring = tostring }, idle())
    assert.truthy(chunk, problem)
    assert.equal(want, (chunk()))
  end

  local function nested(open, inner, close, depth)
    return open:rep(depth) .. inner .. close:rep(depth)
  end

  -- The deepest that Lua takes.
  local function deepest(open, inner, close)
    for depth = 210, 1, -1 do
      local text = nested(open, inner, close, depth)
      if compile(text) then
        return text, depth
      end
    end
  end

  it("leave room for checks in functions with 200 locals", function()
    local names = list(199, "a#")
    holds(("local %s = 1 local n = 0 while n < 3 do n = n + 1 end return n"):format(names), 3)
    holds(("local function f(x) local %s = 1 for _ in f do end end return 7"):format(list(195, "a#")), 7)
  end)

  it("leave room for checks in functions with 60 upvalues", function()
    local text = "local ALL = 1 local function f() for i = 1, 2 do ALL = 2 end return a60 end f() return a1"
    text = text:gsub("ALL", list(60, "a#"))
    holds(text, 2)
    local counter = bounded(5)
    local runaway = text:gsub("i = 1, 2 do", "i = 1, 1e15 do")
    local ok, problem = pcall(instrument.load(runaway, "game.lua", {}, counter))
    assert.same({ false, "game.lua:1: over" }, { ok, problem })
    local environment = { tostring = tostring, pairs = pairs }
    environment._G = environment
    local names = text:gsub("return a1$", "local s = '' for k in pairs(_G) do s = s .. #k end return s")
    assert.equal(3, #instrument.load(names, "game.lua", environment, idle())())
  end)

  it("leave room for checks at any depth", function()
    for _, case in ipairs {
      { "do ", "x = 1 ", "end " }, { "while true do ", "break ", "break end " },
      { "if true then ", "x = 1 ", "end " },
      { "x = (", "1", ")" }, { "x = {", "", "}" }, { "x = - ", "1", "" },
      { "x = function() return ", "1", " end " },
      { "repeat ", "local x ", "until true " }, { "local function f() ", "goto a ::a:: ", "end " },
      { "for i = 1, 1 do ", "local x = function() end ", "end " }, { "f(", "", ")" }, { "x = a[", "1", "]" },
    } do
      local first = case[1]:gsub("^x = ", "")
      local lead = case[1]:sub(1, #case[1] - #first)
      local text, depth = deepest(first, case[2], case[3])
      for off = 0, 12 do
        local whole = lead .. nested(first, case[2], case[3], (depth or 197) - off)
        if compile(whole) then
          assert.truthy(instrument.load(whole, "game.lua", {}, idle()), whole:sub(1, 40))
          assert.truthy(text or lead ~= "")
        end
      end
    end
  end)

  it("end what is too deep as they always did, quickly", function()
    for _, case in ipairs {
      { "do ", " end" }, { "(", ")" }, { "{", "}" }, { "x = function() ", " end" },
      { "while x do ", " end" },
      { "if x then ", " end" }, { "- ", "" }, { "x = x[", "]" }, { "repeat ", " until x" },
      { "--[", "" }, { "[[", "]]" },
      { "function f() ", "end " }, { "for i = 1, 2 do ", "end " }, { "x = not ", "" },
      { "::", "" }, { "goto ", "" },
    } do
      for _, times in ipairs { 250, 100000 } do
        local text = nested(case[1], "x", case[2], times)
        local chunk, problem = instrument.load(text, "game.lua", {}, idle())
        local plain, want = compile(text)
        assert.equal(want, problem)
        assert.equal(type(plain), type(chunk))
      end
    end
  end)

  it("allow long files", function()
    holds(("local x = 0 while x < 3 do x = x + 1 end\n"):rep(100) .. "return 5", 5)
    holds(("f = function(a) return a end do local x = 'do' .. [[x]] end\n"):rep(20000) .. "return 1", 1)
    holds("return '" .. ("x"):rep(1e6) .. "' and 2", 2)
    holds("-- " .. ("[=["):rep(3e5) .. "\nreturn 3", 3)
    holds(("-- __check_____\n"):rep(50000) .. "return 4", 4)
    holds("local __check" .. ("_"):rep(3e5) .. " = 1 while true do return 1 end", 1)
    holds("local x = {" .. list(65000, "'k#'") .. "} while true do return #x end", 65000)
  end)
end)

describe("broken code", function()
  local TOKEN = "^[%a_\128-\255][%w_\128-\255]*"
  local ODD = {
    "do", "end", "goto", "while", "function", "repeat", "until", "if", "then", "for", "in", "return",
    "break", "local", "::", "(", ")", "[[", "]]", "--", "--[[", "'", "\"", "\\", "\r", "\n", "\0",
    "..", "...", "=",
    ",", ";", ".", ":", "0x", "1e", "{", "}", "[", "]", "#", "~=", "goto x",
    "::x::", "x", "not", "and", "[=[", "\255",
  }

  local function tokens_of(text)
    local tokens, at = {}, 1
    while at <= #text do
      local first, last = text:find(TOKEN, at)
      if not first then
        first, last = text:find("^%s+", at)
      end
      last = first and last or at
      tokens[#tokens + 1] = text:sub(at, last)
      at = last + 1
    end
    return tokens
  end

  -- Numbers of its own, so that a failure can be seen again.
  local function dice(seed)
    local state = seed
    return function(count)
      state = state * 16807 % 2147483647
      return state % count + 1
    end
  end

  local function mutate(tokens, roll)
    local copy = { unpack(tokens) }
    for _ = 1, roll(3) do
      local at, kind = roll(#copy), roll(5)
      if kind == 1 then
        table.remove(copy, at)
        copy[1] = copy[1] or ""
      elseif kind == 2 then
        table.insert(copy, at, copy[roll(#copy)])
      elseif kind == 3 then
        copy[at] = ODD[roll(#ODD)]
      elseif kind == 4 then
        table.insert(copy, at, " " .. ODD[roll(#ODD)] .. " ")
      else
        local byte = roll(#copy[at] + 1)
        copy[at] = copy[at]:sub(1, byte - 1) .. string.char(roll(256) - 1) .. copy[at]:sub(byte + 1)
      end
    end
    return table.concat(copy)
  end

  it("is judged exactly as Lua judges it", function()
    local roll, seeds = dice(tonumber(os.getenv "FUZZ_SEED") or 20), {}
    for seed = 1, 20 do
      seeds[seed] = tokens_of(random_program.new(seed))
    end
    seeds[#seeds + 1] = tokens_of(read "lua/perigee/instrument.lua")
    local accepted = 0
    for _ = 1, tonumber(os.getenv "FUZZ_COUNT") or MUTANTS do
      local text = mutate(seeds[roll(#seeds)], roll)
      local ok, problem = pcall(compare, text)
      assert.is_true(ok, ok or tostring(problem) .. "\n" .. text)
      accepted = accepted + (problem and 1 or 0)
    end
    assert.is_true(accepted > 50, accepted .. " were accepted")
  end)
end)
