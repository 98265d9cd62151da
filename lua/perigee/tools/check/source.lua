--- Finds the globals that a Lua file reads and sets, the modules that it requires by name, and the fields of
--- globals that it calls. Reads the bytecode, which shows all globals with certainty.

local bit = require "bit"
local util = require "jit.util"

local band, rshift = bit.band, bit.rshift

local source = {}

local function opcode(instruction)
  return band(instruction, 0xff)
end

local function operand_a(instruction)
  return band(rshift(instruction, 8), 0xff)
end

local function operand_c(instruction)
  return band(rshift(instruction, 16), 0xff)
end

local function operand_d(instruction)
  return rshift(instruction, 16)
end

-- Returns the number of the instruction at `at` in the compiled text. These numbers differ between versions
-- of LuaJIT.
local function learn(text, at)
  return opcode(util.funcbc(assert(loadstring(text)), at))
end

local READ, WRITE = learn("return x", 1), learn("x = nil", 2)
local TEXT = learn("require 'x'", 2)
-- instruction before a return, in a function that has inner functions
local CLOSE = learn("return function() end", 2)
local FIELD, JUMP = learn("x = y.z", 2), learn("if x then y() end", 3)
local CALLS = {
  [learn("require 'x'", 3)] = true, [learn("return require 'x'", 3)] = true,
  [learn("x(y())", 4)] = true, [learn("return x(y())", 4)] = true,
}

-- Returns the text in an instruction.
local function text_of(fn, instruction)
  return util.funck(fn, -operand_d(instruction) - 1)
end

-- Returns the module of `require "name"`. The code has three instructions: load the function, load the name,
-- call.
local function required(fn, at)
  local load, text, call = util.funcbc(fn, at), util.funcbc(fn, at + 1), util.funcbc(fn, at + 2)
  if call and opcode(call) == CLOSE then
    call = util.funcbc(fn, at + 3)
  end
  if text and call and opcode(text) == TEXT and CALLS[opcode(call)]
    and operand_a(call) == operand_a(load) then
    return text_of(fn, text)
  end
end

-- Returns whether the result of an instruction is certainly called.
local function is_called(fn, at, last)
  local register = operand_a(util.funcbc(fn, at))
  for i = at + 1, last do
    local instruction = util.funcbc(fn, i)
    if opcode(instruction) == JUMP then
      return false
    elseif operand_a(instruction) == register then
      return CALLS[opcode(instruction)] or false
    end
  end
  return false
end

-- Returns the field in code such as `string.trim`, which reads the global and then a field of it.
local function field_of(fn, at)
  local global, field = util.funcbc(fn, at), util.funcbc(fn, at + 1)
  if field and opcode(field) == FIELD and rshift(field, 24) == operand_a(global) then
    return util.funck(fn, -operand_c(field) - 1)
  end
end

local function add(list, name, fn, at)
  list[#list + 1] = { name = name, line = util.funcinfo(fn, at).currentline }
end

local scan

-- Scans the inner functions, which are among the constants.
local function scan_constants(fn, used)
  for i = -1, -65536, -1 do
    local constant = util.funck(fn, i)
    if constant == nil then
      return
    elseif type(constant) == "proto" then
      scan(constant, used)
    end
  end
end

function scan(fn, used)
  local last = util.funcinfo(fn).bytecodes - 1
  for at = 1, last do
    local instruction = util.funcbc(fn, at)
    local code = opcode(instruction)
    if code == WRITE then
      add(used.writes, text_of(fn, instruction), fn, at)
    elseif code == READ then
      local name = text_of(fn, instruction)
      local module = name == "require" and required(fn, at)
      local field = field_of(fn, at)
      add(used.reads, name, fn, at)
      if field and is_called(fn, at + 1, last) then
        add(used.calls, name .. "." .. field, fn, at)
      elseif field then
        used.asked[name .. "." .. field] = true
      end
      if module then
        add(used.modules, module, fn, at)
      end
    end
  end
  scan_constants(fn, used)
end


--- Returns the uses in a compiled file: `reads` and `writes` of globals, `modules`, and `calls` of fields of
--- globals ("string.rep"). Each is a list of { name, line }. Also returns `asked`, the set of fields of
--- globals that the file reads without calling them.
---@param fn function
---@return table
function source.read(fn)
  local used = { reads = {}, writes = {}, modules = {}, calls = {}, asked = {} }
  scan(fn, used)
  return used
end

return source
