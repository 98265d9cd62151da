--- The arguments of the commands that are written in Lua.

local arguments = {}

-- The argument at the front: how many it was, or nil; and what is wrong.
local function take(result, argument, next_argument, rules)
  local name, value = argument:match("^(%-%-[^=]+)=(.*)$")
  name = name or argument
  if rules.set[name] then
    if not value and not next_argument then return nil, name .. " needs a value" end
    return value and 1 or 2, rules.set[name](result, value or next_argument)
  end
  if rules.flags[argument] then
    result[rules.flags[argument]] = true
  elseif argument:sub(1, 1) == "-" then
    return nil, ("there is no option %s"):format(argument)
  else
    return 1, rules.word(result, argument)
  end
  return 1
end


--- Reads them all into `result`. `--name VALUE` and `--name=VALUE` call `set["--name"](result, value)`, a
--- flag sets `result[flags[it]]` to true, and all else is handed to `word(result, text)`; what `set` and
--- `word` return is what is wrong.
---@param result table
---@param given string[]
---@param rules table { set, flags, word }
---@return string? problem the first
function arguments.read(result, given, rules)
  local at = 1
  while given[at] do
    local taken, problem = take(result, given[at], given[at + 1], rules)
    if problem then return problem end
    at = at + taken
  end
end


return arguments
