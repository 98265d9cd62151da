--- The reach of a script: attempts to leave the sandbox, and a walk over everything that a handler can reach.
local cjson = require "cjson"
local server = require "tests.e2e.server"

-- Each expression is true if it escaped. An error counts as false.
local PROBES = {
  -- Libraries and functions that scripts do not have.
  "io", "ffi", "jit", "package", "load", "loadstring", "loadfile", "dofile", "getfenv", "setfenv",
  "newproxy", "collectgarbage", "module", "gcinfo", "arg", "_ENV", "os.execute", "os.exit",
  "os.getenv", "os.remove", "os.rename", "os.tmpname", "os.setlocale", "string.dump",
  "('').dump", "debug.getregistry", "debug.getinfo", "debug.sethook", "debug.getmetatable",
  "debug.setmetatable", "debug.getupvalue", "debug.setupvalue", "debug.getlocal",
  "debug.setfenv", "debug.getfenv", "debug.upvalueid", "debug.debug", "_G._G.io",
  "rawget(_G, 'io')", "rawget(_G, 'getfenv')", "rawget(string, 'dump')",
  "require 'ffi'", "require 'jit'", "require 'jit.util'", "require 'string.buffer'",
  "require 'bit'", "require 'io'", "require 'cjson'", "require 'cjson.safe'", "require 'lpeg'.ptree",
  "rawget(require 'lpeg', 'P')", "getmetatable(require 'lpeg'.P(1)).raw", "require 're'.updatelocale",
  "require 'perigee.core'", "require 'perigee.host'", "require 'perigee.guard.coroutines'",
  "require 'perigee.guard.sandbox'", "require '../secret'", "require '/etc/passwd'",
  "require '..secret'", "require ''", "require 'a\0b'", "require(('x'):rep(100000))",
  -- Metatables of basic types, and of the host's objects.
  "type(getmetatable('')) == 'table'", "getmetatable(0)", "getmetatable(nil)",
  "getmetatable(print)", "getmetatable(true)", "getmetatable(coroutine.create(print))",
  "type(getmetatable(_G)) == 'table'", "type(getmetatable(string)) == 'table'",
  "type(getmetatable(perigee)) == 'table'", "type(getmetatable(perigee.to.all)) == 'table'",
  "type(getmetatable(perigee.rooms)) == 'table'", "type(getmetatable(lobby)) == 'table'",
  "setmetatable('', {})", "setmetatable(string, {})", "setmetatable(_G, {})",
  "setmetatable(lobby, {})", "setmetatable(perigee, {})", "setmetatable(print, {})",
  "setmetatable(5, {})",
  -- A script cannot change libraries for other code.
  "(function() string.format = nil return true end)()",
  "(function() math.new = 1 return true end)()",
  "(function() table.sort, os.time = 1, 2 return true end)()",
  "(function() rawset(string, 'upper', function() return 'hacked' end) "
    .. "return ('x'):upper() == 'hacked' end)()",
  "(function() getmetatable('').__index = {} return true end)()",
  "(function() undeclared = 1 return true end)()",
  -- Bytecode.
  "require 'bytecode'", "pcall('\\27LJ\\2')",
  -- Calls that have broken Lua engines before.
  "unpack({}, 1, 1e9)", "unpack({}, -2^31, 2^31 - 1)", "unpack({}, 2^31 - 1, 2^31)",
  "unpack({}, 2^53, 2^53 + 1)", "unpack({}, -2^63, 2^63)",
  "select(-1)", "select(2^31, 1)", "string.rep('x', 2^40)", "string.rep('', 2^40) ~= ''",
  "bit.tohex(1, 2^31) == nil", "bit.tohex(0, -2^31) == nil", "bit.lshift(1, 2^40) == nil",
  "bit.rol(2^63, -1) == nil", "bit.tobit(0/0) == nil", "bit.bswap({})", "bit.band()",
  "string.format('%99999d', 1)", "string.format('%.99999f', 1)", "string.format('%c%s%q')",
  "string.byte('x', 1, 2^31) and false", "string.char(-1)", "string.char(256)",
  "table.concat({}, 'x', 1, 2^31) ~= ''", "table.concat({}, 'x', -2^31, 2^31)",
  "table.insert({}, 2^40, 1) == true", "table.remove({}, 2^40)", "tonumber('1', 99)",
  "('x'):rep(1e9, 'y')", "table.move({}, 1, 2^53, 2)", "table.move({ 1 }, 1, 2, 2^53) == nil",
  "os.date('*t', 2^60)", "os.date('%Ez%Oz%', 0) == 5", "os.date(('%c'):rep(1e5))",
  "os.time({ year = 2^40, month = 1, day = 1 }) == 5",
  "coroutine.wrap(coroutine.wrap)()", "coroutine.resume(coroutine.running())",
  "coroutine.running()", "coroutine.status(5)",
  "math.random(2^53, -2^53) and false", "math.randomseed('x')", "next({}, 5)", "ipairs()",
  -- Values that raise errors when they are written, compared or indexed.
  "tostring(setmetatable({}, { __tostring = function() return 5 end })) == 5 and false",
  "tostring(setmetatable({}, { __metatable = print, __index = print })) == nil",
  "#setmetatable({}, { __len = function() return 1e9 end }) == 1e9 and false",
  "(function() local t = {} for i = 1, 100 do t = setmetatable({}, { __index = t }) end "
    .. "return t.x end)()",
  "(function() local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x end)()",
  "(function() local f f = function() return pcall(f) end return f() and nil end)()",
  "(function() local t = {} for i = 1, 2000 do t[i * 2^32] = i end return #t > 2000 end)()",
  "(function() local f = tostring for i = 1, 230 do local g = f "
    .. "f = function(x) return (('x'):gsub('x', function() return g(x) end)) end end "
    .. "return f(1) == 5 end)()",
  "(function() local function f() return coroutine.wrap(f)() end return f() end)()",
  "(function() local t = {} for i = 1, 200 do t = { t } end perigee.state.deep = t "
    .. "lobby:broadcast('x', t) end)()",
  "(function() local t = setmetatable({}, { __index = function() return 1 end, "
    .. "__pairs = print, __len = print }) lobby:broadcast('x', t) end)()",
  "perigee.rooms.create(setmetatable({}, { __tostring = function() error(_G) end }))",
  "lobby:broadcast(setmetatable({}, { __tostring = function() return 'x' end }))",
  -- Objects that imitate the host's, with invalid ids.
  "pcall(lobby.kick, lobby, setmetatable({ id = {} }, { __metatable = 'peer' }))",
  "pcall(lobby.has, lobby, setmetatable({ id = 'x' }, { __metatable = 'peer' }))",
  "pcall(perigee.send, setmetatable({ ids = { {}, 'x' } }, { __metatable = 'target' }), 'x')",
  "(function() local t = setmetatable({}, { __newindex = string }) "
    .. "return pcall(function() t.leak = 1 end) end)()",
  "pcall(perigee.env, setmetatable({}, { __tostring = function() return 'GAME_X' end }))",
  "pcall(setmetatable, setmetatable({}, { __metatable = false }), {})",
  -- Finalizers, and waiting inside of a C function.
  "(function() local hit setmetatable({}, { __gc = function() hit = true end }) "
    .. "for _ = 1, 1e5 do local _ = {} end return hit end)()",
  "pcall(table.sort, { 3, 1, 2 }, function() perigee.sleep(0.001) end)",
  "pcall(string.gsub, 'abc', '.', coroutine.yield)", "xpcall(error, coroutine.yield)",
  "pcall(coroutine.wrap(function() perigee.sleep(0.01) end))",
}

-- Errors of every kind, each in a handler of its own.
local ERRORS = {
  "error(_G)", "error(nil)", "error()", "error(print)", "error(coroutine.create(print))",
  "error(setmetatable({}, { __tostring = function() while true do end end }))",
  "error(setmetatable({}, { __tostring = error }))", "error(setmetatable({}, { __index = error }))",
  "error({ message = _G })", "error({ message = ('x'):rep(1e6) })", "error(('x'):rep(1e6))",
  "error('\\0\\27[31m')", "error(lobby)", "error(perigee)", "error(string)", "error(0/0)",
  "error(setmetatable({}, { __metatable = _G }), 2)", "error('a', 2^31)", "error('a', -5)",
}

local GAME = [[
local perigee = require "perigee"
local game = {}
local probes, failures, walk = {}, {}, require "walk"

%s

function game.on_start()
  local lobby = perigee.rooms.create "lobby"
  local escaped, count = {}, 0
  for i, probe in ipairs(probes) do
    perigee.after(0, function()
      count = count + 1
      if probe(lobby) then escaped[#escaped + 1] = i end
    end)
  end
  for i, fail in ipairs(failures) do
    perigee.after(0.01, function() fail(lobby) end)
  end
  perigee.after(0.02, function()
    print(("probes %%d escaped %%s."):format(count, table.concat(escaped, " ")))
  end)
end

function game.on_message(peer, name, value, room)
  walk({ peer = peer, room = room, value = value, game = game, perigee = perigee, _G = _G,
    timer = perigee.after(100, print) })
end

return game
]]

-- Returns everything that can be reached from a value by a script.
local WALK = [[
local seen, found = {}, {}

local function visit(value, path, depth)
  local kind = type(value)
  if kind == "function" and not seen[value] then
    seen[value], found[#found + 1] = true, path
  elseif kind == "table" and not seen[value] and depth < 12 then
    seen[value] = true
    for key, entry in next, value do
      visit(key, path .. ".(key)", depth + 1)
      visit(entry, path .. "." .. tostring(key), depth + 1)
    end
    visit(getmetatable(value), path .. ".(metatable)", depth + 1)
    local iterator, state, first = pairs(value)
    visit(iterator, path .. ".(pairs)", depth + 1)
    visit(first, path .. ".(first)", depth + 1)
  elseif kind ~= "table" and type(getmetatable(value)) == "table" then
    visit(getmetatable(value), path .. ".(metatable)", depth + 1)
  end
end

-- The libraries hide their fields, so the walk tries names from everywhere.
local NAMES = %s

return function(roots)
  for name, root in pairs(roots) do visit(root, name, 0) end
  for _, name in ipairs(NAMES) do
    for where, root in pairs(roots) do
      local ok, value = pcall(function() return root[name] end)
      if ok then visit(value, where .. "." .. name, 1) end
    end
    for library, root in pairs(_G) do
      local ok, value = pcall(function() return root[name] end)
      if ok then visit(value, library .. "." .. name, 1) end
    end
    visit((("x")[name]), "string." .. name, 1)
  end
  visit(("x"):gmatch ".", "gmatch", 1)
  visit(ipairs {}, "ipairs()", 1)
  print("walked " .. table.concat(found, " "))
end
]]

-- Functions that the walk may find, by the last word of their path.
local ALLOWED = {}
for name in ([[
  assert error getmetatable ipairs next pairs pcall print rawequal rawget rawset require select
  setmetatable tonumber tostring type unpack xpcall
  arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex
  create isyieldable resume running status wrap yield traceback
  abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp ldexp log log10 max min modf pow
  rad random randomseed sin sinh sqrt tan tanh clock date difftime time
  byte char find format gmatch gsub len lower match rep reverse sub upper
  concat insert maxn move remove sort
  channel tool resource prompt updated sessions notify
  from number mul div
  after every env events get all delete send sleep spawn stats stop now one all_except group
  bot commands date decode encode fault hash http json list protocol random_bytes
  leaderboard commit sql transaction
  matchmaker make of new expected
  ask join leave rooms kick send_packet broadcast relay peers has set_meta get_meta cancel
  on_start on_message (pairs) ipairs()
]]):gmatch "%S+" do
  ALLOWED[name] = true
end

-- Returns the names that LuaJIT, the host and its modules have.
local function all_names()
  local names, seen = {}, {}
  local function add(name)
    if type(name) == "string" and not seen[name] and name:find "^[%a_][%w_]*$" then
      seen[name], names[#names + 1] = true, ("%q"):format(name)
    end
  end
  for _, library in pairs { _G, string, table, math, io, os, debug, coroutine, package, bit,
    require "jit", require "ffi", cjson } do
    for name in pairs(library) do add(name) end
  end
  for name in ([[core send_packet broadcast relay peers has kick leave join ask rooms set_meta
    get_meta delete after every spawn cancel stats state name id kind count session address
    transport token latency_ms connected charge ran trial weigh seed read_file
    __index __newindex __metatable __gc __mode]]):gmatch "%S+" do
    add(name)
  end
  return "{ " .. table.concat(names, ", ") .. " }"
end

local function functions(list, sources)
  local lines = {}
  for _, source in ipairs(sources) do
    lines[#lines + 1] = ("%s[#%s + 1] = function(lobby) local _ = lobby %s end"):format(list, list,
      list == "probes" and "return " .. source or source)
  end
  return table.concat(lines, "\n")
end

describe("a script", function()
  local host, client

  before_each(function()
    host = server.start {
      flags = { handler_budget = 2 },
      files = {
        ["game.lua"] = GAME:format(functions("probes", PROBES) .. "\n"
          .. functions("failures", ERRORS)),
        ["walk.lua"] = WALK:format(all_names()),
        ["bytecode.lua"] = string.dump(function() return true end),
      },
    }
    client = host:client "ann"
  end)

  after_each(function() host:stop() end)

  it("finds none of the ways out that are known", function()
    assert.is_true(#PROBES >= 60)
    local line = host:wait_log("probes " .. #PROBES .. " escaped")
    assert.equal(("probes %d escaped ."):format(#PROBES), line.message or line.msg)
  end)

  it("can fail with any value", function()
    host:wait_log "probes "
    for _, text in ipairs { "(the error is a table)", "(the error is a function)",
      "(the error is a thread)", "bytes in all" } do
      host:wait_log(text)
    end
    client:fence()
  end)

  it("reaches no function that is not for scripts", function()
    client:send(client:join "lobby", "walk", 1)
    local line = host:wait_log "walked "
    local count = 0
    for path in (line.message or line.msg):gsub("^walked ", ""):gmatch "%S+" do
      count = count + 1
      assert.truthy(ALLOWED[path:match "[^.]+$"], path)
    end
    assert.is_true(count > 100, count)
  end)
end)
