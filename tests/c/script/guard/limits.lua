--- The limits that perigee.guard.library adds to LuaJIT's functions: an end soon after the deadline, and a
--- largest size of results. Deadlines are generous for slow machines; without the charges, these calls would
--- take minutes.

local core = require "perigee.core"
local library = require "perigee.guard.library"

local within = core.within
local string = setmetatable(library.string, { __index = string })
local table = setmetatable(library.table, { __index = table })
local MOST = 16777216

local DEADLINE_MS, LATE_MS = 5, 200 * core.slowness

-- Returns whether the call takes too long and ends.
local function ends(what, fn, ...)
  local passed, ok, problem = within(DEADLINE_MS, fn, ...)
  assert(not ok, what .. ": ended by itself")
  assert(tostring(problem):find("ran longer than its budget", 1, true), what .. ": " .. tostring(problem))
  assert(passed < LATE_MS * 1000, ("%s: %d us"):format(what, passed))
end

local function fails(expected, fn, ...)
  local ok, problem = pcall(fn, ...)
  problem = tostring(problem)
  assert(not ok and problem:find(expected, 1, true), ("%s, not %s"):format(expected, problem))
end

local function patterns_end()
  local many, huge = ("a"):rep(1e5), ("a"):rep(MOST)
  ends("lazy", string.find, many, ".-.-.-.-b$")
  ends("optional", string.find, ("a"):rep(40), ("a?"):rep(40) .. ("a"):rep(41))
  ends("nested", string.match, many, ("(a*)"):rep(20) .. "b")
  ends("captures", string.match, many, ("(.-)"):rep(32) .. "b")
  ends("balanced", string.find, ("("):rep(1e6), "%b()")
  ends("again", string.find, huge, "(.-)%1b")
  ends("frontier", string.find, huge, "%f[" .. ("^b"):rep(1e4) .. "]c")
  ends("large set", string.find, ("a"):rep(1e6), "[" .. ("b"):rep(1e6) .. "]")
  ends("large set, repeated", string.find, ("a"):rep(1e6), "[" .. ("b"):rep(1e6) .. "a]*b")
  ends("gsub", string.gsub, huge, "", function() end)
  ends("gsub, quadratic", string.gsub, many, "a-b", "")
  ends("gmatch", function()
    for _ in string.gmatch(huge, "a-b") do
      error "found"
    end
  end)
  ends("plain", string.find, huge, ("a"):rep(2e6) .. "b", 1, true)
  ends("no memmem finds it soon", function()
    for _ = 1, 1000 do
      string.find(huge, "aaaaaaaaaaaaaaab", 1, true)
    end
  end)
end

local function others_end()
  local huge, list = ("a"):rep(MOST), {}
  for i = 1, 3e5 do
    list[i] = (i * 7919) % 300007
  end
  ends("sort", table.sort, list)
  ends("sort with a comparator", table.sort, list, function(a, b) return a > b end)
  ends("sort without an order", table.sort, list, function() return true end)
  ends("sort by C", table.sort, list, rawequal)
  local alike = {}
  for i = 1, 64 do
    alike[i] = ("a"):rep(1e6) .. i
  end
  ends("sort of long strings", function()
    for _ = 1, 1000 do
      table.sort(alike)
      alike[1], alike[64] = alike[64], alike[1]
    end
  end)
  ends("concat", function()
    for _ = 1, 1000 do
      table.concat(list)
    end
  end)
  ends("insert far", table.insert, {}, -1e18, 1)
  ends("insert nowhere", table.insert, {}, 0 / 0, 1)
  ends("move", table.move, {}, 1, 2 ^ 53, 2)
  local calls = {
    insert = function() table.insert(list, 1, 1) end,
    remove = function() table.remove(list, 1) end,
    maxn = function() table.maxn(list) end,
    upper = function() return string.upper(huge) end,
    lower = function() return string.lower(huge) end,
    rep = function() return string.rep("ab", 5e6) end,
    format = function() return string.format("%s", huge) end,
    tonumber = function() return library.base.tonumber(huge) end,
  }
  for name, call in pairs(calls) do
    ends(name, function()
      for _ = 1, 1e5 do
        call()
      end
    end)
  end
end

local function results_have_a_most()
  local huge, most = ("a"):rep(1e7), " bytes; 16777216 is the most"
  fails("string.rep: the result would have 300000000" .. most, string.rep, "abc", 1e8)
  fails("string.rep: the result would have 4294967296" .. most, string.rep, "a", 2 ^ 32)
  fails("string.rep: the result would have inf" .. most, string.rep, "a", math.huge)
  fails("string.rep: the result would have 200000001" .. most, string.rep, "a", 1e8 + 1.5, "b")
  fails("table.concat: the result would have 40000000" .. most, table.concat, { huge, huge, huge, huge })
  fails("table.concat: the result would have 20000003" .. most, table.concat, { 1, 2, 3 }, huge)
  fails("string.format: the result would have 4", string.format, "%s%s%s%s", huge, huge, huge, huge)
  fails(" or more; 16777216 is the most", string.gsub, huge, "a", "bb")
  fails(" or more; 16777216 is the most", string.gsub, "aaa", "a", function() return huge end)
  assert(#string.rep("a", MOST) == MOST and string.rep("", 2 ^ 53) == "" and string.rep("a", 0 / 0) == "")
  assert(#table.concat({ huge, "b" }, ",") == 1e7 + 2)
  assert(#string.format("%.3s%.3s", huge, huge) == 6)
end

-- Checks that far indexes are exact. LuaJIT's own functions wrap them at 2^32, and differ in compiled code.
local function far_indexes()
  assert(select("#", string.find("a", "", 2 ^ 53)) == 2 and string.find("a", "", 2 ^ 53) == 2)
  assert(string.find("a", "a", -2 ^ 53) == 1 and string.find("a", "a", 0 / 0) == 1)
  assert(string.gsub("aaa", "a", "b", 2 ^ 31) == "bbb" and string.gsub("aaa", "a", "b", 0 / 0) == "aaa")
  local list = { 1, 2 }
  table.insert(list, 2 ^ 40, "far")
  assert(list[2 ^ 40] == "far" and #list == 2)
  assert(table.move({ [2 ^ 40] = 7 }, 2 ^ 40, 2 ^ 40, 1)[1] == 7)
end

local function callbacks_do_as_they_like()
  local function nest(depth)
    return (string.gsub("ab", "%w", function(letter)
      return depth > 0 and letter .. nest(depth - 1) or letter
    end))
  end
  assert(#nest(5) == 126)
  fails("stack overflow", function()
    local function forever() return (string.gsub("a", "a", forever)) end
    forever()
  end)
  fails("stack overflow", function()
    local function forever() table.sort({ 2, 1 }, forever) end
    forever()
  end)
  fails("attempt to yield across C-call boundary", coroutine.wrap(function()
    string.gsub("a", "a", coroutine.yield)
  end))
  local thrown = {}
  local ok, problem = pcall(string.gsub, "a", "a", function() error(thrown) end)
  assert(not ok and problem == thrown)
  local list = { 5, 3, 1, 4, 2 }
  ok, problem = pcall(table.sort, list, function() error(thrown) end)
  assert(not ok and problem == thrown and table.concat(list) == "53142")
  table.sort(list, function(a, b)
    list[1], list[6] = nil, 9
    return a < b
  end)
  assert(table.concat(list, "", 1, 5) == "12345")
  fails("attempt to compare", table.sort, { 1, {}, 2 })
  local objects, order = {}, { __lt = function(a, b) return a.rank < b.rank end }
  for i = 1, 100 do
    objects[i] = setmetatable({ rank = i * 37 % 101, at = i }, order)
  end
  table.sort(objects)
  for i = 2, 100 do
    assert(objects[i - 1].rank < objects[i].rank)
  end
end

local function answers_of_all_kinds()
  for seed = 1, 200 do
    math.randomseed(seed)
    local list = {}
    for i = 1, math.random(400) do
      list[i] = i
    end
    table.sort(list, function() return math.random(2) == 1 end)
    local seen = {}
    for _, value in ipairs(list) do
      seen[value] = true
    end
    assert(#seen == #list)
  end
end

local function patterns_of_all_sizes()
  local many = ("a"):rep(1e6)
  assert(string.find(many, many) == 1 and string.find(many .. ".", many .. "%.") == 1)
  assert(string.find(many, many .. "?") == 1)
  assert(not string.find("b", ("a?"):rep(5e5) .. "c"))
  fails("pattern too complex", string.find, many, ("a?"):rep(5e5))
  assert(string.find(("a"):rep(300), ("a?"):rep(199)) == 1)
  assert(select("#", string.match(many, ("(a)"):rep(32))) == 32)
  fails("too many captures", string.match, many, ("(a)"):rep(33))
  assert(#string.match(("("):rep(1e6) .. (")"):rep(1e6), "%b()") == 2e6)
end

return function()
  results_have_a_most()
  far_indexes()
  callbacks_do_as_they_like()
  answers_of_all_kinds()
  patterns_of_all_sizes()
  patterns_end()
  others_end()
end
