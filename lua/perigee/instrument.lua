--- Inserts counted checks into a game's source, so that the host can end code that would run for
--- ever: into every loop, before every goto, at the head of every function. No line moves.
---
--- Lua judges the text first, in its own words. What it has accepted needs no second full parser:
--- a grammar of the words that open and close blocks is enough to find the places.

local lpeg = require "lpeg"

local P, R, S, V = lpeg.P, lpeg.R, lpeg.S, lpeg.V

local load, setmetatable = load, setmetatable

local instrument = {}

-- Where a check finds the counter under a name of ours, there are two ways. The usual one is an
-- upvalue: it is the fastest that is known, compiled or not. Checks take turns with the numbers
-- they count in, as one number would make each check wait for the one before. The slow path is
-- an assignment that calls __newindex: the JIT does not compile what comes after that, where a
-- plain call would get traces of its own for each check.
local CELLS = { 1, 5, 6, 7 }
local BY_UPVALUE = {
  prologue = "local %s=... return function(...) ",
  check = " do local c=%s local n=c[%d]c[%d]=n-1 if n<=0 then c.dry.n=n end end ",
  epilogue = "\nend",
}
-- Code that has 60 upvalues, 200 locals or 195 levels already has room for no more of them. It
-- gets a call of a global that it alone sees.
local BY_CALL = { prologue = "", check = " %s();", epilogue = "" }

local STEM = "__check" -- of the name; its end is such that the text does not have it
local STACK_MAX = 4000 -- of lpeg's own; 200 nested blocks, Lua's limit, take a quarter

-- Words ------------------------------------------------------------------------------------

local NAME_START = R("az", "AZ", "\128\255") + "_"
local NAME_REST = NAME_START + R "09"

local function words(list)
  local pattern = P(false)
  for name in list:gmatch "%l+" do
    pattern = pattern + P(name) * -NAME_REST
  end
  return pattern
end

-- From behind the second bracket to behind the last.
local function skip_long(text, at, level)
  local _, last = text:find("]" .. level .. "]", at, true)
  return last and last + 1
end

local function quoted(mark)
  return mark * (1 - S("\\" .. mark) + P "\\" * 1) ^ 0 * mark
end

local SPACE = S " \t\v\f\r\n"
local LONG = lpeg.Cmt("[" * lpeg.C(P "=" ^ 0) * "[", skip_long)
local COMMENT = "--" * (LONG + (1 - S "\r\n") ^ 0)
local TRIVIA = (SPACE + COMMENT) ^ 0
local STRING = quoted "\"" + quoted "'" + LONG

-- As greedy as Lua's: it takes names and points along, and judges afterwards.
local NUMBER = P "." ^ -1 * (
  "0" * S "xX" * (S "pP" * S "+-" + NAME_REST + ".") ^ 0
  + R "09" * (S "eE" * S "+-" + NAME_REST + ".") ^ 0)

local LABEL = "::" * TRIVIA * NAME_START * NAME_REST ^ 0 * TRIVIA * "::"

-- What an operand or a name follows. There `goto` is a name, whatever comes after it.
local GOTO_AS_NAME = (TRIVIA * words "goto") ^ -1
local BEFORE_OPERAND = (S "=,({[+-*/%^#<>~:." + words "and elseif local not or return") * GOTO_AS_NAME

-- Whatever neither opens nor closes a block. The second line is there for speed alone: names that
-- begin as none of the words do.
local OTHER = SPACE ^ 1
  + (NAME_START - S "adefgilnoruw") * NAME_REST ^ 0
  + COMMENT + NUMBER + "..." + LABEL + STRING + S ")]};" + BEFORE_OPERAND
local WORD = (NAME_START - words "do end until") * NAME_REST ^ 0

-- Blocks -----------------------------------------------------------------------------------

-- A check's text, with its share of the numbers.
local function make_check(state)
  local cell = CELLS[state.count % #CELLS + 1]
  state.count = state.count + 1
  return state.check:format(state.name, cell, cell)
end

local CHECK = lpeg.Carg(1) / make_check
local END_OF_LINE = P "\r\n" + "\n\r" + S "\r\n"
local FIRST_LINE = P "\239\187\191" ^ -1
  * ("#" * (1 - S "\r\n") ^ 0 * (END_OF_LINE + lpeg.Cc "\n")) ^ -1
local PARAMETERS = (SPACE + NAME_REST + S ".:,(" + COMMENT) ^ 0 * ")"

local GRAMMAR = P {
  lpeg.Cs(FIRST_LINE * lpeg.Carg(2) * V "block" * -1 * lpeg.Carg(3)),
  block = (OTHER + V "body" + V "loop" + V "statement" + WORD) ^ 0,
  body = words "function" * PARAMETERS * CHECK * V "block" * words "end",
  loop = words "while for" * (OTHER + V "body" + WORD) ^ 0
    * words "do" * CHECK * V "block" * words "end"
    + words "repeat" * CHECK * V "block" * words "until" * GOTO_AS_NAME
    + CHECK * words "goto" * #(TRIVIA * NAME_START),
  statement = words "do" * V "block" * words "end"
    + words "if" * GOTO_AS_NAME * V "block" * words "end", -- `then` and `else` are words like others
}

lpeg.setmaxstack(STACK_MAX)

local function insert(text, name, way)
  local state = { name = name, check = way.check, count = 0 }
  return GRAMMAR:match(text, 1, state, way.prologue:format(name), way.epilogue)
end

-- A name that the text does not use, so that no name is taken from games.
local function fresh_name(text)
  local longest = -1
  for rest in text:gmatch(STEM .. "(_*)") do
    longest = math.max(longest, #rest)
  end
  return STEM .. ("_"):rep(longest + 1)
end

-- Loading ----------------------------------------------------------------------------------

--- A text that Lua has accepted, with checks.
---@class perigee.Instrumented
---@field text string as it was
---@field guarded string
---@field name string by which the checks know the counter
---@field way table BY_UPVALUE or BY_CALL


--- Prepares a text for `load`; the result depends on the text alone, and may be kept.
---@param text string
---@param path string for Lua's own message about what is wrong with it
---@return perigee.Instrumented? source
---@return string? problem
function instrument.source(text, path)
  local ok, problem = load(text, "@" .. path, "t")
  if not ok then
    return nil, problem
  end
  local name = fresh_name(text)
  local guarded = insert(text, name, BY_UPVALUE)
  if not guarded then
    return nil, path .. ": Perigee cannot read this, though Lua can; please report it"
  end
  return { text = text, guarded = guarded, name = name, way = BY_UPVALUE }
end

-- The environment of code that calls its check.
local function with_check(environment, name, counter)
  local look = counter[2]
  local function check()
    local left = counter[1]
    counter[1] = left - 1
    if left <= 0 then
      return look() -- a tail call, so that errors name the game's line
    end
  end
  return setmetatable({ [name] = check }, { __index = environment, __newindex = environment })
end

local function compile(source, path, environment, counter)
  local by_call = source.way == BY_CALL
  local chunk, problem = load(source.guarded, "@" .. path, "t",
    by_call and with_check(environment, source.name, counter) or environment)
  if not chunk then
    return nil, problem
  end
  return by_call and chunk or chunk(counter)
end


-- Gives the counter what checks need besides, once.
local function complete(counter)
  counter.dry = setmetatable({}, { __newindex = counter[2] })
  for _, cell in ipairs(CELLS) do
    counter[cell] = counter[cell] or counter[1]
  end
end


--- Like Lua's `load`, with checks. The counter has numbers at 1, 5, 6 and 7: how many checks are to
--- pass; and at 2 a function that is called when one of them has run out, and fills all of them
--- again, or raises.
---@param source string|perigee.Instrumented the text, or what `source` made of it
---@param path string
---@param environment table
---@param counter table
---@return function? chunk
---@return string? problem
function instrument.load(source, path, environment, counter)
  if type(source) == "string" then
    local problem
    source, problem = instrument.source(source, path)
    if not source then
      return nil, problem
    end
  end
  if not counter.dry then
    complete(counter)
  end
  local chunk, problem = compile(source, path, environment, counter)
  if not chunk and source.way == BY_UPVALUE then
    source.guarded, source.way = insert(source.text, source.name, BY_CALL), BY_CALL
    chunk, problem = compile(source, path, environment, counter)
  end
  return chunk, problem and problem .. " (with the checks that end runaway code; make it smaller)"
end

return instrument
