--- Handlers that would run for ever: the server interrupts each near its deadline, with its line, and goes on
--- with its connections. PERIGEE_RUNAWAYS=1000 runs each kind that often.
local server = require "tests.e2e.server"

local TIMES = tonumber(os.getenv "PERIGEE_RUNAWAYS" or 3)
local BUDGET = 0.01 -- seconds
local LATE_P99 = 0.01

-- Bodies of handlers, one line each.
local KINDS = {
  { "while", "while true do end" },
  { "for", "for i = 1, math.huge do end" },
  { "repeat", "repeat until false" },
  { "goto", "::again:: goto again" },
  { "recursion", "local function f(n) return n < 1 or f(n - 1) and f(n - 1) end f(99)" },
  { "tail calls", "local function f() return f() end f()" },
  { "mutual recursion", "local g local function f() return g() end g = function() return f() end f()" },
  { "pcall of a loop", "while true do pcall(function() while true do end end) end" },
  { "pcall of an error", "while true do pcall(error) end" },
  { "nested pcalls", "local function f() while true do pcall(pcall, f) end end f()" },
  { "xpcall's handler", "local function f() while true do end end while true do xpcall(error, f) end" },
  { "xpcall's handler in a coroutine", "local function f() while true do end end while true do "
      .. "pcall(coroutine.wrap(function() xpcall(f, f) end)) end" },
  { "xpcall's handler after a comparator", "local function f() while true do end end "
      .. "xpcall(function() table.sort({ 3, 2, 1 }, f) end, f)" },
  { "xpcall of itself", "local function f() while true do xpcall(f, f) end end f()" },
  { "tracebacks", "local function f() return f() + 1 end while true do xpcall(f, debug.traceback) end" },
  { "caught and ignored", "pcall(function() while true do end end) peer:send('survived', 1)" },
  { "coroutines", "while true do coroutine.wrap(function() while true do end end)() end" },
  { "resume", "while true do coroutine.resume(coroutine.create(function() while true do end end)) end" },
  { "yields", "local f = coroutine.wrap(function() while true do coroutine.yield() end end) while "
      .. "true do f() end" },
  { "after a wait", "perigee.sleep(0.001) while true do end" },
  { "a coroutine after a wait", "local f = coroutine.wrap(function() coroutine.yield() while true do end "
      .. "end) f() perigee.sleep(0.001) pcall(f)" },
  { "an iterator", "for _ in coroutine.wrap(function() while true do coroutine.yield(1) end end) do end" },
  { "coroutines in coroutines", "local function f() while true do pcall(coroutine.wrap(f)) end end f()" },
  { "sort", "local t = {} for i = 1, 100 do t[i] = -i end while true do pcall(table.sort, t, "
      .. "function() return true end) end" },
  { "an endless comparator", "table.sort({ 3, 2, 1 }, function() while true do end end)" },
  { "gsub", "while true do ('x'):rep(100):gsub('.', function() while true do end end) end" },
  { "__index", "local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) "
      .. "while true do pcall(function() return t[1] end) end" },
  { "__add", "local t t = setmetatable({}, { __add = function() return t + t end }) while true do "
      .. "pcall(function() return t + 1 end) end" },
  { "__tostring", "local t t = setmetatable({}, { __tostring = function() while true do end end "
      .. "}) print(t)" },
  { "__tostring that is tostring", "tostring(setmetatable({}, { __tostring = tostring }))" },
  { "__concat", "local t t = setmetatable({}, { __concat = function() while true do end end }) "
      .. "return t .. 1" },
  { "__eq", "local m = { __eq = function() while true do end end } return setmetatable({}, m) == "
      .. "setmetatable({}, m)" },
  { "__call", "local t = setmetatable({}, { __call = function(t) return t() end }) t()" },
  { "find", "(('a'):rep(1e5)):find '.-.-.-.-b$'" },
  { "match", "(('a'):rep(30)):match(('a?'):rep(30) .. ('a'):rep(30))" },
  { "rep", "while true do (('x'):rep(1e6)):upper() end" },
  { "reverse", "local s = ('xy'):rep(8e6) while true do s = s:reverse() end" },
  { "sub", "local s = ('x'):rep(1.6e7) for i = 1, 1e9 do local _ = s:sub(2 + i % 99) end" },
  { "concat", "local t = {} for i = 1, 1e4 do t[i] = 'x' end while true do table.concat(t) end" },
  { "insert", "local t = {} while true do table.insert(t, 1, 1) end" },
  { "many tables", "while true do local _ = { {} } end" },
  { "next", "local t = {} for i = 1, 1e4 do t[i .. ''] = i end while true do for _ in pairs(t) do "
      .. "end end" },
  { "print", "while true do print 'x' end" },
  { "JSON", "local t = {} for _ = 1, 31 do t = { t, t } end peer:send('x', t)" },
  { "send", "while true do peer:send('flood', 1) end" },
  { "lists of peers", "local t = {} for i = 1, 1e5 do t[i] = peer end while true do "
      .. "perigee.send(perigee.to.group(t), 'x') end" },
  { "comparisons of long strings", "local t, n = { ('x'):rep(1e6) .. 1, ('x'):rep(1e6) .. 2 }, 0 "
      .. "for i = 1, 1e9 do if t[i % 2 + 1] < t[(i + 1) % 2 + 1] then n = n + 1 end end" },
  { "timers", "while true do perigee.after(100, print):cancel() end" },
  { "lpeg: choices that fail late", "local l = require 'lpeg' local p = l.P { 'a' * l.V(1) * 'x' "
      .. "+ 'a' * l.V(1) * 'y' + '' } p:match(('a'):rep(60))" },
  { "lpeg: repetitions in a repetition", "local l = require 'lpeg'; ((l.P 'a' ^ 0 * 'b' + 1) ^ 0)"
      .. ":match(('a'):rep(1e6))" },
  { "lpeg: many captures", "local l = require 'lpeg' local c = l.C(1) "
      .. "l.Ct((c * c * c * c * c * c * c * c) ^ 0):match(('a'):rep(1.6e7))" },
  { "lpeg: back captures of back captures", "local l = require 'lpeg' local p = l.Cg(l.Cc(1), 0) "
      .. "for i = 1, 40 do p = p * l.Cg(l.Cb(i - 1) * l.Cb(i - 1) / 1, i) end (p * l.Cb(40)):match ''" },
  { "lpeg: matches in a pcall", "local l = require 'lpeg' local p, s = l.P { 1 * l.V(1) + 'x' }, "
      .. "('a'):rep(1e6) while true do pcall(l.match, p, s) end" },
  { "lpeg: matches in matches", "local l, p = require 'lpeg' p = l.Cmt(1, function(s) "
      .. "return p:match(s) end) while true do pcall(p.match, p, 'a') end" },
  { "lpeg: a growing pattern", "local p = require 'lpeg'.P 'a' while true do pcall(function() "
      .. "p = p * p end) end" },
  { "re", "require 're'.match(('a'):rep(1e6), [[('a'* 'b' / .)*]])" },
  { "a slow round after quick ones",
    "for i = 1, 1e6 do local _ = i end local s = ('x'):rep(2e5) "
      .. "while true do local _ = s .. math.random() end" },
}

local HEAD = [[
local perigee = require "perigee"
local game = { on_message = {} }
local on, at = game.on_message, {}
function on.right() local sum = 0 for i = 1, 1000 do sum = sum + i end return sum end
function on.slowest() return perigee.stats().slowest end
function on.errors() local list = at at = {} return list end
function game.on_error(report)
  at[#at + 1] = { line = report.line, text = report.message, handler = report.handler }
end
]]

local function game_text()
  local lines = { HEAD }
  for i, kind in ipairs(KINDS) do
    lines[#lines + 1] = ("on.kind%d = function(peer) %s end\n"):format(i, kind[2])
  end
  lines[#lines + 1] = "return game\n"
  return table.concat(lines)
end

local _, HEAD_LINES = HEAD:gsub("\n", "")

describe("a handler that runs away", function()
  local host, client, watcher

  setup(function()
    host = server.start { game = game_text(), flags = { handler_budget = BUDGET, batch_hz = 0 } }
    client, watcher = host:client "ann", host:client "bob"
  end)

  teardown(function() host:stop() end)

  for i, kind in ipairs(KINDS) do
    it("is ended: " .. kind[1], function()
      for _ = 1, TIMES do
        client:expect_error("Internal", client:ask(0, "kind" .. i, 1))
        assert.equal(500500, watcher:question(0, "right", 1))
        local errors = watcher:question(0, "errors", 1)
        assert.equal(1, #errors)
        local report = errors[1]
        assert.equal(HEAD_LINES + i, report.line, report.text)
        assert.equal("on_message.kind" .. i, report.handler)
        assert.equal("the handler ran longer than its budget of 10 ms (handler_budget)", report.text)
      end
      client:expect_quiet()
    end)
  end

  -- Prints the time until each one ends. Checks it only if that is done often enough, because a sanitizer or
  -- a busy machine needs more time.
  it("is among the slowest handlers", function()
    local slowest = watcher:question(0, "slowest", 1)
    assert.equal(10, #slowest)
    local late = {}
    for _, cost in ipairs(slowest) do
      local number = tonumber(cost.handler:match "%d+$")
      local name = number and KINDS[number][1] or cost.handler
      if TIMES >= 100 then
        print(("%-32s p99 %.1f ms, worst %.1f ms"):format(name, cost.p99 * 1000, cost.worst * 1000))
        late[#late + 1] = cost.p99 >= BUDGET + LATE_P99 and name or nil
      end
      assert.is_true(cost.worst >= BUDGET, ("%s: %.1f ms"):format(name, cost.worst * 1000))
    end
    assert.same({}, late)
  end)
end)
