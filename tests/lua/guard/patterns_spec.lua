--- lpeg and re with counters of steps have the same results as without: random patterns and grammars give the
--- same captures, positions and errors. LPEG_PATTERNS=100000 SEED=7 tries more of them.
local fake_core = require "tests.lua.fake_core"

local PATTERNS = tonumber(os.getenv "LPEG_PATTERNS" or 3000)
local SEED = tonumber(os.getenv "SEED" or 1)
local DEEP = 4

local plain = require "lpeg"
local random = math.random

-- Random patterns, as trees ---------------------------------------------------------------------

local function text(most)
  local letters = {}
  for i = 1, random(0, most) do
    letters[i] = ("abc"):sub(random(3)):sub(1, 1)
  end
  return table.concat(letters)
end

local function values(...)
  return select("#", ...), ...
end

local function fold(a, b)
  return (type(a) == "table" and #a or tostring(a)) .. "+" .. (type(b) == "table" and #b or tostring(b))
end

local function at_match(_, at, ...)
  if (at + select("#", ...)) % 5 ~= 0 then
    return at, ...
  end
  return false
end

local LEAVES = {
  function() return { "P", text(3) } end,
  function() return { "P", random(-1, 2) } end,
  function() return { "S", text(3) } end,
  function() return { "R", "ab" } end,
  function() return { "Cc", random(9), text(2) } end,
  function() return { "Cp" } end,
  function() return { "Carg", 1 } end,
  function() return { "Cb", "name" } end,
  function() return { "P", true } end,
  function() return { "P", false } end,
  function(_, rules) return rules and { "V", rules[random(#rules)] } or { "P", "a" } end,
}
local RULES = { "A", "B", "C" }

local tree

local INNER = {
  function(deep, rules) return { "mul", tree(deep, rules), tree(deep, rules) } end,
  function(deep, rules) return { "mul", tree(deep, rules), tree(deep, rules) } end,
  function(deep, rules) return { "add", tree(deep, rules), tree(deep, rules) } end,
  function(deep, rules) return { "add", tree(deep, rules), tree(deep, rules) } end,
  function(deep, rules) return { "sub", tree(deep, rules), tree(deep, rules) } end,
  function(deep, rules) return { "pow", tree(deep, rules), random(-2, 2) } end,
  function(deep, rules) return { "pow", tree(deep, rules), 0 } end,
  function(deep, rules) return { "len", tree(deep, rules) } end,
  function(deep, rules) return { "unm", tree(deep, rules) } end,
  function(deep, rules) return { "C", tree(deep, rules) } end,
  function(deep, rules) return { "Ct", tree(deep, rules) } end,
  function(deep, rules) return { "Cs", tree(deep, rules) } end,
  function(deep, rules) return { "Cg", tree(deep, rules), random(2) == 1 and "name" or nil } end,
  function(deep, rules) return { "Cf", tree(deep, rules), fold } end,
  function(deep, rules) return { "Cmt", tree(deep, rules), at_match } end,
  function(deep, rules) return { "div", tree(deep, rules), values } end,
  function(deep, rules) return { "div", tree(deep, rules), random(0, 2) } end,
  function(deep, rules) return { "div", tree(deep, rules), "<%1%0>" } end,
  function(deep, rules) return { "div", tree(deep, rules), { a = "A", ab = 7 } } end,
  function() return { "B", { "add", tree(0), { "mul", tree(0), tree(0) } } } end,
}

function tree(deep, rules)
  local list = (deep == 0 or random(5) == 1) and LEAVES or INNER
  return list[random(#list)](deep - 1, rules)
end

local function grammar()
  if random(2) == 1 then
    return { "P", { "A", A = tree(DEEP, RULES), B = tree(DEEP - 1, RULES), C = tree(DEEP - 1, RULES) } }
  end
  return tree(DEEP + 1)
end

-- Patterns of trees --------------------------------------------------------------------------------

local function build(library, node)
  if type(node) ~= "table" then
    return node
  elseif library[node[1]] then
    return library[node[1]](build(library, node[2]), build(library, node[3]))
  end
  local copy = {} -- the rules of a grammar, or a capture's table
  for key, part in pairs(node) do
    copy[key] = build(library, part)
  end
  return copy
end

local function library_of(operators, functions)
  local library = {}
  for _, name in ipairs { "mul", "add", "sub", "pow", "div", "len", "unm" } do
    library[name] = operators[name] or operators["__" .. name]
  end
  return setmetatable(library, { __index = functions })
end

-- Removes the parts of errors that differ: the place, an operator's name, and the remedy in Perigee's errors.
local function outcome(library, node, subject)
  local made, pattern = pcall(build, library, node)
  if not made then
    pattern = pattern:gsub(": lpeg%.B takes .*$", ""):gsub(": a rule takes a letter .*$", "")
    pattern = pattern:gsub("^.*bad argument", "bad argument"):gsub("'[^']*'", "?")
    return { "build", (pattern:gsub("^[^ ]*: ", "")) }
  end
  local results = { pcall(library.match, pattern, subject, 1, "extra") }
  if not results[1] then
    results[2] = tostring(results[2]):gsub("^[^ ]*: ", "")
  end
  return { "match", results }
end

describe("patterns with counters", function()
  local guarded, re, meta

  setup(function()
    fake_core.new()
    local patterns = require "perigee.guard.patterns"
    meta = debug.getmetatable(plain.P(true))
    guarded, re = patterns.lpeg, patterns.load_re()
  end)

  it("match what plain patterns match, with the same captures", function()
    local ours, theirs = library_of(meta, guarded), library_of(meta.raw, plain)
    function theirs.len(pattern) return meta.raw.unm(meta.raw.unm(pattern)) end -- see patterns.lua
    local matched = 0
    for i = 1, PATTERNS do
      math.randomseed(SEED * 1e6 + i)
      local node = grammar()
      for _ = 1, 3 do
        local subject = text(12)
        local expected = outcome(theirs, node, subject)
        local actual = outcome(ours, node, subject)
        -- Without counters, lpeg takes alternatives behind `p^0` for recursive, and drops them.
        if not (actual[2] == "rule ? may be left recursive" and expected[1] == "match") then
          assert.same(expected, actual, ("SEED=%d, pattern %d"):format(SEED, i))
        end
        matched = matched + (expected[2][1] == true and expected[2][2] ~= nil and 1 or 0)
      end
    end
    assert.is_true(matched > PATTERNS / 10, matched)
  end)

  it("have errors that name the cure", function()
    local V, P = guarded.V, guarded.P
    local function refuses(cure, fn)
      local ok, problem = pcall(fn)
      assert.is_false(ok)
      assert.truthy(problem:find(cure, 1, true), problem)
    end
    refuses('write each letter, as in lpeg.B(lpeg.P "a" * "a")', function() guarded.B(P "a" ^ 1) end)
    refuses("write each letter", function() guarded.B(P { P "a" }) end)
    refuses('write a repetition, as in V "term" *', function() P { "S", S = P "a" ^ 0 * V "S" + "b" } end)
  end)

  it("have no grammar that lpeg would read for ever", function()
    local V, P = guarded.V, guarded.P
    local function refuses(rule)
      local rules = { "A1", A61 = P "x" + "" }
      for i = 1, 60 do rules["A" .. i] = rule(V("A" .. i + 1)) end
      local ok, problem = pcall(guarded.P, rules)
      assert.is_false(ok)
      assert.truthy(problem:find("can begin in more than 10000 ways", 1, true), problem)
    end
    refuses(function(next_rule) return next_rule + next_rule end)
    refuses(function(next_rule) return next_rule * next_rule end)
    refuses(function(next_rule) return -next_rule * guarded.C(next_rule) end)
    refuses(function(next_rule) return next_rule - next_rule end)
  end)

  it("have grammars of many levels that begin with each other", function()
    local V, P, R = guarded.V, guarded.P, guarded.R
    local rules = { "level1", level30 = R "09" ^ 1 + "(" * V "level1" * ")" }
    for i = 1, 29 do
      local level = V("level" .. i + 1)
      rules["level" .. i] = level * (P "+" * level + P "-" * level) ^ 0
    end
    assert.equal(16, P(rules):match "1+(2-(3+4)+5)-6")
    local words = P(false)
    for i = 1, 1000 do words = words + ("w" .. i .. ";") end
    assert.equal(6, words:match "w100;")
  end)

  it("are those of re, too", function()
    assert.same({ "ab", "1", "cd", "2" }, re.match("ab=1,cd=2", "{| ({%a+} '=' {%d+} ','?)* |}"))
    assert.equal("h3ll3", re.gsub("hello", "[eo]", "3"))
    assert.same({ 3, 5 }, { re.find("xxabc", "'abc'") })
    local function fails(problem, fn, ...)
      local ok, message = pcall(fn, ...)
      assert.is_false(ok)
      local place = ("patterns_spec.lua:%d: "):format(debug.getinfo(1, "l").currentline - 2)
      assert.truthy(message:find(place .. problem, 1, true), message)
    end
    fails("rule 'l' used outside a grammar", re.gsub, "hello", "l", "L")
    fails("undefined name: f", re.match, "hello", "'h' -> f")
    fails("pattern error near '{'", re.compile, "{")
    fails("the pattern of re.compile must be a string, not nil", re.compile)
    fails("the pattern of re.match must be a string, not a number", re.match, "hello", 5)
    local nested = re.compile "S <- '(' S* ')'"
    assert.equal(9, nested:match "((()()))x")
  end)
end)
