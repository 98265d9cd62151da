--- Compares what two texts compile to, function by function, for specs.

local util = require "jit.util"

local prototypes = {}

-- The lines that have code.
local function lines_of(prototype, info)
  local lines = {}
  for pc = 1, info.bytecodes - 1 do
    lines[util.funcinfo(prototype, pc).currentline] = true
  end
  return lines
end

local function last_line(prototype, info)
  return util.funcinfo(prototype, info.bytecodes - 1).currentline
end

local function children_of(prototype)
  local children = {}
  for i = -1, -util.funcinfo(prototype).gcconsts, -1 do
    local constant = util.funck(prototype, i)
    if type(constant) == "proto" then
      children[#children + 1] = constant
    end
  end
  return children
end

local function differ(a, b, checked_lines, is_main)
  local info_a, info_b = util.funcinfo(a), util.funcinfo(b)
  local where = "the function of line " .. info_a.linedefined
  if info_a.params ~= info_b.params or info_a.isvararg ~= info_b.isvararg then
    return where .. " has other parameters"
  elseif not is_main and (info_a.linedefined ~= info_b.linedefined
      or info_a.lastlinedefined ~= info_b.lastlinedefined) then
    return where .. " stands elsewhere"
  end
  local lines_a, lines_b = lines_of(a, info_a), lines_of(b, info_b)
  if is_main then -- whose last instruction, its return, has no line to speak of
    for _, line in ipairs { last_line(a, info_a), last_line(b, info_b) } do
      lines_a[line], lines_b[line] = nil, nil
    end
  end
  for line in pairs(lines_a) do
    if not lines_b[line] then
      return ("%s lacks line %d"):format(where, line)
    end
  end
  for line in pairs(lines_b) do
    if not lines_a[line] and not checked_lines[line] then
      return ("%s has a line %d without reason"):format(where, line)
    end
  end
  local children_a, children_b = children_of(a), children_of(b)
  if #children_a ~= #children_b then
    return ("%s has %d functions and %d"):format(where, #children_a, #children_b)
  end
  for i = 1, #children_a do
    local problem = differ(children_a[i], children_b[i], checked_lines)
    if problem then
      return problem
    end
  end
end


--- How the functions of `b` differ from those of `a` in more than checks; nil when they do not.
---@param a function
---@param b function
---@param checked_lines table<integer, boolean> on which checks stand
---@return string?
function prototypes.differ(a, b, checked_lines)
  return differ(a, b, checked_lines, true)
end

return prototypes
