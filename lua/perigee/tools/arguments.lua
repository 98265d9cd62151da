--- Reads the arguments of the commands that are written in Lua.

local sorted_keys = require "perigee.util.sorted_keys"

local arguments = {}

local EXIT_GOOD, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

local has_tool, tool = pcall(require, "perigee.tool") -- exists only in the perigee command

-- Returns the word of a list that is most similar to a misspelt word, or nil.
local function meant(word, list)
  return has_tool and tool.nearest(word, list) or nil
end


local function unknown_option(argument, rules)
  local names = sorted_keys(rules.set, rules.flags, rules.choices or {})
  local near = meant(argument, names) or argument:match "^%-%a" and meant("-" .. argument, names)
  return ("there is no option %s%s"):format(argument, near and ("; did you mean %s?"):format(near) or "")
end


-- Sets the option to one of its choices. Without a word, sets it to the first choice.
local function choose(result, name, choices, value, next_argument)
  for _, choice in ipairs(choices) do
    if choice == (value or next_argument) then
      result[choices.key] = choice
      return value and 1 or 2
    end
  end
  local wrong = value or next_argument and meant(next_argument, choices) and next_argument
  if wrong then return nil, ("%s is %s, not %q"):format(name, table.concat(choices, " or "), wrong) end
  result[choices.key] = choices[1]
  return 1
end


-- Reads one option or word. Returns the number of arguments that it used, or nil; and an error.
local function take(result, argument, next_argument, rules)
  local name, value = argument:match("^(%-%-[^=]+)=(.*)$")
  name = name or argument
  local choices = rules.choices and rules.choices[name]
  if choices then return choose(result, name, choices, value, next_argument) end
  if rules.set[name] then
    if not value and not next_argument then
      return nil, ("%s needs %s"):format(name, rules.needed and rules.needed[name] or "a value")
    end
    return value and 1 or 2, rules.set[name](result, value or next_argument, name)
  end
  if rules.flags[argument] then
    result[rules.flags[argument]] = true
  elseif argument:sub(1, 1) == "-" then
    return nil, unknown_option(argument, rules)
  else
    return 1, rules.word(result, argument)
  end
  return 1
end


--- Returns a function for the field `word` of the rules below. The function accepts one word and sets
--- `result[key]`.
---@param key string
---@return fun(result: table, text: string): string?
function arguments.one_word(key)
  return function(result, text)
    if result[key] then return ('unexpected argument "%s"'):format(text) end
    result[key] = text
  end
end


--- Returns a function for the field `set` of the rules below. The function sets `result[key]`.
---@param key string
---@return fun(result: table, text: string)
function arguments.text(key)
  return function(result, text) result[key] = text end
end


--- Returns a function for the field `set` of the rules below. The function accepts a number from `limits[1]`
--- to `limits[2]`, multiplies it by `limits.scale`, and sets `result[key]` to the product.
---@param key string
---@param limits { [1]: number, [2]: number, whole: boolean?, scale: number? }
---@return fun(result: table, text: string, option: string): string?
function arguments.number(key, limits)
  local least, most = limits[1], limits[2]
  return function(result, text, option)
    local number = tonumber(text)
    if not (number and number >= least and number <= most) or limits.whole and number % 1 ~= 0 then
      return ("%s needs a %s from %.10g to %.10g, not %q"):format(option,
        limits.whole and "whole number" or "number", least, most, text)
    end
    result[key] = number * (limits.scale or 1)
  end
end


--- Reads all arguments into `result`. `--name VALUE` and `--name=VALUE` call `set["--name"](result, value,
--- "--name")`. A flag sets `result[flags[flag]]` to true. An option `--name` in `choices` sets
--- `result[choices["--name"].key]` to the next word if that word is one of the choices, otherwise to the
--- first choice. All other arguments call `word(result, text)`. `set` and `word` return an error or nil.
---@param result table
---@param given string[]
---@param rules table { set, flags, word, choices?, needed? }, `needed`: description of each option's value
---@return string? problem the first error
function arguments.read(result, given, rules)
  local at = 1
  while given[at] do
    local taken, problem = take(result, given[at], given[at + 1], rules)
    if problem then return problem end
    at = at + taken
  end
end


--- Reports an error on standard error; returns the exit code for it.
---@param format string
---@return integer
function arguments.fail(format, ...)
  io.stderr:write("perigee: ", format:format(...), "\n")
  return EXIT_FAILED
end


--- Reports an error in a command line on standard error; returns the exit code for it.
---@param command string name of the command
---@param problem string
---@return integer
function arguments.fail_usage(command, problem)
  arguments.fail("%s (see `perigee help %s`)", problem, command)
  return EXIT_USAGE
end


--- Returns the function of a command. It gets the arguments after the command's name and returns the exit
--- code. `options` has `USAGE` (a line), `HELP`, and `parse(given)`, which returns the chosen options, or nil
--- and an error. The function itself handles the option `help`.
---@param options table
---@param run fun(chosen: table): integer
---@return fun(...: string): integer
function arguments.command(options, run)
  return function(...)
    local chosen, problem = options.parse { ... }
    if not chosen then
      io.stderr:write("perigee: ", problem, "\n", options.USAGE, "\n")
      return EXIT_USAGE
    end
    if chosen.help then
      io.stdout:write(options.HELP)
      return EXIT_GOOD
    end
    return run(chosen)
  end
end


return arguments
