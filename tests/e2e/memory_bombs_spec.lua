--- Handlers that allocate without end: each fails with a clean error, its garbage is collected, and other
--- clients notice nothing.
local server = require "tests.e2e.server"
local wait = require "tests.e2e.wait"

local TIMES = tonumber(os.getenv "PERIGEE_BOMBS" or 1)
local LIMIT_MIB = 64

-- Bodies of handlers. `big(n)` is a new string of n bytes.
local KINDS = {
  { "doubling", "local s = 'x' while true do s = s .. s end" },
  { "doubling a long string", "local s = big(1e5) while true do s = s .. s end" },
  { "doubling in pcall", "local s = 'xx' while true do pcall(function() s = s .. s end) end" },
  { "doubling without a loop", "local s = big(1e6) local a = s .. s .. s .. s .. s .. s .. s .. s "
      .. "local b = a .. a .. a .. a .. a .. a .. a .. a local _ = b .. b .. b .. b .. b .. b end do" },
  { "many long strings", "local t = {} for i = 1, 1e9 do t[i] = big(1e6) end" },
  { "many short strings", "local t = {} for i = 1, 1e9 do t[i] = 'string ' .. i end" },
  { "rep", "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(1.6e7 + i) end" },
  { "rep of too much", "local _ = ('x'):rep(1e9)" },
  { "rep of far too much", "local _ = ('x'):rep(2^52)" },
  { "format", "local _ = ('%s'):rep(100):format(unpack((function() local t = {} for i = 1, 100 do "
      .. "t[i] = big(1e6) end return t end)()))" },
  { "concat", "local t = {} for i = 1, 1000 do t[i] = big(1e5) end local _ = table.concat(t)" },
  { "gsub", "local s = big(1000) while true do s = s:gsub('.', '%0%0%0%0') end" },
  { "upper", "local t, s = {}, big(8e6) for i = 1, 1e9 do t[i] = s:upper() s = s:lower() .. i end" },
  { "a list", "local t = {} for i = 1, 1e9 do t[i] = i end" },
  { "a list after a wait", "perigee.sleep(0.001) local t = {} for i = 1, 1e9 do t[i] = { i } end" },
  { "a list of lists", "local t = {} for i = 1, 1e9 do t[i] = { i } end" },
  { "a chain", "local t = {} while true do t = { t } end" },
  { "a tree", "local function f() return { f(), f() } end while true do pcall(f) end" },
  { "string keys", "local t = {} for i = 1, 1e9 do t['key ' .. i] = true end" },
  { "sparse keys", "local t = {} for i = 1, 1e9 do t[i * 1e6 + 0.5] = true end" },
  { "tables as keys", "local t = {} while true do t[{}] = {} end" },
  { "insert", "local t = {} while true do table.insert(t, {}) end" },
  { "one far key each", "local t = {} for i = 1, 1e9 do t[i] = { [2^30] = 1 } end" },
  { "closures", "local t = {} for i = 1, 1e9 do t[i] = function() return i end end" },
  { "coroutines", "local t = {} for i = 1, 1e9 do t[i] = coroutine.wrap(function() "
      .. "coroutine.yield() end) t[i]() end" },
  { "deep stacks in coroutines", "local t = {} local function f(n) if n == 0 then "
      .. "coroutine.yield() else f(n - 1) return n end end for i = 1, 1e9 do t[i] = "
      .. "coroutine.wrap(f) t[i](5000) end" },
  { "metatables", "local t = {} for i = 1, 1e9 do t[i] = setmetatable({}, { __index = {} }) end" },
  { "varargs", "local function f(...) return f({}, ...) end while true do pcall(f) end" },
  { "captures", "local t = {} for w in big(1e6):gmatch '()' do t[#t + 1] = { w } end while true "
      .. "do t = { t, {} } end" },
  { "messages", "local s = big(5e4) while true do peer:send('x', s) end" },
  { "timers", "while true do perigee.after(1000, function() end) end" },
  { "state", "peer.state.t = {} for i = 1, 1e9 do peer.state.t[i] = { i } end" },
  { "errors", "while true do pcall(error, { big(1e6) }) end" },
}

local HEAD = [[
local perigee = require "perigee"
local game = { on_message = {} }
local on, at, keep = game.on_message, {}, nil
local function big(n) return ("x"):rep(n) .. math.random() end
function on.memory() return perigee.stats().memory end
function on.clear(peer) peer.state.t = nil; keep = nil end
function on.errors() local list = at at = {} return list end
function on.keep(peer, mib) keep = {} for i = 1, mib do keep[i] = big(2^20) end end
function on.work() local t = {} for i = 1, 20000 do t[i % 100] = { i } end return #t end
function game.on_error(report) at[#at + 1] = { line = report.line, text = report.message } end
]]

local function game_text()
  local lines = { HEAD }
  for i, kind in ipairs(KINDS) do
    lines[#lines + 1] = ("on.kind%d = function(peer) do %s end end\n"):format(i, kind[2])
  end
  lines[#lines + 1] = "return game\n"
  return table.concat(lines)
end

local _, HEAD_LINES = HEAD:gsub("\n", "")
local BIG_LINE = 4 -- of HEAD

local CLEAN = {
  "^the handler ran longer than its budget of %d+ ms", "^the Lua heap is over memory_limit %(64 MiB%)$",
  "^not enough memory: ", "would have %d+ bytes", "larger than 16 MiB", "stack overflow",
  "there are too many timers", "too many results to unpack", "resulting string too large",
}

local function is_clean(text)
  for _, pattern in ipairs(CLEAN) do
    if text:find(pattern) then return true end
  end
  return false
end

for _, flags in ipairs { {}, { no_jit = true } } do
  describe("a memory bomb" .. (flags.no_jit and " without the JIT" or ""), function()
    local host, client, watcher, before

    setup(function()
      flags.handler_budget, flags.memory_limit = 0.15 * wait.SLOWNESS, LIMIT_MIB * 2 ^ 20
      host = server.start { game = game_text(), flags = flags }
      client, watcher = host:client "ann", host:client "bob"
      before = watcher:question(0, "memory", 1)
    end)

    teardown(function() host:stop() end)

    local function settle()
      wait.until_true(function()
        watcher:question(0, "work", 1) -- garbage is collected while handlers allocate
        return watcher:question(0, "memory", 1) < before + LIMIT_MIB * 2 ^ 20 / 4
      end)
      assert.is_true(watcher:question(0, "memory", 1) < before + LIMIT_MIB * 2 ^ 20 / 4)
    end

    for i, kind in ipairs(KINDS) do
      it("fails cleanly: " .. kind[1], function()
        for _ = 1, TIMES do
          client:expect_error("Internal", client:ask(0, "kind" .. i, 1))
          watcher:question(0, "work", 1)
        end
        for _, report in ipairs(watcher:question(0, "errors", 1)) do
          assert.is_true(is_clean(report.text), report.text)
          assert.is_true(report.line == HEAD_LINES + i or report.line == BIG_LINE, report.text)
        end
        client:send(0, "clear", 1)
        client:expect_quiet()
      end)
    end

    it("leaves nothing", settle)

    it("has the log warn before it comes to that", function()
      client:send(0, "keep", 56)
      client:expect_quiet()
      for _ = 1, 50 do watcher:question(0, "work", 1) end
      host:wait_log "the Lua heap is close to memory_limit"
      client:send(0, "clear", 1)
      client:expect_quiet()
      settle()
    end)
  end)
end
